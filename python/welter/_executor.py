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
from ._edge_files import Files
from ._errors import InternalError, WelterError
from ._read import read_edges
from ._result import Result
from ._signed import Turned, turned_back
from ._stage import Stage

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
    reading: dict[str, Any],
    stage: Stage | None = None,
) -> Iterator[Any]:
    """Batches of the result of an algorithm on batches of edges.

    Parameters
    ----------
    batches : record batches of pyarrow with the columns source, target and perhaps weight, and one
        that tells vertices, if there are any
    columns : names and types, as Spark has been told
    reading : options of :func:`welter.read_edges`
    stage : of a run on several executors, whose edges are in no batch
    """
    said = {name: value for name, value in options.items() if value is not None}
    signed = False
    try:
        if stage is None:
            result, signed = _alone(batches, algorithm, said, reading)
        else:
            # The one row of each task is none of the graph's.
            for _ in batches:
                pass
            result = _barrier.found(stage, algorithm, said, reading, _directories()[0])
    except WelterError as error:
        # Spark shows the trace, in which the words would be far below.
        raise error.with_traceback(None) from None
    if result is not None:
        yield from _rows(result, columns, signed)


def _alone(
    batches: Iterator[Any], algorithm: str, options: dict[str, Any], reading: dict[str, Any]
) -> tuple[Result | None, bool]:
    """The result, None where there are no edges, and whether signs of ids are turned in it."""
    directories = _directories()
    limits = {"memory": _memory(), "threads": _threads(), "scratch": directories}
    options = {**limits, **options}
    with tempfile.TemporaryDirectory(prefix="welter-", dir=directories[0]) as folder:
        files = Files(folder)
        rows, lowest = files.write(batches)
        if rows == 0:
            return None, False
        turned = Turned(options if lowest < 0 else {})
        if lowest < 0:
            options = turned.options
            files.turn()
        held = {name: options[name] for name in limits}
        try:
            beside = {"vertices_from": files.vertices, "progress": False, **held, **reading}
            graph = read_edges(files.edges, **beside)
            result = getattr(_algorithms, algorithm)(graph, progress=False, **options)
        except WelterError as error:
            # The file is none of the caller's.
            text = turned.text(files.text(error.message))
            raise type(error)(text, error.code, error.hint) from None
    for line in [*graph.notes, *result.log]:
        print(f"welter: {turned.text(files.text(line))}", file=sys.stderr)
    return result, lowest < 0


def _directories() -> list[str]:
    """Where the executor keeps what it has on its disks."""
    said = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return [one for one in said if os.path.isdir(one)] or [tempfile.gettempdir()]


def _memory() -> int | None:
    """The limit of ``spark.executor.pyspark.memory``, if there is one."""
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if space == resource.RLIM_INFINITY else int(space * _SHARE)


def _threads() -> int | None:
    """Cores that Spark counts for the task. It says 1 where nothing was set, too."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) > 1 else None


def _rows(result: Result, columns: list[tuple[str, str]], signed: bool) -> Iterator[Any]:
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
    turned = result._table.id_columns if signed else []
    for batch in pyarrow.RecordBatchReader.from_stream(result):
        for start in range(0, batch.num_rows, _ROWS):
            part = batch.slice(start, _ROWS)
            arrays = [
                (turned_back(values) if name in turned else values).cast(kinds[kind])
                for values, (name, kind) in zip(part.columns, columns, strict=True)
            ]
            yield pyarrow.RecordBatch.from_arrays(arrays, names)
