//! Chunks that are damaged, forged, or of another cell, and columns that are too short: errors, and
//! nothing worse.

use std::sync::Arc;

use bytemuck::cast_slice;
use proptest::prelude::*;
use welter_algorithms::bp::Potential;
use welter_algorithms::{Bfs, SumProduct};
use welter_engine::EngineError;
use welter_engine::chunks::{
    Cell, Column, DecodeBuffers, EdgeWriter, ExtendedKernel, FoldKernel, Form, Kernel, Sources,
    UpdateKey, UpdateKind, Vertices, init, open_updates, write_updates,
};
use welter_model::stream::Edge;
use welter_store::ChunkBuilder;
use welter_store::header::{CellId, Encoding, Label};
use welter_store::weights::WeightKind;
use welter_testing::graph::Graph;
use welter_testing::strategies::dense_graphs;

use crate::cluster::{GraphCut, aligned, chunks, ways};

proptest! {
    #[test]
    fn damaged_chunks_are_errors(
        graph in dense_graphs(70, 300), way in ways(), bit: prop::sample::Index, weighted: bool,
    ) {
        for (cell, chunks) in chunks(&graph, way, weighted) {
            for mut bytes in chunks {
                let bits = 64 * bytes.len();
                let bit = bit.index(bits);
                bytes[bit / 64] ^= 1 << (bit % 64);
                let error = cell.open(cast_slice(&bytes)).unwrap_err();
                prop_assert!(matches!(error, EngineError::Pulled { .. }), "{error}");
                let short = &cast_slice(&bytes)[..bit / 8];
                prop_assert!(cell.open(short).is_err());
            }
        }
    }

    /// Forgers of a chunk can sum it too.
    #[test]
    fn keys_that_lead_outside_are_errors(
        mut keys in prop::collection::vec(prop_oneof![0_u32..700, any::<u32>()], 1..60),
        tile_source in 0_u32..50, bounds in [1_u64..50, 1_u64..50], coded in 0..3_usize,
    ) {
        keys.sort_unstable();
        let id = CellId { source_partition: 1, stripe: 2 };
        let [sources, targets] = bounds;
        let cell = Cell { graph: 7, id, sources: 100..100 + sources, targets: 300..300 + targets };
        let target_bits = (u64::BITS - (targets - 1).leading_zeros()).max(1);
        let encoding = [Encoding::Packed, Encoding::Compressed, Encoding::Short][coded];
        let label = Label {
            graph: 7, generation: 0, cell: id, number: 0, source_base: 100, target_base: 300,
            target_bits, encoding, weights: WeightKind::None,
        };
        let mut builder = ChunkBuilder::new(false);
        builder.push(tile_source, &keys, &[], &label);
        let mut bytes = Vec::new();
        builder.finish(&label, &mut bytes);
        let bytes = aligned(&bytes);
        let pulled = cell.open(cast_slice(&bytes)).unwrap();
        let is_inside = keys.iter().all(|key| {
            let target = u64::from(key & ((1 << target_bits) - 1));
            u64::from(tile_source) + u64::from(key >> target_bits) < sources && target < targets
        });
        let scratch = &mut DecodeBuffers::default();
        let search = FoldKernel::of(Arc::new(Bfs::new(vec![0])));
        let signals = said(&Kernel::Fold(search.clone()), sources);
        let mut accums = Column::zeroed(targets as usize * search.shape().accum);
        let from = Sources { signals: &signals, active: None };
        prop_assert_eq!(pulled.fold(&search, from, &mut accums, scratch).is_ok(), is_inside);
        let put = |inside: &[u32], _: &[u8]| {
            assert!(inside.iter().all(|target| u64::from(*target) < targets));
        };
        prop_assert_eq!(pulled.scatter(&search, from, scratch, put).is_ok(), is_inside);
        let both = |source: u32, target: u32| {
            assert!(u64::from(source) < sources && u64::from(target) < targets);
        };
        prop_assert_eq!(pulled.pairs(scratch, both).is_ok(), is_inside);
        let potential = Potential::<2>::coupled(0.6).unwrap();
        let beliefs = SumProduct::<2, 1>::new(potential, 3, 0.0).unwrap();
        let beliefs = beliefs.with_priors(vec![[1.0, 1.0]; 50]);
        let beliefs = ExtendedKernel::of(Arc::new(beliefs));
        let ends = [sources, targets].map(|count| said(&Kernel::Extended(beliefs.clone()), count));
        let ends = [&*ends[0], &*ends[1]];
        let width = beliefs.shape().state;
        let mut states = Column::zeroed(keys.len() * width);
        let put = |inside: &[u32], _: &[u8]| {
            assert!(inside.iter().all(|target| u64::from(*target) < targets));
        };
        let extended = pulled.extend(&beliefs, ends, &mut states, scratch, put);
        prop_assert_eq!(extended.is_ok(), is_inside);
        for short in [width, width - 1] {
            let short = &mut states[short..];
            let shown = pulled.extend(&beliefs, ends, short, scratch, |_, _| {});
            prop_assert!(shown.is_err());
        }
    }

    #[test]
    fn damaged_updates_are_errors(
        records in prop::collection::vec((0_u32..9, any::<u64>()), 0..40), bit: prop::sample::Index,
    ) {
        let (targets, accums): (Vec<u32>, Vec<u64>) = records.into_iter().unzip();
        let at = UpdateKey::new(3, 1, 2);
        let accums = cast_slice(&accums);
        let mut bytes = aligned(&write_updates(8, (7, at), (&targets, accums), 99));
        let found = open_updates(8, (7, at), cast_slice(&bytes)).unwrap();
        prop_assert_eq!((found.targets, found.accums), (&targets[..], accums));
        prop_assert_eq!((found.key, found.updates), (at, 99));
        for other in [
            (8, at),
            (7, UpdateKey { iteration: 4, ..at }),
            (7, UpdateKey { stripe: 0, ..at }),
            (7, UpdateKey { kind: UpdateKind::Rows, ..at }),
        ] {
            prop_assert!(open_updates(8, other, cast_slice(&bytes)).is_err());
        }
        prop_assert!(open_updates(4, (7, at), cast_slice(&bytes)).is_err());
        let bit = bit.index(64 * bytes.len());
        // Aligned as no column is.
        let mut moved = vec![0];
        moved.extend(&bytes);
        let moved = &cast_slice::<u64, u8>(&moved)[7..];
        prop_assert!(open_updates(8, (7, at), &moved[..8 * bytes.len()]).is_err());
        bytes[bit / 64] ^= 1 << (bit % 64);
        prop_assert!(open_updates(8, (7, at), cast_slice(&bytes)).is_err());
        prop_assert!(open_updates(8, (7, at), &cast_slice(&bytes)[..bit / 8]).is_err());
    }
}

/// Signals of `count` vertices.
fn said(kernel: &Kernel, count: u64) -> Column {
    let shape = *kernel.shape();
    let [mut values, mut signals] =
        [shape.value, shape.signal].map(|width| Column::zeroed(count as usize * width));
    let mut active = vec![1; if shape.capabilities.frontier { count as usize } else { 0 }];
    let columns = Vertices { values: &mut values, signals: &mut signals, active: &mut active };
    init(kernel, 0, &vec![1; count as usize], columns);
    signals
}

#[test]
fn columns_that_are_too_short_are_errors() {
    let graph = Graph::new(40, (0..40).map(|vertex| [vertex, 39 - vertex]).collect());
    for encoding in Encoding::ALL {
        let form = Form { encoding, block_bits: 3, tile_edges_least: 4 };
        let way = GraphCut { form, parts: [1, 1], chunk_edges: 100, spills: false };
        let (cell, chunks) = &chunks(&graph, way, false)[0];
        let pulled = cell.open(cast_slice(&chunks[0])).unwrap();
        let search = FoldKernel::of(Arc::new(Bfs::new(vec![0])));
        let scratch = &mut DecodeBuffers::default();
        for (sources, flags, targets, fits) in
            [(40_u64, 40, 40, true), (39, 40, 40, false), (40, 39, 40, false), (40, 40, 39, false)]
        {
            let signals = said(&Kernel::Fold(search.clone()), sources);
            let active = vec![1; flags];
            let from = Sources { signals: &signals, active: Some(&active) };
            let mut accums = Column::zeroed(targets * search.shape().accum);
            let folded = pulled.fold(&search, from, &mut accums, scratch);
            assert_eq!(folded.is_ok(), fits, "{sources} {flags} {targets}");
        }
        let narrow = Cell { targets: 0..64, ..cell.clone() };
        assert!(narrow.open(cast_slice(&chunks[0])).is_ok(), "as many bits");
        let others = [
            Cell { graph: 8, ..cell.clone() },
            Cell { targets: 0..65, ..cell.clone() },
            Cell { targets: 1..40, ..cell.clone() },
            Cell { sources: 1..40, ..cell.clone() },
            Cell { id: CellId { stripe: 1, ..cell.id }, ..cell.clone() },
        ];
        for other in others {
            assert!(other.open(cast_slice(&chunks[0])).is_err(), "{other:?}");
        }
    }
}

#[test]
fn edges_outside_their_cell_are_not_written() {
    let id = CellId { source_partition: 0, stripe: 0 };
    let mut writer = EdgeWriter::new(Form::usual(Encoding::Packed), false);
    let cell = Cell { graph: 7, id, sources: 4..8, targets: 0..8 };
    let mut write = |cell: &Cell, source, target| {
        writer.write(cell, 0, &[Edge { source, target, weight: 1.0 }]).map(<[u8]>::len)
    };
    assert!(write(&cell, 3, 7).is_ok());
    for [source, target] in [[4, 0], [8, 0], [0, 8]] {
        assert!(write(&cell, source, target).is_err());
    }
    let far = Cell { sources: 1 << 40..(1 << 40) + 4, ..cell.clone() };
    assert!(write(&far, 3, 7).is_ok() && write(&far, 4, 0).is_err());
    let wide = Cell { targets: 0..1 << 33, ..cell };
    assert!(write(&wide, 0, 0).is_err());
}
