"""Vertices beside the edges of a graph: how many there are, their ids, or a table of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, KeysView, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ._columns import column, typed
from ._errors import UsageError

__all__ = ["Listed", "Vertices", "beside", "is_frame", "one_kind"]

#: What ``vertices=`` may be: a number, ids, or a data frame with a column of ids.
Vertices = Any

#: Tables in memory: their names, ids or data frames, and whether these are targets alone.
Listed = list[tuple[str, Any, bool]]


def beside(
    vertices: Vertices, target_vertices: Vertices, vertex_column: int | str | None = None
) -> tuple[int | None, Listed]:
    """Number of vertices, if that is said, and the tables of vertices that are."""
    if isinstance(vertices, (Integral, np.integer)) and not isinstance(vertices, bool):
        count: int | None = int(vertices)
        tables = []
    else:
        count = None
        tables = [("vertices", vertices, False)]
    tables.append(("target_vertices", target_vertices, True))
    said = [(name, table, side) for name, table, side in tables if table is not None]
    listed = [(name, _taken(name, table), side) for name, table, side in said]
    if vertex_column is not None and not any(is_frame(table) for _, table, _ in listed):
        what = "is a column of a table of vertices, and there is none"
        hint = "give a data frame as vertices, or leave vertex_column out"
        raise UsageError(f"vertex_column={vertex_column!r}: {what}", hint=hint)
    return count, listed


def is_frame(table: Any) -> bool:
    """Whether it is a data frame, and no single column."""
    names = ("columns", "column_names", "schema")
    return hasattr(table, "__arrow_c_stream__") and any(hasattr(table, name) for name in names)


def _taken(name: str, vertices: Any) -> Any:
    """A data frame, or a column of ids."""
    if is_frame(vertices):
        return typed(vertices)
    if isinstance(vertices, (str, bytes, os.PathLike)):
        what = "expected ids or a data frame, found a path"
        way = f"welter.read_edges takes files as {name}_from=; read others into a data frame"
        raise TypeError(f"{name}: {what}: {way}")
    if isinstance(vertices, (bool, Integral, dict)) or hasattr(vertices, "read"):
        kinds = "ids or a data frame" if name != "vertices" else "a number, ids or a data frame"
        raise TypeError(f"{name}: expected {kinds}, found {type(vertices).__name__}")
    if isinstance(vertices, (set, frozenset, KeysView, Iterator)) or _is_view(vertices):
        vertices = list(vertices)
    return column(name, vertices)


def _is_view(vertices: Any) -> bool:
    """Whether it is like a set, as the nodes of a graph of NetworkX are."""
    return not isinstance(vertices, Sequence) and type(vertices).__name__.endswith("View")


def one_kind(columns: Sequence[tuple[str, Any]]) -> None:
    """Refuses columns of ids of which some are strings and others integers."""
    kinds = [
        (name, "strings" if isinstance(ids, list) else "integers")
        for name, ids in columns
        if len(ids)
    ]
    for name, kind in kinds[1:]:
        first, other = kinds[0]
        if kind != other:
            what = f"{first} holds {other} and {name} {kind}: is one of them another column?"
            raise UsageError(what, hint='where they are ids alike, read all with ids="strings"')
