"""First attempts of a new user: each does what it looks like, or is
refused with the right way.
"""

from __future__ import annotations

import decimal
import fractions
import re
import tempfile

import duckdb
import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse

import welter

CALLS = {
    "caller": ["ann", "bob", "ann", "cid"],
    "callee": ["bob", "cid", "cid", "ann"],
    "minutes": [1.0, 2.0, 7.0, 1.0],
}


@pytest.fixture
def calls() -> polars.DataFrame:
    return polars.DataFrame(CALLS)


# Weights


def test_a_named_weight_is_heeded(calls, tmp_path):
    graph = welter.from_arrow(calls, weight="minutes")
    weighted = welter.pagerank(graph, weighted=True).to_dict()
    assert weighted != welter.pagerank(graph).to_dict()
    assert welter.pagerank(calls, weight="minutes").to_dict() == weighted
    path = tmp_path / "calls.csv"
    calls.write_csv(path)
    assert welter.pagerank(path, weight="minutes").to_dict() == weighted
    many = networkx.DiGraph()
    for caller, callee, minutes in calls.rows():
        many.add_edge(caller, callee, minutes=minutes)
    found = welter.pagerank(many, weight="minutes").to_dict()
    assert found == pytest.approx(weighted)


def test_a_weight_that_cannot_be_heeded_is_refused(calls):
    graph = welter.from_arrow(calls, weight="minutes")
    for function in (welter.pagerank, welter.sssp):
        with pytest.raises(welter.UsageError, match="weight='minutes': .* where the graph is made"):
            function(
                graph, weight="minutes", **({"source": "ann"} if function is welter.sssp else {})
            )
    with pytest.raises(welter.UsageError, match="the weights of arrays are the third"):
        welter.pagerank(np.array([[0, 1]]), weight="minutes")
    with pytest.raises(welter.UsageError, match="the weights of a matrix are its values"):
        welter.pagerank(scipy.sparse.eye_array(3), weight="minutes")
    with pytest.raises(welter.InputError, match='expected a weight column "hours"'):
        welter.pagerank(calls, weight="hours")


def test_weights_can_be_left_aside(calls):
    lengths = welter.sssp(calls, source="ann", weight="minutes").to_dict()
    assert lengths == {"ann": 0.0, "bob": 1.0, "cid": 3.0}
    steps = {"ann": 0.0, "bob": 1.0, "cid": 1.0}
    renamed = calls.rename({"minutes": "weight"})
    assert welter.sssp(renamed, source="ann").to_dict() == lengths
    assert welter.sssp(renamed, source="ann", weight=False).to_dict() == steps
    graph = welter.from_arrow(renamed)
    assert welter.sssp(graph, source="ann", weight=False).to_dict() == steps


# Ids and weights as they come


def test_strings_in_arrays_are_ids():
    source, target = ["x", "ü", "x"], ["ü", "z", "z"]
    expected = {"x": 0, "z": 1, "ü": 1}
    for make in (
        list,
        tuple,
        np.array,
        pandas.Series,
        polars.Series,
        lambda ids: np.array(ids, dtype=object),
        lambda ids: np.array(ids, np.dtypes.StringDType()),
        lambda ids: pandas.Series(ids, dtype="string"),
    ):
        graph = welter.from_numpy(make(source), make(target))
        assert welter.bfs(graph, source="x").to_dict() == expected
    assert welter.bfs([("x", "ü"), ("ü", "z"), ("x", "z")], source="x").to_dict() == expected
    # Strings stay what they are, also those that look like numbers.
    graph = welter.from_numpy(np.array(["007", "7"]), np.array(["7", "8"]))
    assert welter.wcc(graph).to_numpy()["vertex"].tolist() == ["007", "7", "8"]


def test_ends_of_different_types_are_refused():
    for source, target in [([1, 2], ["a", "b"]), (["a", "b"], np.array([1, 2]))]:
        with pytest.raises(welter.UsageError, match="source holds .* and target"):
            welter.from_numpy(source, target)
    with pytest.raises(welter.InputError, match="source: row 2: expected .*alike, found 'b'"):
        welter.from_numpy([1, "b"], [2, 3])
    frame = polars.DataFrame({"id": [1, 2], "name": ["a", "b"]})
    expected = "expected two columns of ids of one kind.*ids=.strings"
    with pytest.raises(welter.WelterError, match=expected):
        welter.pagerank(frame)
    # A caller who means it says so.
    named = welter.from_arrow(frame, ids="strings")
    assert welter.wcc(named).to_numpy()["vertex"].tolist() == ["1", "2", "a", "b"]


def test_decimals_are_numbers():
    rows = duckdb.sql(
        "select * from (values (1, 2, 1.25::decimal(9, 2)), (2, 3, 2.50)) as t(a, b, weight)"
    )
    lengths = welter.sssp(welter.from_arrow(rows), source=1).to_dict()
    assert lengths == {1: 0.0, 2: 1.25, 3: 3.75}
    sums = duckdb.sql(
        "select a, b, sum(c)::hugeint as weight from "
        "(values (1, 2, 3), (1, 2, 4)) as t(a, b, c) group by all"
    )
    assert welter.sssp(welter.from_arrow(sums), source=1).to_dict() == {1: 0.0, 2: 7.0}
    weights = [decimal.Decimal("1.25"), fractions.Fraction(5, 2)]
    graph = welter.from_numpy([1, 2], [2, 3], weights)
    assert welter.sssp(graph, source=1).to_dict() == lengths
    with pytest.raises(welter.InputError, match="weight: row 2: expected a number, found 'x'"):
        welter.from_numpy([1, 2], [2, 3], np.array([1, "x"], object))
    with pytest.raises(welter.UsageError, match="weight: expected numbers, found strings"):
        welter.from_numpy([1], [2], ["1"])


def test_negative_integers_stay_integers():
    graph = welter.from_numpy([-7, 3], [3, -1], [1.0, 2.0])
    assert welter.sssp(graph, source=-7).to_dict() == {-7: 0.0, -1: 3.0, 3: 1.0}
    assert welter.bfs(graph, source=-7, parents=True)[-1] == (2, 3)
    assert welter.pagerank(graph, personalization={-7: 1})[-7] > 0.2


def test_missing_values_are_no_ids():
    masked = np.ma.masked_array([1, 2], [False, True])
    with pytest.raises(welter.InputError, match="source: row 2: a value is missing"):
        welter.from_numpy(masked, [1, 2])
    with pytest.raises(welter.InputError, match="row 2: expected a vertex name, found a null"):
        welter.from_numpy(["a", None], ["b", "c"])


# Nothing


def empty_graphs():
    """Graphs without edges, in every form."""
    yield "polars", polars.DataFrame({"a": [], "b": []}), 0
    yield (
        "typed",
        polars.DataFrame({"a": [], "b": []}, schema={"a": polars.String, "b": polars.String}),
        0,
    )
    yield "pandas", pandas.DataFrame({"a": [], "b": [], "weight": []}), 0
    yield "pandas objects", pandas.DataFrame(columns=["a", "b"]), 0
    yield (
        "pyarrow",
        pyarrow.table({"a": pyarrow.array([], "int64"), "b": pyarrow.array([], "int64")}),
        0,
    )
    yield "duckdb", duckdb.sql("select 1 as a, 2 as b where false"), 0
    yield "filtered", polars.DataFrame(CALLS).filter(polars.lit(False)), 0
    yield "arrays", (np.array([], np.uint32), np.array([], np.uint32)), 0
    yield "list", [], 0
    yield "networkx", networkx.Graph(), 0
    yield "nodes", networkx.empty_graph(3), 3
    yield "named nodes", networkx.empty_graph(["a", "b"]), 2
    yield "matrix", scipy.sparse.csr_array((4, 4)), 4
    yield "declared", welter.from_numpy([], [], vertices=5), 5


#: A side of no vertices has no conductance, and without ratings there is nothing to learn.
WITH_RESULTS = [name for name in welter._algorithms.__all__ if name not in ("als", "conductance")]


@pytest.mark.parametrize("name", WITH_RESULTS)
def test_a_graph_without_edges_has_a_result(name):
    function = getattr(welter, name)
    options = {"bfs": {"source": 0}, "sssp": {"source": 0}}.get(name, {})
    for kind, graph, vertices in empty_graphs():
        made = welter.as_graph(graph)
        assert (made.num_edges, made.num_vertices) == (0, vertices), kind
        assert made.degrees().num_rows == vertices
        assert repr(made)
        if options and (vertices == 0 or kind == "named nodes"):
            # There is nothing to begin at.
            with pytest.raises(welter.InputError, match="source="):
                function(made, **options)
            continue
        result = function(made, **options)
        expected = 0 if name == "mcst" else vertices
        assert (result.num_rows, len(result.to_numpy()[result.columns[0]])) == (expected,) * 2, kind
        assert repr(result) is not None and result.to_polars().height == expected
        assert result.to_pandas().shape[0] == expected


@pytest.mark.filterwarnings("ignore:Note. conversions")
def test_ranks_of_a_graph_without_edges_are_those_of_networkx():
    for graph in (
        networkx.empty_graph(4),
        networkx.empty_graph(4, networkx.DiGraph),
        networkx.Graph(),
    ):
        for options in ({}, {"weight": None}, {"personalization": {0: 1}} if len(graph) else {}):
            expected = networkx.pagerank(graph, backend="networkx", **options)
            assert networkx.pagerank(graph, backend="welter", **options) == pytest.approx(expected)
    assert welter.pagerank(networkx.empty_graph(4), weighted=True).to_dict() == dict.fromkeys(
        range(4), 0.25
    )


# Frames that are no graph


def test_what_is_no_graph_is_refused_with_the_right_way(tmp_path, calls):
    path = tmp_path / "edges.csv"
    path.write_text("0,1\n")
    expected = "TextIOWrapper: give the name of the file"
    with open(path) as file, pytest.raises(TypeError, match=expected):
        welter.pagerank(file)
    with open(path) as file, pytest.raises(TypeError, match=r"welter\.read_edges\('.*edges.csv'\)"):
        welter.read_edges(file)
    with pytest.raises(TypeError, match=r"found dict: .*from_arrow.*from_networkx"):
        welter.pagerank({"a": ["b"]})
    with pytest.raises(TypeError, match="found dict"):
        welter.from_arrow({"a": [1], "b": [2]})
    with pytest.raises(TypeError, match="collect it first"):
        welter.pagerank(calls.lazy())
    with pytest.raises(TypeError, match="rows are vertices"):
        welter.wcc(welter.wcc(calls))
    with pytest.raises(TypeError, match="found list"):
        welter.pagerank([1, 2])
    with pytest.raises(TypeError, match="expected a sequence, found str"):
        welter.from_numpy("ab", "cd")
    for column in (calls["caller"], calls["caller"].to_pandas()):
        for function in (welter.pagerank, welter.from_arrow):
            with pytest.raises(TypeError, match="column alone: .*from_numpy"):
                function(column)
    with pytest.raises(TypeError, match=r"ndarray of shape \(2, 3\): .*from_numpy"):
        welter.pagerank(np.ones((2, 3)))
    views = networkx.path_graph(3).edges
    for edges in ([[1, 2], [2, 3]], zip([1], [2], strict=True), {(1, 2)}, views):
        with pytest.raises(TypeError, match="give a list of tuples"):
            welter.wcc(edges)
    # Results that list edges make a graph.
    forest = welter.mcst(welter.from_numpy([0, 1], [1, 2], undirected=True))
    assert welter.wcc(forest).num_rows == 3


# Tables of vertices


def test_a_dictionary_of_teleports_is_enough(calls):
    graph = welter.from_arrow(calls)
    expected = welter.pagerank(graph, personalization={"ann": 1, "bob": 0, "cid": 0}).to_dict()
    assert welter.pagerank(graph, personalization={"ann": 1}).to_dict() == expected
    frame = polars.DataFrame({"who": ["ann", "bob", "cid"], "share": [1, 0, 0]})
    assert welter.pagerank(graph, personalization=frame).to_dict() == expected
    many = networkx.DiGraph([(("ann", 1), "bob"), ("bob", ("ann", 1))])
    ranks = welter.pagerank(many, personalization={("ann", 1): 2}).to_dict()
    assert ranks[("ann", 1)] > ranks["bob"]
    numbers = welter.from_numpy([5, 6], [6, 5])
    assert welter.pagerank(numbers, personalization={5: 1})[5] > 0.5


def test_ids_that_the_graph_has_not_are_refused(calls):
    graph = welter.from_arrow(calls)
    for table in (
        {"ann": 1, "zoe": 1},
        polars.DataFrame({"who": ["ann", "zoe"], "share": [1, 1]}),
        pandas.DataFrame({"who": ["ann", "zoe"], "share": [1, 1]}),
    ):
        for name in ("personalization", "dangling_weights", "initial"):
            with pytest.raises(welter.InputError, match=f'{name}: row 2: .*"zoe", which the graph'):
                options = {f"{name}_default": 0.0}
                welter.pagerank(graph, **{name: table}, **options)
    with pytest.raises(welter.InputError, match="vector_from: row 1: .*found 9"):
        welter.spmv(welter.from_numpy([0], [1]), vector_from={9: 1}, vector_default=0.0)
    many = networkx.Graph([("a", ("b", 1))])
    with pytest.raises(welter.InputError, match="personalization: 'c' is no node"):
        welter.pagerank(many, personalization={"c": 1})
    with pytest.raises(welter.UsageError, match="give a dictionary"):
        welter.pagerank(many, personalization=polars.DataFrame({"a": ["a"], "b": [1]}))
    with pytest.raises(welter.InputError, match="vector_from.*none for 2 of them, such as"):
        welter.spmv(graph, vector_from={"ann": 1})
    with pytest.raises(TypeError, match="personalization: expected a dictionary"):
        welter.pagerank(graph, personalization=3)
    with pytest.raises(welter.MissingError, match="(?s)no file 'ann'.*personalization={'ann': 1}"):
        welter.pagerank(graph, personalization=["ann"])
    with pytest.raises(welter.MissingError, match="(?s)no file 'ann'.*say source"):
        welter.bfs(graph, sources_from=["ann"])
    for shares in ({}, {"ann": 0}, {"ann": -1}):
        with pytest.raises(welter.InputError, match="^personalization: expected proportions"):
            welter.pagerank(graph, personalization=shares)
    with pytest.raises(TypeError, match="personalization: expected numbers as values"):
        welter.pagerank(graph, personalization={"ann": "much"})


def test_no_table_goes_through_a_file(calls, monkeypatch, tmp_path):
    graph = welter.from_arrow(calls)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    ranks = welter.pagerank(graph, personalization={"ann": 1}, scratch=tmp_path)
    assert ranks["ann"] > ranks["bob"]
    sources = polars.DataFrame({"who": ["ann", "bob"]})
    depths = welter.bfs(graph, sources_from=sources, scratch=tmp_path)
    assert depths.to_dict() == {"ann": 0, "bob": 0, "cid": 1}
    assert list(tmp_path.iterdir()) == []


# One spelling, one language


def test_columns_have_one_spelling(calls, tmp_path):
    path = tmp_path / "calls.csv"
    calls.write_csv(path)
    columns = {"source_column": "callee", "target_column": "caller", "weight": "minutes"}
    for graph in (welter.from_arrow(calls, **columns), welter.read_edges(path, **columns)):
        assert welter.sssp(graph, source="cid").to_dict() == {"ann": 3.0, "bob": 2.0, "cid": 0.0}


def test_texts_speak_python(calls, tmp_path):
    graph = welter.from_arrow(calls)
    path = tmp_path / "x.csv"
    path.write_text("1,a\n")
    texts = []
    for call in (
        lambda: welter.read_edges(path, ids="integers"),
        lambda: welter.read_edges(path, ids="x"),
        lambda: welter.bfs(graph),
        lambda: welter.bfs(graph, source="nobody"),
        lambda: welter.pagerank(graph, damping=2),
        lambda: welter.pagerank(graph, dangling="x"),
        lambda: welter.pagerank(graph, dangling="unnormalized", personalization={"ann": 1}),
        lambda: welter.pagerank(welter.from_numpy([0], [1]), weighted=True),
        lambda: welter.pagerank(graph, memory="1MiB"),
        lambda: welter.pagerank(graph, personalization_column=2),
        lambda: welter.lcc(graph, route="ranges"),
        lambda: welter.bp(graph, coupling=7),
        lambda: welter.als(welter.from_numpy([0], [1])),
        lambda: graph.run("pagerank", no_such=3),
        lambda: graph.run("pagerank", iterations="many"),
        lambda: welter.pagerank(graph, checkpoint=tmp_path / "kept"),
        lambda: welter.resume(tmp_path / "nothing"),
    ):
        with pytest.raises((welter.WelterError, ValueError)) as caught:
            call()
        texts.append(str(caught.value))
    texts += [str(welter.pagerank(graph, iterations=1, tolerance=0.0).note)]
    texts += [str(welter.pagerank(graph, iterations=1, tolerance=1e-12).note)]
    texts += [graph.explain("pagerank"), *welter.pagerank(graph).log]
    for function in (getattr(welter, name) for name in welter.__all__):
        texts.append(function.__doc__ or "")
    for text in texts:
        told = text.replace("``welter run --checkpoint``", "").replace("`cargo run --", "")
        assert re.search("(^|[^-])--[a-z]", told) is None, text
    assert 'ids="strings"' in texts[0]
    assert texts[1].startswith('ids="x": expected one of auto, integers, strings')
    assert "source=ID" in texts[2]
    assert texts[3].startswith('source="nobody": ')


def test_names_of_the_field_are_names_of_functions():
    assert welter.cc is welter.wcc and welter.connected_components is welter.wcc
    assert welter.msf is welter.mcst and welter.label_propagation is welter.cdlp
    graph = welter.rmat(6)
    expected = graph.run("mcst")
    for name in ("mst", "minimum_spanning_tree", "minimum-spanning-tree"):
        found = graph.run(name)
        assert len(found) == len(expected) > 0
        columns = found.to_numpy()
        for column, values in expected.to_numpy().items():
            assert columns[column].tolist() == values.tolist()
    for name, function in welter._algorithms.NAMES.items():
        assert getattr(welter, name) is getattr(welter, function)
        assert graph.explain(name, source=0) if function in ("bfs", "sssp") else True
    with pytest.raises(welter.UsageError, match="expected personalization too"):
        graph.run("personalized")
    ranks = graph.run("personalized", personalization={0: 1.0}).to_dict()
    assert ranks == welter.pagerank(graph, personalization={0: 1.0}).to_dict()


def test_what_is_looked_for_by_another_word_is_found():
    assert list(welter.find("connected")) == ["wcc", "scc"]
    assert "cdlp" in welter.find("community")
    assert list(welter.find("shortest")) == ["bfs", "sssp"]
    assert list(welter.find("louvain")) == ["cdlp"]
    assert list(welter.find("")) == welter._algorithms.__all__
    assert welter.find("max flow") == {}
    for word, name in [("connected", "wcc"), ("louvain", "cdlp"), ("dijkstra", "sssp")]:
        with pytest.raises(AttributeError, match=f"welter.{name}: "):
            getattr(welter, word)
        with pytest.raises(welter.UsageError, match=f"no algorithm is called so; perhaps.*{name} "):
            welter.rmat(4).run(word)
    with pytest.raises(AttributeError, match="has no attribute 'flow'$"):
        welter.flow
    assert "connected components" in welter.wcc.__doc__
    assert "find" in dir(welter) and "wcc" in dir(welter)
