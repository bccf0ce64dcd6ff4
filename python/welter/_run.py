"""Runs on whatever a graph can be made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._graph import Graph
from ._read import Column, from_arrow, from_networkx, from_numpy, from_scipy, read_edges
from ._result import Result

__all__ = ["as_graph", "run"]


def as_graph(graph: Any, *, weight: Column | None = None) -> Graph:
    """A graph of anything that one can be made of.

    Parameters
    ----------
    graph : a :class:`Graph`, a path or several, anything with ``__arrow_c_stream__``, a sparse
        matrix, a graph of NetworkX, an array of shape (edges, 2), or a tuple of two or three arrays
    weight : column or attribute of the weights; None: one called weight, if there is one

    Examples
    --------
    >>> import welter, numpy
    >>> welter.as_graph(numpy.array([[0, 1], [1, 2]])).num_edges
    2
    """
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, (str, os.PathLike)):
        return read_edges(graph, weight=weight)
    if hasattr(graph, "__arrow_c_stream__"):
        return from_arrow(graph, weight=weight)
    if hasattr(graph, "tocoo"):
        return from_scipy(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        return from_networkx(graph, weight="weight" if weight is None else str(weight))
    if isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.shape[1] == 2:
        return from_numpy(graph[:, 0], graph[:, 1])
    if isinstance(graph, Iterable):
        several = list(graph)
        if several and all(isinstance(one, (str, os.PathLike)) for one in several):
            return read_edges(several, weight=weight)
        if len(several) in (2, 3) and all(isinstance(one, np.ndarray) for one in several):
            return from_numpy(*several)
    raise TypeError(
        f"expected a graph, a path, a data frame, a sparse matrix or arrays, found {type(graph)}"
    )


def run(
    function: Callable[..., Result], graph: Any, options: dict[str, Any], progress: bool | None
) -> Result:
    """Runs the algorithm of a function on anything that a graph can be made of."""
    defaults = function.__kwdefaults__ or {}
    options = {name: value for name, value in options.items() if not _is(value, defaults[name])}
    if not isinstance(graph, Graph):
        # The column is chosen when the graph is made.
        graph = as_graph(graph, weight=options.pop("weight", None))
    return graph.run(function.__name__, progress=progress, **options)


def _is(value: Any, default: Any) -> bool:
    """Whether an option has its default, which then is not said: it may not go with others."""
    plain = isinstance(value, (str, int, float))
    return value is default or plain and type(value) is type(default) and bool(value == default)
