//! The order of requests, and what is measured of them.

use std::sync::Arc;

use super::*;
use crate::block::Damage;
use crate::checkpoint::vertices;
use crate::config::{Config, Copies, VertexSets, of_two};
use crate::messages::{Envelope, Pull};
use crate::payload::Payload;

fn context() -> Context {
    context_of(1)
}

/// The context of a machine whose disk takes `depth` requests at a time.
fn context_of(depth: usize) -> Context {
    Context::new(Arc::new(Config { depth, ..of_two() }), 0, 1)
}

fn edges(number: u64) -> (Block, Payload) {
    let payload = Payload::from(number.to_le_bytes());
    let name = BlockName::of_edges(number);
    (Block::of(name, 1, u64::MAX, &payload), payload)
}

/// The one request to the device: its token, and whether it is a write.
fn asked(cx: &mut Context) -> (u64, bool) {
    let mut asked = std::mem::take(&mut cx.effects).into_iter().filter_map(|effect| match effect {
        Effect::Write { token, .. } => Some((token, true)),
        Effect::Read { token, .. } => Some((token, false)),
        _ => None,
    });
    let one = asked.next().expect("something is asked");
    assert_eq!(asked.next(), None, "and one thing at a time");
    one
}

#[test]
fn what_is_measured_as_service_has_no_wait_in_it() {
    let (mut cx, mut engine) = (context(), StorageEngine::default());
    let step = Step { iteration: 0, phase: Phase::Scatter };
    let pull =
        Pull { step, cell: Cell::all(0), generation: 0, active: u64::MAX, sent: 0, lists: false };
    let (first, second) = (edges(1), edges(2));
    // Two writes, and a read between them: of each the device needs ten.
    engine.store(&mut cx, 1, first.0, first.1.clone());
    engine.pull(&mut cx, 1, pull);
    engine.store(&mut cx, 1, second.0, second.1);
    let (token, writes) = asked(&mut cx);
    assert!(writes);
    cx.now = 10;
    assert_eq!(engine.written(&mut cx, token), None);
    let (token, writes) = asked(&mut cx);
    assert!(!writes, "who came first is served first");
    cx.now = 20;
    engine.read(&mut cx, token, Ok(first));
    let measured = cx.effects.iter().find_map(|effect| match effect {
        Effect::Send(envelope) => match envelope.message {
            Message::Chunk { queued, service, .. } => Some((queued, service)),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(measured, Some((10, 10)), "it waited for the write, and took as long itself");
    assert!(asked(&mut cx).1);
}

/// Chunks of vertices that are read, and how often it was said that there is no chunk.
fn at_once(cx: &mut Context) -> (Vec<BlockName>, usize) {
    let (mut reads, mut none) = (Vec::new(), 0);
    for effect in std::mem::take(&mut cx.effects) {
        match effect {
            Effect::Read { name, .. } if name.kind == Kind::Vertices => reads.push(name),
            Effect::Send(Envelope { message: Message::NoChunk { .. }, .. }) => none += 1,
            _ => {}
        }
    }
    (reads, none)
}

#[test]
fn what_needs_no_disk_has_no_turn_at_it() {
    let step = Step { iteration: 0, phase: Phase::Scatter };
    let pull =
        Pull { step, cell: Cell::all(0), generation: 0, active: u64::MAX, sent: 0, lists: false };
    let name = vertices(Epoch::default(), 0, 0, 0);
    for vertex_sets in [VertexSets::Disk, VertexSets::Memory] {
        let config = Config { vertex_sets, ..of_two() };
        let mut cx = Context::new(Arc::new(config), 0, 1);
        let mut engine = StorageEngine { step: Some(step), ..StorageEngine::default() };
        engine.keep_block(edges(1).0, false);
        engine.pull(&mut cx, 1, pull);
        let (token, _) = asked(&mut cx);
        // The disk has the last chunk.
        engine.pull(&mut cx, 1, pull);
        assert_eq!(at_once(&mut cx), (Vec::new(), 1));
        engine.get(&mut cx, 1, name);
        let are_held = vertex_sets == VertexSets::Memory;
        let held = if are_held { vec![name] } else { Vec::new() };
        assert_eq!(at_once(&mut cx), (held, 0));
        engine.read(&mut cx, token, Ok(edges(1)));
        let waited = if are_held { Vec::new() } else { vec![name] };
        assert_eq!(at_once(&mut cx), (waited, 0));
    }
}

#[test]
fn a_chunk_is_there_for_pulls_that_come_after_it() {
    let (mut cx, mut engine) = (context(), StorageEngine::default());
    let step = Step { iteration: 0, phase: Phase::Scatter };
    let pull =
        Pull { step, cell: Cell::all(0), generation: 0, active: u64::MAX, sent: 0, lists: false };
    let (block, payload) = edges(1);
    engine.store(&mut cx, 1, block, payload);
    engine.pull(&mut cx, 1, pull);
    let (token, _) = asked(&mut cx);
    engine.written(&mut cx, token);
    assert!(!asked(&mut cx).1, "it is read, though it was not there when it was asked for");
}

#[test]
fn what_remains_is_what_can_still_be_handed_out() {
    let (mut cx, mut engine) = (context(), StorageEngine::default());
    let step = Step { iteration: 0, phase: Phase::Scatter };
    // Chunk i has sources in range i alone; ranges 1 and 3 are active.
    for number in 0..4 {
        let (block, payload) = edges(number);
        engine.keep_block(Block { sources: 1 << number, ..block }, false);
        assert_eq!(payload.len(), 8);
    }
    assert_eq!(engine.remaining(&cx, step, 0), Remaining::default(), "the step has not begun");
    (engine.step, engine.active) = (Some(step), Arc::from([0b1010, 0]));
    assert_eq!(engine.remaining(&cx, step, 0), Remaining { bytes: 16, cells: 1, sources: 32 });
    let pull =
        Pull { step, cell: Cell::all(0), generation: 0, active: 0b1010, sent: 0, lists: false };
    for left in [8, 0] {
        engine.pull(&mut cx, 1, pull);
        let (token, _) = asked(&mut cx);
        assert_eq!(engine.remaining(&cx, step, 0).bytes, left);
        engine.read(&mut cx, token, Ok(edges(9)));
        let remainder = cx.effects.iter().find_map(|effect| match effect {
            Effect::Send(Envelope { message: Message::Chunk { stock, .. }, .. }) => stock.left,
            _ => None,
        });
        assert_eq!(remainder, Some(left), "and who gets a chunk is told so");
        cx.effects.clear();
    }
    let next = Step { iteration: 1, ..step };
    engine.step = Some(next);
    assert_eq!(engine.remaining(&cx, next, 0).bytes, 16, "another step begins anew");
}

#[test]
fn what_is_on_its_way_to_the_disk_when_an_epoch_ends_is_deleted() {
    let (mut cx, mut engine) = (context(), StorageEngine::default());
    let deleted = |cx: &mut Context| -> Vec<BlockName> {
        let deleted = |effect| match effect {
            Effect::Delete(name) => Some(name),
            _ => None,
        };
        std::mem::take(&mut cx.effects).into_iter().filter_map(deleted).collect()
    };
    let (first, second, third) = (edges(1), edges(2), edges(3));
    for (block, payload) in [first.clone(), second.clone(), third] {
        engine.store(&mut cx, 1, block, payload);
    }
    let (token, _) = asked(&mut cx);
    engine.written(&mut cx, token);
    cx.effects.clear();
    engine.leave_epoch(&mut cx);
    assert_eq!(deleted(&mut cx), [second.0.name], "the first is known, the third was not written");
    assert!(engine.blocks.contains_key(&first.0.name));
    // A block that is restored, on its way when the epoch ends, is restored again in the next one.
    let (block, payload) = second;
    engine.restore(&mut cx, block, payload.clone());
    cx.effects.clear();
    engine.leave_epoch(&mut cx);
    engine.restore(&mut cx, block, payload);
    let order: Vec<bool> =
        cx.effects.iter().map(|effect| matches!(effect, Effect::Delete(_))).collect();
    assert_eq!(order, [true, false], "the deletion is wanted before the new write");
}

/// Tokens of requests to the disk since the last look.
fn requests(cx: &mut Context) -> Vec<u64> {
    let request = |effect: &Effect| match effect {
        Effect::Read { token, .. } | Effect::Write { token, .. } => Some(*token),
        _ => None,
    };
    std::mem::take(&mut cx.effects).iter().filter_map(request).collect()
}

#[test]
fn a_disk_has_as_many_requests_at_a_time_as_it_wants() {
    for (depth, expected) in [(0, 1), (1, 1), (2, 2), (3, 3), (4, 4), (5, 4)] {
        let (mut cx, mut engine) = (context_of(depth), StorageEngine::default());
        for number in 0..4 {
            let (block, payload) = edges(number);
            engine.store(&mut cx, 1, block, payload);
        }
        let mut open = requests(&mut cx);
        assert_eq!(open.len(), expected, "depth {depth}");
        // Streams may end in any order; for each that does, another one begins.
        let mut begun = expected;
        while let Some(token) = open.pop() {
            engine.written(&mut cx, token);
            let more = requests(&mut cx);
            assert_eq!(more.len(), usize::from(begun < 4), "depth {depth}");
            begun += more.len();
            open.extend(more);
        }
        assert_eq!((begun, engine.blocks.len()), (4, 4));
    }
}

#[test]
fn the_end_of_copies_comes_after_all_of_them() {
    let config = Config { depth: 3, copies: Copies::BOTH, ..of_two() };
    let mut cx = Context::new(Arc::new(config), 0, 1);
    let mut engine = StorageEngine::default();
    let names = [edges(1), edges(2)].map(|(block, _)| block.name);
    for name in names {
        engine.service.ask(0, 1, RequestKind::Copy(name));
    }
    engine.service.ask(0, 1, RequestKind::CopiesEnd(Role::Primary, 2));
    engine.serve(&mut cx);
    let [first, second] = requests(&mut cx)[..] else { panic!("both are read at a time") };
    let answers = |cx: &mut Context| -> Vec<Option<u64>> {
        let answer = |effect| match effect {
            Effect::Send(Envelope { message: Message::CopiesEnd { count, .. }, .. }) => {
                Some(Some(count))
            }
            Effect::Send(Envelope { message: Message::Copied { .. }, .. }) => Some(None),
            _ => None,
        };
        std::mem::take(&mut cx.effects).into_iter().filter_map(answer).collect()
    };
    engine.read(&mut cx, second, Ok(edges(2)));
    assert_eq!(answers(&mut cx), [None], "the other may turn out to be none");
    engine.read(&mut cx, first, Err(Damage::Torn));
    assert_eq!(answers(&mut cx), [Some(1)], "and does");
}
