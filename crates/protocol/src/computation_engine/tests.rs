//! What begins when, where an epoch has ended in the middle of something.

use std::sync::Arc;

use super::*;
use crate::config::of_two;
use crate::messages::Effect;
use crate::names::{Epoch, Generation};

fn begin(phase: Phase) -> Begin {
    Begin {
        step: Step { iteration: 0, phase },
        control: Payload::from([]),
        made: Epoch::default(),
        generation: Generation::default(),
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
