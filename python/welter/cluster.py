"""Runs on several machines: processes of this computer, or actors of a Ray cluster.

>>> import welter
>>> ranks = welter.pagerank(welter.rmat(8), cluster="local:2")
>>> len(ranks), ranks.report["cluster"]["restarts"]
(256, 0)

Every algorithm takes ``cluster=``: a text such as ``"local:4"`` or ``"ray"``, or what
:func:`local` and :func:`ray` give. The graph is a path, or one that :func:`welter.read_edges`,
:func:`welter.open` or a generator made: each machine reads its share of it, so it lies where all
machines find it under one name. What a cluster can do, and what not, is in docs/cluster.md.

The host of a run is in this process: it waits for the machines, starts others in the place of those
that die, and has the result. A key is made for each run on Ray and given to its machines alone;
they speak TLS, and listen at the addresses of their nodes. On this computer all is on loopback.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import MachineError, UsageError
from ._progress import ticking
from ._result import Result

if TYPE_CHECKING:
    from ._graph import Graph
    from ._starters import Starter

__all__ = ["Cluster", "local", "ray"]

#: Seconds in which a machine must come.
_PATIENCE = 60


class Cluster(ABC):
    """Machines on which algorithms run: what :func:`local` and :func:`ray` give.

    >>> import welter
    >>> welter.cluster.local(3)
    <3 machines that are processes of this computer>
    """

    #: Words by which the machines know where they are.
    _where: str

    def __init__(self, patience: float) -> None:
        self._patience = max(1, round(patience))

    @abstractmethod
    def _starter(self, words: list[str]) -> AbstractContextManager[Starter]:
        """Starts the machines of a run, and ends them."""

    def _run(
        self, graph: Graph, said: list[str], tables: list[Any], progress: bool | None
    ) -> Result:
        """Runs what words say on a graph."""
        if tables:
            what = f"{tables[0][0]}: is in memory, and machines of a cluster read tables"
            raise UsageError(what, hint="write it to a file, and give the name of that")
        run, name, *others = graph._graph.command(said)
        words = [run, name, f"--cluster={self._where}", *others]
        try:
            with self._starter(words) as starter, ticking(progress) as tick:
                seat = starter.seat
                table = _native.cluster_host(words, seat, starter.begin, tick)
        except KeyboardInterrupt as end:
            if not end.args:
                raise
            # A person who interrupts says nothing.
            raise MachineError(str(end)) from None
        return Result(table, graph._nodes)


class _Local(Cluster):
    def __init__(self, machines: int, patience: float) -> None:
        super().__init__(patience)
        self._machines = machines
        self._where = f"local:{machines}"

    def _starter(self, words: list[str]) -> AbstractContextManager[Starter]:
        from ._starters import Processes

        return Processes(words, (self._machines, "127.0.0.1:0", None, self._patience))

    def __repr__(self) -> str:
        return f"<{self._machines} machines that are processes of this computer>"


class _Ray(Cluster):
    _where = "env"

    def __init__(
        self, machines: int | None, address: str | None, cpus: float, patience: float
    ) -> None:
        super().__init__(patience)
        self._machines, self._address, self._cpus = machines, address, cpus

    def _starter(self, words: list[str]) -> AbstractContextManager[Starter]:
        from ._ray import Actors, joined

        ray, here, nodes = joined(self._address, self._machines, self._cpus)
        seat = (len(nodes), f"{here}:0", _native.cluster_key(), self._patience)
        return Actors(ray, words, seat, (nodes, self._cpus))

    def __repr__(self) -> str:
        count = "a machine on each node" if self._machines is None else f"{self._machines} machines"
        return f"<{count} of a Ray cluster>"


def local(machines: int, *, patience: float = _PATIENCE) -> Cluster:
    """So many processes of this computer.

    Parameters
    ----------
    machines : how many, 1 to 64
    patience : seconds in which a machine must come

    Examples
    --------
    >>> import welter
    >>> graph, machines = welter.rmat(8), welter.cluster.local(2)
    >>> welter.wcc(graph, cluster=machines).to_dict() == welter.wcc(graph).to_dict()
    True
    """
    return _Local(machines, patience)


def ray(
    machines: int | None = None,
    *,
    address: str | None = None,
    cpus: float = 1,
    patience: float = _PATIENCE,
) -> Cluster:
    """An actor on each of the nodes of a Ray cluster, with the engine in its process.

    The program that calls it runs on a node, too, as one of ``ray job submit`` does; welter is
    installed on all. An actor that dies is replaced, on its node while that is there.

    Parameters
    ----------
    machines : on this many nodes; None: on all that have the processors
    address : of the cluster, where this program has not said ``ray.init``
    cpus : processors that Ray counts for each; a machine takes all that its node has
    patience : seconds in which a machine must come

    Examples
    --------
    >>> import welter
    >>> welter.cluster.ray(3)
    <3 machines of a Ray cluster>
    """
    return _Ray(machines, address, cpus, patience)


def chosen(cluster: Any) -> Cluster:
    """The cluster that a caller names."""
    if isinstance(cluster, Cluster):
        return cluster
    if isinstance(cluster, str):
        where, _, rest = cluster.partition(":")
        if where == "local" and rest.isdecimal():
            return local(int(rest))
        if where == "ray":
            return ray(address=rest or None)
    raise UsageError(
        f"cluster={cluster!r}: expected local:N, ray, ray:ADDRESS, or what welter.cluster.local "
        "and welter.cluster.ray give"
    )
