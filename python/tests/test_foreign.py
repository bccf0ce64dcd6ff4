"""Tables that other libraries hand over wrongly: errors, and never memory that is not theirs."""

from __future__ import annotations

import pyarrow
import pytest

import welter


def strings(offsets: list[int], data: bytes) -> pyarrow.Array:
    """Strings as they are claimed to be, which pyarrow does not look at."""
    places = pyarrow.array(offsets, pyarrow.int32()).buffers()[1]
    parts = [None, places, pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(offsets) - 1, parts)


def coded(keys: list[int]) -> pyarrow.Array:
    places = pyarrow.array(keys, pyarrow.int32())
    return pyarrow.DictionaryArray.from_arrays(places, pyarrow.array(["a", "b"]), safe=False)


@pytest.mark.parametrize(
    "column",
    [
        strings([0, 2, 1], b"abc"),
        strings([0, 1, 2], b"a\xff"),
        coded([0, 7]),
        coded([0, -3]),
    ],
)
def test_arrays_that_are_none_are_refused(column: pyarrow.Array) -> None:
    good = pyarrow.array(["x", "y"])
    with pytest.raises(welter.WelterError, match="valid"):
        welter.from_arrow(pyarrow.table({"source": good, "target": column}))


def test_sound_arrays_are_read() -> None:
    table = pyarrow.table({"source": strings([0, 1, 2], b"ab"), "target": coded([1, 0])})
    assert welter.from_arrow(table).num_edges == 2
