"""Graphs that are held for any number of runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _native
from ._errors import UsageError
from ._progress import ticking
from ._result import Result
from ._tables import as_files
from ._words import words

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

    @property
    def name(self) -> str:
        """What errors call it."""
        return self._graph.facts()["name"]

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
    def nbytes(self) -> int:
        """Bytes of memory that are held between runs; arrays that were lent are not among them."""
        return self._graph.facts()["held_bytes"]

    def run(self, algorithm: str, *, progress: bool | None = None, **options: Any) -> Result:
        """Runs an algorithm by its name, with its options.

        >>> import welter
        >>> welter.from_numpy([0, 1], [1, 2]).run("bfs", source=0).to_dict("depth")
        {0: 0, 1: 1, 2: 2}
        """
        with ticking(progress) as tick, as_files(options, self._places()) as said:
            table = self._graph.run([algorithm, *words(self._located(said))], tick)
        return Result(table, self._nodes)

    def explain(self, algorithm: str, **options: Any) -> str:
        """Says how a run would be done, what memory it would take, and about how long.

        >>> import welter
        >>> print(welter.rmat(20).explain("pagerank", memory="2GiB").splitlines()[0])
        algorithm pagerank
        """
        with as_files(options, self._places()) as said:
            return self._graph.explain([algorithm, *words(self._located(said))])

    def save(
        self,
        directory: Path,
        *,
        memory: int | str | None = None,
        threads: int | None = None,
        scratch: Path | Sequence[Path] | None = None,
        progress: bool | None = None,
    ) -> None:
        """Keeps the graph in a directory, which must not be there yet; see :func:`open`.

        >>> import welter, tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     kept = os.path.join(folder, "kept")
        ...     welter.from_numpy([0, 1], [1, 2]).save(kept)
        ...     welter.open(kept).num_edges
        2
        """
        options = {"memory": memory, "threads": threads, "scratch": scratch}
        with ticking(progress) as tick:
            self._graph.keep(os.fspath(directory), words(options), tick)

    def _places(self) -> dict[Any, int] | None:
        """The numbers of nodes, where these are the vertices."""
        if self._nodes is None:
            return None
        return {node: place for place, node in enumerate(self._nodes)}

    def _located(self, options: dict[str, Any]) -> dict[str, Any]:
        """The same with sources as the engine has them."""
        source, places = options.get("source"), self._places()
        if places is None or source is None:
            return options
        sources = source if isinstance(source, list) else [source]
        missing = [node for node in sources if node not in places]
        if missing:
            raise UsageError(f"source {missing[0]!r}: is no node of the graph")
        return {**options, "source": [places[node] for node in sources]}

    def __repr__(self) -> str:
        facts = self._graph.facts()
        kinds = ["undirected" if facts["undirected"] else "directed"]
        kinds.extend(["weighted"] if facts["weighted"] else [])
        return f"<welter.Graph of {facts['name']}: {facts['edges']:,} edges, {', '.join(kinds)}>"
