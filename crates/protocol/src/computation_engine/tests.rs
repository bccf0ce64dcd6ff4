//! Order of work: after an epoch that ended in the middle, by windows, on several cores, and with
//! the alternatives of the paper.

mod ahead;

use std::sync::Arc;

use super::*;
use crate::config::{Config, Handover, Route, of_two};
use crate::ids::{Bytes, Cell, Epoch, Generation, Kind};
use crate::messages::{Effect, Envelope};
use crate::payload::Buffer;
use crate::placement::{Placement, vertex_engine};
use crate::steal::{Bias, Remaining};
use crate::window::{Places, Width};
use crate::work::{Filled, Rewritten};

fn begin(phase: Phase) -> Begin {
    Begin {
        step: Step { iteration: 0, phase },
        control: Bytes::from([]),
        made: Epoch::default(),
        generation: Generation::default(),
        rewrites: false,
        edges_only: false,
        active: Arc::from([1; 2]),
        committed: None,
    }
}

/// Works that the program is asked for since the last look, by their tokens.
fn works(cx: &mut Context) -> Vec<(u64, Work)> {
    let work = |effect| match effect {
        Effect::Work { token, work, .. } => Some((token, work)),
        _ => None,
    };
    std::mem::take(&mut cx.effects).into_iter().filter_map(work).collect()
}

#[test]
fn work_of_a_new_epoch_waits_for_that_of_the_one_before() {
    let mut cx = Context::new(Arc::new(of_two()), 0, 1);
    let mut engine = ComputationEngine::new(&cx);
    engine.begin(&mut cx, begin(Phase::Ingest));
    let [(old, Work::Ingest { first: true })] = works(&mut cx)[..] else {
        panic!("the first piece is read");
    };
    cx.enter(Epoch { coordinator: 1, count: 2 });
    engine.leave_epoch(&cx);
    engine.begin(&mut cx, begin(Phase::Ingest));
    assert!(works(&mut cx).is_empty(), "the program is at the old piece");
    cx.works.ended(old);
    let outcome = Outcome::Ingested { read: 9, filled: Vec::new(), degrees: None };
    engine.done(&mut cx, old, outcome);
    let [(_, Work::Ingest { first: true })] = works(&mut cx)[..] else {
        panic!("the first piece is read, of the new epoch");
    };
    assert_eq!(engine.worked.made, 0, "what came of the old one counts for nothing");
}

/// Messages to any machine since the last look.
fn said(cx: &mut Context) -> Vec<Message> {
    let sent = |effect| match effect {
        Effect::Send(Envelope { message, .. }) => Some(message),
        _ => None,
    };
    let others = std::mem::take(&mut cx.effects).into_iter().filter_map(sent);
    std::mem::take(&mut cx.local).into_iter().chain(others).collect()
}

/// Chunks of vertices that are asked for since the last look.
fn gets(cx: &mut Context) -> Vec<BlockName> {
    let get = |message| match message {
        Message::Get(name) => Some(name),
        _ => None,
    };
    said(cx).into_iter().filter_map(get).collect()
}

#[test]
fn vertex_sets_are_asked_for_by_the_window() {
    // 32 vertices, four a chunk; a window is as wide as there are machines, at most.
    for (width, window) in [(1, 1), (2, 2), (9, 2)] {
        let config = Config { chunk_vertices: 4, width: Width::Forced(width), ..of_two() };
        let mut cx = Context::new(Arc::new(config), 0, 1);
        let mut engine = ComputationEngine::new(&cx);
        engine.begin(&mut cx, begin(Phase::Gather));
        let mut open = gets(&mut cx);
        let mut all = open.clone();
        assert_eq!(open.len(), window, "at the beginning");
        while let Some(name) = open.pop() {
            engine.got(&mut cx, name, Payload::default());
            engine.got(&mut cx, name, Payload::default());
            if all.len() == 8 && open.is_empty() {
                break;
            }
            let more = gets(&mut cx);
            assert_eq!(more.len(), usize::from(all.len() < 8), "one for each that came");
            all.extend(&more);
            open.extend(more);
        }
        all.sort_unstable();
        assert_eq!(
            all.iter().map(|name| name.number).collect::<Vec<_>>(),
            (0..8).collect::<Vec<_>>()
        );
        let [(_, Work::Open { ref vertices, .. })] = works(&mut cx)[..] else {
            panic!("it opens when all are there");
        };
        assert_eq!(vertices.len(), 8);
    }
}

/// An engine that has nothing left, and one that has.
const NONE: Stock = Stock { more: false, left: None, cells: Vec::new() };
const MORE: Stock = Stock { more: true, left: None, cells: Vec::new() };

/// A chunk for partition 0, as it comes with a pull.
fn chunk(number: u64) -> (Block, Payload, [Time; 2]) {
    let name = BlockName::of_edges(number);
    (Block::of(name, 1, 1, &Payload::default()), Payload::default(), [0, 1])
}

#[test]
fn as_many_chunks_are_streamed_at_a_time_as_there_are_cores_for() {
    const CHUNKS: u64 = 5;
    for streams in [0, 1, 2, 3, 9] {
        let config = Config { streams, width: Width::Forced(2), ..of_two() };
        let mut cx = Context::new(Arc::new(config), 0, 1);
        let mut engine = ComputationEngine::new(&cx);
        engine.begin(&mut cx, begin(Phase::Scatter));
        for name in gets(&mut cx) {
            engine.got(&mut cx, name, Payload::default());
        }
        let [(token, Work::Open { .. })] = works(&mut cx)[..] else { panic!("it opens") };
        engine.done(&mut cx, token, Outcome::Opened);
        let step = Step { iteration: 0, phase: Phase::Scatter };
        let pull =
            Pull { step, cell: Cell::all(0), generation: 0, active: 1, sent: 0, lists: false };
        let mut at_work = Vec::new();
        for number in 0..CHUNKS {
            engine.pulled(&mut cx, number as Rank % 2, pull, Some(chunk(number)), &MORE);
            at_work.extend(works(&mut cx));
        }
        assert_eq!(at_work.len(), streams.clamp(1, CHUNKS as usize), "{streams} streams");
        for left in (0..CHUNKS).rev() {
            let (token, work) = at_work.remove(0);
            assert!(matches!(work, Work::Stream { .. }), "nothing else while chunks are streamed");
            let (rewritten, filled) = (Rewritten::Not, Vec::new());
            let outcome = Outcome::Streamed { made: 0, gathered: 0, rewritten, filled };
            engine.done(&mut cx, token, outcome);
            // An engine that is asked again has none.
            engine.pulled(&mut cx, 0, pull, None, &NONE);
            engine.pulled(&mut cx, 1, pull, None, &NONE);
            at_work.extend(works(&mut cx));
            assert!(!at_work.is_empty(), "{left} are left, and then the flush");
        }
        assert!(matches!(at_work[..], [(_, Work::Flush)]), "{streams} streams: {at_work:?}");
        assert_eq!(engine.worked.consumed.count, CHUNKS);
    }
}

#[test]
fn checksums_are_those_that_the_program_made() {
    let mut cx = Context::new(Arc::new(Config { carries: true, ..of_two() }), 0, 1);
    let mut engine = ComputationEngine::new(&cx);
    let payload = Buffer::from([1, 2, 3]).with(7);
    let filled = Filled {
        partition: 1,
        source: None,
        records: 1,
        combined: 0,
        sources: 1,
        payload: payload.clone(),
    };
    let step = Step { iteration: 0, phase: Phase::Gather };
    let ingest = Step { iteration: 0, phase: Phase::Ingest };
    engine.store_edges(&mut cx, ingest, vec![filled.clone()]);
    engine.store_updates(&mut cx, step, vec![filled]);
    engine.store_vertices(&mut cx, step, 1, vec![payload]);
    let hash = |message| match message {
        Message::Store { block, .. } => Some((block.bytes, block.hash)),
        _ => None,
    };
    let stored: Vec<_> = said(&mut cx).into_iter().filter_map(hash).collect();
    assert_eq!(stored, [(3, 7); 3], "no byte is looked at in a step");
}

/// An engine of this configuration that is ready to stream its own partition.
fn opened(config: Config, phase: Phase) -> (Context, ComputationEngine) {
    let mut cx = Context::new(Arc::new(config), 0, 1);
    let mut engine = ComputationEngine::new(&cx);
    engine.begin(&mut cx, begin(phase));
    for name in gets(&mut cx) {
        engine.got(&mut cx, name, Payload::default());
    }
    let [(token, Work::Open { .. })] = works(&mut cx)[..] else { panic!("it opens") };
    engine.done(&mut cx, token, Outcome::Opened);
    (cx, engine)
}

fn streamed() -> Outcome {
    Outcome::Streamed { made: 0, gathered: 0, rewritten: Rewritten::Not, filled: Vec::new() }
}

#[test]
fn masters_are_interrupted_between_chunks_if_at_all() {
    let pull = Pull {
        step: Step { iteration: 0, phase: Phase::Gather },
        cell: Cell::all(0),
        generation: 0,
        active: u64::MAX,
        sent: 0,
        lists: false,
    };
    for (handover, is_interrupted) in [(Handover::Memory, false), (Handover::Interrupt, true)] {
        let (mut cx, mut engine) = opened(Config { handover, ..of_two() }, Phase::Gather);
        let left = Remaining { bytes: 1 << 20, cells: 1, sources: 32 };
        engine.proposal(&mut cx, 1, (pull.step, 0), left);
        engine.pulled(&mut cx, 0, pull, Some(chunk(0)), &MORE);
        let [(token, Work::Stream { .. })] = works(&mut cx)[..] else { panic!("it streams") };
        engine.accumulators(&mut cx, 1, 0, Payload::from([7]));
        engine.pulled(&mut cx, 1, pull, Some(chunk(1)), &MORE);
        assert!(works(&mut cx).is_empty(), "not beside a chunk");
        engine.done(&mut cx, token, streamed());
        let [(token, ref next)] = works(&mut cx)[..] else { panic!("it goes on") };
        assert_eq!(matches!(next, Work::Merge(_)), is_interrupted, "{handover:?}");
        engine.done(&mut cx, token, if is_interrupted { Outcome::Merged } else { streamed() });
        let goes_on = works(&mut cx);
        assert_eq!(matches!(goes_on[..], [(_, Work::Stream { .. })]), is_interrupted);
    }
}

#[test]
fn a_directory_is_asked_for_vertices_too() {
    let config = Config { placement: Placement::Directory, width: Width::Forced(2), ..of_two() };
    let mut cx = Context::new(Arc::new(Config { chunk_vertices: 16, ..config }), 0, 1);
    let mut engine = ComputationEngine::new(&cx);
    engine.begin(&mut cx, begin(Phase::Gather));
    let places: Vec<BlockName> = said(&mut cx)
        .into_iter()
        .map(|message| match message {
            Message::Place(name) => name,
            other => panic!("{other:?} before the directory has answered"),
        })
        .collect();
    assert_eq!(places.len(), 2);
    for name in places {
        engine.placed(&mut cx, name, vertex_engine(2, name.partition, name.number));
        assert_eq!(gets(&mut cx), [name]);
    }
    engine.store_vertices(
        &mut cx,
        Step { iteration: 0, phase: Phase::Gather },
        0,
        vec![Payload::default()],
    );
    let [Message::Place(name)] = said(&mut cx)[..] else { panic!("it asks where to store it") };
    engine.placed(&mut cx, name, 1);
    assert!(matches!(said(&mut cx)[..], [Message::Store { .. }]));
}

#[test]
fn nobody_proposes_help_where_partitions_are_static() {
    for (bias, proposes) in [(Bias::NEVER, false), (Bias::PAPER, true), (Bias::Always, true)] {
        let (mut cx, mut engine) = opened(Config { bias, ..of_two() }, Phase::Scatter);
        let step = Step { iteration: 0, phase: Phase::Scatter };
        let pull =
            Pull { step, cell: Cell::all(0), generation: 0, active: 1, sent: 0, lists: false };
        for _ in 0..2 {
            engine.pulled(&mut cx, 0, pull, None, &NONE);
            engine.pulled(&mut cx, 1, pull, None, &NONE);
        }
        let [(token, Work::Flush)] = works(&mut cx)[..] else { panic!("nothing is left") };
        engine.done(&mut cx, token, Outcome::Flushed { filled: Vec::new(), rewritten: Vec::new() });
        let messages = said(&mut cx);
        let count = messages.iter().filter(|one| matches!(one, Message::Propose { .. })).count();
        assert_eq!(count, usize::from(proposes), "{bias:?}");
        let arrives = messages.iter().any(|one| matches!(one, Message::Arrive { .. }));
        assert_eq!(arrives, !proposes, "{bias:?}");
    }
}

/// A chunk of one update for partition 1.
fn filled() -> Vec<Filled> {
    let (records, combined, sources) = (1, 0, u64::MAX);
    let payload = Payload::from([1; 8]);
    vec![Filled { partition: 1, source: None, records, combined, sources, payload }]
}

#[test]
fn what_is_carried_is_flushed_told_in_parts_and_gathered_one_iteration_later() {
    let step = Step { iteration: 0, phase: Phase::Gather };
    let pull =
        Pull { step, cell: Cell::all(0), generation: 0, active: u64::MAX, sent: 0, lists: false };
    for carries in [false, true] {
        // A window of one byte: what was sent must be stored before more is.
        let config = Config { carries, store_window_bytes: 1, ..of_two() };
        let (mut cx, mut engine) = opened(config, Phase::Gather);
        for _ in 0..2 {
            engine.pulled(&mut cx, 0, pull, None, &NONE);
            engine.pulled(&mut cx, 1, pull, None, &NONE);
        }
        let [(token, ref work)] = works(&mut cx)[..] else { panic!("nothing is left") };
        assert_eq!(matches!(work, Work::Flush), carries, "{work:?}");
        if !carries {
            assert!(matches!(work, Work::Apply), "{work:?}");
            continue;
        }
        let mut token = token;
        for part in 0..3 {
            let (made, filled) = (1, filled());
            let outcome = match part {
                0 => Outcome::Flushed { filled, rewritten: Vec::new() },
                _ => Outcome::Applied { made, filled },
            };
            engine.done(&mut cx, token, outcome);
            let effects = std::mem::take(&mut cx.effects);
            let stored = |effect: &Effect| match effect {
                Effect::Send(Envelope { message: Message::Store { block, .. }, .. }) => {
                    Some(block.name)
                }
                _ => None,
            };
            let mut local = std::mem::take(&mut cx.local).into_iter();
            let local = local.find_map(|message| match message {
                Message::Store { block, .. } => Some(block.name),
                _ => None,
            });
            let name = effects.iter().find_map(stored).or(local).expect("it is stored");
            assert_eq!((name.kind, name.iteration), (Kind::Updates, 1), "part {part}");
            cx.effects.extend(effects);
            let early = works(&mut cx);
            assert_eq!(early.len(), usize::from(part == 0), "applying begins, and waits then");
            engine.stored(&mut cx, 0, name);
            let next = early.into_iter().chain(works(&mut cx)).collect::<Vec<_>>();
            let [(next, Work::Apply)] = next[..] else { panic!("{next:?} after part {part}") };
            token = next;
        }
        assert_eq!((engine.worked.made, engine.worked.stored), (2, 3));
    }
}

#[test]
fn the_next_cell_is_asked_for_when_all_are_for_the_one_at_work() {
    let config = Config { route: Route::Fold, width: Width::Forced(2), ..of_two() };
    let (mut cx, mut engine) = opened(config, Phase::Fold);
    let step = Step { iteration: 0, phase: Phase::Fold };
    let pull = |source| {
        let cell = Cell { partition: 0, source: Some(source) };
        Pull { step, cell, generation: 0, active: 1, sent: 0, lists: false }
    };
    engine.pulled(&mut cx, 0, pull(0), Some(chunk(0)), &MORE);
    for name in gets(&mut cx) {
        engine.got(&mut cx, name, Payload::default());
    }
    let [(token, Work::Turn { source: 0, .. })] = works(&mut cx)[..] else { panic!("it turns") };
    engine.done(&mut cx, token, Outcome::Turned);
    let [(token, Work::Stream { .. })] = works(&mut cx)[..] else { panic!("it streams") };
    said(&mut cx);
    // Two pulls are open, for this cell; each that ends makes room for one for the next.
    for engine_of_none in [1, 0] {
        engine.pulled(&mut cx, engine_of_none, pull(0), None, &NONE);
        let pulls: Vec<Cell> = said(&mut cx)
            .into_iter()
            .map(|message| match message {
                Message::Pull(pull) => pull.cell,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(pulls, [pull(1).cell]);
    }
    engine.pulled(&mut cx, 1, pull(1), Some(chunk(1)), &MORE);
    for name in gets(&mut cx) {
        assert_eq!(name.partition, 1, "signals of the next cell");
        engine.got(&mut cx, name, Payload::default());
    }
    assert!(works(&mut cx).is_empty(), "a chunk of the first cell is being streamed");
    engine.done(&mut cx, token, streamed());
    let [(token, Work::Turn { source: 1, .. })] = works(&mut cx)[..] else {
        panic!("its signals are there")
    };
    engine.done(&mut cx, token, Outcome::Turned);
    assert!(matches!(works(&mut cx)[..], [(_, Work::Stream { .. })]), "and so is its chunk");
    assert_eq!(cx.counters.get(Path::LookedAhead), 1);
}

#[test]
fn who_has_told_of_its_cells_is_asked_for_no_other() {
    let config = Config { route: Route::Fold, width: Width::Forced(2), ..of_two() };
    let (mut cx, mut engine) = opened(config, Phase::Fold);
    let step = Step { iteration: 0, phase: Phase::Fold };
    let pull = |source, lists| {
        let cell = Cell { partition: 0, source: Some(source) };
        Pull { step, cell, generation: 0, active: 1, sent: 0, lists }
    };
    let pulls = |cx: &mut Context| -> Vec<(Cell, bool)> {
        let pull = |message| match message {
            Message::Pull(pull) => Some((pull.cell, pull.lists)),
            _ => None,
        };
        said(cx).into_iter().filter_map(pull).collect()
    };
    // Both are asked for the first cell when it opens, and to list them. One has only the second.
    said(&mut cx);
    engine.pulled(&mut cx, 1, pull(0, true), None, &Stock { cells: vec![1], ..NONE });
    assert_eq!(pulls(&mut cx).len(), 1, "one of the two, for the next cell");
    // The other one has none of the second.
    engine.pulled(&mut cx, 0, pull(0, true), None, &NONE);
    let again = pulls(&mut cx);
    assert!(again.iter().all(|(cell, _)| *cell == pull(1, false).cell), "{again:?}");
    let asked = |engine: &ComputationEngine| {
        let task = engine.task.as_ref().unwrap();
        let nine = Places { asked: 9, all: 9, each: 1 };
        (task.source, 9 - task.pulls.left_of(nine).all)
    };
    assert_eq!(asked(&engine).0, Some(1), "the first cell has ended, and nothing is loaded");
    assert!(asked(&engine).1 >= 1);
    assert_eq!(cx.counters.get(Path::LookedAhead), 1);
}

/// Machines that are asked for chunks since the last look, and works by their tokens.
fn asked(cx: &mut Context) -> (Vec<Rank>, Vec<(u64, Work)>) {
    let own = std::mem::take(&mut cx.local).into_iter();
    let own = own.filter(|message| matches!(message, Message::Pull(_)));
    let (mut ranks, mut works): (Vec<Rank>, _) = (own.map(|_| 0).collect(), Vec::new());
    for effect in std::mem::take(&mut cx.effects) {
        match effect {
            Effect::Send(Envelope { to, message: Message::Pull(_), .. }) => ranks.push(to),
            Effect::Work { token, work, .. } => works.push((token, work)),
            _ => {}
        }
    }
    (ranks, works)
}

#[test]
fn who_helps_takes_no_more_than_it_may_hand_over() {
    const LEFT: u64 = 6;
    let step = Step { iteration: 0, phase: Phase::Gather };
    for (kept_updates_max, stolen, expected) in [
        (4, true, 2),
        (5, true, 2),
        (6, true, 3),
        (1, true, 1),
        (4, false, LEFT),
        (u64::MAX, true, LEFT),
    ] {
        let config = Config { kept_updates_max, width: Width::Forced(2), ..of_two() };
        let (mut cx, mut engine) = opened(config, Phase::Gather);
        let partition = u32::from(stolen);
        let cell = Cell::all(partition);
        let pull = Pull { step, cell, generation: 0, active: u64::MAX, sent: 0, lists: false };
        if stolen {
            said(&mut cx);
            engine.take_up(&mut cx, partition, true);
            for name in gets(&mut cx) {
                engine.got(&mut cx, name, Payload::default());
            }
            let [(token, Work::Open { .. })] = works(&mut cx)[..] else { panic!("it opens") };
            engine.done(&mut cx, token, Outcome::Opened);
        }
        let ((mut ranks, mut at_work), mut taken) = (asked(&mut cx), 0);
        while let Some(rank) = ranks.pop() {
            // A machine that has none left says so.
            let come = (taken < LEFT).then(|| chunk(taken));
            let stock = if come.is_some() { &MORE } else { &NONE };
            taken += u64::from(come.is_some());
            engine.pulled(&mut cx, rank, pull, come, stock);
            let (mut more, next) = asked(&mut cx);
            at_work.extend(next);
            while let Some((token, work)) = at_work.pop() {
                if matches!(work, Work::Stream { .. }) {
                    engine.done(&mut cx, token, streamed());
                    let (others, next) = asked(&mut cx);
                    more.extend(others);
                    at_work.extend(next);
                }
            }
            ranks.extend(more);
        }
        assert_eq!(taken, expected, "{kept_updates_max} updates, stolen: {stolen}");
        let stage = engine.task.as_ref().map(|task| task.stage);
        let ended = if stolen { Stage::Waiting } else { Stage::Applying };
        assert_eq!(stage, Some(ended), "nothing waits for chunks that others are left with");
    }
}
