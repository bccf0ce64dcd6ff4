//! Events and effects as lines that a person can read, and as numbers that two runs can compare.

use welter_protocol::messages::{Envelope, Message};
use welter_protocol::payload::checksum;
use welter_protocol::random::mix;
use welter_protocol::wire;
use welter_protocol::{Effect, Event, Outcome, Rank, Time, Work};

/// Digest of an event: of messages by every byte that they would have on a wire.
pub fn digest(event: &Event) -> u64 {
    match event {
        Event::Start { blocks, manifests } => (blocks.len() + 31 * manifests.len()) as u64,
        Event::Tick => 2,
        Event::Message(envelope) => wire::digest(envelope),
        Event::Read { token, result } => {
            let content = result.as_ref().map_or(0, |(block, _)| block.hash);
            mix(token << 8 | u64::from(result.is_ok())) ^ content
        }
        Event::Written { token, ok } => mix(token << 9 | u64::from(*ok)),
        Event::Consulted { token } => mix(token << 11),
        Event::Awaited(rank) => mix((*rank as u64) << 12),
        Event::Fail { why, what } => mix(*why as u64) ^ checksum(what.as_bytes()),
        Event::Done { token, outcome } => mix(token << 10) ^ outcome_hash(outcome),
    }
}

/// Digest of an outcome by what [`made`] says of it, without making text of it.
fn outcome_hash(outcome: &Outcome) -> u64 {
    let (which, counts) = match outcome {
        Outcome::Ingested { read, filled, degrees } => {
            (1, [*read, filled.len() as u64, u64::from(degrees.is_some())])
        }
        Outcome::Made { vertices, active, .. } => (2, [vertices.len() as u64, *active, 0]),
        Outcome::Opened => (3, [0; 3]),
        Outcome::Turned => (4, [0; 3]),
        Outcome::Streamed { made, gathered, filled, .. } => {
            (5, [*made, *gathered, filled.len() as u64])
        }
        Outcome::Flushed { filled, rewritten } => {
            (6, [filled.len() as u64, rewritten.len() as u64, 0])
        }
        Outcome::Applied { made, filled } => (7, [*made, filled.len() as u64, 0]),
        Outcome::HandedOver(payload) => (8, [payload.hash(), 0, 0]),
        Outcome::Merged => (9, [0; 3]),
        Outcome::Decided { goes_on, control, rewrites } => {
            (10, [u64::from(*goes_on), checksum(control), u64::from(*rewrites)])
        }
    };
    counts.into_iter().fold(which, |sum, count| mix(sum ^ count))
}

/// Line about an event, unless it is only time that passes.
pub fn event(now: Time, rank: Rank, incarnation: u32, event: &Event) -> Option<String> {
    let text = match event {
        Event::Tick | Event::Written { ok: true, .. } => return None,
        Event::Start { blocks, manifests } => {
            format!("starts with {} blocks and {} manifests", blocks.len(), manifests.len())
        }
        Event::Message(envelope) => {
            let Envelope { from, from_incarnation, epoch, number, message, .. } = envelope;
            if matches!(message, Message::Ping | Message::Pong) {
                return None;
            }
            let who = format!("{from}#{from_incarnation}");
            format!("hears in {epoch} from {who} (no. {number}): {}", message_text(message))
        }
        Event::Read { result, .. } => match result {
            Ok((block, _)) => format!("has read {}", block.name),
            Err(damage) => format!("cannot read: {damage:?}"),
        },
        Event::Fail { why, what } => format!("fails: {why:?}, {what}"),
        Event::Consulted { .. } => "has looked something up".to_owned(),
        Event::Awaited(rank) => format!("hears that machine {rank} has not begun yet"),
        Event::Written { .. } => "cannot write".to_owned(),
        Event::Done { outcome, .. } => format!("is done: {}", made(outcome)),
    };
    Some(line(now, rank, incarnation, "<-", &text))
}

/// Line about an effect that is wanted.
pub fn effect(now: Time, rank: Rank, incarnation: u32, effect: &Effect) -> Option<String> {
    let text = match effect {
        Effect::Send(envelope) => {
            if matches!(envelope.message, Message::Ping | Message::Pong) {
                return None;
            }
            let Envelope { to, epoch, number, message, .. } = envelope;
            format!("says in {epoch} to {to} (no. {number}): {}", message_text(message))
        }
        Effect::Read { name, .. } => format!("reads {name}"),
        Effect::Write { block, .. } => format!("writes {}", block.name),
        Effect::Sync { names, .. } => format!("syncs {} blocks", names.len()),
        Effect::Consult { .. } => return None,
        Effect::Persist { manifest, .. } => format!("persists version {}", manifest.version),
        Effect::Forget(manifest) => format!("forgets version {}", manifest.version),
        Effect::Delete(name) => format!("deletes {name}"),
        Effect::Work { work, .. } => format!("works: {}", asked(work)),
        Effect::Suspect(rank) => format!("has not heard of {rank} for long"),
        Effect::Finished(manifest) => format!("has finished: version {}", manifest.version),
        Effect::Exit(failure) => format!("exits: {:?}, {}", failure.why, failure.what),
    };
    Some(line(now, rank, incarnation, "->", &text))
}

fn line(now: Time, rank: Rank, incarnation: u32, arrow: &str, text: &str) -> String {
    format!("{:>10.3} ms {rank}#{incarnation} {arrow} {text}", now as f64 / 1e6)
}

fn message_text(message: &Message) -> String {
    match message {
        Message::Pull(pull) => format!("pull {} {}", pull.step, pull.cell),
        Message::Chunk { pull, block, .. } => format!("chunk {} for {}", block.name, pull.step),
        Message::NoChunk { pull, .. } => format!("no chunk, {} {}", pull.step, pull.cell),
        Message::Store { block, .. } => format!("store {}", block.name),
        Message::Stored(name) => format!("stored {name}"),
        Message::Get(name) => format!("get {name}"),
        Message::Got { name, .. } => format!("got {name}"),
        Message::Copied { block, .. } => format!("copy of {}", block.name),
        Message::Degrees { partition, .. } => format!("degrees of {partition}"),
        Message::Accumulators { partition, .. } => format!("accumulators of {partition}"),
        Message::Begin(begin) => {
            let committed = begin.committed.as_ref().map(|manifest| manifest.version);
            format!("begin {}, committed {committed:?}", begin.step)
        }
        Message::Arrive { step, .. } => format!("arrive {step}"),
        Message::Closed { step, .. } => format!("closed {step}"),
        Message::Install(install) => {
            let version = install.manifest.as_ref().map(|manifest| manifest.version);
            format!("install {version:?}")
        }
        Message::Join { manifests } => format!("join with {} manifests", manifests.len()),
        Message::MirrorManifest(_) => "mirror a manifest".to_owned(),
        Message::Finish(_) => "finish".to_owned(),
        Message::Fetch { role, have } => format!("fetch {role:?}, have {}", have.len()),
        other => format!("{other:?}"),
    }
}

/// Line about the work that a program shall do.
pub(crate) fn asked(work: &Work) -> String {
    match work {
        Work::Ingest { .. } => "ingest".to_owned(),
        Work::Init { partition, .. } => format!("init {partition}"),
        Work::Open { step, partition, .. } => format!("open {partition} in {step}"),
        Work::Turn { source, .. } => format!("turn to the sources of {source}"),
        Work::Stream { block, .. } => format!("stream {}", block.name),
        Work::Flush => "flush".to_owned(),
        Work::HandOver => "hand over".to_owned(),
        Work::Merge(_) => "merge".to_owned(),
        Work::Apply => "apply".to_owned(),
        Work::Decide { iterations, .. } => format!("decide after {iterations}"),
    }
}

fn made(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ingested { read, filled, degrees } => {
            format!("{read} edges, {} chunks, last: {}", filled.len(), degrees.is_some())
        }
        Outcome::Made { vertices, .. } => format!("{} chunks of vertices", vertices.len()),
        Outcome::Opened => "opened".to_owned(),
        Outcome::Turned => "turned".to_owned(),
        Outcome::Streamed { made, gathered, filled, .. } => {
            format!("streamed, {made} made, {gathered} gathered, {} chunks", filled.len())
        }
        Outcome::Flushed { filled, rewritten } => {
            format!("flushed {} chunks", filled.len() + rewritten.len())
        }
        Outcome::Applied { filled, .. } => format!("told {} chunks", filled.len()),
        Outcome::HandedOver(_) => "accumulators".to_owned(),
        Outcome::Merged => "merged".to_owned(),
        Outcome::Decided { goes_on, .. } => format!("decided, goes on: {goes_on}"),
    }
}

#[cfg(test)]
mod tests {
    use welter_protocol::ack::Ack;
    use welter_protocol::ids::Epoch;

    use super::*;

    #[test]
    fn messages_that_say_something_else_have_another_digest() {
        let says = |needs_new_epoch| {
            digest(&Event::Message(Envelope {
                from: 1,
                from_incarnation: 1,
                to: 0,
                to_incarnation: 0,
                epoch: Epoch::default(),
                number: 0,
                ack: Ack::default(),
                message: Message::Hello { needs_new_epoch },
            }))
        };
        assert_ne!(says(true), says(false));
        assert_eq!(says(true), says(true));
    }
}
