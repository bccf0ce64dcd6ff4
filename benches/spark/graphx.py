"""Components and ranks on Spark: welter beside Spark's own GraphX, in one run and in turns.

    python graphx.py [--scale N] [--rounds N] [--slots N] [--memory SIZE] [--command WELTER]

Both have the edges of an R-MAT graph on files: welter as a DataFrame whose ids are strings, in
Parquet; GraphX as an edge list of integers, the only ids that its loader knows, so that strings
would have to be numbered before, which is not in its time. A job lasts from the files until all
rows of the result are there, in a session that has run each of them before. Answers are compared
before anything is timed: components by the partition that they make, ranks within 1e-6 of the
largest, as GraphX has them (the rank of sinks is lost, and the rest is scaled to the number of
vertices).

Java, pyspark and welter must be there; ``cargo xtask spark`` installs the last two for its tests.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

ITERATIONS = 10

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


class Jobs:
    """The session, the files, and the four jobs."""

    def __init__(self, said: argparse.Namespace, folder: str) -> None:
        from pyspark.sql import SparkSession
        from pyspark.sql import functions as of

        builder = SparkSession.builder.master(f"local[{said.slots}]")
        settings = {
            "spark.driver.memory": said.memory,
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(said.slots),
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.slots = said.slots
        self.text = os.path.join(folder, "edges.tsv")
        line = [said.command, "generate", "rmat", str(said.scale), "-q", "-o", self.text]
        subprocess.run(line, check=True)
        pairs = self.spark.read.csv(self.text, sep="\t", comment="#", schema="a long, b long")
        named = [of.concat(of.lit("v"), of.col(name)).alias(name) for name in ("a", "b")]
        self.parquet = os.path.join(folder, "edges.parquet")
        pairs.select(*named).write.parquet(self.parquet)

    def of_welter(self, name: str, **options: Any) -> Any:
        import welter

        return getattr(welter.spark, name)(self.spark.read.parquet(self.parquet), **options)

    def of_graphx(self, name: str, *options: Any) -> Any:
        jvm, context = self.spark.sparkContext._jvm, self.spark.sparkContext._jsc.sc()
        graphx, tag = jvm.org.apache.spark.graphx, jvm.scala.reflect.ClassTag.Int()
        level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
        load = graphx.GraphLoader.edgeListFile
        graph = load(context, self.text, False, self.slots, level, level)
        return getattr(graphx.lib, name).run(graph, *options, tag, tag).vertices()

    def jobs(self) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
        """Jobs of welter and of GraphX, whose results are not computed yet."""
        ranks = {"iterations": ITERATIONS, "dangling": "drop"}
        return {
            "components": (
                lambda: self.of_welter("wcc"),
                lambda: self.of_graphx("ConnectedComponents"),
            ),
            f"PageRank, {ITERATIONS} iterations": (
                lambda: self.of_welter("pagerank", **ranks),
                lambda: self.of_graphx("PageRank", ITERATIONS, 0.15),
            ),
        }


def rows_of_welter(found: Any) -> dict[int, Any]:
    """Values by the numbers that ids were made of."""
    return {int(vertex[1:]): value for vertex, value in found.collect()}


def rows_of_graphx(found: Any) -> dict[int, Any]:
    """Values by vertex."""
    return {row._1(): row._2() for row in found.toJavaRDD().collect()}


def compare(name: str, ours: dict[int, Any], theirs: dict[int, Any]) -> None:
    """Ends the program where two answers differ."""
    if ours.keys() != theirs.keys():
        sys.exit(f"{name}: {len(ours)} and {len(theirs)} vertices")
    if name == "components":
        pairs = {(ours[vertex], theirs[vertex]) for vertex in ours}
        parts = len({one for one, _ in pairs}), len({other for _, other in pairs})
        if parts != (len(pairs), len(pairs)):
            sys.exit(f"{name}: other parts")
        return
    scale, largest = len(ours) / sum(ours.values()), max(theirs.values())
    error = max(abs(rank * scale - theirs[vertex]) for vertex, rank in ours.items()) / largest
    if error > 1e-6:
        sys.exit(f"{name}: {error:.1e} apart")


def seconds(job: Callable[[], Any], take: Callable[[Any], Any]) -> float:
    """Time until all rows of a result are there."""
    begun = time.perf_counter()
    take(job())
    return time.perf_counter() - begun


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slots", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--command", default="welter")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = Jobs(said, folder)
        spark = made.spark
        print(f"Spark {spark.version}, local[{said.slots}], R-MAT {said.scale}, seconds")
        print("| job | welter | GraphX | times |\n|---|--:|--:|--:|")

        def of_welter(found: Any) -> None:
            found.write.format("noop").mode("overwrite").save()

        for name, (ours, theirs) in made.jobs().items():
            compare(name, rows_of_welter(ours()), rows_of_graphx(theirs()))
            took: tuple[list[float], list[float]] = [], []
            for turn in range(said.rounds):
                both = [(0, ours, of_welter), (1, theirs, lambda found: found.count())]
                for at, job, take in both if turn % 2 == 0 else reversed(both):
                    took[at].append(seconds(job, take))
                    spark.sparkContext._jvm.System.gc()
            medians = [statistics.median(all_of) for all_of in took]
            shown = [
                f"{middle:.1f} ({min(all_of):.1f} to {max(all_of):.1f})"
                for middle, all_of in zip(medians, took)
            ]
            print(f"| {name} | {shown[0]} | {shown[1]} | {medians[1] / medians[0]:.1f} |")
        spark.stop()


if __name__ == "__main__":
    main()
