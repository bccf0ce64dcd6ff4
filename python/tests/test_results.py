"""First attempts of a new user with results and graphs."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys

import networkx
import numpy as np
import polars
import pyarrow
import pytest

import welter


@pytest.fixture
def calls() -> polars.DataFrame:
    return polars.DataFrame(
        {
            "caller": ["ann", "bob", "ann", "cid"],
            "callee": ["bob", "cid", "cid", "ann"],
            "minutes": [1.0, 2.0, 7.0, 1.0],
        }
    )


# Results


def test_results_are_looked_up_by_vertex(debian):
    ranks = welter.pagerank(debian)
    values = ranks.to_dict()
    assert ranks["libc6"] == values["libc6"]
    assert all(ranks[vertex] == rank for vertex, rank in values.items())
    assert dict(ranks) == values and next(iter(ranks)) == next(iter(values.items()))
    assert ranks.columns == ["vertex", "rank"] and len(ranks) == len(values)
    assert "libc6" in ranks and "nothing" not in ranks and 7 not in ranks
    with pytest.raises(KeyError, match="no vertex"):
        ranks["nothing"]
    with pytest.raises(KeyError, match="is the column"):
        ranks["rank"]
    top = ranks.top(3)
    assert top["libc6"] == values["libc6"] and len(list(top)) == 3
    sparse = welter.wcc(welter.from_numpy([7, 10**18], [10**18, 8]))
    assert [sparse[vertex] for vertex in (7, 8, 10**18, np.int64(8))] == [7, 7, 7, 7]
    for missing in (9, -1, 2**64, 7.0, "7", None, True):
        assert missing not in sparse
    nodes = welter.bfs(networkx.path_graph(["a", ("b", 1)]), source="a", parents=True)
    assert nodes[("b", 1)] == (1, "a") and "c" not in nodes
    forest = welter.mcst(welter.from_numpy([0], [1], [2.0], undirected=True))
    with pytest.raises(KeyError, match="list"):
        forest[0]
    assert [len(row) for row in forest] == [3]


def test_integers_stay_integers():
    depths = welter.bfs(welter.from_numpy([0, 2], [1, 3]), source=0)
    for value in (*depths.to_dict().values(), depths[0], *depths.to_dict()):
        assert value is None or type(value) is int
    assert str(depths.to_pandas()["depth"].dtype) == "Int64"
    assert depths.to_polars()["depth"].dtype == polars.Int64
    graph = networkx.path_graph(3)
    networkx.set_edge_attributes(graph, 2, "weight")
    lengths = networkx.single_source_dijkstra_path_length(graph, 0, backend="welter")
    assert lengths == {0: 0, 1: 2, 2: 4} and {type(length) for length in lengths.values()} == {int}


def test_what_was_not_reached_has_no_value():
    graph = welter.from_numpy([0, 2], [1, 3], [1.5, 1.0])
    for result, columns in [
        (welter.bfs(graph, source=0), ["depth"]),
        (welter.bfs(graph, source=0, parents=True), ["depth", "parent"]),
        (welter.sssp(graph, source=0), ["distance"]),
        (welter.sssp(graph, source=0, precision="f32"), ["distance"]),
        (welter.sssp(graph, source=0, parents=True), ["distance", "parent"]),
    ]:
        for column in columns:
            assert [value is None for value in result.to_dict(column).values()] == [
                False,
                False,
                True,
                True,
            ]
            assert np.ma.getmaskarray(result.to_numpy()[column]).tolist() == [
                False,
                False,
                True,
                True,
            ]
            assert result.to_polars()[column].is_null().to_list() == [False, False, True, True]
            assert pyarrow.table(result)[column].null_count == 2
            assert result.to_pandas()[column].isna().tolist() == [False, False, True, True]
        assert result[3] in (None, (None, None)) and result[1] is not None
        assert [row[1] is None for row in result] == [False, False, True, True]
        assert "inf" not in repr(result)
    nodes = networkx.Graph([("a", "b"), ("c", "d")])
    assert welter.sssp(nodes, source="a").to_dict() == {"a": 0.0, "b": 1.0, "c": None, "d": None}
    assert welter.sssp(nodes, source="a").to_polars()["distance"].to_list() == [
        0.0,
        1.0,
        None,
        None,
    ]


def test_paths_are_walked_back():
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, 60, 300), rng.integers(0, 60, 300)
    weight = rng.integers(0, 4, 300).astype(float)
    graph = welter.from_numpy(source, target, weight)
    many = networkx.MultiDiGraph()
    many.add_weighted_edges_from(zip(source.tolist(), target.tolist(), weight, strict=True))
    start = int(source[0])
    expected = networkx.single_source_dijkstra_path_length(many, start, backend="networkx")
    least = {}
    for one, other, cost in zip(source.tolist(), target.tolist(), weight, strict=True):
        least[one, other] = min(cost, least.get((one, other), np.inf))
    for options in ({}, {"delta": "inf"}, {"route": "spill"}, {"threads": 1}):
        found = welter.sssp(graph, source=start, parents=True, **options)
        assert found.to_dict("distance") == welter.sssp(graph, source=start).to_dict()
        for vertex in found.to_dict("distance"):
            path = found.path(vertex)
            if vertex not in expected:
                assert path is None and found[vertex] == (None, None)
                continue
            assert (path[0], path[-1]) == (start, vertex)
            edges = zip(path, path[1:], strict=False)
            assert sum(least[edge] for edge in edges) == expected[vertex]
        assert found.path(start) == [start]
    hops = welter.bfs(graph, source=start, parents=True)
    shortest = networkx.single_source_shortest_path_length(many, start, backend="networkx")
    assert all(len(hops.path(vertex)) == depth + 1 for vertex, depth in shortest.items())
    named = welter.bfs(networkx.path_graph(["a", ("b", 1), "c"]), source="a", parents=True)
    assert named.path("c") == ["a", ("b", 1), "c"]
    with pytest.raises(ValueError, match="parents=True"):
        welter.bfs(graph, source=start).path(start)
    with pytest.raises(KeyError, match="no vertex"):
        hops.path(10_000)
    with pytest.raises(welter.UsageError, match="f64 only"):
        welter.sssp(graph, source=start, parents=True, precision="f32")


def test_results_and_graphs_say_how_to_travel(tmp_path):
    graph = welter.from_numpy([0, 1], [1, 2])
    ranks = welter.pagerank(graph)
    with pytest.raises(TypeError, match=r"result.to_dict\(\), .*write"):
        pickle.dumps(ranks)
    with pytest.raises(TypeError, match=r"graph.save\(directory\).*welter.open"):
        pickle.dumps(graph)
    assert copy.copy(ranks) is ranks and copy.deepcopy({"ranks": ranks})["ranks"] is ranks
    assert copy.deepcopy(graph) is graph
    graph.save(tmp_path / "kept")
    for other in (welter.open(tmp_path / "kept"), welter.rmat(6, seed=3), welter.web(50)):
        again = pickle.loads(pickle.dumps(other))
        assert again.num_edges == other.num_edges
        assert welter.wcc(again).to_dict() == welter.wcc(other).to_dict()
    assert pickle.loads(pickle.dumps(ranks.to_dict())) == ranks.to_dict()


@pytest.mark.parametrize("module", ["polars", "pandas", "matplotlib"])
def test_a_missing_package_is_named(module):
    code = f"""
import sys
sys.modules[{module!r}] = None
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] == {module!r}:
            raise ModuleNotFoundError('No module named ' + name, name=name.partition('.')[0])
sys.meta_path.insert(0, Gone())
del sys.modules[{module!r}]
import welter
result = welter.wcc(welter.from_numpy([0], [1]))
needs = {{'polars': result.to_polars, 'pandas': result.to_pandas, 'matplotlib': result.report.plot}}
try:
    needs[{module!r}]()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip().endswith(f"is not installed: pip install {module}"), done.stderr


# Graphs


def test_graphs_know_their_vertices_and_degrees(tmp_path):
    cases = [
        (welter.from_numpy([0, 9, 9], [9, 5, 9]), 3, {0: (1, 0), 5: (0, 1), 9: (2, 2)}),
        (welter.from_numpy([0, 9, 9], [9, 5, 9], undirected=True), 3, {0: 1, 5: 1, 9: 4}),
        (welter.from_numpy([0], [2], vertices=4), 4, {0: (1, 0), 1: (0, 0), 2: (0, 1), 3: (0, 0)}),
        (welter.from_numpy(["a", "a"], ["b", "b"]), 2, {"a": (2, 0), "b": (0, 2)}),
        (welter.from_numpy([10**15, 3], [3, 4]), 3, {3: (1, 1), 4: (0, 1), 10**15: (1, 0)}),
    ]
    for graph, vertices, degrees in cases:
        assert graph.num_vertices == vertices
        assert graph.degrees().to_dict() == degrees
        assert graph.degrees(threads=1, memory="256MiB").to_dict() == degrees
    many = networkx.gnm_random_graph(40, 200, seed=1)
    many.add_edge(3, 3)
    graph = welter.from_networkx(networkx.relabel_nodes(many, {3: "three"}))
    degrees = dict(graph.degrees())
    assert degrees == {node if node != 3 else "three": degree for node, degree in many.degree()}
    assert graph.num_vertices == 40
    cases[0][0].save(tmp_path / "kept")
    kept = welter.open(tmp_path / "kept")
    assert (kept.num_vertices, kept.degrees().to_dict()) == (3, cases[0][2])
    assert welter.rmat(6).num_vertices == welter.rmat(6).degrees().num_rows
    with pytest.raises(ValueError, match="no report"):
        graph.degrees().report


def test_the_direction_is_said_for_a_run(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("0,1\n2,1\n")
    apart, together = {0: 0, 1: 1, 2: None}, {0: 0, 1: 1, 2: 2}
    graph = welter.read_edges(path)
    for source in (path, graph, polars.DataFrame({"a": [0, 2], "b": [1, 1]})):
        assert welter.bfs(source, source=0).to_dict() == apart
        assert welter.bfs(source, source=0, undirected=True).to_dict() == together
    both = welter.read_edges(path, undirected=True)
    assert welter.bfs(both, source=0).to_dict() == together
    assert welter.bfs(both, source=0, undirected=False).to_dict() == apart
    assert not graph.undirected
    assert "both ways" in " ".join(welter.bfs(graph, source=0, undirected=True).log)


#: So many that a run lasts for seconds.
ITERATIONS = 2_000


@pytest.mark.parametrize(
    "graph", ["welter.rmat(12)", "'edges.u32'", "welter.read_edges('edges.u32')"]
)
def test_a_run_is_gone_on_with(tmp_path, monkeypatch, graph):
    monkeypatch.chdir(tmp_path)
    welter_line = [sys.executable, "-m", "welter"]
    subprocess.run([*welter_line, "generate", "rmat", "12", "-o", "edges.u32", "-q"], check=True)
    code = (
        "import os, re, signal, threading, time, welter\n"
        f"graph = {graph}\n"
        "def stop():\n"
        "    states = []\n"
        "    while max(states, default=0) < 20:\n"
        "        names = os.listdir('kept') if os.path.isdir('kept') else []\n"
        "        states = [int(name[6:]) for name in names if re.fullmatch('state-[0-9]+', name)]\n"
        "        time.sleep(0.002)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=stop).start()\n"
        "try:\n"
        f"    welter.pagerank(graph, iterations={ITERATIONS}, tolerance=0.0, checkpoint='kept',\n"
        "                    checkpoint_every=5)\n"
        "except KeyboardInterrupt as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "interrupted; the last checkpoint is of iteration" in done.stdout, done.stderr
    assert "welter.resume('" in done.stdout
    assert os.path.isdir("kept")
    with pytest.raises(welter.WelterError, match="a run is kept there"):
        welter.pagerank("edges.u32", checkpoint="kept")
    monkeypatch.chdir(tmp_path.parent)
    if "edges.u32" in graph:
        with pytest.raises(welter.UsageError, match="(?s)names edges.u32.*os.chdir"):
            welter.resume(tmp_path / "kept")
        monkeypatch.chdir(tmp_path)
    resumed = welter.resume(tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    assert resumed.report.iterations == ITERATIONS
    assert not os.path.exists("kept")
    ranks = welter.pagerank(eval(graph), iterations=ITERATIONS, tolerance=0.0)
    assert resumed.to_dict() == ranks.to_dict()


def test_a_checkpoint_goes_when_the_result_is_there(tmp_path, calls):
    ranks = welter.pagerank(welter.rmat(8), checkpoint=tmp_path / "kept", checkpoint_every=1)
    assert ranks.to_dict() == welter.pagerank(welter.rmat(8)).to_dict()
    assert not (tmp_path / "kept").exists()
    with pytest.raises(welter.UsageError, match="in memory is not there to resume from"):
        welter.pagerank(calls, checkpoint=tmp_path / "kept")
    with pytest.raises(welter.UsageError, match="personalization: is in memory"):
        welter.pagerank(welter.rmat(4), personalization={0: 1}, checkpoint=tmp_path / "kept")
    with pytest.raises(welter.UsageError, match="checkpoint"):
        welter.pagerank(welter.rmat(4), checkpoint_every=3)
    assert not (tmp_path / "kept").exists()


def test_a_graph_shows_what_it_is(calls):
    shown = repr(welter.from_arrow(calls, weight="minutes", name="calls"))
    assert shown.startswith("<welter.Graph of calls: 4 edges, directed, weighted, ids are strings")
    assert "undirected, no weights" in repr(welter.from_numpy([0], [1], undirected=True))


def test_reports_are_pages_too(tmp_path):
    report = welter.pagerank(welter.rmat(8), iterations=4).report
    times = report["iteration_times"]
    assert [entry["iterations"] for entry in times] == [1] * 4
    assert sum(entry["seconds"] for entry in times) < report.seconds
    for name in ("run.html", "run.json"):
        report.write(tmp_path / name)
    page = (tmp_path / "run.html").read_text()
    assert page == report.to_html() and page.startswith("<!doctype html>")
    assert "<script" not in page and "iterate" in page and page.count("<svg") == 3
    assert json.loads((tmp_path / "run.json").read_text()) == report.to_dict()
    frame = report._repr_html_()
    # The page is in an attribute, so none of its quotes may end that.
    assert frame.startswith('<iframe srcdoc="&lt;!doctype') and frame.count('"') == 4
    many = welter.pagerank(welter.rmat(8), iterations=2, cluster="local:2").report
    assert "machine 1" in repr(many) and "machine 1" in many.to_html() and many.phases == []
