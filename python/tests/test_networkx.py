"""The NetworkX backend: its results beside those of NetworkX, and the tests of NetworkX itself."""

from __future__ import annotations

import os

import networkx as nx
import networkx_suite
import pytest

from welter import _networkx

#: Tests that fail, and why.
KNOWN = {
    "test_condensation_mapping_and_members": "numbers components in the order in which NetworkX "
    "happens to find them",
}


def graphs():
    """Graphs of every kind, with weights on some edges."""
    for make in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        graph = nx.gnm_random_graph(40, 90, seed=3, directed=make().is_directed())
        graph = make(graph)
        graph.add_nodes_from(["alone", (1, 2)])
        graph.add_edge("x", (1, 2), weight=2.5)
        for number, edge in enumerate(list(graph.edges())[:30]):
            graph.add_edge(*edge, weight=number % 7)
        yield graph
    yield nx.Graph()


def compared(name, graph, *args, **kwargs):
    """The result of the backend beside that of NetworkX, or that both raise the same."""
    results = []
    for backend in ("welter", "networkx"):
        try:
            result = getattr(nx, name)(graph, *args, backend=backend, **kwargs)
            if hasattr(result, "__next__"):
                result = {frozenset(part) for part in result}
            results.append(result)
        except NotImplementedError as error:
            if "not implemented by" in str(error):
                return
            results.append(type(error))
        except Exception as error:
            results.append(type(error))
    ours, theirs = results
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs) or name.startswith("single"), name
        assert ours == pytest.approx(theirs, rel=1e-4), name
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs), name
    else:
        assert ours == theirs, name


@pytest.mark.filterwarnings("ignore")
def test_results_and_exceptions_are_those_of_networkx():
    for graph in graphs():
        for name in _networkx.info()["functions"]:
            if name in ("ancestors", "descendants", "node_connected_component"):
                compared(name, graph, 5)
                compared(name, graph, "nobody")
            elif name.startswith("single"):
                compared(name, graph, "x")
                compared(name, graph, "nobody")
                compared(name, graph, "x", cutoff=2)
            else:
                compared(name, graph)
        compared("pagerank", graph, personalization={"x": 1, 5: 3})
        compared("pagerank", graph, weight=None, alpha=0.5)
        compared("pagerank", graph, max_iter=2)
        compared("pagerank", graph, personalization={"x": 0})
        compared("pagerank", graph, nstart={5: 2, "x": 1})
        compared("pagerank", graph, nstart={5: 2, "x": 1}, max_iter=5, tol=1e-3)
        compared("pagerank", graph, dangling={"x": 1, 5: 3})
        compared("pagerank", graph, dangling={"x": 1}, personalization={5: 3}, weight=None)
        compared("triangles", graph, "x")
        compared("triangles", graph, ["x", 5])
        compared("clustering", graph, 5)
        compared("average_clustering", graph, count_zeros=False)


def test_what_cannot_be_done_is_declined():
    graph = nx.path_graph(4)
    for name, kwargs, why in [
        ("pagerank", {"nstart": {0: 0}}, "nstart: expected a sum"),
        ("pagerank", {"dangling": {9: 1}}, "dangling: expected a sum"),
        ("pagerank", {"dangling": {0: 2, 1: -1}}, "dangling: negative values"),
        ("clustering", {"weight": "weight"}, "weights are not supported"),
        ("single_source_dijkstra_path_length", {"source": 0, "weight": len}, "functions"),
    ]:
        assert why in _networkx.backend.can_run(name, (graph,), kwargs)
    assert "undirected" in _networkx.backend.can_run("core_number", (nx.DiGraph(graph),), {})
    negative = nx.Graph([(0, 1, {"weight": -1})])
    assert "negative" in _networkx.backend.can_run("pagerank", (negative,), {})


def test_whether_it_gains_depends_on_the_function_the_size_and_what_is_converted():
    gains = _networkx.backend.should_run
    small, large = nx.path_graph(4), nx.gnm_random_graph(5_000, 200_000, seed=1)
    assert "too small" in gains("pagerank", (small,), {})
    assert gains("pagerank", (large,), {}) is True
    assert gains("core_number", (), {"G": large}) is True
    assert "converting" in gains("connected_components", (large,), {})
    nx.core_number(large, backend="welter")
    assert gains("connected_components", (large,), {}) is True


def test_it_is_used_where_it_gains_when_it_has_priority(monkeypatch):
    called = []
    counted = staticmethod(lambda G, nodes: called.append(len(G)) or {})
    monkeypatch.setattr(type(_networkx.backend), "triangles", counted)
    with nx.config(backend_priority=["welter"], cache_converted_graphs=False):
        nx.triangles(nx.path_graph(5))
        assert called == []
        nx.triangles(nx.gnm_random_graph(5_000, 30_000, seed=1))
    assert called == [5_000]


def test_the_suite_of_networkx(tmp_path):
    """Functions that the backend has are run by it, all others by NetworkX."""
    counts, printed = networkx_suite.counted(networkx_suite.SUITES, alone=False, folder=tmp_path)
    assert networkx_suite.failed(printed) == set(KNOWN), printed[-8000:]
    assert counts["tests"]["passed"] > 300
    for name, ran in counts["functions"].items():
        assert ran.get("run", 0) > 0, name
        assert ran.get("passed", 0) > 0, name


#: Where not all cases are asked for (`.ci/run`) the suite above has to do: this takes a minute.
ALL_CASES = int(os.environ.get("WELTER_CASES", "100")) >= 100


@pytest.mark.skipif(not ALL_CASES, reason="WELTER_CASES is below 100")
def test_the_suite_of_networkx_with_nothing_behind_the_backend(tmp_path):
    """Tests that ask for what the backend has not are left out; no other way of failing."""
    counts, printed = networkx_suite.counted(networkx_suite.SUITES, alone=True, folder=tmp_path)
    assert networkx_suite.failed(printed) == set(), printed[-8000:]
    assert counts["tests"]["passed"] > 40
    assert counts["functions"]["pagerank"]["passed"] > 0
