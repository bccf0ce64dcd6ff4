"""Vertices beside edges, of one kind or two: listed, without edges, with the same ids."""

from __future__ import annotations

import collections
import re

import duckdb
import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse

import welter

# : Callers and whom they call, and two that no one calls.
CALLS = {"caller": ["ann", "bob"], "callee": ["bob", "cid"]}
PEOPLE = ["zoe", "ann", "bob", "cid", "dee"]
COMPONENTS = {"ann": "ann", "bob": "ann", "cid": "ann", "dee": "dee", "zoe": "zoe"}

#: Users 1 to 3 rate items 1 to 3; user 4 and item 9 have no rating.
STARS = {"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 3, 2], "stars": [5.0, 3.0, 4.0, 1.0, 5.0]}


@pytest.fixture
def calls() -> polars.DataFrame:
    return polars.DataFrame(CALLS)


@pytest.fixture
def stars() -> polars.DataFrame:
    return polars.DataFrame(STARS)


def tables(ids):
    """Vertices in every form."""
    yield "list", list(ids)
    yield "tuple", tuple(ids)
    yield "set", set(ids)
    yield "keys", dict.fromkeys(ids).keys()
    yield "iterator", iter(ids)
    yield "nodes", networkx.empty_graph(ids).nodes
    yield "array", np.array(ids)
    yield "polars series", polars.Series(ids)
    yield "pandas series", pandas.Series(ids)
    yield "pandas index", pandas.Index(ids)
    yield "pyarrow array", pyarrow.array(ids)
    yield "pyarrow chunks", pyarrow.chunked_array([ids[:2], ids[2:]])
    yield "polars", polars.DataFrame({"who": ids, "age": range(len(ids))})
    yield "pandas", pandas.DataFrame({"who": ids, "age": range(len(ids))})
    yield "pyarrow", pyarrow.table({"who": ids})
    frame = polars.DataFrame({"who": ids})
    yield "duckdb", duckdb.sql("select * from frame")


@pytest.fixture
def makers(calls, tmp_path):
    """All that makes graphs of the calls beside a table of vertices."""
    csv, parquet = tmp_path / "calls.csv", tmp_path / "calls.parquet"
    calls.write_csv(csv)
    calls.write_parquet(parquet)
    return [
        lambda **options: welter.from_arrow(calls, **options),
        lambda **options: welter.from_arrow(calls.to_pandas(), **options),
        lambda **options: welter.from_numpy(*CALLS.values(), **options),
        lambda **options: welter.read_edges(csv, **options),
        lambda **options: welter.read_edges(parquet, **options),
    ]


def test_vertices_without_edges_exist_whatever_lists_them(makers):
    for make in makers:
        kinds = 0
        for kind, vertices in tables(PEOPLE):
            graph = make(vertices=vertices)
            assert (graph.num_vertices, graph.num_edges) == (5, 2), kind
            assert welter.wcc(graph).to_dict() == COMPONENTS, kind
            assert graph.degrees()["zoe"] == (0, 0)
            assert sum(welter.pagerank(graph).to_dict().values()) == pytest.approx(1)
            kinds += 1
        assert kinds == 16


def test_integers_are_listed_as_names_are():
    ends = [7, 10**12], [10**12, 3]
    expected = {3: 3, 7: 3, 10**12: 3, 5: 5, 10**15: 10**15}
    ids = [10**15, 5, 3]
    frame = polars.DataFrame({"a": ends[0], "b": ends[1]})
    for kind, vertices in tables(ids):
        assert welter.wcc(welter.from_numpy(*ends, vertices=vertices)).to_dict() == expected, kind
    for kind, vertices in tables(ids):
        assert welter.wcc(welter.from_arrow(frame, vertices=vertices)).to_dict() == expected, kind
    negative = welter.from_numpy([-7, 3], [3, 4], vertices=[-9, 3])
    assert welter.wcc(negative).to_dict() == {-9: -9, -7: -7, 3: -7, 4: -7}
    # Vertices that are listed alone may be negative.
    assert welter.from_numpy([3], [4], vertices=[-1]).degrees()[-1] == (0, 0)
    small = welter.from_numpy([3], [4], vertices=np.array([200, 3], np.uint8))
    assert list(welter.wcc(small).to_dict()) == [3, 4, 200]
    assert welter.from_numpy([3], [4], vertices=6).num_vertices == 6


def test_a_column_of_vertices_is_chosen(calls, tmp_path):
    people = polars.DataFrame({"age": [1, 2, 3], "who": ["ann", "zoe", "dee"]})
    for column in ("who", 2):
        graph = welter.from_arrow(calls, vertices=people, vertex_column=column)
        assert welter.wcc(graph).to_dict() == COMPONENTS
    calls.write_csv(tmp_path / "calls.csv")
    people.write_csv(tmp_path / "people.csv")
    for options in ({"vertices": people}, {"vertices_from": tmp_path / "people.csv"}):
        graph = welter.read_edges(tmp_path / "calls.csv", vertex_column="who", **options)
        assert welter.wcc(graph).to_dict() == COMPONENTS
    with pytest.raises(welter.InputError, match='vertices: expected .*column "no"'):
        welter.from_arrow(calls, vertices=people, vertex_column="no")
    with pytest.raises(welter.UsageError, match="(?s)vertex_column='who': .*give a data frame"):
        welter.from_arrow(calls, vertices=["ann"], vertex_column="who")


def test_edges_may_name_others_than_are_listed(calls):
    graph = welter.from_arrow(calls, vertices=["ann", "zoe"])
    assert graph.num_vertices == 4
    assert graph.notes == ["2 vertices are in no table of vertices; edges name them, so they are "
                           "some all the same"]
    assert welter.from_arrow(calls, vertices=PEOPLE).notes == []


def test_vertices_alone_are_a_graph():
    nothing = polars.DataFrame({"a": [], "b": []})
    for vertices, ids in (
        (["a", "b"], ["a", "b"]),
        ([4, 9], [4, 9]),
        (polars.DataFrame({"x": ["a", "b"]}), ["a", "b"]),
    ):
        for graph in (
            welter.from_arrow(nothing, vertices=vertices),
            welter.from_arrow(nothing.to_pandas(), vertices=vertices),
            welter.from_numpy([], [], vertices=vertices),
        ):
            assert (graph.num_vertices, graph.num_edges) == (2, 0)
            assert welter.wcc(graph).to_dict() == {one: one for one in ids}
            assert list(welter.pagerank(graph).to_dict().values()) == [0.5, 0.5]
    # And a list that came out empty lists nothing.
    for empty in ([], polars.DataFrame({"x": []}), pandas.DataFrame({"x": []})):
        assert welter.from_numpy(["a"], ["b"], vertices=empty).num_vertices == 2
        assert welter.from_arrow(polars.DataFrame(CALLS), vertices=empty).num_vertices == 3


def test_vertices_of_another_type_than_ends_are_refused(calls):
    numbers = polars.DataFrame({"a": [1], "b": [2]})
    for make in (
        lambda: welter.from_numpy([1], [2], vertices=["1", "x"]),
        lambda: welter.from_numpy(["1"], ["2"], vertices=[1, 5]),
        lambda: welter.from_arrow(numbers, vertices=["1", "x"]),
        lambda: welter.from_arrow(calls, vertices=pandas.DataFrame({"x": [1]})),
    ):
        with pytest.raises(welter.WelterError, match='(?s)strings.*ids="strings"') as caught:
            make()
        assert caught.value.code in (2, 65)
    graph = welter.from_numpy([1], [2], vertices=["1", "x"], ids="strings")
    assert list(welter.wcc(graph).to_dict()) == ["1", "2", "x"]
    graph = welter.from_arrow(numbers, vertices=["1", "x"], ids="strings")
    assert list(welter.wcc(graph).to_dict()) == ["1", "2", "x"]


def test_what_lists_no_vertices_is_refused(calls, tmp_path):
    for vertices, what in (
        ("people.csv", "vertices_from="),
        (tmp_path, "found a path"),
        ({"ann": 1}, "expected a number, ids or a data frame, found dict"),
        (True, "found bool"),
        ([["ann"]], "one dimension|expected ids"),
        ([1.5], "ends of edges are strings, and vertices in vertices are integers"),
        (["ann", None], "found a null"),
    ):
        with pytest.raises((TypeError, ValueError), match=what):
            welter.from_arrow(calls, vertices=vertices)
    with pytest.raises(TypeError, match="target_vertices: expected ids or a data frame, found int"):
        welter.from_arrow(calls, target_vertices=3, bipartite=True)
    with pytest.raises(welter.UsageError, match="(?s)two kinds.*bipartite=True"):
        welter.from_arrow(calls, target_vertices=["x"])
    with pytest.raises(welter.UsageError, match="has its own vertices"):
        welter.read_edges("rmat:4", vertices=["a"])
    welter.from_arrow(calls).save(tmp_path / "kept")
    with pytest.raises(welter.UsageError, match="has its own vertices"):
        welter.read_edges(tmp_path / "kept", vertices=["a"])


# Two kinds


def ratings(stars, tmp_path):
    """The ratings in every form, as two kinds of vertices."""
    csv, parquet = tmp_path / "stars.csv", tmp_path / "stars.parquet"
    stars.write_csv(csv)
    stars.write_parquet(parquet)
    columns = [np.array(column) for column in STARS.values()]
    yield "polars", welter.from_arrow(stars, bipartite=True)
    yield "pandas", welter.from_arrow(stars.to_pandas(), bipartite=True)
    yield "arrays", welter.from_numpy(*columns, bipartite=True)
    yield "csv", welter.read_edges(csv, bipartite=True)
    yield "parquet", welter.read_edges(parquet, bipartite=True)
    yield "names", welter.from_arrow(stars, ids="strings", bipartite=True)
    welter.from_arrow(stars, bipartite=True).save(tmp_path / "kept")
    yield "kept", welter.open(tmp_path / "kept")
    matrix = scipy.sparse.coo_array((columns[2], (columns[0] - 1, columns[1] - 1)), (4, 3))
    yield "matrix", welter.from_scipy(matrix)


def test_users_and_items_may_have_the_same_ids(stars, tmp_path):
    apart = networkx.Graph()
    for user, item, star in zip(*STARS.values(), strict=True):
        apart.add_edge(("source", user), ("target", item), weight=star)
    depths = networkx.single_source_shortest_path_length(apart, ("source", 1), backend="networkx")
    lengths = networkx.single_source_dijkstra_path_length(apart, ("source", 1), backend="networkx")
    cores = networkx.core_number(apart, backend="networkx")
    seen = 0
    for kind, graph in ratings(stars, tmp_path):
        one = {"names": str, "matrix": lambda id: id - 1}.get(kind, int)
        sided = {(side, one(id)): depth for (side, id), depth in depths.items()}
        begin = {"source": ("source", one(1)), "undirected": True}
        found = welter.bfs(graph, **begin).to_dict()
        assert {key: depth for key, depth in found.items() if depth is not None} == sided, kind
        found = welter.sssp(graph, **begin).to_dict()
        expected = {(side, one(id)): length for (side, id), length in lengths.items()}
        assert {key: length for key, length in found.items() if length is not None} == expected
        expected = {(side, one(id)): core for (side, id), core in cores.items()}
        assert expected.items() <= welter.kcore(graph).to_dict().items(), kind
        # One user of the matrix has no ratings.
        assert graph.num_vertices == len(found) == (7 if kind == "matrix" else 6)
        assert welter.als(graph, factors=4).num_rows == graph.num_vertices
        seen += 1
    assert seen == 8


def test_a_vertex_of_two_kinds_is_named_with_its_side(stars):
    graph = welter.from_arrow(stars.with_columns(polars.col("item") + 1), bipartite=True)
    result = welter.bfs(graph, source=("source", 1), parents=True, undirected=True)
    assert result.columns == ["vertex", "side", "depth", "parent", "parent_side"]
    assert result["source", 1] == (0, 1, "source")
    assert result["target", 4] == (3, 2, "source")
    way = [("source", 1), ("target", 2), ("source", 2), ("target", 4)]
    assert result.path(("target", 4)) == way
    assert result.path(4) == result.path(("target", 4))
    # Where only one of them has the id, the id is enough.
    assert result[4] == result["target", 4] and result[1] == result["source", 1]
    assert 1 in result and ("source", 1) in result and ("target", 1) not in result
    with pytest.raises(KeyError, match="2 is a source and a target: say which"):
        result[2]
    with pytest.raises(KeyError, match="is no vertex"):
        result["target", 1]
    (farthest,) = result.top(1)
    assert result.top(1)[farthest[1], farthest[0]] == result["target", 4]
    for way in (("source", 2), [("source", 2)], "source:2", {("source", 2)}):
        assert welter.bfs(graph, source=way)["source", 2] == 0
    with pytest.raises(welter.InputError, match=re.escape('say which, as in ("source", ID)')):
        welter.bfs(graph, source=2)
    both = welter.bfs(graph, source=[("source", 2), 4])
    assert (both["source", 2], both[4]) == (0, 0)
    ranks = welter.pagerank(graph, personalization={("source", 3): 1})
    assert ranks["source", 3] > ranks["source", 2] == 0
    assert dict(collections.Counter(row[1] for row in ranks)) == {"source": 3, "target": 3}


def test_negative_ids_and_names_may_be_of_two_kinds():
    graph = welter.from_numpy([-1, -2], [-1, 5], bipartite=True)
    result = welter.bfs(graph, source=("source", -1), parents=True)
    assert result["target", -1] == (1, -1, "source")
    assert result.path(("target", -1)) == [("source", -1), ("target", -1)]
    assert result["source", -2] == (None, None, None)
    named = welter.from_numpy(["source", "target:x"], ["source", "a:b"], bipartite=True)
    found = welter.bfs(named, source=("source", "target:x"))
    assert found["target", "a:b"] == 1 and found["target", "source"] is None


def test_vertices_of_either_kind_are_listed(stars, tmp_path):
    stars.write_csv(tmp_path / "stars.csv")
    (tmp_path / "users.txt").write_text("1\n4\n")
    (tmp_path / "items.txt").write_text("9\n")
    listed = {"vertices": [1, 4], "target_vertices": polars.DataFrame({"item": [9]})}
    files = {
        "vertices_from": tmp_path / "users.txt",
        "target_vertices_from": tmp_path / "items.txt",
    }
    for graph in (
        welter.from_arrow(stars, bipartite=True, **listed),
        welter.from_numpy(*STARS.values(), bipartite=True, **listed),
        welter.read_edges(tmp_path / "stars.csv", bipartite=True, **listed),
        welter.read_edges(tmp_path / "stars.csv", bipartite=True, **files),
    ):
        degrees = graph.degrees()
        assert graph.num_vertices == len(degrees) == 8
        assert degrees["source", 4] == degrees[9] == (0, 0)
        assert degrees["source", 1] == (2, 0)


def test_matrices_that_are_not_square_have_two_kinds():
    matrix = scipy.sparse.csr_array([[0, 2.0, 0], [1.0, 0, 0]])
    graph = welter.from_scipy(matrix)
    assert (graph.num_vertices, graph.num_edges) == (5, 2)
    sums = welter.spmv(graph, vector="ones").to_dict()
    assert [sums["target", column] for column in range(3)] == [1.0, 2.0, 0.0]
    assert sums["source", 0] == 0.0
    assert welter.spmv(matrix, vector="ones").to_dict() == sums
    square = scipy.sparse.csr_array([[0, 2.0], [1.0, 0]])
    assert welter.from_scipy(square).num_vertices == 2
    assert welter.from_scipy(square, bipartite=True).num_vertices == 4
    with pytest.raises(welter.UsageError, match="square matrix, found 2 rows and 3 columns"):
        welter.from_scipy(matrix, bipartite=False)
    assert welter.wcc(welter.from_scipy(scipy.sparse.csr_array((2, 3)))).num_rows == 5


def test_overlapping_ids_without_a_word_are_told_of(stars):
    with pytest.raises(welter.WelterError, match="make the graph with bipartite=True"):
        welter.als(stars, factors=4)


# Nodes of NetworkX


@pytest.mark.filterwarnings("ignore:Note. conversions")
def test_nodes_without_edges_exist_whatever_they_are(tmp_path):
    for nodes in (
        ["b", "a", "c", "lone"],
        [7, 3, 10**15, 9],
        [0, 1, 2, 3],
        [-1, "a", ("t", 1), 2.5],
        ["", "a", "b", "c"],
        [1.5, 2, True + 2, frozenset()],
    ):
        graph = networkx.DiGraph([(nodes[0], nodes[1]), (nodes[1], nodes[2])])
        graph.add_node(nodes[3])
        made = welter.from_networkx(graph)
        assert made.num_vertices == 4
        depths = welter.bfs(made, source=nodes[0]).to_dict()
        assert depths == {nodes[0]: 0, nodes[1]: 1, nodes[2]: 2, nodes[3]: None}
        for name in ("pagerank", "number_weakly_connected_components"):
            function = getattr(networkx, name)
            expected = function(graph, backend="networkx")
            assert function(graph, backend="welter") == pytest.approx(expected)
        ancestors = networkx.ancestors(graph, nodes[3], backend="welter")
        assert ancestors == set()


def test_names_of_nodes_are_kept_and_written(tmp_path):
    graph = networkx.Graph([("b", "a")])
    graph.add_node("lone")
    made = welter.from_networkx(graph)
    made.save(tmp_path / "kept")
    expected = {"a": "a", "b": "a", "lone": "lone"}
    assert welter.wcc(welter.open(tmp_path / "kept")).to_dict() == expected
    welter.wcc(made).write(tmp_path / "out.csv")
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows == ["vertex,component", "a,a", "b,a", "lone,lone"]
    shares = polars.DataFrame({"who": ["a"], "share": [1]})
    assert welter.pagerank(made, personalization=shares, personalization_default=0.0)["lone"] == 0.0


def test_nodes_that_files_do_not_hold_are_neither_kept_nor_written(tmp_path):
    tuples = welter.from_networkx(networkx.Graph([((0, 1), (1, 2))]))
    negative = welter.from_numpy([-1], [5])
    for graph, way in ((tuples, "relabel_nodes"), (negative, 'ids="strings"')):
        with pytest.raises(welter.UsageError, match=f"(?s)objects of Python.*{way}"):
            graph.save(tmp_path / "kept")
        with pytest.raises(welter.UsageError, match="(?s)objects of Python.*to_polars"):
            welter.wcc(graph).write(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []
    named = welter.from_numpy([-1], [5], ids="strings")
    named.save(tmp_path / "kept")
    assert list(welter.wcc(welter.open(tmp_path / "kept")).to_dict()) == ["-1", "5"]
