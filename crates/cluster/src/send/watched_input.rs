//! Inputs whose pieces are calls under way, so that one that is never read is noticed.

use std::sync::Arc;

use welter_engine::EngineError;
use welter_worker::{Input, InputEdge};

use super::MakeInput;
use super::calls::CallsUnderWay;

/// A share of the input, with the calls of its machine.
struct WatchedInput {
    share: Box<dyn Input>,
    calls: CallsUnderWay,
}

/// Makes shares as `input` does, whose pieces are entered in `calls`.
pub(super) fn watched(input: MakeInput, calls: CallsUnderWay) -> MakeInput {
    Arc::new(move |share| -> Box<dyn Input> {
        Box::new(WatchedInput { share: input(share), calls: calls.clone() })
    })
}

impl Input for WatchedInput {
    fn begin(&mut self) {
        self.share.begin();
    }

    fn piece(&mut self, edges_max: usize) -> Result<(&[InputEdge], bool), EngineError> {
        let _call = self.calls.input();
        self.share.piece(edges_max)
    }

    fn each(
        &mut self,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<(), EngineError> {
        let Self { share, calls } = self;
        share.each(edges_max, &mut between_calls(calls, visit))
    }

    fn sample(
        &mut self,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<u64, EngineError> {
        let Self { share, calls } = self;
        share.sample(edges_max, &mut between_calls(calls, visit))
    }
}

/// Visits edges, between one call and the next.
fn between_calls<'v>(
    calls: &'v CallsUnderWay,
    visit: &'v mut dyn FnMut(&[InputEdge]) -> bool,
) -> impl FnMut(&[InputEdge]) -> bool + 'v {
    let mut call = Some(calls.input());
    move |edges| {
        drop(call.take());
        let goes_on = visit(edges);
        call.replace(calls.input());
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// An input that looks at the calls of its machine when it is read, a day later.
    struct Looking(CallsUnderWay);

    impl Input for Looking {
        fn begin(&mut self) {}

        fn piece(&mut self, _: usize) -> Result<(&[InputEdge], bool), EngineError> {
            let day = Duration::from_hours(24);
            assert!(self.0.look(day, Duration::from_secs(30)).is_some());
            let none: &[InputEdge] = &[];
            Ok((none, true))
        }
    }

    #[test]
    fn a_piece_is_a_call_while_it_is_read() {
        let calls = CallsUnderWay::default();
        let of_looking = calls.clone();
        let looking =
            move |_: (usize, usize)| -> Box<dyn Input> { Box::new(Looking(of_looking.clone())) };
        let input = watched(Arc::new(looking), calls.clone());
        let mut share = input((0, 1));
        assert!(share.piece(9).unwrap().1);
        let mut visits = 0;
        let visit = &mut |_: &[InputEdge]| {
            assert_eq!(calls.look(Duration::from_hours(24), Duration::from_secs(30)), None);
            visits += 1;
            true
        };
        share.each(9, visit).unwrap();
        assert_eq!(share.sample(9, visit).unwrap(), 1);
        assert_eq!(visits, 2);
        assert_eq!(calls.look(Duration::from_hours(24), Duration::from_secs(30)), None);
    }
}
