"""The NetworkX backend: ``nx.pagerank(G, backend="welter")``.

It has the functions of NetworkX that welter has too and whose results depend neither on the order
of nodes nor on chance, with the results, exceptions and defaults that they have there. What a
function cannot do here (weights that are a function, say) it declines, and says why.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from ._native import __version__
from ._networkx_graph import BackendGraph, Node, improper_weights
from ._result import Result

__all__ = ["BackendGraph", "backend", "info"]

#: Edges from which functions gain though the graph must be converted first, as measured
#: (docs/performance.md). Those that are not here look at each edge once, as converting does, and
#: gain only where that is done already.
_EDGES_MIN = {
    "average_clustering": 2_000,
    "clustering": 2_000,
    "core_number": 20_000,
    "is_strongly_connected": 100_000,
    "number_strongly_connected_components": 100_000,
    "pagerank": 40_000,
    "strongly_connected_components": 100_000,
    "transitivity": 2_000,
    "triangles": 10_000,
}
#: Edges from which these others gain.
_CONVERTED_MIN = 200_000


def _sets(graph: BackendGraph, labels: np.ndarray) -> Iterator[set[Node]]:
    """The nodes of each label, in the order of their first ones."""
    found: dict[int, set[Node]] = {}
    for node, label in zip(graph.nodes, labels.tolist(), strict=True):
        found.setdefault(label, set()).add(node)
    yield from found.values()


def _count(labels: np.ndarray) -> int:
    return len(np.unique(labels))


def _not_empty(graph: BackendGraph, what: str) -> None:
    if not graph.nodes:
        raise nx.NetworkXPointlessConcept(what)


def pagerank(
    G: BackendGraph,
    alpha: float = 0.85,
    personalization: dict[Node, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: dict[Node, float] | None = None,
    weight: str | None = "weight",
    dangling: dict[Node, float] | None = None,
) -> dict[Node, float]:
    """PageRank, by weights, personalised, with a start and a way out of sinks."""
    if not G.nodes:
        return {}
    options: dict[str, Any] = {}
    said = {
        "personalization": personalization,
        "initial": nstart,
        "dangling_weights": dangling,
    }
    for option, proportions in said.items():
        if proportions is not None:
            shares = [float(proportions.get(node, 0)) for node in G.nodes]
            if sum(shares) == 0:
                raise ZeroDivisionError("the personalization of all nodes is 0")
            options[option] = dict(enumerate(shares))
    weighted = weight is not None and len(G.source) > 0
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    found = G.run(
        "pagerank",
        weighted,
        weighted=weighted,
        damping=alpha,
        iterations=max_iter,
        tolerance=tol,
        dangling="networkx",
        **options,
    )
    if found.note is not None:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return dict(zip(G.nodes, found.to_numpy()["rank"].tolist(), strict=True))


def _nearest(G: BackendGraph, found: Result) -> Iterator[tuple[int, Any]]:
    """The places of nodes that were reached and how far they are, the nearest first."""
    column = list(found.to_numpy().values())[-1]
    reached = np.flatnonzero(~np.ma.getmaskarray(column))
    lengths = np.asarray(np.ma.getdata(column))[reached]
    order = np.argsort(lengths, kind="stable")
    return zip(reached[order].tolist(), lengths[order].tolist(), strict=True)


def _depths(
    G: BackendGraph, place: int, cutoff: float | None, direction: str
) -> dict[Node, int]:
    found = G.run("bfs", source=place, direction=direction)
    most = float("inf") if cutoff is None else cutoff
    # The node itself is always there, and levels are begun as long as one is below the cutoff.
    pairs = _nearest(G, found)
    return {G.nodes[other]: depth for other, depth in pairs if depth == 0 or most > depth - 1}


def single_source_shortest_path_length(
    G: BackendGraph, source: Node, cutoff: float | None = None
) -> dict[Node, int]:
    """Edges on the way from a node to each that can be reached."""
    return _depths(G, G.place(source, f"Source {source} is not in G"), cutoff, "out")


def single_target_shortest_path_length(
    G: BackendGraph, target: Node, cutoff: float | None = None
) -> dict[Node, int]:
    """Edges on the way to a node from each that reaches it."""
    return _depths(G, G.place(target, f"Target {target} is not in G"), cutoff, "in")


def single_source_dijkstra_path_length(
    G: BackendGraph, source: Node, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Node, float]:
    """Length of the shortest way from a node to each that can be reached."""
    hash(source)
    place = G.place(source, f"Node {source} not found in graph")
    # A graph that was converted before may have weights that are not asked for.
    heeds = weight is not None
    found = G.run("sssp", heeds, source=place)
    most = float("inf") if cutoff is None else cutoff
    # Sums of integers are integers, and the node itself is nothing away.
    lengths: dict[Node, float] = {}
    for other, length in _nearest(G, found):
        if other == place:
            lengths[G.nodes[other]] = 0
        elif length <= most:
            lengths[G.nodes[other]] = int(length) if G.whole or not heeds else length
    return lengths


def descendants(G: BackendGraph, source: Node) -> set[Node]:
    """All nodes that can be reached from one, without it."""
    hash(source)
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return set(_depths(G, G.places[source], None, "out")) - {source}


def ancestors(G: BackendGraph, source: Node) -> set[Node]:
    """All nodes that reach one, without it."""
    hash(source)
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return set(_depths(G, G.places[source], None, "in")) - {source}


def connected_components(G: BackendGraph) -> Iterator[set[Node]]:
    """The nodes of each component."""
    yield from _sets(G, G.values("wcc"))


def number_connected_components(G: BackendGraph) -> int:
    """Number of components."""
    return _count(G.values("wcc"))


def is_connected(G: BackendGraph) -> bool:
    """Whether there is one."""
    _not_empty(G, "Connectivity is undefined for the null graph.")
    return _count(G.values("wcc")) == 1


def node_connected_component(G: BackendGraph, n: Node) -> set[Node]:
    """The nodes of the component of one."""
    hash(n)
    if n not in G:
        raise KeyError(n)
    labels = G.values("wcc")
    return {G.nodes[place] for place in np.flatnonzero(labels == labels[G.places[n]]).tolist()}


def weakly_connected_components(G: BackendGraph) -> Iterator[set[Node]]:
    """The nodes of each component, whichever way edges go."""
    yield from _sets(G, G.values("wcc"))


def number_weakly_connected_components(G: BackendGraph) -> int:
    """Number of these components."""
    return _count(G.values("wcc"))


def is_weakly_connected(G: BackendGraph) -> bool:
    """Whether there is one."""
    _not_empty(G, "Connectivity is undefined for the null graph.")
    return _count(G.values("wcc")) == 1


def strongly_connected_components(G: BackendGraph) -> Iterator[set[Node]]:
    """The nodes that reach each other."""
    yield from _sets(G, G.values("scc"))


def number_strongly_connected_components(G: BackendGraph) -> int:
    """Number of sets of these."""
    return _count(G.values("scc"))


def is_strongly_connected(G: BackendGraph) -> bool:
    """Whether there is one."""
    _not_empty(G, "Connectivity is undefined for the null graph.")
    return _count(G.values("scc")) == 1


def core_number(G: BackendGraph) -> dict[Node, int]:
    """The largest k such that a node is in a subgraph whose nodes all have degree k."""
    if bool(np.any(G.source == G.target)):
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return dict(zip(G.nodes, G.values("kcore").tolist(), strict=True))


def _selected(
    G: BackendGraph, values: list[Any], nodes: Node | Iterable[Node] | None
) -> Any:
    """The value of a node, or those of some by node, or of all."""
    if nodes is None:
        return dict(zip(G.nodes, values, strict=True))
    if nodes in G:
        places: dict[Any, int] = G.places
        return values[places[nodes]]
    chosen = [node for node in G.original.nbunch_iter(nodes)]
    return {node: values[G.places[node]] for node in chosen}


def triangles(
    G: BackendGraph, nodes: Node | Iterable[Node] | None = None
) -> dict[Node, int] | int:
    """The triangles that a node is in."""
    found: dict[Node, int] | int = _selected(G, G.values("triangles").tolist(), nodes)
    return found


def clustering(
    G: BackendGraph, nodes: Node | Iterable[Node] | None = None, weight: None = None
) -> dict[Node, float] | float:
    """The share of pairs of neighbours that are neighbours of each other."""
    found: dict[Node, float] | float = _selected(G, _coefficients(G), nodes)
    return found


def _coefficients(G: BackendGraph) -> list[Any]:
    # NetworkX has the integer 0 where there is no triangle.
    return [value or 0 for value in G.values("lcc").tolist()]


def average_clustering(
    G: BackendGraph,
    nodes: Iterable[Node] | None = None,
    weight: None = None,
    count_zeros: bool = True,
) -> float:
    """The mean of these."""
    values = list(_selected(G, _coefficients(G), nodes).values())
    if not count_zeros:
        values = [value for value in values if abs(value) > 0]
    return float(sum(values) / len(values))


def transitivity(G: BackendGraph) -> float:
    """The share of paths of two edges that a third one closes."""
    straight = G.source != G.target
    ends = np.concatenate([G.source[straight], G.target[straight]])
    degrees = np.bincount(ends, minlength=len(G.nodes)).astype(np.int64)
    paths = int((degrees * (degrees - 1)).sum())
    closed = 2 * int(G.values("triangles").sum())
    return 0 if closed == 0 else closed / paths


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    ancestors,
    average_clustering,
    clustering,
    connected_components,
    core_number,
    descendants,
    is_connected,
    is_strongly_connected,
    is_weakly_connected,
    node_connected_component,
    number_connected_components,
    number_strongly_connected_components,
    number_weakly_connected_components,
    pagerank,
    single_source_dijkstra_path_length,
    single_source_shortest_path_length,
    single_target_shortest_path_length,
    strongly_connected_components,
    transitivity,
    triangles,
    weakly_connected_components,
)

#: Those that are only for undirected graphs without parallel edges here.
_SIMPLE = {"average_clustering", "clustering", "core_number", "transitivity", "triangles"}


def _improper(graph: Any, proportions: dict[Node, float]) -> str | None:
    """Reason why nothing can be shared out in these proportions, if it cannot."""
    shares = [float(proportions.get(node, 0)) for node in graph]
    if any(share < 0 for share in shares):
        return "negative values are not supported"
    return None if 0 < sum(shares) < float("inf") else "expected a sum above 0"


def _declined(name: str, graph: Any, given: dict[str, Any]) -> str | None:
    """Reason why a call cannot be done, if it cannot."""
    if name in _SIMPLE and (graph.is_directed() or graph.is_multigraph()):
        return "only undirected graphs without parallel edges are supported"
    if name in ("clustering", "average_clustering") and given.get("weight") is not None:
        return "weights are not supported"
    if name == "pagerank":
        for what in ("nstart", "dangling", "personalization"):
            if given.get(what) is not None and (why := _improper(graph, given[what])):
                # NetworkX has an exception for one of them, and continues with the others.
                if what != "personalization" or "sum" not in why:
                    return f"{what}: {why}"
        if not 0 <= given.get("alpha", 0.85) <= 1:
            return "alpha must lie between 0 and 1"
    if callable(given.get("weight")):
        return "weights that are functions are not supported"
    weight = given.get("weight", "weight")
    if name in ("pagerank", "single_source_dijkstra_path_length") and weight is not None:
        weights = [value for _, _, value in graph.edges(data=weight, default=1)]
        return improper_weights(weights, lengths=name != "pagerank")
    return None


class _Backend:
    """Interface that NetworkX asks of a backend."""

    @staticmethod
    def convert_from_nx(
        graph: nx.Graph,
        edge_attrs: dict[str, Any] | None = None,
        **_: Any,
    ) -> BackendGraph:
        """The nodes and edges of a graph, with the attribute that a function asks for."""
        if isinstance(graph, BackendGraph):
            return graph
        attribute, default = next(iter((edge_attrs or {}).items()), (None, None))
        return BackendGraph(graph, attribute, 1 if default is None else default)

    @staticmethod
    def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
        """A result as NetworkX has it: graphs are the ones that they were made from."""
        return result.original if isinstance(result, BackendGraph) else result

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """True, or why a call cannot be done."""
        bound = inspect.signature(getattr(nx, name)).bind(*args, **kwargs).arguments
        return _declined(name, args[0] if args else bound["G"], dict(bound)) or True

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """True, or why a call would not gain."""
        graph = args[0] if args else kwargs["G"]
        if isinstance(graph, BackendGraph):
            return True
        caches = getattr(graph, "__networkx_cache__", {}).get("backends", {})
        least = _EDGES_MIN.get(name, _CONVERTED_MIN)
        if name not in _EDGES_MIN and not caches.get("welter"):
            return "converting the graph takes longer than NetworkX does"
        edges = graph.number_of_edges()
        if edges >= least:
            return True
        return f"a graph of {edges:,} edges is too small: {name} gains from about {least:,} on"


for _function in _FUNCTIONS:
    setattr(_Backend, _function.__name__, staticmethod(_function))

backend = _Backend()


def info() -> dict[str, Any]:
    """Description that NetworkX shows of the backend."""
    return {
        "backend_name": "welter",
        "project": "welter",
        "package": "welter",
        "short_summary": "Exact results on graphs of any size, with all cores.",
        "version": __version__,
        "functions": {
            function.__name__: {"additional_docs": function.__doc__} for function in _FUNCTIONS
        },
    }
