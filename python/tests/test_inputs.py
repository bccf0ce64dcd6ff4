"""One graph from every kind of input gives the same answers."""

from __future__ import annotations

import gzip

import duckdb
import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

import welter

#: Seven edges, one of them parallel, one a loop.
SOURCE = [0, 1, 2, 2, 3, 5, 5]
TARGET = [1, 2, 0, 3, 3, 3, 3]
WEIGHT = [1.0, 2.5, 4.0, 0.5, 1.0, 7.0, 2.0]
COLUMNS = {"from": SOURCE, "to": TARGET, "weight": WEIGHT}


def dijkstra() -> dict[int, float]:
    """Distances from 0, by hand."""
    return {0: 0.0, 1: 1.0, 2: 3.5, 3: 4.0, 5: None}


def arrays(dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array(SOURCE, dtype), np.array(TARGET, dtype), np.array(WEIGHT)


def graphs(tmp_path):
    """The graph in every form that has its parallel edges."""
    frame = polars.DataFrame(COLUMNS)
    csv, packed = tmp_path / "edges.csv", tmp_path / "edges.csv.gz"
    frame.write_csv(csv)
    packed.write_bytes(gzip.compress(csv.read_bytes()))
    frame.write_parquet(tmp_path / "edges.parquet")
    table = pyarrow.table(COLUMNS)
    records = np.array(
        list(zip(SOURCE, TARGET, WEIGHT, strict=True)), [("s", "<u4"), ("t", "<u4"), ("w", "<f8")]
    )
    records.tofile(tmp_path / "edges.u32f64")
    many = networkx.MultiDiGraph()
    many.add_weighted_edges_from(zip(SOURCE, TARGET, WEIGHT, strict=True))
    yield "csv", welter.read_edges(csv)
    yield "csv.gz", welter.read_edges(str(packed))
    yield "parquet", welter.read_edges(tmp_path / "edges.parquet")
    yield "raw", welter.read_edges(tmp_path / "edges.u32f64")
    yield "several", welter.read_edges([csv])
    yield "polars", welter.from_arrow(frame)
    yield "pandas", welter.from_arrow(pandas.DataFrame(COLUMNS))
    yield "pyarrow", welter.from_arrow(table)
    yield "batches", welter.from_arrow(pyarrow.concat_tables([table.slice(0, 3), table.slice(3)]))
    yield "duckdb", welter.from_arrow(duckdb.sql("select * from frame"))
    for dtype in (np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        yield dtype.__name__, welter.from_numpy(*arrays(dtype))
    yield "lists", welter.from_numpy(SOURCE, TARGET, WEIGHT)
    yield "strided", welter.from_numpy(*(column[::2] for column in (
        np.repeat(column, 2) for column in arrays(np.int64))))
    yield "big-endian", welter.from_numpy(*(column.astype(column.dtype.newbyteorder(">"))
                                            for column in arrays(np.int64)))
    yield "networkx", welter.from_networkx(many)


def test_every_kind_of_input_is_the_same_graph(tmp_path):
    seen = set()
    for name, graph in graphs(tmp_path):
        assert graph.num_edges == 7, name
        assert graph.weighted and not graph.undirected, name
        assert welter.sssp(graph, source=0).to_dict() == dijkstra(), name
        components = welter.wcc(graph).to_dict()
        assert components == {0: 0, 1: 0, 2: 0, 3: 0, 5: 0}, name
        seen.add(name)
    assert len(seen) == 21


def test_a_path_or_a_frame_is_enough(tmp_path):
    path = tmp_path / "edges.csv"
    polars.DataFrame(COLUMNS).write_csv(path)
    expected = welter.pagerank(welter.read_edges(path)).to_dict()
    pairs = np.array([SOURCE, TARGET]).T
    matrix = scipy.sparse.coo_matrix((WEIGHT, (SOURCE, TARGET)), (6, 6))
    for graph in (str(path), path, [path], polars.read_csv(path), pairs):
        assert welter.pagerank(graph).to_dict() == expected
    # A matrix has a vertex for every row.
    assert welter.pagerank(matrix).num_rows == 6
    assert welter.sssp(path, source=0, weight="weight").to_dict() == dijkstra()
    with pytest.raises(TypeError, match="expected a graph"):
        welter.pagerank(7)


def test_columns_are_chosen_by_name_or_number():
    frame = polars.DataFrame({"a": [5, 6], "b": [1, 2], "c": [2, 3]})
    expected = {1: 0, 2: 1, 3: 2}
    for source, target in [("b", "c"), (2, 3)]:
        graph = welter.from_arrow(frame, source_column=source, target_column=target)
        assert welter.bfs(graph, source=1).to_dict() == expected
    weighted = welter.from_arrow(frame, source_column="b", target_column="c", weight="a")
    assert welter.sssp(weighted, source=1).to_dict() == {1: 0.0, 2: 5.0, 3: 11.0}
    assert not welter.from_arrow(polars.DataFrame(COLUMNS), weight=False).weighted
    with pytest.raises(welter.InputError, match='expected a source column "x"'):
        welter.from_arrow(frame, source_column="x")


def test_ids_of_any_kind_come_back():
    names = polars.DataFrame({"a": ["x", "ü", "x"], "b": ["ü", "z", "z"]})
    for frame in (names, names.cast(polars.Categorical), names.to_pandas()):
        assert welter.bfs(frame, source="x").to_dict() == {"x": 0, "z": 1, "ü": 1}
    sparse = welter.from_numpy([10**18, 7], np.array([7, 2**64 - 1], np.uint64))
    assert welter.bfs(sparse, source=10**18).to_dict() == {7: 1, 10**18: 0, 2**64 - 1: 2}
    tuples = networkx.Graph([((0, "a"), (1, "b"))])
    found = welter.bfs(welter.from_networkx(tuples), source=(0, "a"), parents=True).to_numpy()
    assert list(found["vertex"]) == [(0, "a"), (1, "b")]
    assert list(found["parent"]) == [(0, "a"), (0, "a")]


def test_declared_vertices_exist_and_others_are_refused():
    graph = welter.from_numpy([0], [1], vertices=4)
    assert welter.wcc(graph).to_dict() == {0: 0, 1: 0, 2: 2, 3: 3}
    with pytest.raises(welter.InputError, match="row 2: .*below 4, found 9"):
        welter.from_numpy([0, 3, 9], [1, 9, 1], vertices=4)
    matrix = scipy.sparse.csr_matrix(([1.0], ([0], [2])), shape=(3, 3))
    assert welter.wcc(welter.from_scipy(matrix)).to_dict() == {0: 0, 1: 1, 2: 0}
    with pytest.raises(welter.UsageError, match="square"):
        welter.from_scipy(scipy.sparse.csr_matrix((2, 3)), bipartite=False)


def test_undirected_loops_and_duplicates():
    graph = welter.from_numpy([0, 1, 1], [1, 2, 2], undirected=True)
    assert graph.undirected
    assert welter.bfs(graph, source=2).to_dict() == {0: 2, 1: 1, 2: 0}
    ones = welter.from_numpy([0, 0, 1], [1, 1, 1], drop_duplicates=True, drop_self_loops=True)
    assert welter.spmv(ones, vector="ones").to_dict() == {0: 0.0, 1: 1.0}
    sums = welter.from_numpy([0, 0], [1, 1], [2.0, 3.0], drop_duplicates="sum")
    assert welter.spmv(sums, vector="ones").to_dict() == {0: 0.0, 1: 5.0}


@pytest.mark.parametrize(
    ("source", "target", "weight", "what"),
    [
        ([0, 0.5], [1, 1], None, "arrays: row 2: expected a vertex id, found 0.5"),
        ([0, 1], [1, 2], [1.0, float("nan")], "arrays: row 2: expected a weight, found a NaN"),
    ],
)
def test_wrong_rows_are_named(source, target, weight, what):
    with pytest.raises(welter.InputError, match=what):
        welter.from_numpy(source, target, weight)


def test_a_column_says_whether_edges_are_directed(tmp_path):
    columns = {"Source": [1, 2], "Target": [2, 3], "Type": ["Undirected", "Undirected"]}
    mixed = {**columns, "Type": ["Undirected", "Directed"]}
    for make in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        graph = welter.from_arrow(make(columns))
        assert graph.undirected and '"Type"' in "".join(graph.notes)
        assert not welter.from_arrow(make(columns), undirected=False).undirected
        assert not welter.from_arrow(make({**columns, "Type": ["KNOWS", "LIKES"]})).undirected
        with pytest.raises(welter.InputError, match="Undirected.*Type"):
            welter.from_arrow(make(mixed))
    frame = pandas.DataFrame(columns)
    frame["Type"] = frame["Type"].astype("category")
    assert welter.from_arrow(frame).undirected
    path = tmp_path / "edges.parquet"
    frame.to_parquet(path)
    assert welter.read_edges(path).undirected


def test_nulls_and_wrong_types_are_refused():
    with pytest.raises(welter.InputError, match="row 2: expected a vertex id, found a null"):
        welter.from_arrow(polars.DataFrame({"a": [1, None], "b": [1, 2]}))
    with pytest.raises(welter.InputError, match="expected a vertex id, found 1.5"):
        welter.from_arrow(polars.DataFrame({"a": [1.5], "b": [2.5]}))
    with pytest.raises(TypeError, match="array of one dimension"):
        welter.from_numpy(np.array([[1]]), np.array([[2]]))
    with pytest.raises(welter.UsageError, match="2 sources and 1 targets"):
        welter.from_numpy([0, 1], [1])


def test_negative_weights_are_refused_where_they_matter():
    graph = welter.from_numpy([0, 1], [1, 2], [1.0, -2.0])
    assert welter.wcc(graph).num_rows == 3
    with pytest.raises(welter.InputError, match="edge 2: expected a weight that is not negative"):
        welter.sssp(graph, source=0)


def test_arrays_are_not_copied_and_live_as_long_as_the_graph():
    size = 200_000
    source = np.arange(size, dtype=np.uint32)
    graph = welter.from_numpy(source, (source + 1) % size)
    assert graph.nbytes < 1000
    # The graph has the only reference.
    del source
    assert welter.wcc(graph).to_numpy()["component"].max() == 0


def test_empty_graphs():
    assert welter.wcc(welter.from_numpy([], [], vertices=2)).to_dict() == {0: 0, 1: 1}
    assert welter.wcc(welter.from_networkx(networkx.empty_graph(3))).num_rows == 3


def test_kept_graphs(tmp_path, debian):
    kept = tmp_path / "kept"
    graph = welter.read_edges(debian)
    graph.save(kept)
    again = welter.open(kept)
    assert again.num_edges == graph.num_edges
    assert welter.pagerank(again).to_dict() == welter.pagerank(graph).to_dict()
    with pytest.raises(welter.OutputError, match="is there already"):
        graph.save(kept)
    with pytest.raises(welter.MissingError):
        welter.open(tmp_path / "nothing")


def test_kept_graphs_over_several_disks(tmp_path, debian):
    kept, disks = tmp_path / "kept", [tmp_path / "a", tmp_path / "b"]
    for disk in disks:
        disk.mkdir()
    graph = welter.read_edges(debian)
    graph.save(kept, disk=disks)
    assert [len(list(disk.iterdir())) for disk in disks] == [1, 1]
    assert welter.pagerank(welter.open(kept)).to_dict() == welter.pagerank(graph).to_dict()
    welter.remove(kept)
    assert not kept.exists() and not [*disks[0].iterdir(), *disks[1].iterdir()]
    with pytest.raises(welter.MissingError, match="no graph is kept here"):
        welter.remove(kept)
    with pytest.raises(welter.OutputError, match="no directory for a part"):
        graph.save(kept, disk=tmp_path / "nowhere")


def test_generators_are_those_of_the_command():
    assert welter.rmat(6, factor=4, seed=3).num_edges == 256
    assert welter.rmat(6).run("spmv", vector="ones").num_rows <= 64
    assert welter.web(100, degree=5, seed=2).num_edges > 100
    with pytest.raises(welter.UsageError, match="scale 99"):
        welter.rmat(99)
