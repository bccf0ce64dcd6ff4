"""Generated graphs."""

from __future__ import annotations

from typing import Literal

from . import _native
from ._graph import Graph

__all__ = ["rmat", "web"]


def rmat(
    scale: int,
    *,
    factor: int = 16,
    seed: int | None = None,
    scramble: bool = False,
    weights: int | Literal["unit"] | None = None,
) -> Graph:
    """A generated graph with skewed degrees, as in Graph500. Its edges are made when they are read.

    Parameters
    ----------
    scale : there are 2^scale vertices
    factor : edges for each of them
    seed : another one, another graph
    scramble : number vertices at random
    weights : whole numbers from 1 to this one, or ``"unit"`` for numbers from 0 to 1

    Examples
    --------
    >>> import welter
    >>> welter.rmat(10, factor=8).num_edges
    8192
    """
    return _generated(f"rmat:{scale}", factor, seed, scramble, weights)


def web(
    pages: int,
    *,
    degree: int | None = None,
    seed: int | None = None,
    weights: int | Literal["unit"] | None = None,
) -> Graph:
    """A generated graph like the web: most links go to near ids, pages copy the links of others.

    Parameters
    ----------
    pages : vertices
    degree : links of a page, on average
    seed : another one, another graph
    weights : as of :func:`rmat`

    Examples
    --------
    >>> import welter
    >>> graph = welter.web(1000)
    >>> welter.wcc(graph).num_rows
    1000
    """
    spec = f"web:{pages}" + (f",degree={degree}" if degree is not None else "")
    return _generated(spec, None, seed, False, weights)


def _generated(
    spec: str,
    factor: int | None,
    seed: int | None,
    scramble: bool,
    weights: int | str | None,
) -> Graph:
    said = [spec]
    said += [f"factor={factor}"] if factor is not None else []
    said += [f"seed={seed}"] if seed is not None else []
    said += ["scramble"] if scramble else []
    said += [f"weights={weights}"] if weights is not None else []
    return _made(",".join(said))


def _made(spec: str) -> Graph:
    graph = Graph(_native.Graph.read(["--", spec], None))
    graph._travels = (_made, (spec,))
    return graph
