"""Tables of vertices beside a graph: files, data frames, or dictionaries."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _native

__all__ = ["as_files"]


@contextmanager
def as_files(
    options: Mapping[str, Any], places: Mapping[Any, int] | None
) -> Iterator[dict[str, Any]]:
    """The same options with files in the place of tables in memory, for as long as they are needed.

    Parameters
    ----------
    options : those whose names end with ``_from`` may be anything with ``__arrow_c_stream__``, or a
        dictionary from vertices to numbers, beside paths
    places : the numbers of nodes, where the vertices of the graph are others than its nodes
    """
    tables = {name: table for name, table in options.items() if _is_table(name, table)}
    if not tables:
        yield dict(options)
        return
    with tempfile.TemporaryDirectory(prefix="welter-") as folder:
        files = {name: os.path.join(folder, f"{name}.arrow") for name in tables}
        for name, table in tables.items():
            if isinstance(table, Mapping):
                _native.save_columns(files[name], *_columns(table, places))
            else:
                _native.save_stream(files[name], table)
        yield {**options, **files}


def _is_table(name: str, table: Any) -> bool:
    return name.endswith("_from") and (
        isinstance(table, Mapping) or hasattr(table, "__arrow_c_stream__")
    )


def _columns(
    table: Mapping[Any, float], places: Mapping[Any, int] | None
) -> tuple[list[str] | np.ndarray, np.ndarray]:
    """Ids and numbers."""
    values = np.fromiter(table.values(), np.float64, len(table))
    ids = list(table)
    if places is not None:
        ids = [places[node] for node in ids]
    if any(isinstance(vertex, str) for vertex in ids):
        return [str(vertex) for vertex in ids], values
    return np.array(ids, dtype=np.uint64 if len(ids) else np.uint32), values
