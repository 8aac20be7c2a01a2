//! Recorded streams of real providers, cut at every byte.
//!
//! The recordings lie beside the repository and not in it; without them the test says so.

use std::path::{Path, PathBuf};

use events::event::model::{EndReason, FailureKind};
use yaml_rust2::{Yaml, YamlLoader};

use super::anthropic::wire::reply::MessageReply;
use super::openai::wire::reply::ChatReply;
use super::stream::{Decoder, Dialect};
use super::testing::decode;
use super::{Reply, ReplyPart};

struct Recording {
    name: String,
    stream: String,
}

/// The streams of one dialect, or none when there are no recordings here.
fn recordings(path: &str) -> Vec<Recording> {
    let shared = std::env::var_os("PODWORK_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let Ok(directory) = std::fs::read_dir(shared.join("transcripts/wire-cassettes")) else {
        // The one place where a test has something to say to a person.
        eprintln!("skipped: there are no recordings in {}", shared.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = directory.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().flat_map(|file| streams(file, path)).collect()
}

fn streams(file: &Path, path: &str) -> Vec<Recording> {
    let text = std::fs::read_to_string(file).expect("a recording");
    let documents = YamlLoader::load_from_str(&text).expect("YAML");
    let interactions = documents[0]["interactions"].as_vec().expect("interactions");
    let is_wanted = |interaction: &&Yaml| {
        let kind = interaction["response"]["headers"]["Content-Type"][0].as_str().unwrap_or_default();
        interaction["request"]["url"].as_str().is_some_and(|url| url.ends_with(path))
            && kind.starts_with("text/event-stream")
    };
    let recording = |(number, interaction): (usize, &Yaml)| Recording {
        name: format!("{} #{number}", file.file_name().expect("a name").to_string_lossy()),
        stream: interaction["response"]["body"].as_str().expect("a body").to_owned(),
    };
    interactions.iter().enumerate().filter(|(_, interaction)| is_wanted(interaction)).map(recording).collect()
}

/// The reply of a recording is the same in whatever pieces it arrives; cut off it is no reply
/// until its end mark is there.
fn check<D: Dialect + Default + Clone>(Recording { name, stream }: &Recording) -> Reply {
    let stream = stream.as_bytes();
    let (whole, words) = decode::<D>([stream]);
    let whole = whole.unwrap_or_else(|failure| panic!("{name}: {failure}"));
    for size in [1, 2, 3, 7] {
        let (reply, same_words) = decode::<D>(stream.chunks(size));
        assert_eq!(reply.as_ref(), Ok(&whole), "{name} in pieces of {size}");
        assert_eq!(same_words, words, "{name} in pieces of {size}");
    }
    let (mut ended, mut decoder) = (false, Decoder::new(D::default()));
    for at in 0..stream.len() {
        let mut cut = decoder.clone();
        cut.push(&stream[at..], &mut Vec::new());
        assert_eq!(cut.finish().as_ref(), Ok(&whole), "{name} cut at {at}");
        match decoder.clone().finish() {
            Ok(reply) => {
                ended = true;
                assert_eq!((&reply.parts, reply.end), (&whole.parts, whole.end), "{name} ending at {at}");
            }
            Err(failure) => {
                assert_eq!(failure.kind, FailureKind::Truncated, "{name} ending at {at}");
                assert!(!ended, "{name} had ended before {at}");
            }
        }
        decoder.push(&stream[at..=at], &mut Vec::new());
    }
    assert!(whole.usage.is_some_and(|usage| usage.input_tokens > 100), "{name} says what it took");
    whole
}

fn has(reply: &Reply, is_wanted: impl Fn(&ReplyPart) -> bool) -> bool {
    reply.parts.iter().any(is_wanted)
}

fn has_call(reply: &Reply) -> bool {
    let parses = |raw: &str| events::Arguments::parse(raw).is_ok();
    has(reply, |part| matches!(part, ReplyPart::Call { tool, raw, .. } if !tool.is_empty() && parses(raw)))
}

#[test]
fn recorded_chat_completions_are_the_same_wherever_they_are_cut() {
    let recordings = recordings("/chat/completions");
    let replies: Vec<Reply> = recordings.iter().map(check::<ChatReply>).collect();
    if replies.is_empty() {
        return;
    }
    assert_eq!(replies.len(), 4);
    assert_eq!(replies.iter().filter(|reply| reply.end == EndReason::Calls && has_call(reply)).count(), 2);
    let reasoning = |part: &ReplyPart| matches!(part, ReplyPart::Reasoning(_));
    assert!(replies.iter().any(|reply| has(reply, reasoning)), "a server that shows its reasoning");
}

#[test]
fn recorded_messages_are_the_same_wherever_they_are_cut() {
    let recordings = recordings("/v1/messages");
    let replies: Vec<Reply> = recordings.iter().map(check::<MessageReply>).collect();
    if replies.is_empty() {
        return;
    }
    assert_eq!(replies.len(), 6);
    assert_eq!(replies.iter().filter(|reply| reply.end == EndReason::Calls && has_call(reply)).count(), 3);
    let signed = |part: &ReplyPart| matches!(part, ReplyPart::Reasoning(reasoning) if reasoning.signature.is_some() && !reasoning.text.is_empty());
    assert!(replies.iter().any(|reply| has(reply, signed)), "a reply with signed reasoning");
}
