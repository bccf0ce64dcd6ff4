"""Words of `welter.spark` without Spark: columns that are foreseen, the task, and its errors."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import types

import pyarrow
import pytest

import welter
from welter import _barrier, _executor, _spark

EDGES = {"source": ["a", "b", "a", "c"], "target": ["x", "x", "y", "y"]}
WEIGHTED = {**EDGES, "weight": [1.0, 2.0, 0.5, 4.0]}

#: Options that change the columns, by algorithm.
SHAPES = {
    "pagerank": [{}, {"precision": "f32"}, {"weighted": True}],
    "bfs": [{"source": "a"}, {"source": "a", "parents": True}],
    "sssp": [{"source": "a"}, {"source": "a", "parents": True}, {"source": "a"}],
    "conductance": [{}, {"weighted": True}],
    "bp": [{}, {"states": 4}],
    "als": [{}, {"factors": 4}],
}


def ran(name, options, edges, columns):
    batch = pyarrow.RecordBatch.from_pydict(edges)
    return list(_executor.results(iter([batch, batch.slice(0, 0)]), name, options, columns, {}))


def edges_of(kind, reading=None):
    return types.SimpleNamespace(ids=kind, weighted=True, reading=reading or {})


@pytest.mark.parametrize("name", _spark.FUNCTIONS)
def test_columns_are_foreseen(name):
    for options in SHAPES.get(name, [{}]):
        columns = _spark._trial(name, options, edges_of("string"))
        (batch,) = ran(name, options, WEIGHTED, columns)
        assert batch.schema.names == [own for own, _ in columns]
        kinds = {"string": "string", "bigint": "int64", "double": "double", "float": "float"}
        found = [str(kind) for kind in batch.schema.types]
        assert found == [kinds[kind] for _, kind in columns]
        one = getattr(welter, name)(pyarrow.table(WEIGHTED), **options)
        assert batch.num_rows == one.num_rows


@pytest.mark.parametrize("name", _spark.FUNCTIONS)
def test_functions_look_as_those_of_the_package(name):
    function, model = getattr(welter.spark, name), getattr(welter, name)
    own, theirs = (inspect.signature(one).parameters for one in (function, model))
    assert list(own) == ["edges", *(one for one in theirs if one not in {"graph", *_spark._ABSENT})]
    about = inspect.getdoc(function)
    assert about.splitlines()[0] == inspect.getdoc(model).splitlines()[0]
    assert "cluster : run on several executors: see :func:`welter.spark.executors`" in about
    for word in ("\ncheckpoint :", "local:4", "graph :", "Examples"):
        assert word not in about
    assert "edges : a DataFrame of Spark" in about and "memory : " in about


def test_other_names_are_known():
    assert welter.spark.connected_components is welter.spark.wcc
    with pytest.raises(AttributeError, match=r"welter\.spark\.wcc"):
        _ = welter.spark.weakly


def test_large_results_come_in_parts(monkeypatch):
    monkeypatch.setattr(_executor, "_ROWS", 2)
    parts = ran("wcc", {}, EDGES, [("vertex", "string"), ("component", "string")])
    assert [part.num_rows for part in parts] == [2, 2, 1]


def test_files_lie_where_spark_says_and_are_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/none,{tmp_path}")
    seen = []

    class Watched(_executor.Files):
        def __init__(self, folder):
            super().__init__(folder)
            seen.append(os.path.dirname(folder))

    monkeypatch.setattr(_executor, "Files", Watched)
    with pytest.raises(welter.BudgetError):
        ran("wcc", {"memory": "1MiB"}, EDGES, [])
    assert seen == [str(tmp_path)] and os.listdir(tmp_path) == []


def test_scratch_is_for_what_does_not_fit_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    columns = [("vertex", "string"), ("component", "string")]
    (batch,) = ran("wcc", {"scratch": str(tmp_path)}, EDGES, columns)
    assert batch.num_rows == 5


def test_limits_are_those_of_the_executor(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert _executor._threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert _executor._threads() is None
    monkeypatch.setattr(_executor.resource, "getrlimit", lambda what: (1000, 2000))
    assert _executor._memory() == 600


def test_columns_that_were_not_foreseen_are_a_bug():
    with pytest.raises(welter.InternalError, match="columns vertex, component where rank were"):
        ran("wcc", {}, EDGES, [("rank", "double")])


def test_frames_of_others_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ModuleNotFoundError, match="wcc needs pyspark, .*: pip install pyspark"):
        welter.spark.wcc(pyarrow.table(EDGES))
    old = types.ModuleType("pyspark")
    old.__version__ = "3.4.1"
    monkeypatch.setitem(sys.modules, "pyspark", old)
    with pytest.raises(TypeError, match="found Table: functions of welter take what other"):
        welter.spark.wcc(pyarrow.table(EDGES))

    class Frame:
        mapInArrow = None

    Frame.__module__ = "pyspark.sql.dataframe"
    with pytest.raises(welter.UsageError, match=r"needs pyspark 3\.5 or newer, and this is 3\.4"):
        welter.spark.wcc(Frame())
    Frame.__module__ = "pyspark.pandas.frame"
    with pytest.raises(TypeError, match="say .to_spark()"):
        welter.spark.wcc(Frame())


def test_executors_that_come_and_go_are_refused():
    settings = {"spark.dynamicAllocation.enabled": "true"}
    session = types.SimpleNamespace(conf=settings)
    frame = types.SimpleNamespace(sparkSession=session)
    edges = types.SimpleNamespace(frame=frame, vertices=None)
    cluster = welter.spark.executors(2, directory="/mnt/shared/run/")
    assert cluster.stage(edges) == ("/mnt/shared/run/edges/*.parquet", None, 60)
    with pytest.raises(welter.UsageError, match="which dynamic allocation does not promise"):
        cluster.result(edges, None, "")
    assert welter.spark.executors(2, directory="s3://own/run")._written() == "s3a://own/run"
    assert cluster._written() == "file:///mnt/shared/run"


def test_temporary_files_of_a_machine_lie_where_spark_says(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/before")
    with _barrier._stored(str(tmp_path)):
        assert os.environ["TMPDIR"] == tempfile.gettempdir() == str(tmp_path)
    assert os.environ["TMPDIR"] == "/before"


def signed(name, options, columns, **edges):
    (batch,) = ran(name, options, edges, columns)
    return dict(zip(*batch.to_pydict().values()))


def test_ids_below_0_come_back_in_their_order():
    low = -(2**63)
    edges = {"source": [low, -1, 7], "target": [-1, 0, 2**63 - 1]}
    component = [("vertex", "bigint"), ("component", "bigint")]
    found = signed("wcc", {}, component, **edges)
    assert list(found.items()) == [(low, low), (-1, low), (0, low), (7, 7), (2**63 - 1, 7)]
    depth = [("vertex", "bigint"), ("depth", "bigint")]
    assert signed("bfs", {"source": [-1, 7]}, depth, **edges) == {
        low: None, -1: 0, 0: 1, 7: 0, 2**63 - 1: 1
    }  # fmt: skip
    with pytest.raises(welter.InputError, match="source=-6: the graph has no vertex"):
        ran("bfs", {"source": -6}, edges, depth)
    rank = [("vertex", "bigint"), ("rank", "double")]
    jumps = {"personalization": {-1: 1.0}}
    from_one = welter.pagerank([(0, 1), (1, 2), (3, 4)], personalization={1: 1.0}).to_dict()
    assert list(signed("pagerank", jumps, rank, **edges).values()) == pytest.approx(
        list(from_one.values())
    )
    with pytest.raises(welter.UsageError, match="personalization: ids of the graph are below 0"):
        ran("pagerank", {"personalization": "jumps.csv"}, edges, rank)


def test_rows_that_are_vertices_are_told_from_edges():
    rows = {"source": ["a", "z", "b"], "target": ["b", None, "c"], "alone": [False, True, False]}
    columns = [("vertex", "string"), ("component", "string")]
    assert signed("wcc", {}, columns, **rows) == {"a": "a", "b": "a", "c": "a", "z": "z"}
    alone = {"source": [-7, 8], "target": pyarrow.nulls(2, pyarrow.int64()), "alone": [True, True]}
    columns = [("vertex", "bigint"), ("component", "bigint")]
    assert signed("wcc", {}, columns, **alone) == {-7: -7, 8: 8}


def test_two_kinds_of_vertices_have_sides():
    edges = edges_of("string", {"bipartite": True})
    columns = _spark._trial("bfs", {"source": ("source", "u")}, edges)
    assert columns == [("vertex", "string"), ("side", "string"), ("depth", "bigint")]
