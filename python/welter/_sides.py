"""Vertices of two kinds, sources and targets, which may have the same ids: ``("source", 7)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["SIDES", "is_sided", "placed"]

SIDES = ("source", "target")


def is_sided(vertex: Any) -> bool:
    """Whether it is a vertex with its side.

    >>> is_sided(("source", 7)), is_sided((6, 7)), is_sided(7)
    (True, False, False)
    """
    pair = isinstance(vertex, tuple) and len(vertex) == 2
    return pair and isinstance(vertex[0], str) and vertex[0] in SIDES


def placed(
    vertices: Sequence[Any], places: Mapping[Any, int] | None, two_kinds: bool
) -> list[Any]:
    """Vertices as the engine has them: nodes by their places, and with their sides before them.

    >>> placed([("source", "b"), "a"], {"a": 0, "b": 1}, two_kinds=True)
    ['source:1', '0']

    Raises
    ------
    LookupError : with a vertex that has no place
    """
    out: list[Any] = []
    sided = two_kinds and any(map(is_sided, vertices))
    for vertex in vertices:
        side, own = vertex if sided and is_sided(vertex) else (None, vertex)
        if places is not None:
            if own not in places:
                raise LookupError(vertex)
            own = places[own]
        out.append(f"{side}:{own}" if side else str(own) if sided else own)
    return out
