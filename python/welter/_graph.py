"""Graphs that are held for any number of runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _native
from ._errors import InputError, UsageError
from ._old_names import renamed
from ._progress import ticking
from ._result import Result
from ._sides import is_sided, placed
from ._tables import Taken, taken
from ._words import spoken, words
from .cluster import chosen

__all__ = ["Graph", "Path"]

Path = str | os.PathLike[str]


class Graph:
    """Edges that were read and are held, for any number of runs.

    Graphs are made by :func:`read_edges`, :func:`from_arrow`, :func:`from_numpy`,
    :func:`from_scipy`, :func:`from_networkx`, :func:`rmat`, :func:`web` and :func:`open`.

    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2], [1, 2, 0])
    >>> graph.num_edges, graph.weighted, graph.undirected
    (3, False, False)
    """

    def __init__(self, graph: _native.Graph, nodes: Sequence[Any] | None = None) -> None:
        self._graph = graph
        self._nodes = nodes
        #: What makes it again elsewhere, where edges are not in memory.
        self._travels: tuple[Any, tuple[Any, ...]] | None = None

    @property
    def name(self) -> str:
        """Name in errors."""
        return self._graph.facts()["name"]

    @property
    def num_vertices(self) -> int:
        """Vertices: those that were stated, else those with edges. May look at all edges, once.

        >>> import welter
        >>> welter.from_numpy([0, 9], [9, 5]).num_vertices
        3
        """
        return self._graph.vertices()

    @property
    def num_edges(self) -> int:
        """Edges, as they were listed: an undirected one counts once."""
        return self._graph.facts()["edges"]

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._graph.facts()["weighted"]

    @property
    def undirected(self) -> bool:
        """Whether every edge goes both ways."""
        return self._graph.facts()["undirected"]

    @property
    def readings(self) -> list[str]:
        """Readings of files, or of the table: format, columns, what was passed over.

        >>> import welter, polars
        >>> frame = polars.DataFrame({"caller": ["ann"], "callee": ["bob"]})
        >>> print(*welter.from_arrow(frame, name="calls").readings)
        calls: ...caller...callee...
        """
        return self._graph.readings()

    @property
    def notes(self) -> list[str]:
        """Notes on how it was read, a sentence each."""
        return [spoken(note) for note in self._graph.notes()]

    @property
    def nbytes(self) -> int:
        """Bytes of memory that are held between runs; arrays that were lent are not among them."""
        return self._graph.facts()["held_bytes"]

    def run(self, algorithm: str, *, progress: bool | None = None, **options: Any) -> Result:
        """Runs an algorithm by its name, with its options.

        >>> import welter
        >>> welter.from_numpy([0, 1], [1, 2]).run("bfs", source=0).to_dict("depth")
        {0: 0, 1: 1, 2: 2}
        """
        options = renamed(options)
        cluster = options.pop("cluster", None)
        said, tables = self._said(options)
        if cluster is not None:
            return chosen(cluster)._run(self, [algorithm, *words(said)], tables, progress)
        with ticking(progress) as tick:
            table = self._graph.run([algorithm, *words(said)], tables, tick)
        return Result(table, self._nodes)

    def explain(self, algorithm: str, **options: Any) -> str:
        """Says how a run would be done, what memory it would take, and about how long.

        >>> import welter
        >>> print(welter.rmat(20).explain("pagerank", memory="2GiB").splitlines()[0])
        algorithm pagerank
        """
        said, _ = self._said(renamed(options))
        return spoken(self._graph.explain([algorithm, *words(said)]))

    def degrees(
        self,
        *,
        memory: int | str | None = None,
        threads: int | None = None,
        scratch: Path | Sequence[Path] | None = None,
        progress: bool | None = None,
    ) -> Result:
        """The number of edges of each vertex: ``out_degree`` and ``in_degree``, or ``degree`` where
        edges go both ways.

        Parallel edges count each, and an edge from a vertex to itself counts at either end.

        >>> import welter
        >>> welter.from_numpy([0, 0], [1, 2]).degrees().to_dict()
        {0: (2, 0), 1: (0, 1), 2: (0, 1)}
        >>> welter.from_numpy([0, 0], [1, 2], undirected=True).degrees()[0]
        2
        """
        options = {"memory": memory, "threads": threads, "scratch": scratch}
        with ticking(progress) as tick:
            return Result(self._graph.degrees(words(options), tick), self._nodes)

    def save(
        self,
        directory: Path,
        *,
        memory: int | str | None = None,
        threads: int | None = None,
        scratch: Path | Sequence[Path] | None = None,
        disk: Path | Sequence[Path] | None = None,
        encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
        compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
        stripe_bits: int | None = None,
        block_bits: int | None = None,
        read_size: int | str | None = None,
        write_size: int | str | None = None,
        in_flight: int | None = None,
        io: Literal["direct", "cached"] | None = None,
        progress: bool | None = None,
    ) -> None:
        """Keeps the graph in a directory or bucket; see :func:`open`.

        Parameters
        ----------
        directory : a path, or a URL such as ``"s3://bucket/graph"``, with no graph in it yet
        memory : bytes that may be used, or text such as ``"2GiB"``
        threads : one a core if None
        scratch : directories for temporary files, where a graph for a bucket is made, too
        disk : directories of other disks, each of which takes its share of the graph;
            :func:`remove` removes a graph from all of them
        encoding, compression : how edges are kept, as of :func:`pagerank`; None: as
            ``welter ingest`` keeps them
        stripe_bits : log2 of the largest number of destinations of a stripe, 12 to 24; None: from
            the caches. With 24 the requests of runs on a bucket are as large as they can be
        block_bits : log2 of the largest number of sources of a block, 6 to 20; None: likewise
        read_size : bytes of a request for what the graph is read from, where it is not in memory,
            at most; a power of two from ``"4KiB"`` to ``"64MiB"``
        write_size : bytes of a write, likewise
        in_flight : requests that each thread has on their way, 1 to 256
        io : whether files are read and written past the page cache or through it
        progress : whether bars are drawn; None: on terminals and in notebooks

        Raises
        ------
        OutputError : where a graph is kept there already, or none can be
        StorageError : when writing fails; nothing is left then
        BudgetError : where the memory is too small, with how much would do

        >>> import welter, tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     kept = os.path.join(folder, "kept")
        ...     welter.from_numpy([0, 1], [1, 2]).save(kept)
        ...     welter.open(kept).num_edges
        2
        """
        if self._nodes is not None:
            what = "the vertices are objects of Python, which no directory holds"
            raise UsageError(what, hint=_as_strings(self._nodes))
        options = {
            "memory": memory,
            "threads": threads,
            "scratch": scratch,
            "disk": disk,
            "encoding": encoding,
            "compression": compression,
            "stripe_bits": stripe_bits,
            "block_bits": block_bits,
            "read_size": read_size,
            "write_size": write_size,
            "in_flight": in_flight,
            "io": io,
        }
        with ticking(progress) as tick:
            self._graph.keep(os.fspath(directory), words(options), tick)

    def _places(self) -> dict[Any, int] | None:
        """The numbers of nodes, where these are the vertices."""
        if self._nodes is None:
            return None
        return {node: place for place, node in enumerate(self._nodes)}

    def _said(self, options: dict[str, Any]) -> tuple[dict[str, Any], Taken]:
        """Options with tables and sources as the engine has them, and the tables."""
        if options.get("weight"):
            what = "the column of the weights is chosen where the graph is made"
            raise UsageError(f"weight={options['weight']!r}: {what}")
        places, two_kinds = self._places(), self._graph.facts()["two_kinds"]
        said, tables = taken(options, places, two_kinds)
        source = options.get("source")
        if source is None:
            return said, tables
        several = (list, set, frozenset, np.ndarray) + (() if places is not None else (tuple,))
        one = two_kinds and is_sided(source) or not isinstance(source, several)
        sources = [source] if one else list(source)
        try:
            return {**said, "source": placed(sources, places, two_kinds)}, tables
        except LookupError as missing:
            raise InputError(f"source={missing.args[0]!r}: is no node of the graph") from None

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: object) -> Graph:
        return self

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        if self._travels is None:
            raise TypeError(
                "a graph in memory does not pickle: keep it with graph.save(directory), and open "
                "it where it is wanted with welter.open(directory); what that gives pickles"
            )
        return self._travels

    def __repr__(self) -> str:
        facts = self._graph.facts()
        edges = f"{facts['edges']:,} edge{'' if facts['edges'] == 1 else 's'}"
        kinds = [
            "undirected" if facts["undirected"] else "directed",
            "weighted" if facts["weighted"] else "no weights",
            "ids are strings" if facts["names"] else "ids are integers",
        ]
        lines = [f"<welter.Graph of {facts['name']}: {edges}, {', '.join(kinds)}>"]
        lines.extend([*self.readings, *self.notes])
        return "\n".join(lines)


def _as_strings(nodes: Sequence[Any]) -> str:
    """Vertices of what files hold."""
    if all(isinstance(node, int) for node in nodes):
        return 'read them as strings, as in welter.from_numpy(source, target, ids="strings")'
    return "make strings of the nodes before, as in networkx.relabel_nodes(graph, str)"
