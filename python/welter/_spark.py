"""Algorithms as functions of DataFrames of Spark: what the driver does.

Spark wants the columns of a result before there is one. They are those of a trial: the algorithm
runs here on a graph of one edge with the options that were said, so that an option that there is
not, or that does not go with others, is told when it is said and not when the result is asked for.
Edges go from executors to the one that has the engine; none comes here.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _algorithms
from ._errors import UsageError
from ._frames import Edges, is_frame
from ._old_names import renamed
from ._read import from_numpy
from ._stage import Executors
from ._words import is_table

__all__ = ["FUNCTIONS", "NAMES"]

#: Names of the field, and the functions that they name.
NAMES = _algorithms.NAMES

#: Options of a machine or of a run that others see, which have no meaning in a task of Spark.
_ABSENT = {
    "checkpoint": "a task that fails runs again from its start",
    "checkpoint_every": "a task that fails runs again from its start",
    "edge_cache": "the edges are those of the DataFrame",
    "progress": "the run is a task, which Spark shows",
}

#: Options of an executor, which say nothing of columns.
_LIMITS = {
    *("memory", "threads", "scratch", "edge_memory", "io", "in_flight", "read_size", "write_size")
}

#: Columns of the result as Spark has them, by the types of numpy.
_TYPES = {
    **{"uint32": "bigint", "uint64": "bigint", "int64": "bigint", "int32": "int"},
    **{"float64": "double", "float32": "float", "object": "string"},
}

#: Names and types of columns.
Columns = list[tuple[str, str]]


def _trial(algorithm: str, options: Mapping[str, Any], edges: Edges) -> Columns:
    """Columns of what an algorithm gives with these options."""
    ends: list[list[Any]] = [["a"], ["b"]] if edges.ids == "string" else [[0], [1]]
    tables = {name.removesuffix("_from") for name in options if is_table(name)}
    kept = {}
    for name, value in options.items():
        of_table = any(name == table or name.startswith(f"{table}_") for table in tables)
        if not of_table and name not in _LIMITS and name != "source":
            kept[name] = value
    reading = {name: value for name, value in edges.reading.items() if name != "weight"}
    if options.get("source") is not None or options.get("sources_from") is not None:
        first = ends[0][0]
        kept["source"] = ("source", first) if reading.get("bipartite") else first
    graph = from_numpy(ends[0], ends[1], [1.0] if edges.weighted else None, **reading)
    result = getattr(_algorithms, algorithm)(graph, progress=False, **kept)
    own = result._table.id_columns
    return [
        (name, edges.ids if name in own else _TYPES[np.asarray(values).dtype.name])
        for name, values in result.to_numpy().items()
    ]


def _task(algorithm: str, *said: Any) -> Callable[..., Any]:
    """The task of an executor. It travels by value, so that it can tell that welter is missing."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import sys

        try:
            from welter._executor import results
        except ImportError as error:
            raise RuntimeError(
                f"welter cannot be imported on an executor of Spark, by {sys.executable} "
                f"(Python {sys.version.split()[0]}): {error}\nhint: install it there as on the "
                "driver, or say where the Python that has it is: PYSPARK_PYTHON, or the setting "
                "spark.pyspark.python (docs/spark.md)"
            ) from None
        yield from results(batches, algorithm, *said)

    return task


def _run(algorithm: str, edges: Any, options: dict[str, Any]) -> Any:
    """The result of an algorithm, as a DataFrame that is not computed yet."""
    for name, value in options.items():
        if name in _ABSENT and value is not None:
            raise UsageError(f"{name}: not on Spark, where {_ABSENT[name]}")
        if is_frame(value):
            what = f"{name}: a DataFrame of Spark, and the executor takes tables that are in memory"
            raise UsageError(what, hint="give the frame of its .toPandas(), or files")
    cluster, weight = options.pop("cluster", None), options.pop("weight", None)
    if cluster is not None and not isinstance(cluster, Executors):
        raise UsageError(f"cluster={cluster!r}: expected what welter.spark.executors gives")
    unknown = next((name for name in options if name in _LIMITS - {"scratch"}), None)
    if cluster is not None and unknown is not None:
        what = "not known to several executors yet, which take what they have"
        raise UsageError(f"{unknown}: {what}")
    if not isinstance(edges, Edges):
        edges = Edges(edges, None, weight, {}, algorithm)
    elif weight is not None:
        what = "its column is chosen where the edges are made"
        raise UsageError(f"weight={weight!r}: {what}")
    if weight not in (None, False) and "weighted" in _defaults(algorithm):
        options["weighted"] = True
    columns = _trial(algorithm, options, edges)
    schema = ", ".join(f"`{name}` {kind}" for name, kind in columns)
    if cluster is not None:
        task = _task(algorithm, options, columns, edges.reading, cluster.stage(edges))
        return cluster.result(edges, task, schema)
    cores = edges.frame.sparkSession.conf.get("spark.executor.cores", None)
    if cores is not None:
        options.setdefault("threads", int(cores))
    task = _task(algorithm, options, columns, edges.reading)
    return edges.rows.repartition(1).mapInArrow(task, schema)


def _defaults(algorithm: str) -> dict[str, Any]:
    return inspect.unwrap(getattr(_algorithms, algorithm)).__kwdefaults__


def _function(name: str) -> Callable[..., Any]:
    """The function of an algorithm, which looks as that of the package does."""
    model = getattr(_algorithms, name)

    @functools.wraps(model)
    def function(edges: Any, **options: Any) -> Any:
        return _run(name, edges, renamed(options))

    about, _, rest = (model.__doc__ or "").partition("\n\n")
    rest = rest.partition("\n    Examples\n")[0]
    rest = rest.replace(
        "    graph : a graph, or what :func:`welter.as_graph` makes one of\n",
        "    edges : a DataFrame of Spark with the columns source, target and perhaps weight\n",
    ).replace("    Result: ", "    DataFrame of Spark: ")
    rest = re.sub(
        r"\n    cluster : .*",
        "\n    cluster : run on several executors: see :func:`welter.spark.executors`",
        rest,
    )
    for absent in _ABSENT:
        rest = re.sub(rf"\n    {absent} : .*(\n     .*)*", "", rest)
    function.__doc__ = f"{about}\n\n{rest}"
    function.__module__ = "welter.spark"
    parameters = inspect.signature(model).parameters
    edges = inspect.Parameter("edges", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Any)
    options = [own for own in parameters.values() if own.name not in {"graph", *_ABSENT}]
    signature = inspect.Signature([edges, *options], return_annotation="pyspark.sql.DataFrame")
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


#: The functions by the names of their algorithms.
FUNCTIONS = {name: _function(name) for name in _algorithms.__all__}
