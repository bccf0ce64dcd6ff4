"""Columns of ids and weights, from whatever sequences there are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ._errors import InputError, UsageError

__all__ = ["column", "strings", "typed", "weights"]

Ids = np.ndarray | list[str | None]


def strings(name: str, ids: Sequence[Any]) -> Ids:
    """A list of strings, or integers as an array; mixed ones are refused."""
    if all(isinstance(one, str) or one is None for one in ids) and len(ids):
        return [None if one is None else str(one) for one in ids]
    whole = [isinstance(one, (Integral, np.integer)) for one in ids]
    if not all(whole):
        row = whole.index(False)
        kinds = "strings or integers alike" if any(whole) else "strings or integers"
        found = f"{ids[row]!r} ({type(ids[row]).__name__})"
        raise InputError(f"{name}: row {row + 1}: expected ids that are {kinds}, found {found}")
    negative = any(one < 0 for one in ids)
    # Without a type of their own the largest ones would be taken for floats.
    kind = np.int64 if negative else np.uint64
    return np.array([int(one) for one in ids], dtype=kind if len(ids) else np.uint32)


def column(name: str, values: Any, *, weights: bool = False) -> Ids:
    """The values in one piece, copied where they are not; strings as a list."""
    if isinstance(values, (str, bytes, dict)) or hasattr(values, "read"):
        raise TypeError(f"{name}: expected a sequence, found {type(values).__name__}")
    if isinstance(values, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(values)
        if masked.any():
            raise InputError(f"{name}: row {int(masked.argmax()) + 1}: a value is missing")
    array = np.asarray(values)
    if array.ndim == 1 and array.dtype.kind in "UT":
        # One that was made of numbers and strings would hold strings alone.
        if not isinstance(values, np.ndarray) and not hasattr(values, "dtype"):
            return _refused_weights(name, strings(name, list(values)), weights)
        return _refused_weights(name, array.tolist(), weights)
    if array.ndim == 1 and array.dtype.kind == "O":
        if weights:
            return _numbers(name, array)
        return strings(name, array.tolist())
    if array.dtype == np.bool_ or array.dtype == np.float16:
        array = array.astype(np.float32 if array.dtype == np.float16 else np.uint8)
    if array.size == 0:
        array = array.astype(np.uint32)
    native = array.dtype.newbyteorder("=")
    return np.require(array, native, ["C_CONTIGUOUS", "ALIGNED"])


def weights(name: str, values: Any) -> np.ndarray:
    """Numbers in one piece, copied where they are not."""
    return np.asarray(column(name, values, weights=True))


def _refused_weights(name: str, values: Ids, weights: bool) -> Ids:
    if weights:
        raise UsageError(f"{name}: expected numbers, found strings")
    return values


def _numbers(name: str, array: np.ndarray) -> np.ndarray:
    """Decimals, fractions and the like as floats."""
    numbers = np.empty(len(array), dtype=np.float64)
    for row, value in enumerate(array.tolist()):
        try:
            if isinstance(value, str):
                raise TypeError
            numbers[row] = float(value)
        except (TypeError, ValueError):
            what = f"expected a number, found {value!r}"
            raise InputError(f"{name}: row {row + 1}: {what}") from None
    return numbers


def typed(table: Any) -> Any:
    """A frame of polars without columns that have no type: it lends these in a way of its own."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(table, polars.DataFrame):
        return table
    untyped = [name for name, kind in table.schema.items() if kind == polars.Null]
    return table.with_columns(polars.col(untyped).cast(polars.UInt32)) if untyped else table
