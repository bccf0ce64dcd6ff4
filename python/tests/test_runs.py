"""Runs: options, results, reports, and how they end."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import polars
import pyarrow
import pytest

import welter
from welter import _algorithms


@pytest.fixture(scope="module")
def graph(debian):
    return welter.read_edges(debian)


def test_results_in_every_form(graph, tmp_path):
    ranks = welter.pagerank(graph)
    values = ranks.to_dict()
    assert max(values, key=values.get) == "libc6"
    assert sum(values.values()) == pytest.approx(1.0)
    frame = ranks.to_polars()
    assert frame.columns == ranks.column_names == ["vertex", "rank"]
    assert dict(zip(frame["vertex"], frame["rank"], strict=True)) == values
    assert ranks.to_pandas().set_index("vertex")["rank"].to_dict() == values
    assert pyarrow.table(ranks).num_rows == len(ranks) == ranks.num_rows
    assert polars.DataFrame(ranks).equals(frame)
    for name in ("r.parquet", "r.csv", "r.arrow"):
        ranks.write(tmp_path / name)
    assert polars.read_parquet(tmp_path / "r.parquet").equals(frame)
    assert polars.read_ipc(tmp_path / "r.arrow").equals(frame)
    ranks.write(tmp_path / "odd.name", format="tsv")
    assert (tmp_path / "odd.name").read_text().startswith("vertex\trank\n")
    with pytest.raises(welter.UsageError, match="cannot tell the format"):
        ranks.write(tmp_path / "r.unknown")


def test_the_top_is_what_the_command_shows(graph):
    ranks = welter.pagerank(graph)
    top = ranks.top(3)
    assert top.to_numpy()["vertex"].tolist() == ["libc6", "libgcc-s1", "gcc-12-base"]
    assert repr(top).splitlines()[1].split() == ["1", "libc6", "0.156541"]
    assert "of 6" in repr(ranks) or "rows" in repr(ranks)
    assert "<td" in ranks._repr_html_() and "libc6" in ranks._repr_html_()
    groups = welter.wcc(graph).top(2)
    assert groups.column_names == ["component", "vertices"]
    sizes = groups.to_numpy()["vertices"]
    assert sizes[0] > sizes[1]
    forest = welter.mcst(welter.from_numpy([0, 1], [1, 2], [2.0, 9.0], undirected=True))
    assert forest.top(1).to_numpy()["weight"].tolist() == [9.0]
    assert "vertex" not in forest.column_names
    with pytest.raises(ValueError, match="list"):
        forest.to_dict()


def test_missing_values_are_masked():
    reached = welter.bfs(welter.from_numpy([0, 2], [1, 3]), source=0, parents=True)
    parents = reached.to_numpy()["parent"]
    assert np.ma.getmaskarray(parents).tolist() == [False, False, True, True]
    assert reached.to_polars()["parent"].to_list() == [0, 0, None, None]
    assert reached.to_pandas()["parent"].isna().tolist() == [False, False, True, True]
    assert reached.to_dict("parent") == {0: 0, 1: 0, 2: None, 3: None}
    with pytest.raises(KeyError, match="expected one of depth, parent"):
        reached.to_dict("x")


def test_results_of_many_batches_keep_their_order():
    size = (1 << 20) + 5
    path = np.arange(size, dtype=np.uint32)
    labels = welter.wcc(welter.from_numpy(path[:-1], path[1:]))
    assert pyarrow.table(labels)["vertex"].num_chunks > 1
    assert np.array_equal(labels.to_numpy()["vertex"], path)


def test_routes_threads_and_budgets_give_the_same(graph):
    expected = welter.pagerank(graph).to_dict()
    for options in (
        {"threads": 1},
        {"threads": 2, "encoding": "compressed"},
        {"edge_memory": 0},
        {"memory": "512MiB"},
        {"memory": 1 << 29},
    ):
        assert welter.pagerank(graph, **options).to_dict() == expected, options


def test_components_go_by_labels_on_other_routes(graph):
    def columns(result):
        return {name: values.tolist() for name, values in result.to_numpy().items()}

    for components in (welter.wcc, welter.scc, welter.mcst):
        expected = columns(components(graph))
        for route in ("ranges", "spill"):
            found = components(graph, route=route)
            assert columns(found) == expected, route
            assert found.report["parameters"]["method"] == "label-propagation", route
    said = "method    label-propagation: union-find does not have"
    assert said in graph.explain("wcc", route="spill")


def test_wrong_options_are_told_in_the_words_of_python(graph):
    with pytest.raises(welter.UsageError, match="damping=2: expected .*from 0 to 1") as caught:
        welter.pagerank(graph, damping=2)
    assert caught.value.code == 2
    with pytest.raises(ValueError, match='dangling="x": expected one of spread, networkx, drop'):
        welter.pagerank(graph, dangling="x")
    with pytest.raises(welter.UsageError, match="needs the vertex to begin at"):
        welter.bfs(graph)
    with pytest.raises(welter.InputError, match='source="nobody": the graph has no vertex'):
        welter.bfs(graph, source="nobody")
    with pytest.raises(TypeError):
        welter.pagerank(graph, dampening=0.5)
    with pytest.raises(welter.UsageError, match="pagerang: no algorithm is called so; there"):
        graph.run("pagerang")
    for forced in (welter.lcc, welter.triangles):
        with pytest.raises(welter.UsageError, match="no place where both could meet") as caught:
            forced(graph, route="ranges")
        assert caught.value.hint == "take fold or spill, or leave route out"
        expected, found = (forced(graph, route=way).to_numpy() for way in (None, "spill"))
        assert all((found[name] == expected[name]).all() for name in expected)
    with pytest.raises(welter.UsageError, match="no place where both could meet"):
        graph.explain("triangles", route="ranges")
    expected = welter.bp(graph).to_numpy()
    for route in ("ranges", "spill"):
        found = welter.bp(graph, route=route).to_numpy()
        assert all((found[name] == expected[name]).all() for name in expected), route
    with pytest.raises(welter.BudgetError) as caught:
        welter.pagerank(graph, memory="1MiB")
    assert caught.value.code == 78 and isinstance(caught.value, MemoryError)


def test_errors_of_files_name_their_place(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("1 2\n3 x\n")
    with pytest.raises(welter.InputError, match="edges.tsv:2: expected an integer") as caught:
        welter.read_edges(path, ids="integers")
    assert caught.value.code == 65
    with pytest.raises(FileNotFoundError, match="no such file"):
        welter.read_edges(tmp_path / "none.tsv")


def test_the_report_tells_and_draws(graph):
    import matplotlib

    matplotlib.use("Agg")
    result = welter.pagerank(graph, iterations=3)
    report = result.report
    assert (report.algorithm, report.iterations) == ("pagerank", 3)
    assert report["parameters"]["damping"] == 0.85
    assert {phase["name"] for phase in report.phases} >= {"partition", "sort", "iterate"}
    assert 0 < report.seconds < 60 and report.memory_bytes > 0
    axes = report.plot()
    assert len(axes.patches) == len(report.phases)
    assert "3 iterations" in repr(report)
    json.dumps(report.to_dict())
    assert any("iterations" in line for line in result.log)
    matplotlib.pyplot.close("all")


def test_explain_says_what_the_command_says(graph, debian):
    said = graph.explain("pagerank", memory="2GiB")
    assert "algorithm pagerank" in said and "memory" in said and "time" in said


def test_functions_are_made_from_the_command():
    for name in _algorithms.__all__:
        function = getattr(welter, name)
        signature = inspect.signature(function)
        assert signature.return_annotation == "Result"
        for parameter in list(signature.parameters)[1:]:
            assert f"    {parameter} : " in function.__doc__, (name, parameter)


def test_every_option_of_reading_has_its_parameter():
    line = [sys.executable, "-m", "welter", "ingest", "--help"]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", said, re.MULTILINE))
    assert {"source-column", "memory", "undirected"} <= options
    # One parameter for two options, or for those of all runs.
    merged = {"no-header": "header", "directed": "undirected", "no-weights": "weight"}
    merged["no-bipartite"] = "bipartite"
    names = set(inspect.signature(welter.read_edges).parameters)
    elsewhere = {"output", "quiet", "help"}
    elsewhere |= {"edge-memory", "encoding", "compression", "stripe-bits", "block-bits", "route"}
    elsewhere |= {"read-size", "write-size", "in-flight", "io", "no-combine", "no-fuse"}
    elsewhere |= {"disk", "edge-cache", "vertices-in-memory"}
    # A graph in parts is kept by the command.
    elsewhere |= {"cluster", "rank", "credentials", "insecure-trusted-network", "patience"}
    for option in options - elsewhere:
        name = merged.get(option, option).replace("-", "_")
        assert name in names, option


def test_progress_is_told():
    heard = []
    native = welter.rmat(20)._graph
    native.run(["pagerank", "--iterations=60"], [], lambda *told: heard.append(told))
    assert heard
    for phase, unit, done, total in heard:
        assert phase and unit in ("B", "edges", "vertices", "iterations")
        assert total is None or 0 <= done
    def fail(*told):
        raise RuntimeError("the bar broke")
    with pytest.raises(RuntimeError, match="the bar broke"):
        native.run(["pagerank", "--iterations=200", "--tolerance=0"], [], fail)


def test_bars_are_drawn_by_tqdm(capsys, monkeypatch):
    from welter import _progress

    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    welter.pagerank(welter.rmat(20), iterations=60, progress=True)
    drawn = capsys.readouterr().err
    assert "iterating" in drawn
    welter.pagerank(welter.rmat(12), progress=False)
    assert capsys.readouterr().err == ""


def test_other_threads_go_on_meanwhile():
    beats = []
    stop = threading.Event()

    def beat():
        while not stop.is_set():
            beats.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=beat)
    thread.start()
    welter.pagerank(welter.rmat(20), iterations=40)
    stop.set()
    thread.join()
    assert len(beats) > 5


def test_two_runs_at_a_time_on_one_graph(graph):
    expected = welter.pagerank(graph).to_dict()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(welter.pagerank(graph).to_dict()))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 3


def test_ctrl_c_ends_a_run():
    code = (
        "import welter, sys\n"
        "graph = welter.rmat(21)\n"
        "print('begun', flush=True)\n"
        "try:\n"
        "    welter.pagerank(graph, iterations=100000, tolerance=0)\n"
        "except KeyboardInterrupt:\n"
        "    print('ended', welter.rmat(8).run('wcc').num_rows > 0, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ended True\n"
        assert process.wait() == 0


def test_the_command_is_in_the_package(debian):
    line = [sys.executable, "-m", "welter", "run", "pagerank", debian, "--top", "1", "--quiet"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1].split()[1] == "libc6"
    wrong = subprocess.run(line[:3] + ["run", "pagerank", "nothing.tsv"], capture_output=True)
    assert wrong.returncode == 66
    assert os.path.basename(sys.executable)


def test_storage_is_used_as_said_and_the_ranks_stay(tmp_path):
    graph = welter.rmat(14)
    expected = welter.pagerank(graph, iterations=4).to_dict()
    disk = tmp_path / "disk"
    disk.mkdir()
    states = {"checkpoint": tmp_path / "states", "checkpoint_every": 2, "checkpoint_disk": disk}
    for options in (
        {"compression": "zstd", "encoding": "compressed"},
        {"read_size": "4MiB", "write_size": 1 << 20, "in_flight": 3},
        {"read_size": "8KiB", "io": "cached"},
        {"scratch": [tmp_path, disk], "memory": "256MiB"},
        states,
    ):
        result = welter.pagerank(graph, iterations=4, edge_memory=0, **options)
        assert result.to_dict() == expected, options
        requests = result.report["plan"]["requests"]
        if "in_flight" in options:
            assert (requests["read_bytes"], requests["write_bytes"]) == (4 << 20, 1 << 20)
            assert requests["reads_in_flight"] == 3
        assert requests["io"] == options.get("io", "direct")
    assert not (tmp_path / "states").exists() and not list(disk.iterdir())
    spilled = {"route": "spill", "no_combine": True, "no_fuse": True, "vertices_in_memory": True}
    ranks = welter.pagerank(graph, iterations=4, edge_memory=0, **spilled).to_dict()
    assert ranks == pytest.approx(expected, rel=1e-9)
    for wrong in ({"read_size": "2KiB"}, {"in_flight": 257}, {"io": "uncached"}):
        with pytest.raises(welter.UsageError):
            welter.pagerank(graph, edge_memory=0, **wrong)


def test_raw_records_are_read_as_said(tmp_path):
    path = tmp_path / "edges.u32"
    pairs = np.random.default_rng(7).integers(0, 500, (40_000, 2), dtype=np.uint32)
    pairs.tofile(path)
    expected = welter.wcc(pairs).to_dict()
    stated = {"read_size": "64KiB", "in_flight": 2}
    for options in ({}, {"io": "direct"}, {"io": "cached", "read_size": "1MiB"}, stated):
        assert welter.wcc(path, **options).to_dict() == expected, options
        assert welter.read_edges(path, **options).num_edges == 40_000
        assert welter.as_graph(path, **options).num_edges == 40_000
    with pytest.raises(welter.UsageError, match="direct, cached"):
        welter.read_edges(path, io="uncached")


def test_reports_have_the_money_of_a_run(tmp_path):
    prices = tmp_path / "prices"
    prices.write_text("machine_hour = 3600\ncurrency = EUR\n")
    graph = welter.rmat(8)
    report = welter.pagerank(graph, price=prices).report
    assert report["price"]["currency"] == "EUR" and report["price"]["total"] > 0
    assert "price" not in welter.pagerank(graph).report.to_dict()
    with pytest.raises(welter.InputError, match="no price is called"):
        prices.write_text("machine = 1\n")
        welter.pagerank(graph, price=prices)
