"""Machines of a run that are tasks of Spark, all at once: a barrier stage.

Each task is a machine, in the Python process of its executor. The first one hosts the run as well
(its machine is a process of its own) and has the result. It tells the others where it is, the words
of the run and the key that was made for it, by what tasks of a barrier stage say to each other::

    task 0     looks at the input, listens    -> all   {"words", "first", "key"}
    task i     ...............................  waits, and comes there as machine i

Edges, updates and results travel between machines by their own connections. Spark ends all tasks
where one fails, and begins the stage anew.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from . import _algorithms, _native
from ._read import unread
from ._result import Result
from ._stage import Stage
from ._starters import Processes, Seat, Starter
from .cluster import Cluster

__all__ = ["found"]


class _Own(Processes):
    """The machine of the first task, and word to the others."""

    def __init__(self, words: list[str], seat: Seat, tell: Callable[[str], Any]) -> None:
        super().__init__(words, seat)
        self._tell = tell

    def begin(self, first: str) -> None:
        _, _, key, _ = self.seat
        self._tell(json.dumps({"words": self.words, "first": first, "key": key}))
        super().begin(first)

    def _start(self, rank: int) -> str | None:
        return super()._start(rank) if rank == 0 else None


class _Tasks(Cluster):
    """Tasks of a barrier stage, as the first one has them."""

    _where = "env"

    def __init__(self, context: Any, patience: float) -> None:
        super().__init__(patience)
        self._context = context

    def _starter(self, words: list[str]) -> AbstractContextManager[Starter]:
        infos = self._context.getTaskInfos()
        here = socket.gethostbyname(infos[0].address.rpartition(":")[0])
        seat = (len(infos), f"{here}:0", _native.cluster_key(), self._patience)
        return _Own(words, seat, self._context.allGather)


def found(
    stage: Stage, algorithm: str, options: dict[str, Any], reading: dict[str, Any], directory: str
) -> Result | None:
    """The result of a run whose machines are the tasks of this stage, in the first of them.

    Parameters
    ----------
    reading : options of :func:`welter.read_edges`
    directory : of this machine, for what it stores
    """
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    rank, (edges, vertices, patience) = context.partitionId(), stage
    with _stored(directory):
        if rank == 0:
            graph = unread(edges, **{"weight": None, **reading}, vertices_from=vertices)
            run = getattr(_algorithms, algorithm)
            return run(graph, cluster=_Tasks(context, patience), progress=False, **options)
        said = json.loads(context.allGather()[0])
        machines = len(context.getTaskInfos())
        seat = (machines, said["first"], said["key"], max(1, round(patience)))
        _native.cluster_machine(said["words"], seat, rank)
    return None


@contextmanager
def _stored(directory: str) -> Iterator[None]:
    """Has temporary files there. Words cannot say it: those of all machines are one text."""
    was = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = directory
    tempfile.tempdir = None
    try:
        yield
    finally:
        tempfile.tempdir = None
        if was is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = was
