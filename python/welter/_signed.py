"""Integers below 0 as ids: hashes are, in Spark, and the engine has ids from 0 to 2^64 - 1.

The sign is turned, which keeps their order: the smallest one is 0, and -1 and 0 are neighbours. Ids
that come back are turned again, and so are those that options name.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._errors import UsageError
from ._sides import is_sided
from ._words import is_table

__all__ = ["Turned", "lowest", "turn_file", "turned_back"]

_SIGN = 1 << 63


def lowest(values: Any) -> int:
    """The smallest of integers, 0 at most; 0 for columns of others."""
    import pyarrow
    import pyarrow.compute

    if not pyarrow.types.is_integer(values.type):
        return 0
    return min(0, pyarrow.compute.min(values).as_py() or 0)


def _other(values: Any) -> Any:
    import pyarrow
    import pyarrow.compute

    sign = pyarrow.scalar(-_SIGN, pyarrow.int64())
    return pyarrow.compute.bit_wise_xor(values, sign)


def turned_back(values: Any) -> Any:
    """A column of ids as they came in."""
    import pyarrow

    return _other(values.cast(pyarrow.uint64()).view(pyarrow.int64()))


def turn_file(path: str, ids: list[str]) -> None:
    """Turns columns of ids of a file of Arrow."""
    import pyarrow

    before = path + ".before"
    os.rename(path, before)
    with pyarrow.OSFile(before) as file, pyarrow.ipc.open_file(file) as reader:
        schema = pyarrow.schema(
            [(one.name, pyarrow.uint64() if one.name in ids else one.type) for one in reader.schema]
        )
        with pyarrow.ipc.new_file(path, schema) as writer:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                columns = [
                    _other(values.cast(pyarrow.int64())).view(pyarrow.uint64())
                    if name in ids
                    else values
                    for name, values in zip(batch.schema.names, batch.columns)
                ]
                writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
    os.remove(before)


class Turned:
    """Options with turned ids, and texts about these with the ids that were said."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._said: dict[str, str] = {}
        self.options = {name: self._option(name, value) for name, value in options.items()}

    def text(self, text: str) -> str:
        """A text with the ids that were said."""
        for turned, said in self._said.items():
            text = text.replace(turned, said)
        return text

    def _option(self, name: str, value: Any) -> Any:
        if name == "source" and value is not None:
            several = isinstance(value, (list, tuple, set, frozenset, np.ndarray))
            one = is_sided(value) or not several
            return self._id(value) if one else [self._id(own) for own in value]
        if not is_table(name) or value is None:
            return value
        if isinstance(value, dict):
            return {self._id(own): number for own, number in value.items()}
        what = f"{name}: ids of the graph are below 0, and tables may not be"
        raise UsageError(what, hint="give a dictionary from vertices to numbers")

    def _id(self, own: Any) -> Any:
        if is_sided(own):
            return own[0], self._id(own[1])
        if not isinstance(own, (int, np.integer)):
            return own
        turned = int(own) + _SIGN
        self._said[str(turned)] = str(int(own))
        return turned
