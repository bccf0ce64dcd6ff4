"""Several executors of Spark as the machines of a run: what the driver does.

Each machine reads edges by their places, so Spark writes them where all machines find them under
one name; the stage whose tasks are the machines (:mod:`welter._barrier`) reads no rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from ._errors import UsageError
from ._extras import needed
from ._frames import Edges

__all__ = ["Executors", "Stage"]

#: Files of edges and of vertices, if there are any, as machines find them, and seconds in which a
#: machine must come.
Stage = tuple[str, "str | None", float]

#: Between two looks at executors that are still coming, in seconds.
_INTERVAL = 0.5


class Executors:
    """Several executors: what :func:`welter.spark.executors` gives.

    >>> import welter
    >>> welter.spark.executors(4, directory="/mnt/shared/run-7")
    <4 executors of Spark, edges in /mnt/shared/run-7>
    """

    def __init__(self, machines: int, directory: str, cpus: int | None, patience: float) -> None:
        self._machines, self._directory, self._patience = machines, directory, patience
        self._cpus = cpus

    def __repr__(self) -> str:
        return f"<{self._machines} executors of Spark, edges in {self._directory}>"

    def stage(self, edges: Edges) -> Stage:
        """Words for tasks: where the edges are."""
        files = [f"{self._directory}/{name}/*.parquet" for name in ("edges", "vertices")]
        return files[0], None if edges.vertices is None else files[1], self._patience

    def _written(self) -> str:
        """The directory as Spark names it."""
        if self._directory.startswith("s3://"):
            return "s3a" + self._directory.removeprefix("s3")
        return self._directory if "://" in self._directory else f"file://{self._directory}"

    def result(self, edges: Edges, task: Callable[..., Any], schema: str) -> Any:
        """Writes the edges, and has a DataFrame whose barrier stage runs the task."""
        spark, count, profile = edges.frame.sparkSession, self._machines, self._profile()
        if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
            what = "tasks of all executors begin at once, which dynamic allocation does not promise"
            raise UsageError(what, hint="set spark.dynamicAllocation.enabled to false")
        self._await_slots(spark)
        if os.path.exists(self._directory):
            what = f"{self._directory}: is there already, and the edges are to be written there"
            raise UsageError(what, hint="name a directory that is not there yet")
        edges.frame.write.parquet(f"{self._written()}/edges")
        if edges.vertices is not None:
            edges.vertices.write.parquet(f"{self._written()}/vertices")
        machines = spark.range(0, count, 1, count).mapInArrow(task, schema, True, *profile)
        # Spark runs a barrier stage with all of its tasks or not at all, as `take` would have it.
        return machines.repartition(count)

    def _profile(self) -> list[Any]:
        """The resources of a task, where they are said."""
        if self._cpus is None:
            return []
        if int(needed("pyspark", "cpus").__version__.partition(".")[0]) < 4:
            what = "cpus: the cores of a task are not said to pyspark before 4"
            raise UsageError(what, hint="set spark.task.cpus to spark.executor.cores")
        from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests

        return [ResourceProfileBuilder().require(TaskResourceRequests().cpus(self._cpus)).build]

    def _await_slots(self, spark: Any) -> None:
        """Waits for as many slots as there are machines; Spark itself would try for ten minutes."""
        until = time.monotonic() + self._patience
        cpus = 1 if self._cpus is None else self._cpus
        slots = _slots(spark, cpus)
        while slots is not None and slots < self._machines:
            if time.monotonic() > until:
                what = f"{self._machines} tasks at once are wanted, and Spark has slots for {slots}"
                raise UsageError(what, hint="say fewer executors, or give the application more")
            time.sleep(_INTERVAL)
            slots = _slots(spark, cpus)


def _slots(spark: Any, cpus: int) -> int | None:
    """Tasks that Spark runs at once; None where it does not tell, as Connect does not."""
    try:
        context = spark.sparkContext._jsc.sc()
        profile = context.resourceProfileManager().defaultResourceProfile()
        return int(context.maxNumConcurrentTasks(profile)) // cpus
    except Exception:
        # Their names are no promise of Spark's.
        return None
