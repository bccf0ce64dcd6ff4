"""Runs on Spark: four tasks of this process, and a master with two workers on loopback.

Run with Spark installed beside the package: ``cargo xtask spark``. Without it nothing here is
tested, which is said; ``WELTER_REQUIRE=spark`` makes that an error. Java must be there.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import welter

try:
    import pyspark
    from pyspark.errors import PythonException
    from pyspark.sql import SparkSession
except ModuleNotFoundError:
    if "spark" in os.environ.get("WELTER_REQUIRE", "").split(","):
        raise
    sys.stderr.write("SKIPPED: runs on Spark, which `cargo xtask spark` installs and tests\n")
    pytest.skip("pyspark is not installed", allow_module_level=True)

#: Python of executors.
os.environ["PYSPARK_PYTHON"] = sys.executable

#: Nothing listens elsewhere, not even machines of a run.
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

QUIET = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def begun(master, **settings):
    builder = SparkSession.builder.master(master)
    for name, value in {**QUIET, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@pytest.fixture(scope="module")
def spark():
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        pytest.fail("Spark needs Java: apt-get install openjdk-17-jre-headless")
    session = begun("local[4]")
    yield session
    session.stop()


def named(count, seed=7):
    """Edges between strings, in several components, with weights."""
    pick = random.Random(seed)
    ends = [(pick.randrange(count), pick.randrange(count)) for _ in range(count)]
    return [(f"ü{a:04}", f"ü{b:04}", pick.randint(1, 9) / 2) for a, b in ends]


def rows(frame):
    return {row[0]: row[1] if len(row) == 2 else tuple(row[1:]) for row in frame.collect()}


@pytest.mark.short
def test_answers_on_strings_are_those_of_one_machine(spark):
    edges = named(3000)
    frame = spark.createDataFrame(edges, ["src", "dst", "km"]).repartition(5)
    found = welter.spark.wcc(frame)
    assert found.dtypes == [("vertex", "string"), ("component", "string")]
    assert rows(found) == welter.wcc(edges).to_dict()
    ranks = welter.spark.pagerank(frame, iterations=20, threads=2, memory="2GiB")
    assert ranks.dtypes == [("vertex", "string"), ("rank", "double")]
    one = welter.pagerank(edges, iterations=20).to_dict()
    assert rows(ranks) == pytest.approx(one, rel=1e-9)


def test_weights_are_the_third_column(spark):
    edges = named(200)
    frame = spark.createDataFrame(edges, ["src", "dst", "km"])
    source = edges[0][0]
    far = welter.spark.sssp(frame, source=source, parents=True)
    assert far.dtypes == [("vertex", "string"), ("distance", "double"), ("parent", "string")]
    one = welter.sssp(edges, source=source)
    distances = {vertex: found[0] for vertex, found in rows(far).items()}
    assert distances == one.to_dict() and None in distances.values()
    plain = welter.pagerank(edges).to_dict()
    assert rows(welter.spark.pagerank(frame)) == pytest.approx(plain, rel=1e-9)
    for weight in (3, "km"):
        weighted = rows(welter.spark.pagerank(frame, weight=weight))
        assert weighted == pytest.approx(welter.pagerank(edges, weighted=True).to_dict(), rel=1e-9)
    assert rows(welter.spark.spmv(frame, weight=False, vector="ones")) == rows(
        welter.spark.spmv(frame.select("src", "dst"), vector="ones")
    )


def test_integers_keep_their_type(spark):
    frame = spark.createDataFrame([(7, 8), (8, 2**31 - 1)], "a int, b int")
    assert welter.spark.scc(frame).dtypes == [("vertex", "int"), ("component", "int")]
    assert rows(welter.spark.connected_components(frame)) == {7: 7, 8: 7, 2**31 - 1: 7}
    wide = spark.createDataFrame([(1, 2**40), (2**62, 2**40)], "a long, b long")
    assert rows(welter.spark.wcc(wide)) == {1: 1, 2**40: 1, 2**62: 1}
    assert rows(welter.spark.bfs(wide, source=1)) == {1: 0, 2**40: 1, 2**62: None}


def test_no_edges_are_no_rows(spark):
    frame = spark.createDataFrame([], "src string, dst string")
    found = welter.spark.pagerank(frame)
    assert found.columns == ["vertex", "rank"] and found.collect() == []


def test_what_is_wrong_is_told_when_it_is_said(spark):
    frame = spark.createDataFrame([(1.5, 2, "x", 3)], ["a", "b", "c", "d"])
    with pytest.raises(welter.UsageError, match=r"expected two or three columns .* found a \(doub"):
        welter.spark.wcc(frame)
    with pytest.raises(welter.InputError, match="first two columns are ids"):
        welter.spark.wcc(frame.select("a", "b"))
    with pytest.raises(welter.InputError, match="the third column is the weight, a number"):
        welter.spark.wcc(frame.select("b", "d", "c"))
    good = frame.select("b", "d")
    with pytest.raises(welter.UsageError, match="weight='km': expected the third column"):
        welter.spark.wcc(good, weight="km")
    with pytest.raises(welter.UsageError, match="damping"):
        welter.spark.pagerank(good, damping=7)
    with pytest.raises(welter.UsageError, match="checkpoint: not on Spark"):
        welter.spark.pagerank(good, checkpoint="/tmp/run")
    with pytest.raises(TypeError, match="dumping"):
        welter.spark.pagerank(good, dumping=0.5)
    with pytest.raises(welter.UsageError, match="personalization: a DataFrame of Spark"):
        welter.spark.pagerank(good, personalization=good)


def test_errors_of_the_engine_arrive_with_their_words(spark):
    frame = spark.createDataFrame([("a", "b"), ("b", None)], "src string, dst string")
    with pytest.raises(PythonException, match=r"InputError: edges: row [12]: .*") as raised:
        welter.spark.wcc(frame).collect()
    assert "welter-" not in str(raised.value)
    good = spark.createDataFrame([("a", "b")], ["src", "dst"])
    with pytest.raises(PythonException, match='source="z": the graph has no vertex'):
        welter.spark.bfs(good, source="z").collect()
    with pytest.raises(PythonException, match="BudgetError: "):
        welter.spark.wcc(good, memory="1MiB").collect()


def test_tables_travel_to_the_executor(spark):
    edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    frame = spark.createDataFrame(edges, ["src", "dst"])
    found = rows(welter.spark.pagerank(frame, personalization={"a": 1.0}))
    one = welter.pagerank(edges, personalization={"a": 1.0}).to_dict()
    assert found == pytest.approx(one, rel=1e-9)


def test_nothing_is_left_in_the_directories_of_the_executor(spark):
    frame = spark.createDataFrame(named(50), ["src", "dst", "km"])
    welter.spark.wcc(frame).collect()

    def left(batches):
        import pyarrow

        for _ in batches:
            folders = os.environ["SPARK_LOCAL_DIRS"].split(",")
            names = [name for folder in folders for name in os.listdir(folder)]
            kept = [name for name in names if name.startswith("welter")]
            yield pyarrow.RecordBatch.from_pydict({"left": kept})

    assert spark.range(1).repartition(1).mapInArrow(left, "left string").collect() == []


@pytest.mark.short
def test_tasks_of_a_stage_are_machines_of_one_run(spark, tmp_path):
    edges = named(3000)
    frame = spark.createDataFrame(edges, ["src", "dst", "km"]).repartition(5)
    three = welter.spark.executors(3, directory=str(tmp_path / "edges"))
    found = welter.spark.wcc(frame, cluster=three)
    assert rows(found) == welter.wcc(edges).to_dict()
    # Neither what Spark takes first, nor a second look, is a stage with some of its tasks.
    assert found.first() is not None and found.count() == len(welter.wcc(edges))
    with pytest.raises(welter.UsageError, match="is there already, and the edges are to be"):
        welter.spark.wcc(frame, cluster=three)
    source = edges[0][0]
    two = welter.spark.executors(2, directory=str(tmp_path / "again"))
    far = welter.spark.sssp(frame, source=source, parents=True, cluster=two)
    distances = {vertex: own[0] for vertex, own in rows(far).items()}
    assert distances == welter.sssp(edges, source=source).to_dict()


def test_vertices_and_repeated_edges_are_said_beside(spark, tmp_path):
    frame = spark.createDataFrame([("b", "c"), ("b", "c"), ("c", "c")], ["src", "dst"])
    people = spark.createDataFrame([("a",), ("b",), ("z",)], ["id"])
    edges = welter.spark.edges(
        frame, vertices=people, undirected=True, drop_self_loops=True, drop_duplicates=True
    )
    parts = {"a": "a", "b": "b", "c": "b", "z": "z"}
    assert rows(welter.spark.wcc(edges)) == parts
    half = rows(welter.spark.pagerank(edges))
    assert half["b"] == pytest.approx(half["c"]) and half["a"] == pytest.approx(half["z"])
    cluster = welter.spark.executors(2, directory=str(tmp_path / "run"))
    assert rows(welter.spark.wcc(edges, cluster=cluster)) == parts
    with pytest.raises(welter.UsageError, match="vertices: expected one column, found a "):
        welter.spark.edges(frame, vertices=spark.createDataFrame([(1, 2)], ["a", "b"]))
    with pytest.raises(welter.InputError, match="edges and vertices have ids, integers or strings"):
        welter.spark.edges(frame, vertices=spark.range(3))
    stars = spark.createDataFrame([(1, 1, 5.0), (1, 2, 3.0)], ["user", "item", "stars"])
    ratings = welter.spark.edges(stars, bipartite=True)
    factors = welter.spark.als(ratings, factors=4)
    assert factors.columns[:2] == ["vertex", "side"] and factors.count() == 3


@pytest.mark.short
def test_answers_are_those_of_graphx(spark, tmp_path):
    pick = random.Random(11)
    edges = [(pick.randrange(2000), pick.randrange(2000)) for _ in range(2000)]
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{a} {b}\n" for a, b in edges))
    jvm, context = spark.sparkContext._jvm, spark.sparkContext._jsc.sc()
    graphx, tag = jvm.org.apache.spark.graphx, jvm.scala.reflect.ClassTag.Int()
    level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
    graph = graphx.GraphLoader.edgeListFile(context, str(path), False, 2, level, level)

    def had(found):
        return {row._1(): row._2() for row in found.vertices().toJavaRDD().collect()}

    frame = spark.createDataFrame(edges, ["src", "dst"])
    assert rows(welter.spark.wcc(frame)) == had(graphx.lib.ConnectedComponents.run(graph, tag, tag))
    theirs = had(graphx.lib.PageRank.run(graph, 10, 0.15, tag, tag))
    # GraphX loses the rank of sinks, and scales what is left to the number of vertices.
    ranks = rows(welter.spark.pagerank(frame, iterations=10, dangling="drop"))
    scale = len(ranks) / sum(ranks.values())
    assert {own: rank * scale for own, rank in ranks.items()} == pytest.approx(theirs, rel=1e-9)


def descendants(said):
    """Processes below this one whose command lines have these words, and their parents."""
    parents, found = {}, []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            _, parent, *_ = (place / "stat").read_text().rpartition(")")[2].split()
            parents[int(place.name)] = int(parent)
            if said in (place / "cmdline").read_text():
                found.append(int(place.name))
        except (OSError, UnicodeDecodeError):
            # It has ended meanwhile.
            continue

    def below(process):
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return [(process, parents[process]) for process in found if below(process)]


@pytest.mark.parametrize("which", ["machine of the first task", "first task"])
def test_a_run_begins_anew_where_a_process_is_killed(spark, tmp_path, which):
    edges = named(300)
    frame = spark.createDataFrame(edges, ["src", "dst", "km"])
    cluster = welter.spark.executors(2, directory=str(tmp_path / "edges"))
    found = welter.spark.pagerank(frame, iterations=30, cluster=cluster)
    killed = []

    def kill():
        while not killed:
            for machine, task in descendants("welter._starters import be"):
                os.kill(machine if which != "first task" else task, signal.SIGKILL)
                killed.append(machine)
                return
            time.sleep(0.005)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    ranks = rows(found)
    killer.join(60)
    assert killed and ranks == pytest.approx(welter.pagerank(edges, iterations=30).to_dict())


def test_errors_of_machines_arrive_with_their_words(spark, tmp_path):
    frame = spark.createDataFrame(named(50), ["src", "dst", "km"])
    cluster = welter.spark.executors(2, directory=str(tmp_path / "edges"))
    found = welter.spark.bfs(frame, source="z", cluster=cluster)
    with pytest.raises(Exception, match='InputError: source="z": the graph has no vertex'):
        found.collect()


def test_ids_below_0_come_back(spark, tmp_path):
    frame = spark.createDataFrame([(-5, 7), (3, 10)], ["src", "dst"])
    assert rows(welter.spark.wcc(frame)) == {-5: -5, 7: -5, 3: 3, 10: 3}
    cluster = welter.spark.executors(2, directory=str(tmp_path / "edges"))
    # Machines compare them as texts.
    assert rows(welter.spark.wcc(frame, cluster=cluster)) == {-5: -5, 7: -5, 3: 10, 10: 10}
    again = welter.spark.executors(2, directory=str(tmp_path / "again"))
    far = welter.spark.bfs(frame, source=-5, cluster=again)
    assert rows(far) == {-5: 0, 7: 1, 3: None, 10: None}


def test_what_a_stage_cannot_have_is_refused(spark, tmp_path):
    frame = spark.createDataFrame([(1, 2)], ["src", "dst"])
    place = str(tmp_path / "edges")
    many = welter.spark.executors(5, directory=place, patience=1)
    with pytest.raises(welter.UsageError, match="5 tasks at once are wanted, .* slots for 4"):
        welter.spark.wcc(frame, cluster=many)
    with pytest.raises(welter.UsageError, match="memory: not known to several executors yet"):
        welter.spark.wcc(frame, memory="1GiB", cluster=many)
    with pytest.raises(welter.UsageError, match="cluster='local:2': expected what welter.spark"):
        welter.spark.wcc(frame, cluster="local:2")
    assert not os.path.exists(place)


def run(program, **environ):
    """A program of its own; what it said."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


CONNECT = """
import welter
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[2]").config("spark.log.level", "OFF").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)
frame = spark.createDataFrame([("a", "b", 2.0), ("b", "c", 2.5)], ["src", "dst", "km"])
print(*welter.spark.sssp(frame, source="a").collect())
two = welter.spark.executors(2, directory={place!r})
print(*welter.spark.wcc(frame, cluster=two).orderBy("vertex").collect())
spark.stop()
"""


@pytest.mark.skipif(pyspark.__version__ < "4", reason="3.5 has no server of Connect in its wheel")
def test_connect_is_spark_too(spark, tmp_path):
    said = run(CONNECT.format(place=str(tmp_path / "edges")))
    assert "distance=0.0) Row(vertex='b', distance=2.0) Row(vertex='c', distance=4.5)" in said
    assert "component='a') Row(vertex='b', component='a') Row(vertex='c', component='a')" in said


ABSENT = """
import sys
sys.path.insert(0, {path!r})
import welter
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.log.level", "OFF").getOrCreate()
try:
    welter.spark.wcc(spark.createDataFrame([(1, 2)], ["src", "dst"])).collect()
except Exception as error:
    print(error)
spark.stop()
"""


def test_an_executor_without_welter_says_so(spark):
    package = str(Path(welter.__file__).resolve().parents[1])
    said = run(ABSENT.format(path=package), PYTHONPATH="")
    assert "welter cannot be imported on an executor of Spark" in said
    assert "PYSPARK_PYTHON" in said and sys.version.split()[0] in said


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def standalone(tmp_path):
    """A master and two workers, with an executor each."""
    home = Path(pyspark.__file__).parent
    port = free_port()
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home)}
    start = [str(home / "bin" / "spark-class")]
    deploy = "org.apache.spark.deploy"
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    line = [*start, f"{deploy}.master.Master", *place, "--port", str(port)]
    quiet = {"env": environ, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen(line, **quiet)]
    master = f"spark://127.0.0.1:{port}"
    for number in range(2):
        own = ["--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / f"worker-{number}")]
        line = [*start, f"{deploy}.worker.Worker", *place, *own, master]
        running.append(subprocess.Popen(line, **quiet))
    yield master
    for process in running:
        process.terminate()
    for process in running:
        process.wait(30)


STANDALONE = """
import pyspark
import welter
from pyspark.sql import SparkSession

builder = SparkSession.builder.master({master!r})
for name, value in {settings!r}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
edges = {edges!r}
frame = spark.createDataFrame(edges, ["src", "dst", "km"]).repartition(4)
found = {{row[0]: row[1] for row in welter.spark.wcc(frame).collect()}}
assert found == welter.wcc(edges).to_dict()
ranks = {{row[0]: row[1] for row in welter.spark.pagerank(frame).collect()}}
one_each = {{"cpus": 2}} if pyspark.__version__ >= "4" else {{}}
two = welter.spark.executors(2, directory={place!r}, **one_each)
assert {{row[0]: row[1] for row in welter.spark.wcc(frame, cluster=two).collect()}} == found
one = welter.pagerank(edges).to_dict()
assert set(ranks) == set(one) and all(abs(ranks[own] - one[own]) < 1e-9 for own in one)
print("equal on", spark.sparkContext.master)
spark.stop()
"""


@pytest.mark.short
def test_a_master_with_two_workers_has_the_answers(standalone, tmp_path):
    settings = {**QUIET, "spark.executor.memory": "512m", "spark.executor.cores": "2"}
    settings["spark.executorEnv.PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    program = STANDALONE.format(
        settings=settings, master=standalone, edges=named(500), place=str(tmp_path / "edges")
    )
    assert f"equal on {standalone}" in run(program)
