"""Runs on whatever a graph can be made of."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ._errors import UsageError
from ._foreign import from_networkx, from_scipy
from ._graph import Graph, Path
from ._read import Column, from_arrow, from_numpy, instead, read_edges, unread
from ._result import Result

__all__ = ["as_graph", "run"]


def as_graph(
    graph: Any,
    *,
    weight: Column | Literal[False] | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    read_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    progress: bool | None = None,
) -> Graph:
    """A graph of anything that one can be made of.

    Parameters
    ----------
    graph : a :class:`Graph`, a path or several, anything with ``__arrow_c_stream__``, a sparse
        matrix, a graph of NetworkX, an array of shape (edges, 2), a list of tuples of two ends and
        perhaps a weight, or a tuple of two or three arrays
    weight : column or attribute of the weights; False: none; None: as of :func:`read_edges`, and
        the attribute called weight

    The others are those of :func:`read_edges`; requests and the page cache are of paths alone.

    Examples
    --------
    >>> import welter, numpy
    >>> welter.as_graph(numpy.array([[0, 1], [1, 2]])).num_edges
    2
    >>> welter.as_graph([("ann", "bob"), ("bob", "cid")]).num_vertices
    3
    """
    limits: dict[str, Any] = {"memory": memory, "threads": threads, "scratch": scratch}
    limits["progress"] = progress
    if isinstance(graph, Graph):
        _has_no_columns(weight, "its column is chosen where the graph is made")
        return graph
    if isinstance(graph, Result) and "vertex" in graph.columns:
        raise TypeError("expected edges, found a result, whose rows are vertices")
    if _is_path(graph):
        asked: dict[str, Any] = {"read_size": read_size, "in_flight": in_flight, "io": io}
        return read_edges(graph, weight=weight, **asked, **limits)
    if hasattr(graph, "__arrow_c_stream__"):
        return from_arrow(graph, weight=weight, **limits)
    if hasattr(graph, "tocoo"):
        _has_no_columns(weight or None, "the weights of a matrix are its values")
        return from_scipy(graph, weighted=weight is not False, **limits)
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        attribute = "weight" if weight is None else weight or None
        return from_networkx(graph, weight=attribute, **limits)
    arrays = _arrays(graph)
    if arrays is not None:
        _has_no_columns(weight or None, "the weights of arrays are the third one")
        return from_numpy(*(arrays[:2] if weight is False else arrays), **limits)
    raise TypeError(
        "expected a graph, a path, a data frame, a sparse matrix, a graph of NetworkX or arrays, "
        f"found {type(graph).__name__}{instead(graph)}"
    )


def _has_no_columns(weight: Any, what: str) -> None:
    if weight is not None:
        raise UsageError(f"weight={weight!r}: {what}")


def _is_path(graph: Any) -> bool:
    """Whether it is a path, or several."""
    several = graph if isinstance(graph, (list, tuple)) and graph else [graph]
    return all(isinstance(one, (str, bytes, os.PathLike)) for one in several)


def _arrays(edges: Any) -> Sequence[Any] | None:
    """Two or three columns, if these are edges in arrays or tuples."""
    if isinstance(edges, np.ndarray) and edges.ndim == 2 and edges.shape[1] == 2:
        return edges[:, 0], edges[:, 1]
    if not isinstance(edges, (list, tuple)):
        return None
    if not edges:
        return [], []
    if len(edges) in (2, 3) and all(isinstance(one, np.ndarray) for one in edges):
        return edges
    sizes = {len(one) if isinstance(one, tuple) else 0 for one in edges}
    if sizes in ({2}, {3}):
        return list(zip(*edges, strict=True))
    return None


def run(
    function: Callable[..., Result], graph: Any, options: dict[str, Any], progress: bool | None
) -> Result:
    """Runs the algorithm of a function on anything that a graph can be made of."""
    defaults = inspect.unwrap(function).__kwdefaults__ or {}
    options = {name: value for name, value in options.items() if not _is(value, defaults[name])}
    weight = options.get("weight")
    if "weighted" in defaults and weight is not None:
        options |= {"weighted": True} if weight is not False else {"weight": None}
    if not isinstance(graph, Graph):
        # The column is chosen when the graph is made.
        options.pop("weight", None)
        names = ("memory", "threads", "scratch", "read_size", "in_flight", "io")
        limits = {name: options.get(name) for name in names}
        elsewhere = any(options.get(name) is not None for name in ("checkpoint", "cluster"))
        if elsewhere and _is_path(graph):
            # The run reads it, and a resumed run reads it again, or each machine of a cluster.
            graph = unread(graph, weight)
        else:
            graph = as_graph(graph, weight=weight, progress=progress, **limits)
    return graph.run(function.__name__, progress=progress, **options)


def _is(value: Any, default: Any) -> bool:
    """Whether an option has its default, which then is not said: it may not go with others."""
    plain = isinstance(value, (str, int, float))
    return value is default or plain and type(value) is type(default) and bool(value == default)
