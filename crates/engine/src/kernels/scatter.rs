//! Scatter: edges and accumulators make records, which a [sink](crate::kernels::sink) keeps.

use welter_model::program::Program;
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::kernels::kernel::{Coding, DecodeBuffers, Sources};
use crate::kernels::keys::{ColumnLengths, Keys, Reach, Width};
use crate::kernels::seam::elements_mut;
use crate::kernels::sink::{Room, Sink};

/// Puts a record of the update of each edge of a tile into a sink: the update, or the accumulator
/// that has met it alone. Keys are compared with columns that are short, run by run.
pub(crate) fn scatter<P: Program>(
    program: &P,
    (tile, coding, short): (&Tile<'_>, Coding, Option<&ColumnLengths>),
    sources: Sources<'_, P::Signal>,
    scratch: &mut DecodeBuffers,
    sink: &mut dyn Sink,
) -> Result<(), EngineError> {
    let mut done = Ok(());
    coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
        if done.is_ok() {
            let bits = coding.target_bits;
            let keys = short.map_or_else(|| Width.hold(keys, bits), |short| short.hold(keys, bits));
            done = scatter_run(program, (keys, weights), sources, sink);
        }
    });
    done
}

fn scatter_run<P: Program>(
    program: &P,
    (keys, weights): (Keys<'_>, Option<&[f64]>),
    sources: Sources<'_, P::Signal>,
    sink: &mut dyn Sink,
) -> Result<(), EngineError> {
    let (mut first, count) = (0, keys.keys().len());
    while first < count {
        let run = match sink.room(count - first)? {
            Room::Run(run) => run,
            Room::Groups(groups) => {
                groups.put_keys(program, keys.part(first..count), weights, sources);
                return Ok(());
            }
        };
        let part = first..count.min(first + run.targets.len());
        first = part.end;
        let weights = weights.map(|weights| &weights[part.clone()]);
        let (edges, targets) = ((keys.part(part), weights), run.targets);
        let made = if P::COMBINABLE {
            let record = |update| program.gather(program.identity(), update);
            records(program, edges, sources, targets, elements_mut(run.records), record)
        } else {
            records(program, edges, sources, targets, elements_mut(run.records), |update| update)
        };
        sink.keep(made)?;
    }
    Ok(())
}

/// Makes records of the updates of edges, and says how many.
#[inline(always)]
fn records<P: Program, R>(
    program: &P,
    (keys, weights): (Keys<'_>, Option<&[f64]>),
    sources: Sources<'_, P::Signal>,
    targets: &mut [u32],
    records: &mut [R],
    record: impl Fn(P::Update) -> R,
) -> usize {
    let (target_bits, mask) = (keys.target_bits(), keys.mask());
    let mut made = 0;
    for (edge, &key) in keys.keys().iter().enumerate() {
        let source = (key >> target_bits) as usize;
        if sources.active.is_some_and(|active| active[source] == 0) {
            continue;
        }
        let weight = weights.map_or(1.0, |weights| weights[edge]);
        if let Some(update) = program.scatter(sources.signals[source], weight) {
            (targets[made], records[made]) = (key & mask, record(update));
            made += 1;
        }
    }
    made
}

/// Puts accumulators that are not the identity into a sink, and makes them the identity.
pub(crate) fn drain<A: bytemuck::Pod + PartialEq>(
    accums: &mut [A],
    identity: A,
    sink: &mut dyn Sink,
) -> Result<(), EngineError> {
    let mut first = 0;
    while first < accums.len() {
        let run = sink.room(accums.len() - first)?.run()?;
        let records = elements_mut::<A>(run.records);
        let mut made = 0;
        for (target, accum) in accums.iter_mut().enumerate().skip(first) {
            if made == run.targets.len() {
                break;
            }
            first = target + 1;
            if *accum != identity {
                let record = std::mem::replace(accum, identity);
                (run.targets[made], records[made]) = (target as u32, record);
                made += 1;
            }
        }
        sink.keep(made)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
    use proptest::prelude::*;
    use welter_model::limit::Limit;
    use welter_model::program::{Applied, Next, Value, Vertex};
    use welter_model::table::ColumnData;
    use welter_store::header::Encoding;
    use welter_store::weights::WeightKind;

    use super::*;
    use crate::kernels::sink::RecordRun;

    #[derive(Clone, Copy, Pod, Zeroable)]
    #[repr(transparent)]
    struct Number(u64);

    impl Value for Number {
        fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
            vec![("number", ColumnData::U64(values.iter().map(|value| value.0).collect()))]
        }
    }

    /// Adds up what odd sources say. A record of this program is an accumulator: twice the update.
    struct OddSum;

    impl Program for OddSum {
        type Value = Number;
        type Signal = u64;
        type Update = u32;
        type Accum = u64;
        type Total = ();

        const WEIGHTED: bool = false;

        fn init(&self, vertex: Vertex) -> Applied<Number, ()> {
            Applied::active(Number(vertex.index), ())
        }
        fn signal(&self, value: &Number) -> u64 {
            value.0
        }
        fn scatter(&self, signal: u64, _: f64) -> Option<u32> {
            (signal % 2 == 1).then_some(signal as u32)
        }
        fn identity(&self) -> u64 {
            0
        }
        fn gather(&self, accum: u64, update: u32) -> u64 {
            accum + 2 * u64::from(update)
        }
        fn merge(&self, left: u64, right: u64) -> u64 {
            left + right
        }
        fn apply(&self, _: Number, accum: u64, (): &()) -> Applied<Number, ()> {
            Applied::active(Number(accum), ())
        }
        fn next(&self, _: u64, (): &()) -> Next {
            Next::Stop
        }
        fn limit(&self) -> Limit {
            Limit::Stated(1)
        }
    }

    /// Messages of a few records each, whose buffers are handed out to be filled.
    struct Messages {
        open: (Vec<u32>, Vec<u64>),
        filled: usize,
        sent: Vec<(u32, u64)>,
    }

    impl Messages {
        fn of(records: usize) -> Self {
            Self { open: (vec![7; records], vec![7; records]), filled: 0, sent: Vec::new() }
        }

        fn send(&mut self) {
            let (targets, records) = &self.open;
            let records = targets.iter().copied().zip(records.iter().copied());
            self.sent.extend(records.take(std::mem::take(&mut self.filled)));
        }
    }

    impl Sink for Messages {
        fn room(&mut self, most: usize) -> Result<Room<'_>, EngineError> {
            let (targets, records) = &mut self.open;
            let end = targets.len().min(self.filled + most);
            let targets = &mut targets[self.filled..end];
            let records = cast_slice_mut(&mut records[self.filled..end]);
            Ok(Room::Run(RecordRun { targets, records }))
        }

        fn keep(&mut self, count: usize) -> Result<(), EngineError> {
            self.filled += count;
            if self.filled == self.open.0.len() {
                self.send();
            }
            Ok(())
        }
    }

    const TARGET_BITS: u32 = 4;

    proptest! {
        #[test]
        fn all_records_are_kept_in_their_order_whatever_room_there_is(
            keys in prop::collection::vec(0_u32..1 << 8, 0..300),
            flags in prop::collection::vec(0_u8..2, 16),
            room in 1_usize..40,
        ) {
            let signals: Vec<u64> = (0..16).map(|source| source * 7 % 11).collect();
            let signals = &signals[..];
            let spoken = |key: u32| (key >> TARGET_BITS) as usize;
            let speaks = |key: &&u32| flags[spoken(**key)] != 0 && signals[spoken(**key)] % 2 == 1;
            let record = |key: &u32| (key & 15, 2 * signals[spoken(*key)]);
            let expected: Vec<_> = keys.iter().filter(speaks).map(record).collect();
            let tile =
                Tile { source: 0, edges: keys.len(), keys: cast_slice(&keys), weights: &[] };
            let (encoding, weights) = (Encoding::Packed, WeightKind::None);
            let coding = Coding { encoding, weights, target_bits: TARGET_BITS };
            let mut sink = Messages::of(room);
            let sources = Sources { signals, active: Some(&flags) };
            let edges = (&tile, coding, None);
            scatter(&OddSum, edges, sources, &mut DecodeBuffers::new(), &mut sink).unwrap();
            sink.send();
            prop_assert_eq!(sink.sent, expected);
        }

        #[test]
        fn accumulators_that_met_an_update_are_drained_once(
            accums in prop::collection::vec(prop_oneof![Just(0_u64), 1_u64..9], 0..300),
            room in 1_usize..40,
        ) {
            let touched = (0_u32..).zip(accums.iter().copied()).filter(|(_, accum)| *accum != 0);
            let expected: Vec<_> = touched.collect();
            let (mut accums, mut sink) = (accums, Messages::of(room));
            drain(&mut accums, 0, &mut sink).unwrap();
            sink.send();
            prop_assert_eq!(sink.sent, expected);
            prop_assert!(accums.iter().all(|accum| *accum == 0));
        }
    }
}
