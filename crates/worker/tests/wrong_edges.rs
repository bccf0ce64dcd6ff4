//! Edges that lead to no vertex, and chunks of rewritten edges that are of another cell, or have
//! another number of edges.

use std::sync::Arc;

use welter_algorithms::{Bfs, LocalContraction};
use welter_engine::chunks::{FoldKernel, Kernel};
use welter_protocol::config::Route;
use welter_protocol::ids::{Block, BlockName, Epoch, Kind, Phase, Role, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::{Payload, Work};
use welter_store::header::Encoding;
use welter_worker::{ContractWorker, InputEdge, KernelWorker, Listed, Partitioning, Worker};

const GRAPH: u64 = 7;

/// Three partitions of fourteen vertices each.
fn cut() -> Partitioning {
    Partitioning {
        partitions: Partitions::fitting(1, 42, 1, 15).expect("a vertex fits"),
        route: Route::Fold,
        encoding: Encoding::Compressed,
        chunk_records: 20,
        bin_chunks: 1,
        chunk_vertices: 4,
        piece_edges: 50,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 2,
        combines: true,
    }
}

#[test]
fn edges_of_no_vertex_are_errors() {
    let kernel = Kernel::Fold(FoldKernel::of(Arc::new(Bfs::new(vec![0]))));
    for (source, target, is_one) in [(0, 41, true), (42, 0, false), (0, 42, false)] {
        let input = Listed::new(vec![InputEdge { source, target, weight: 1.0 }]);
        let worker = KernelWorker::new(kernel.clone(), cut(), GRAPH, Box::new(input));
        let mut worker = worker.expect("numbers fit");
        assert_eq!(worker.work(&Work::Ingest { first: true }).is_ok(), is_one);
    }
}

#[test]
fn rewritten_edges_of_another_cell_or_number_are_errors() {
    let input = Listed::new(Vec::new());
    let program = Arc::new(LocalContraction::new(1));
    let worker = ContractWorker::new(program, cut(), GRAPH, Box::new(input));
    let mut worker = worker.expect("numbers fit");
    let step = Step { iteration: 1, phase: Phase::Fold };
    // Fourteen vertices of four numbers each; a total of two.
    let vertices = vec![Payload::from([0; 14 * 16])];
    let open =
        Work::Open { step, partition: 0, vertices: vertices.clone(), control: [0; 16].into() };
    assert!(worker.work(&open).is_ok());
    assert!(worker.work(&Work::Turn { source: 0, vertices }).is_ok());
    let mut stream = |records, edges: &[u32], bytes: usize| {
        let payload: Vec<u8> = edges.iter().flat_map(|number| number.to_le_bytes()).collect();
        let payload = Payload::from(payload[..bytes].to_vec());
        let name = BlockName {
            kind: Kind::Edges,
            role: Role::Primary,
            epoch: Epoch::default(),
            iteration: 1,
            partition: 0,
            source: Some(0),
            number: 0,
        };
        let block = Block::of(name, records, u64::MAX, &payload);
        worker.work(&Work::Stream { block, payload })
    };
    let edges = [1, 2, 0, 13, 3, 0];
    assert!(stream(2, &edges, 24).is_ok());
    for (records, bytes) in [(2, 23), (2, 12), (2, 0), (1, 24), (3, 24)] {
        assert!(stream(records, &edges, bytes).is_err(), "{bytes} bytes of {records} edges");
    }
    for foreign in [[14, 2, 0], [1, 14, 0]] {
        assert!(stream(1, &foreign, 12).is_err(), "{foreign:?}");
    }
}
