"""Graphs of NetworkX as the backend has them: arrays, with the way back to the nodes."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np

from ._graph import Graph
from ._read import from_numpy
from ._result import Result

__all__ = ["BackendGraph", "Node", "improper_weights"]

Node = Hashable


class BackendGraph:
    """The nodes and edges of a graph of NetworkX, as arrays."""

    __networkx_backend__ = "welter"

    def __init__(self, graph: nx.Graph, attribute: str | None, default: Any) -> None:
        self.original = graph
        self.nodes: list[Node] = list(graph)
        self.places: dict[Node, int] = {node: place for place, node in enumerate(self.nodes)}
        self.directed: bool = graph.is_directed()
        self.multi: bool = graph.is_multigraph()
        #: Whether lengths of paths are integers, as their weights are.
        self.whole = True
        if self.multi:
            self._read_parallel(graph, attribute, default)
        else:
            self._read(graph, attribute, default)

    def _read(self, graph: nx.Graph, attribute: str | None, default: Any) -> None:
        """Takes rows as they lie, without a step of Python for each edge."""
        rows = [row for _, row in graph.adjacency()]
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        arcs = int(counts.sum())
        targets = map(self.places.__getitem__, chain.from_iterable(rows))
        self.target = np.fromiter(targets, np.uint32, arcs)
        self.source = np.repeat(np.arange(len(rows), dtype=np.uint32), counts)
        self.weight: np.ndarray | None = None
        if attribute is not None:
            self._weigh([facts.get(attribute, default) for row in rows for facts in row.values()])
        if not self.directed:
            # Both ends have an edge in their rows.
            once = self.source <= self.target
            self.source, self.target = self.source[once], self.target[once]
            self.weight = None if self.weight is None else self.weight[once]

    def _read_parallel(self, graph: nx.Graph, attribute: str | None, default: Any) -> None:
        if attribute is None:
            edges: list[Any] = list(graph.edges())
        else:
            edges = list(graph.edges(data=attribute, default=default))
        count, places = len(edges), self.places
        self.source = np.fromiter((places[edge[0]] for edge in edges), np.uint32, count)
        self.target = np.fromiter((places[edge[1]] for edge in edges), np.uint32, count)
        self.weight = None
        if attribute is not None:
            self._weigh([edge[2] for edge in edges])

    def _weigh(self, weights: list[Any]) -> None:
        self.weight = np.fromiter(weights, np.float64, len(weights))
        self.whole = all(map(_is_whole, weights))

    def is_directed(self) -> bool:
        """As of NetworkX."""
        return self.directed

    def is_multigraph(self) -> bool:
        """As of NetworkX."""
        return self.multi

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.places
        except TypeError:
            return False

    def graph(self, weighted: bool = False) -> Graph:
        """Graph of NetworkX as one of welter."""
        weighted = weighted and len(self.source) > 0
        return from_numpy(
            self.source,
            self.target,
            self.weight if weighted else None,
            vertices=len(self.nodes),
            undirected=not self.directed,
            progress=False,
        )

    def run(self, algorithm: str, heeds: bool = False, **options: Any) -> Result:
        """Result of an algorithm, a row for each node in their order; with weights if it ``heeds``
        them.
        """
        return self.graph(heeds).run(algorithm, progress=False, **options)

    def values(self, algorithm: str, heeds: bool = False, **options: Any) -> np.ndarray:
        """The last column of that."""
        return list(self.run(algorithm, heeds, **options).to_numpy().values())[-1]

    def place(self, node: Node, missing: str) -> int:
        """Where a node is; an exception of NetworkX where it is not."""
        if node not in self:
            raise nx.NodeNotFound(missing)
        return self.places[node]


def _is_whole(weight: Any) -> bool:
    return isinstance(weight, int)


#: Below, a share of a sum is no number any more; above, a sum may be none.
_SMALLEST, _LARGEST = 1e-290, 1e290
#: Integers up to here are floats, too.
_WHOLE_MAX = 2**53


def improper_weights(weights: list[Any], lengths: bool) -> str | None:
    """Reason why weights cannot be heeded here as NetworkX does, if they cannot."""
    if not all(isinstance(value, (int, float, np.integer, np.floating)) for value in weights):
        return "weights that are no real numbers are not supported"
    if not all(value - value == 0 for value in weights):
        return "weights that are not finite are not supported"
    if any(value < 0 for value in weights):
        return "negative weights are not supported"
    fits = all(value == 0 or _SMALLEST <= value <= _LARGEST for value in weights)
    if not fits or (most := sum(map(float, weights))) > _LARGEST:
        return "weights whose sums or shares may not be finite are not supported"
    if lengths:
        kinds = {int if isinstance(value, int) else type(value) for value in weights}
        if len(kinds) > 1 or not kinds <= {int, float}:
            # The type of a sum would depend on which edges are on the way.
            return "weights that are not all integers or all floats are not supported"
        if kinds == {int} and most >= _WHOLE_MAX:
            return "integers whose sums are no floats are not supported"
    return None
