"""Tables of vertices beside a graph: files, data frames, or dictionaries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._columns import strings, typed
from ._errors import InputError, MissingError, UsageError
from ._sides import placed
from ._words import is_table

__all__ = ["taken"]

#: What words name a table by that is in memory.
_MEMORY = "memory:"

#: Tables of shares: vertices that a dictionary does not name have none.
_SHARES = {"personalization", "dangling_weights", "initial"}

#: Kinds of tables in memory: a data frame, or a column of vertices and one of numbers.
Taken = list[tuple[str, Any]]


def taken(
    options: Mapping[str, Any], places: Mapping[Any, int] | None, two_kinds: bool
) -> tuple[dict[str, Any], Taken]:
    """Options with names in the place of tables in memory, and these tables.

    Parameters
    ----------
    options : those that are tables may be anything with ``__arrow_c_stream__``, or a dictionary
        from vertices to numbers, beside paths
    places : the numbers of nodes, where the vertices of the graph are others than its nodes
    two_kinds : whether vertices may be named with their sides
    """
    said, tables = dict(options), []
    for name, table in options.items():
        if table is None or not is_table(name):
            continue
        if isinstance(table, Mapping):
            tables.append((name, _columns(name, table, places, two_kinds)))
            default = name.removesuffix("_from") + "_default"
            if name in _SHARES and said.get(default) is None:
                said[default] = 0.0
        elif places is not None:
            what = "the vertices are objects of Python, which files and data frames do not hold"
            raise UsageError(f"{name}: {what}", hint="give a dictionary from nodes to numbers")
        elif hasattr(table, "__arrow_c_stream__"):
            tables.append((name, typed(table)))
        elif _are_no_paths(table):
            way = "source" if name == "sources_from" else f"{name}={{{table[0]!r}: 1}}"
            what = f"{name}: expected paths in a list, and there is no file {table[0]!r}"
            raise MissingError(what, hint=f"for vertices, say {way}")
        elif not _is_paths(table):
            raise TypeError(
                f"{name}: expected a dictionary from vertices to numbers, a data frame, a path or "
                f"several, found {type(table).__name__}"
            )
        else:
            continue
        said[name] = _MEMORY + name
    return said, tables


def _is_paths(table: Any) -> bool:
    if isinstance(table, (str, os.PathLike)):
        return True
    if not isinstance(table, Iterable) or hasattr(table, "read"):
        return False
    return all(isinstance(one, (str, os.PathLike)) for one in table)


def _are_no_paths(table: Any) -> bool:
    """Whether it is a list of texts that are no files and stand for none: vertices, perhaps."""
    if not isinstance(table, (list, tuple)) or not table:
        return False
    texts = [one for one in table if isinstance(one, str) and not set(one) & set("*?[/")]
    return len(texts) == len(table) and not any(map(os.path.exists, texts))


def _columns(
    name: str, table: Mapping[Any, float], places: Mapping[Any, int] | None, two_kinds: bool
) -> tuple[list[str | None] | np.ndarray, np.ndarray]:
    """Ids and numbers."""
    ids = list(table)
    try:
        values = np.fromiter((float(value) for value in table.values()), np.float64, len(ids))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: expected numbers as values: {error}") from None
    try:
        return strings(name, placed(ids, places, two_kinds)), values
    except LookupError as missing:
        raise InputError(f"{name}: {missing.args[0]!r} is no node of the graph") from None
