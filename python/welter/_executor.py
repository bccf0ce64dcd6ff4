"""The engine in a task of Spark: batches of edges in, batches of results out.

Edges wait in a file of the executor's directory, from where the engine reads them within its
memory; the file is gone when the result is there. What the engine cannot hold lies there too, in
files without names.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from . import _algorithms, _barrier
from ._errors import InternalError, WelterError
from ._result import Result

__all__ = ["results"]

#: Rows of a batch at most: the JVM has a batch in memory.
_ROWS = 1 << 16

#: Share of an address space with a limit that the engine may fill: pages are not all of it.
_SHARE = 0.6


def results(
    batches: Iterator[Any],
    algorithm: str,
    options: dict[str, Any],
    columns: list[tuple[str, str]],
    stage: tuple[str, float] | None = None,
) -> Iterator[Any]:
    """Batches of the result of an algorithm on batches of edges.

    Parameters
    ----------
    batches : record batches of pyarrow with the columns source, target and perhaps weight
    columns : names and types, as Spark has been told
    stage : of a run on several executors: where the edges are, which then are in no batch, and
        seconds in which a machine must come
    """
    limits = {"memory": _memory(), "threads": _threads()}
    said = {**limits, **{name: value for name, value in options.items() if value is not None}}
    try:
        if stage is None:
            result = _alone(batches, algorithm, said)
        else:
            # The one row of each task is none of the graph's.
            for _ in batches:
                pass
            result = _barrier.found(stage, algorithm, said, _directories()[0])
    except WelterError as error:
        # Spark shows the trace, in which the words would be far below.
        raise error.with_traceback(None) from None
    if result is not None:
        yield from _rows(result, columns)


def _alone(batches: Iterator[Any], algorithm: str, options: dict[str, Any]) -> Result | None:
    """The result of the edges that there are; None where there is none."""
    directories = _directories()
    said = {"scratch": directories, **options}
    with tempfile.TemporaryDirectory(prefix="welter-", dir=directories[0]) as folder:
        path = os.path.join(folder, "edges.arrow")
        if _write(batches, path) == 0:
            return None
        try:
            result = getattr(_algorithms, algorithm)(path, progress=False, **said)
        except WelterError as error:
            # The file is none of the caller's.
            text = error.message.replace(path, "edges")
            raise type(error)(text, error.code, error.hint) from None
    for line in result.log:
        print(f"welter: {line.replace(path, 'edges')}", file=sys.stderr)
    return result


def _directories() -> list[str]:
    """Where the executor keeps what it has on its disks."""
    said = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return [one for one in said if os.path.isdir(one)] or [tempfile.gettempdir()]


def _memory() -> int | None:
    """The limit of ``spark.executor.pyspark.memory``, if there is one."""
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if space == resource.RLIM_INFINITY else int(space * _SHARE)


def _threads() -> int | None:
    """Cores of the executor, where Spark says them. It says 1 where nothing was set, too."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) > 1 else None


def _write(batches: Iterator[Any], path: str) -> int:
    """Writes batches to a file of Arrow, and counts their rows."""
    import pyarrow

    rows, writer = 0, None
    try:
        for batch in batches:
            if writer is None:
                writer = pyarrow.ipc.new_file(path, batch.schema)
            writer.write_batch(batch)
            rows += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def _rows(result: Result, columns: list[tuple[str, str]]) -> Iterator[Any]:
    """The rows with the types that Spark has been told."""
    import pyarrow

    kinds = {
        **{"tinyint": pyarrow.int8(), "smallint": pyarrow.int16(), "int": pyarrow.int32()},
        **{"bigint": pyarrow.int64(), "float": pyarrow.float32(), "double": pyarrow.float64()},
        "string": pyarrow.string(),
    }
    names = [name for name, _ in columns]
    if result.columns != names:
        what = f"columns {', '.join(result.columns)} where {', '.join(names)} were foreseen"
        raise InternalError(what)
    for batch in pyarrow.RecordBatchReader.from_stream(result):
        for start in range(0, batch.num_rows, _ROWS):
            part = batch.slice(start, _ROWS)
            arrays = [
                values.cast(kinds[kind])
                for values, (_, kind) in zip(part.columns, columns, strict=True)
            ]
            yield pyarrow.RecordBatch.from_arrays(arrays, names)
