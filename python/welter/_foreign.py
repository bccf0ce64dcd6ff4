"""Graphs of other libraries: sparse matrices of SciPy, and graphs of NetworkX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _columns
from ._errors import InputError, UsageError
from ._graph import Graph, Path
from ._read import from_numpy

__all__ = ["from_networkx", "from_scipy"]


def from_scipy(
    matrix: Any,
    *,
    weighted: bool = True,
    bipartite: bool | None = None,
    undirected: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    progress: bool | None = None,
) -> Graph:
    """Takes a sparse matrix of SciPy: an entry in row u and column v is an edge from u to v.

    Columns and values are held as they are; the rows of a CSR matrix are written out, four bytes an
    edge. Every row is a vertex, with or without edges, and so is every column where these are
    another kind.

    Parameters
    ----------
    matrix : in any sparse format; CSR and COO are not converted
    weighted : whether values are weights
    bipartite : whether rows and columns are two kinds of vertices, ``("source", u)`` and
        ``("target", v)``; None: if there are not as many columns as rows

    The others are those of :func:`read_edges`.

    Examples
    --------
    >>> import welter, scipy.sparse
    >>> matrix = scipy.sparse.csr_matrix([[0, 2.0, 0], [0, 0, 0], [0, 0, 0]])
    >>> welter.wcc(welter.from_scipy(matrix)).to_dict()
    {0: 0, 1: 0, 2: 2}
    >>> welter.from_scipy(scipy.sparse.csr_matrix([[0, 2.0, 0], [1.0, 0, 0]])).num_vertices
    5
    """
    rows, columns = matrix.shape
    if rows != columns and bipartite is False:
        what = f"expected a square matrix, found {rows} rows and {columns} columns"
        raise UsageError(what, hint="where they are two kinds of vertices, leave bipartite out")
    two_kinds = rows != columns if bipartite is None else bipartite
    if matrix.format == "csr":
        degrees = np.diff(matrix.indptr)
        small = np.uint32 if rows <= 1 << 32 else np.uint64
        source = np.repeat(np.arange(rows, dtype=small), degrees)
        target, values = matrix.indices, matrix.data
    else:
        entries = matrix.tocoo()
        source, target, values = entries.row, entries.col, entries.data
    return from_numpy(
        source,
        target,
        values if weighted else None,
        vertices=np.arange(rows, dtype=np.uint64) if two_kinds else rows,
        target_vertices=np.arange(columns, dtype=np.uint64) if two_kinds else None,
        bipartite=two_kinds,
        undirected=undirected,
        memory=memory,
        threads=threads,
        scratch=scratch,
        progress=progress,
    )


def from_networkx(
    graph: Any,
    *,
    weight: Any = "weight",
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    progress: bool | None = None,
) -> Graph:
    """Takes a graph of NetworkX, directed or not, with its nodes, which may be any objects, with or
    without edges.

    Strings and integers from 0 on are ids as those of other graphs are; with other nodes a graph is
    neither saved nor written, for files do not hold them.

    Parameters
    ----------
    graph : of NetworkX; parallel edges of multigraphs are kept
    weight : attribute of the weights, 1 where an edge has none; there are no weights if no edge has
        it, or if it is None

    The others are those of :func:`read_edges`.

    Examples
    --------
    >>> import welter, networkx
    >>> path = networkx.path_graph(["a", "b", ("c", 3)])
    >>> welter.bfs(welter.from_networkx(path), source="a").to_dict()
    {'a': 0, 'b': 1, ('c', 3): 2}
    """
    nodes = list(graph)
    edges = list(graph.edges(data=weight, default=None)) if weight else list(graph.edges())
    weights = None
    if weight and any(edge[2] is not None for edge in edges):
        weights = _columns.weights("weight", _weights(edges, weight))
    source, target, vertices, named = _ids(nodes, edges)
    made = from_numpy(
        source,
        target,
        weights,
        vertices=vertices,
        undirected=not graph.is_directed(),
        memory=memory,
        threads=threads,
        scratch=scratch,
        progress=progress,
    )
    return Graph(made._graph, None if named else nodes)


def _ids(nodes: list[Any], edges: list[Any]) -> tuple[Any, Any, Any, bool]:
    """Sources, targets and vertices, and whether these are the nodes as they are; else they are
    their places.
    """
    kinds = set(map(type, nodes))
    if kinds == {str} and _are_names(nodes):
        return [edge[0] for edge in edges], [edge[1] for edge in edges], nodes, True
    count, plain = len(edges), kinds <= {int} and nodes == list(range(len(nodes)))
    if kinds == {int} and not plain and min(nodes) >= 0 and max(nodes) < 2**64:
        ends = [np.fromiter((edge[end] for edge in edges), np.uint64, count) for end in (0, 1)]
        return ends[0], ends[1], np.array(nodes, np.uint64), True
    places = {node: place for place, node in enumerate(nodes)}
    ends = [np.fromiter((places[edge[end]] for edge in edges), np.uint32, count) for end in (0, 1)]
    return ends[0], ends[1], len(nodes), plain


def _are_names(nodes: list[str]) -> bool:
    """Whether strings are names: not empty, and text that can be written."""
    try:
        "".join(nodes).encode()
    except UnicodeEncodeError:
        return False
    return "" not in nodes


def _weights(edges: list[Any], weight: Any) -> np.ndarray:
    """The weight of each edge, 1 where it has none."""
    weights = np.empty(len(edges), dtype=object)
    for row, (source, target, value) in enumerate(edges):
        weights[row] = 1.0 if value is None else value
        if isinstance(value, (str, bytes, complex)):
            what = f"expected a number as {weight!r}, found {value!r}"
            raise InputError(f"edge {source!r} to {target!r}: {what}")
    return weights
