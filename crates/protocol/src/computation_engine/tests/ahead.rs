//! Pulls of the cell at work and of those that come next, together.

use super::*;

/// Pulls since the last look: at whom, and of which sources.
fn pulls(cx: &mut Context) -> Vec<(Rank, Option<u32>)> {
    let sent = |effect| match effect {
        Effect::Send(Envelope { to, message, .. }) => Some((to, message)),
        _ => None,
    };
    let own = std::mem::take(&mut cx.local).into_iter().map(|message| (0, message));
    let others = std::mem::take(&mut cx.effects).into_iter().filter_map(sent);
    let pull = |(to, message): (Rank, Message)| match message {
        Message::Pull(pull) => Some((to, pull.cell.source)),
        _ => None,
    };
    own.chain(others).filter_map(pull).collect()
}

#[test]
fn an_engine_that_has_more_is_asked_again_beside_pulls_of_the_next_cell() {
    // Three pulls in all, and up to four at an engine.
    let (route, width) = (Route::Fold, Width::Forced(3));
    let config = Config { route, width, streams: 8, depth: 4, ..of_two() };
    let (mut cx, mut engine) = opened(config, Phase::Fold);
    let step = Step { iteration: 0, phase: Phase::Fold };
    let pull = |source| {
        let cell = Cell { partition: 0, source: Some(source) };
        Pull { step, cell, generation: 0, active: 1, sent: 0, lists: false }
    };
    let first = pulls(&mut cx);
    let ahead = first.iter().find(|(_, source)| *source == Some(1));
    let &(of_next, _) = ahead.expect("both engines are asked, and the next cell comes");
    assert_eq!(first.len(), 3, "{first:?}");
    // The answer opens one pull in its place, though its engine may have four.
    engine.pulled(&mut cx, 0, pull(0), Some(chunk(0)), &MORE);
    assert_eq!(pulls(&mut cx), [(0, Some(0))]);
    // The place that the next cell leaves is for the cell at work.
    engine.pulled(&mut cx, of_next, pull(1), None, &NONE);
    assert_eq!(pulls(&mut cx), [(0, Some(0))]);
    assert_eq!(cx.counters.get(Path::AskedAgain), 1);
    // Nothing is left but pulls that are open, and the next cell comes again.
    engine.pulled(&mut cx, 0, pull(0), None, &NONE);
    assert_eq!(pulls(&mut cx), [(1 - of_next, Some(1))]);
}
