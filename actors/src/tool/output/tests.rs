//! Output of every kind, cut at every place.

use proptest::prelude::*;

use super::*;

const MIN: u64 = OUTPUT_BYTES_MIN as u64;

fn shown(bytes: &[u8], bytes_max: u64) -> Shown {
    let mut capture = Capture::new();
    capture.push(bytes);
    capture.show(bytes_max)
}

#[test]
fn plain_text_is_shown_as_it_is_and_not_kept_twice() {
    let shown = shown("héllo\n".as_bytes(), 1000);
    assert_eq!(
        (shown.content.as_str(), &shown.whole, shown.bytes, shown.measure.as_str()),
        ("héllo\n", &None, 7, "7 bytes of output")
    );
}

#[test]
fn no_output_is_called_so() {
    assert_eq!(shown(b"", 1000).measure, "no output");
}

#[test]
fn terminal_sequences_control_codes_and_old_encodings_are_cleaned_and_the_bytes_kept() {
    let cases: [(&[u8], &str); 4] = [
        (b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07done\x07\n", "red done\u{fffd}\n"),
        (b"one\0two, and some more words", "one\u{fffd}two, and some more words"),
        (b"caf\xe9 au lait", "caf\u{fffd} au lait"),
        (b"first\r\nsecond\r\n", "first\nsecond\n"),
    ];
    for (bytes, text) in cases {
        let shown = shown(bytes, 1000);
        assert_eq!(shown.content, text);
        assert_eq!(shown.whole.as_deref(), Some(bytes));
        assert_eq!(shown.bytes, bytes.len() as u64);
    }
}

#[test]
fn binary_output_is_named_with_its_size_and_hash() {
    let elf: Vec<u8> = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 40], &[0x3e, 0, 1, 0, 0, 0x90]].concat();
    let utf16: Vec<u8> = "a text".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let gbk = b"\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7".to_vec();
    let mixed: Vec<u8> = (0..=255).cycle().take(4096).collect();
    for bytes in [elf, utf16, gbk, mixed] {
        let shown = shown(&bytes, 1000);
        assert_eq!(shown.content, format!("[binary, {} bytes, hash {}]", bytes.len(), Hash::of(&bytes)));
        assert_eq!(shown.whole, Some(bytes));
    }
}

#[test]
fn colours_do_not_make_text_binary() {
    let coloured = "\x1b[32mok\x1b[0m\n".repeat(50);
    assert_eq!(shown(coloured.as_bytes(), 1000).content, "ok\n".repeat(50));
}

#[test]
fn a_list_that_nuls_separate_is_text() {
    assert_eq!(shown(b"a.rs\0b.rs\0c.rs\0", 1000).content, "a.rs\u{fffd}b.rs\u{fffd}c.rs\u{fffd}");
}

#[test]
fn an_end_that_begins_within_a_character_begins_after_it() {
    for offset in 0..4 {
        let mut capture = Capture::with_bounds(100, 50);
        capture.push("x".repeat(100 + offset).as_bytes());
        capture.push("👩".repeat(20).as_bytes());
        let shown = capture.show(MIN);
        assert!(shown.content.ends_with(&format!("]\n{}", "👩".repeat(12))), "{}", shown.content);
    }
    let mut capture = Capture::with_bounds(100, 50);
    capture.push("👩".repeat(50).as_bytes());
    assert!(!capture.show(1000).content.contains('\u{fffd}'));
}

#[test]
fn a_text_is_cut_after_it_is_cleaned() {
    let coloured = "\x1b[38;5;196mx\x1b[0m".repeat(200);
    assert!(coloured.len() > 1000);
    assert_eq!(shown(coloured.as_bytes(), 1000).content, "x".repeat(200));
}

#[test]
fn a_cut_keeps_the_beginning_and_the_end_and_says_what_is_missing() {
    let lines: Vec<String> = (1..=500).map(|number| format!("line {number}\n")).collect();
    let text = lines.concat();
    let shown = shown(text.as_bytes(), 400);
    assert!(shown.content.starts_with("line 1\nline 2\n"), "{}", shown.content);
    assert!(shown.content.ends_with("line 499\nline 500\n"), "{}", shown.content);
    let note = shown.content.lines().find(|line| line.starts_with("[...")).expect("a note on its own line");
    let seen = shown.content.len() - note.len() - 1;
    assert_eq!(note, format!("[... {} of {} bytes left out ...]", text.len() - seen, text.len()));
    assert_eq!(shown.whole.as_deref(), Some(text.as_bytes()));
}

#[test]
fn a_cut_inside_an_emoji_moves_to_its_edge() {
    // Every way in which the cut points can fall into characters of four bytes and families.
    for offset in 0..30 {
        let text = format!("{}{}", "a".repeat(offset), "👩‍👩‍👧".repeat(100));
        let shown = shown(text.as_bytes(), MIN);
        let (head, rest) = shown.content.split_once("\n[...").expect("a note");
        let (_, tail) = rest.split_once("]\n").expect("the note ends");
        assert!(text.starts_with(head) && text.ends_with(tail), "{}", shown.content);
        assert!(!shown.content.contains('\u{fffd}'));
    }
}

#[test]
fn what_exceeds_the_kept_bytes_is_counted_and_its_end_is_shown() {
    let mut capture = Capture::with_bounds(1000, 300);
    for _ in 0..10_000 {
        capture.push("0123456é89".as_bytes());
        assert!(capture.kept.len() <= 1000 && capture.tail.len() < 600);
    }
    capture.push(b"the end");
    let shown = capture.show(400);
    assert_eq!(shown.bytes, 110_007);
    assert!(shown.content.ends_with("é89the end"), "{}", shown.content);
    assert!(shown.content.contains(" of 110007 bytes left out"), "{}", shown.content);
    assert_eq!(shown.whole.map(|whole| whole.len()), Some(1000));
}

#[test]
fn a_summary_is_one_line_without_control_characters() {
    assert_eq!(one_line("a\nb\t\x1b[31mc\0"), "a b c\u{fffd}");
    let long = one_line(&"é".repeat(1000));
    assert!(long.len() <= SUMMARY_BYTES_MAX && long.ends_with('…'));
}

proptest! {
    #[test]
    fn shown_output_is_bounded_and_clean(
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        bytes_max in 0..2000_u64,
    ) {
        let shown = shown(&bytes, bytes_max);
        prop_assert!(shown.content.len() <= bound(bytes_max));
        prop_assert!(shown.content.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        prop_assert_eq!(shown.bytes, bytes.len() as u64);
        prop_assert!(shown.whole.is_some() || shown.content.as_bytes() == bytes.as_slice());
    }

    #[test]
    fn a_cut_text_is_a_beginning_and_an_end_of_it(text in "[a-z👩é\n]{200,600}", bytes_max in MIN..400) {
        let shown = shown(text.as_bytes(), bytes_max);
        if text.len() <= bound(bytes_max) {
            prop_assert_eq!(shown.content, text);
        } else {
            let at = shown.content.find("[... ").expect("a note");
            let head = &shown.content[..at];
            let tail = &shown.content[at..].split_once("...]\n").expect("the note ends").1;
            prop_assert!(text.starts_with(head) || text.starts_with(head.trim_end_matches('\n')));
            prop_assert!(text.ends_with(tail));
        }
    }

    #[test]
    fn the_pieces_in_which_output_arrives_make_no_difference(
        bytes in prop::collection::vec(prop_oneof![Just(b'a'), Just(b'\n'), any::<u8>()], 0..400),
        cuts in prop::collection::vec(0..400_usize, 0..6),
    ) {
        let mut whole = Capture::with_bounds(100, 50);
        whole.push(&bytes);
        let mut pieces = Capture::with_bounds(100, 50);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            pieces.push(&bytes[pair[0]..pair[1]]);
        }
        prop_assert_eq!(pieces.show(300), whole.show(300));
    }
}
