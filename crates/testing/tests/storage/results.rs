//! Results as files: the same bytes wherever values lie, and none where values are damaged.

use std::sync::Arc;

use welter_algorithms::LabelPropagation;
use welter_algorithms::bfs::BfsTree;
use welter_engine::EngineError;
use welter_model::table::{Column, Table, VertexColumn};
use welter_output::{OutputError, TableFormat, WriteRequests, write_table, write_table_to};
use welter_progress::FailureKind;
use welter_store::io::{Call, Fault};

use super::*;

const EDGES: u32 = 400_000;
const SLOTS: u32 = 200_000;

const FORMATS: [TableFormat; 5] = [
    TableFormat::Csv,
    TableFormat::Tsv,
    TableFormat::Parquet,
    TableFormat::Arrow,
    TableFormat::Npy,
];

/// Ids that edges name, by slot.
fn maps() -> [IdMap; 4] {
    let names: Vec<String> = (0..SLOTS).map(|slot| format!("vertex {slot:06}")).collect();
    [
        // About a tenth of the slots is named by no edge.
        IdMap::Same,
        IdMap::Offset(1),
        IdMap::Sparse((0..u64::from(SLOTS)).map(|slot| slot * 1_000_003).collect()),
        IdMap::Names(names.iter().map(String::as_str).collect()),
    ]
}

/// Runs a program, gives up the graph, and hands on what is left.
fn table<P: Program>(
    way: &Setup,
    ids: &IdMap,
    program: &P,
) -> Result<Table<welter_engine::Values<P::Value>>, EngineError> {
    let input: Box<dyn EdgeStream> = Box::new(edges(EDGES, SLOTS, false));
    let (progress, reading) = (Progress::new(), Reading::default());
    let shape = Shape {
        slots: SLOTS.into(),
        edges: EDGES.into(),
        weighted: false,
        estimated: false,
        input_bytes: 0,
    };
    let settings = Settings {
        threads: Some(way.threads),
        stripe_bits: Some(way.stripe_bits),
        storage: way.storage,
        // Level by level, values stay where they are.
        frontier: FrontierMode::Dense,
        ..Settings::default()
    };
    let plan = Plan::new(shape, Layout::of::<P>(), &settings, &MACHINE)?;
    let storage = Storage { directories: way.directories.clone(), io: way.io.clone() };
    let workers = Workers::new(plan.premises.threads)?.with_storage(storage);
    let graph = Graph::ingest(input, ids, reading, &plan, &workers, &progress)?;
    let values = welter_engine::run(&graph, program, &workers, &progress)?.values;
    Ok(Table { vertices: graph.into_vertex_column(ids.clone()), columns: values })
}

/// Table with everything in vectors.
fn plain<P: Program>(table: &Table<welter_engine::Values<P::Value>>) -> Table {
    let values = table.columns.whole().unwrap();
    let columns = <P::Value as welter_model::program::Value>::columns(&values).into_iter();
    let columns = columns.map(|(name, data)| Column { name: name.to_owned(), data }).collect();
    let vertices = match &table.vertices {
        marked @ VertexColumn::RankSelectBitmap(_) => {
            VertexColumn::Integers(marked.integers(0..marked.len()).unwrap().into_owned())
        }
        other => other.clone(),
    };
    Table { vertices, columns }
}

fn bytes(
    table: &Table<dyn welter_model::table::Columns>,
    format: TableFormat,
    threads: usize,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_table_to(table, &mut bytes, "out", format, threads, &Progress::new()).unwrap();
    bytes
}

fn same_files<P: Program>(program: &P) {
    let directory = folder();
    for ids in maps() {
        let resident = table(&Setup::memory(), &ids, program).unwrap();
        let plain = plain::<P>(&resident);
        for threads in [1, 3] {
            let way = Setup { threads, stripe_bits: 13, ..Setup::stored(0, &directory) };
            let stored = table(&way, &ids, program).unwrap();
            assert!(format!("{:?}", stored.columns).contains("storage"));
            for format in FORMATS {
                let expected = bytes(&plain, format, 2);
                assert!(bytes(&resident, format, threads) == expected, "{format}, in memory");
                assert!(bytes(&stored, format, threads) == expected, "{format}, on storage");
            }
        }
    }
    assert!(is_empty(directory.path()));
}

#[test]
fn ranks_are_the_same_files() {
    same_files(&PageRank::<f32>::new(u64::from(SLOTS), 0.85, 2, 0.0, Dangling::Spread));
}

#[test]
fn trees_are_the_same_files() {
    same_files(&BfsTree::new(vec![1]));
}

#[test]
fn labels_are_the_same_files() {
    same_files(&LabelPropagation);
}

/// Kind of what an output says of the reading of results.
fn kind(error: OutputError) -> FailureKind {
    let OutputError::Input(error) = error else { panic!("{error}") };
    error.downcast::<EngineError>().unwrap().kind()
}

#[test]
fn what_cannot_be_read_or_is_damaged_is_no_file() {
    let (scratch, output) = (folder_in_memory(), folder_in_memory());
    let program = PageRank::<f32>::new(u64::from(SLOTS), 0.85, 2, 0.0, Dangling::Spread);
    let stored = |faults: &Arc<Faults>| {
        let io = IoOptions { mode: IoMode::Blocking, ..IoOptions::default() };
        let way = Setup { threads: 1, io, ..Setup::stored(0, &scratch) }.with_faults(faults);
        table(&way, &IdMap::Same, &program).unwrap()
    };
    let write = |table: &Table<_>, name: &str| {
        let (path, usual) = (output.path().join(name), WriteRequests::default());
        write_table(table, &path, None, usual, 2, &Progress::new())
    };
    let none = Faults::nth_of(Call::Read, u64::MAX, Fault::Errno(5));
    let whole = stored(&none);
    let before = none.seen();
    write(&whole, "whole.csv").unwrap();
    let reads = none.seen() - before;
    // Two writers may read the stripe between them twice; each stripe is read once at least.
    assert!(reads >= 10, "{reads} reads");
    for (fault, expected) in
        [(Fault::FlipBit(77), FailureKind::Damaged), (Fault::Errno(5), FailureKind::Storage)]
    {
        for read in [1, 2, 10] {
            for format in FORMATS {
                let faults = Faults::nth_of(Call::Read, before + read, fault);
                let damaged = stored(&faults);
                assert!(!faults.fired());
                let error = write(&damaged, &format!("damaged.{format}")).unwrap_err();
                assert_eq!(kind(error), expected, "{format}, read {read}, {fault:?}");
            }
        }
    }
    assert_eq!(output.path().read_dir().unwrap().count(), 1);
}
