//! How an event lies on disk: one version byte, a header, and the event's own fields, both as
//! MessagePack maps with names.
//!
//! Names rather than positions, so that a field can be added without a new version; the kind and
//! the schema version in front, so that what is newer than this program is told apart from what is
//! damaged.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteArray;

use crate::envelope::Place;
use crate::event::imported::RecordImported;
use crate::event::tool::CallEnded;
use crate::{Content, Draft, Envelope, Event, Hash, PodId, Position, Seq, Timestamp};

/// The first byte of every record.
pub const FORMAT_VERSION: u8 = 1;

/// Contents of at least this many bytes are kept apart, by their hash.
pub const CONTENT_APART_BYTES_MIN: usize = 32 * 1024;

#[derive(Serialize, Deserialize)]
struct Header<'a> {
    #[serde(rename = "k")]
    kind: Cow<'a, str>,
    #[serde(rename = "v")]
    schema_version: u16,
    #[serde(rename = "p")]
    pod: ByteArray<16>,
    #[serde(rename = "s")]
    seq: Seq,
    #[serde(rename = "g")]
    position: Position,
    #[serde(rename = "t")]
    at_micros: i64,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    cause: Option<Seq>,
}

/// An envelope as bytes, and the large contents that are kept apart from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The record.
    pub bytes: Vec<u8>,
    /// Contents that the record names by hash.
    pub contents: Vec<(Hash, Vec<u8>)>,
}

/// Why bytes are not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Written by a newer version of this program.
    #[error("written in record format {found}; this version of podwork reads formats up to {FORMAT_VERSION}")]
    NewerFormat {
        /// The format's number.
        found: u8,
    },
    /// An event of a kind that this program does not know.
    #[error("an event of the unknown kind `{kind}`; a newer version of podwork may have written it")]
    UnknownKind {
        /// The kind.
        kind: String,
    },
    /// An event of a known kind in a newer schema.
    #[error(
        "`{kind}` in schema version {found}; this version of podwork reads versions up to {}",
        Event::SCHEMA_VERSION
    )]
    NewerSchema {
        /// The kind.
        kind: String,
        /// The version.
        found: u16,
    },
    /// Not an event at all.
    #[error("damaged record: {why}")]
    Damaged {
        /// What is wrong.
        why: String,
    },
}

impl DecodeError {
    #[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
    fn damaged(why: impl ToString) -> Self {
        Self::Damaged { why: why.to_string() }
    }

    /// A newer version of podwork would understand the record.
    pub fn is_newer(&self) -> bool {
        match self {
            Self::NewerFormat { .. } | Self::UnknownKind { .. } | Self::NewerSchema { .. } => true,
            Self::Damaged { .. } => false,
        }
    }
}

/// Writes an envelope, with contents of [`CONTENT_APART_BYTES_MIN`] and more kept apart.
pub fn split(envelope: &Envelope) -> Record {
    let mut contents = Vec::new();
    let apart = |content: &Content, contents: &mut Vec<(Hash, Vec<u8>)>| match content {
        Content::Text(text) if text.len() >= CONTENT_APART_BYTES_MIN => {
            let hash = Hash::of(text.as_bytes());
            contents.push((hash, text.clone().into_bytes()));
            Some(Content::Apart { hash, bytes: text.len() as u64 })
        }
        Content::Text(_) | Content::Apart { .. } => None,
    };
    let slim = content_of(envelope.event())
        .and_then(|content| apart(content, &mut contents))
        .map(|content| with_content(envelope.event(), content));
    Record { bytes: write(envelope, slim.as_ref().unwrap_or(envelope.event())), contents }
}

fn write(envelope: &Envelope, event: &Event) -> Vec<u8> {
    let header = Header {
        kind: event.kind().into(),
        schema_version: event.schema_version(),
        pod: ByteArray::new(*envelope.pod().as_bytes()),
        seq: envelope.seq(),
        position: envelope.position(),
        at_micros: envelope.at().as_micros(),
        cause: envelope.cause(),
    };
    let mut bytes = vec![FORMAT_VERSION];
    let mut serializer = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
    header.serialize(&mut serializer).expect("a header is plain values and memory takes them");
    event.write_fields(&mut serializer).expect("events are plain values and memory takes them");
    bytes
}

/// Reads an envelope. `content` gives the bytes that lie apart under a hash; it is asked only for
/// what the record names, and what it gives is checked.
pub fn join(bytes: &[u8], content: impl FnOnce(Hash) -> Option<Vec<u8>>) -> Result<Envelope, DecodeError> {
    let (version, rest) = bytes.split_first().ok_or_else(|| DecodeError::damaged("it is empty"))?;
    match *version {
        FORMAT_VERSION => {}
        0 => return Err(DecodeError::damaged("record format 0 does not exist")),
        found => return Err(DecodeError::NewerFormat { found }),
    }
    let (header, event) = read(rest)?;
    let event = match content_of(&event) {
        Some(&Content::Apart { hash, .. }) => {
            let text = content(hash)
                .ok_or_else(|| DecodeError::damaged(format!("its content {hash} is missing")))?;
            if Hash::of(&text) != hash {
                return Err(DecodeError::damaged(format!("its content {hash} is damaged")));
            }
            let text = String::from_utf8(text).map_err(DecodeError::damaged)?;
            with_content(&event, Content::Text(text))
        }
        Some(Content::Text(_)) | None => event,
    };
    let pod = PodId::from_bytes(header.pod.into_array());
    let at = Timestamp::from_micros(header.at_micros);
    let place = Place { pod, seq: header.seq, position: header.position, at };
    Ok(Envelope::seal(Draft { cause: header.cause, at: None, event }, place))
}

fn read(mut rest: &[u8]) -> Result<(Header<'static>, Event), DecodeError> {
    let mut deserializer = rmp_serde::Deserializer::new(&mut rest);
    let header = Header::deserialize(&mut deserializer).map_err(DecodeError::damaged)?;
    let kind = header.kind.to_string();
    if header.schema_version > Event::SCHEMA_VERSION {
        return Err(DecodeError::NewerSchema { kind, found: header.schema_version });
    }
    let event = Event::read_fields(&kind, &mut deserializer)
        .ok_or(DecodeError::UnknownKind { kind })?
        .map_err(DecodeError::damaged)?;
    if !rest.is_empty() {
        return Err(DecodeError::damaged("bytes follow after its end"));
    }
    Ok((header, event))
}

/// The one content of an event that may be large.
fn content_of(event: &Event) -> Option<&Content> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "two kinds have a content, whatever else is added")]
    match event {
        Event::CallEnded(CallEnded { content, .. }) => Some(content),
        Event::RecordImported(RecordImported { raw, .. }) => Some(raw),
        _ => None,
    }
}

fn with_content(event: &Event, content: Content) -> Event {
    let mut event = event.clone();
    #[expect(clippy::wildcard_enum_match_arm, reason = "called for events that have a content")]
    match &mut event {
        Event::CallEnded(ended) => ended.content = content,
        Event::RecordImported(record) => record.raw = content,
        _ => {}
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::model::{EndReason, Origin, Part, ReplyReceived, Usage};
    use crate::event::tool::{CallOutcome, CallStarted};
    use crate::item::Call;
    use crate::{Arguments, CallId, RequestNumber};

    fn sealed(event: impl Into<Event>) -> Envelope {
        let place = Place {
            pod: PodId::from_bytes([7; 16]),
            seq: Seq(3),
            position: Position(9),
            at: Timestamp::from_micros(1_767_323_045_678_901),
        };
        Envelope::seal(Draft::new(event).caused_by(Seq(2)), place)
    }

    fn reply() -> ReplyReceived {
        let arguments = Arguments::parse("{\"command\": \"ls\"}").expect("valid");
        ReplyReceived {
            request: RequestNumber(1),
            origin: Origin { provider: "openai".into(), model: "m".into() },
            parts: vec![
                Part::Text { text: "hm".into() },
                Part::Call(Call {
                    call: CallId(1),
                    tool: "bash".into(),
                    provider_id: "x y".into(),
                    arguments,
                }),
                Part::Opaque { json: "{\"type\":\"new\"}".into() },
            ],
            usage: Some(Usage { input_tokens: 5, output_tokens: 2, ..Usage::default() }),
            end: EndReason::Calls,
            provider_id: None,
        }
    }

    fn ended(content: &str) -> CallEnded {
        CallEnded {
            call: CallId(1),
            outcome: CallOutcome::Ok,
            summary: "done".into(),
            content: content.into(),
            content_hash: None,
            content_bytes: content.len() as u64,
            elapsed_ms: 1,
        }
    }

    #[test]
    fn an_event_reads_back_from_its_record_and_from_its_json() {
        for envelope in [sealed(reply()), sealed(ended("out"))] {
            let record = split(&envelope);
            assert_eq!(join(&record.bytes, |_| None), Ok(envelope.clone()));
            let json = serde_json::to_string(&envelope).expect("serialises");
            let back: Envelope = serde_json::from_str(&json).expect("reads back");
            assert_eq!(back.event(), envelope.event());
        }
    }

    #[test]
    fn the_json_of_a_started_call_is_what_the_command_line_promises() {
        let arguments = Arguments::parse("{\"command\":\"ls\"}").expect("valid");
        let started = CallStarted { call: CallId(3), tool: "bash".into(), arguments };
        assert_eq!(
            serde_json::to_string(&sealed(started)).expect("serialises"),
            "{\"pod\":\"07070707-0707-0707-0707-070707070707\",\"seq\":3,\
             \"at\":\"2026-01-02T03:04:05.678901Z\",\"cause\":2,\"type\":\"call_started\",\
             \"call\":\"c3\",\"tool\":\"bash\",\"arguments\":{\"command\":\"ls\"}}"
        );
    }

    #[test]
    fn a_large_content_lies_apart_and_comes_back() {
        let envelope = sealed(ended(&"x".repeat(CONTENT_APART_BYTES_MIN)));
        let record = split(&envelope);
        let [(hash, bytes)] = record.contents.as_slice() else { panic!("one content lies apart") };
        assert!(record.bytes.len() < 300);
        assert_eq!(join(&record.bytes, |asked| (asked == *hash).then(|| bytes.clone())), Ok(envelope));
        assert!(matches!(join(&record.bytes, |_| None), Err(DecodeError::Damaged { .. })));
        assert!(matches!(join(&record.bytes, |_| Some(vec![1])), Err(DecodeError::Damaged { .. })));
    }

    #[test]
    fn newer_unknown_and_damaged_are_told_apart() {
        let record = split(&sealed(ended("out"))).bytes;
        let mut newer = record.clone();
        newer[0] = 2;
        assert_eq!(join(&newer, |_| None), Err(DecodeError::NewerFormat { found: 2 }));
        let place = record.windows(10).position(|window| window == b"call_ended").expect("its kind");
        let mut unknown = record.clone();
        unknown[place] = b'b';
        assert_eq!(join(&unknown, |_| None), Err(DecodeError::UnknownKind { kind: "ball_ended".into() }));
        let mut long = record.clone();
        long.push(0);
        assert!(matches!(join(&long, |_| None), Err(DecodeError::Damaged { .. })));
        for end in 0..record.len() {
            assert!(
                matches!(join(&record[..end], |_| None), Err(DecodeError::Damaged { .. })),
                "cut at {end}"
            );
        }
    }
}
