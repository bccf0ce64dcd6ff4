"""Runs on an executor of Spark: edges in a DataFrame, results in a DataFrame.

>>> import welter
>>> welter.spark.pagerank  # welter.spark.pagerank(edges, iterations=20)
<function pagerank at ...>

Every algorithm is here under its name and under its names of the field, with the options that it
has as a function of :mod:`welter`, and takes a DataFrame (Spark 3.5 or newer, classic or Connect)
of two or three columns in this order: source, target, weight. Ids are integers or strings, and come
back as they came in. What runs where, and what memory it takes, is in docs/spark.md.

A result is computed when it is asked for, as all in Spark, and each time again that it is: persist
it or write it where it is used twice.
"""

from __future__ import annotations

from typing import Any, Literal

from ._find import find as _find
from ._frames import Edges as _Edges
from ._spark import FUNCTIONS as _FUNCTIONS
from ._spark import NAMES as _NAMES
from ._stage import Executors as _Executors

globals().update(_FUNCTIONS)

__all__ = [*_FUNCTIONS, "edges", "executors"]


def edges(
    frame: Any,
    *,
    vertices: Any = None,
    weight: int | str | Literal[False] | None = None,
    bipartite: bool = False,
    undirected: bool = False,
    drop_self_loops: bool = False,
    drop_duplicates: bool | Literal["first", "min", "sum"] = False,
) -> _Edges:
    """Edges with what else makes a graph of them; every algorithm takes them as it takes frames.

    Parameters
    ----------
    frame : a DataFrame with source, target and perhaps weight
    vertices : a DataFrame with a column of ids: vertices, with or without edges
    weight : the third column, by its number (3) or name; False: none; None: it, if it is there
    bipartite : whether sources and targets are two kinds of vertices, such as users and items,
        which may have the same ids; results then have a column ``side``
    undirected : whether every edge goes both ways
    drop_self_loops : leave out edges from a vertex to itself
    drop_duplicates : keep one of parallel edges, with the first, the smallest (``"min"``) or the
        sum (``"sum"``) of their weights

    Raises
    ------
    InputError : with columns that are no ids or no weights
    UsageError : with other columns than these

    Examples
    --------
    >>> import welter
    >>> welter.spark.edges  # welter.spark.edges(links, vertices=people.select("id"))
    <function edges at ...>
    """
    reading = {
        "bipartite": bipartite,
        "undirected": undirected,
        "drop_self_loops": drop_self_loops,
        "drop_duplicates": drop_duplicates,
    }
    return _Edges(frame, vertices, weight, reading, "edges")


def executors(
    machines: int, *, directory: str, cpus: int | None = None, patience: float = 60
) -> _Executors:
    """Several executors, whose tasks are the machines of a run: ``cluster=`` takes it.

    Spark writes the edges into the directory, as Parquet, when the function is called, and all
    machines read them there when the result is asked for. It is the caller's to remove.

    Parameters
    ----------
    machines : how many, 1 to 64: tasks that run at once
    directory : one that is not there yet, on a file system that all executors and the driver
        share, or in a bucket (``"s3://bucket/run-7"``)
    cpus : cores that Spark counts for each machine, so that those of an executor are one; wants
        Spark 4. None: ``spark.task.cpus``, and as many machines an executor as it has slots
    patience : seconds in which a machine must come, and Spark must have the slots

    Examples
    --------
    >>> import welter
    >>> welter.spark.executors(4, directory="/mnt/shared/run-7")
    <4 executors of Spark, edges in /mnt/shared/run-7>
    """
    return _Executors(machines, directory.rstrip("/"), cpus, patience)


def __getattr__(name: str) -> object:
    """A function by another name of the field; else the functions that may be meant."""
    if name in _NAMES:
        return _FUNCTIONS[_NAMES[name]]
    text = f"module {__name__!r} has no attribute {name!r}"
    if not name.startswith("_"):
        meant = _find(name)
        text += "".join(f"\n  welter.spark.{other}: {about}" for other, about in meant.items())
    raise AttributeError(text)
