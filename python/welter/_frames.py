"""DataFrames of Spark as edges of a graph, and vertices beside them: what the driver looks at.

Names and types of columns are all that comes here. What goes to executors has the columns source,
target and perhaps weight, ids of one type, and where vertices were given a column that tells these
(:data:`ALONE`), so that one task has both.
"""

from __future__ import annotations

import re
from typing import Any

from ._errors import InputError, UsageError
from ._extras import needed

__all__ = ["ALONE", "INTEGERS", "Edges", "is_frame"]

#: Types of ids, from the narrowest to the widest.
INTEGERS = ["tinyint", "smallint", "int", "bigint"]

#: Types of weights; decimals are weights, too.
_NUMBERS = {*INTEGERS, "float", "double"}

#: Column that is true in rows that are vertices, in the place of sources.
ALONE = "alone"


class Edges:
    """A DataFrame with what else makes a graph of it: what :func:`welter.spark.edges` gives.

    Attributes
    ----------
    frame : source, target and perhaps weight
    vertices : a column of ids, or None
    ids : the type of ids, by Spark's name
    weighted : whether there are weights
    reading : options of :func:`welter.read_edges`
    """

    def __init__(
        self, edges: Any, vertices: Any, weight: Any, reading: dict[str, Any], function: str
    ) -> None:
        frame = _frame(edges, function)
        found = frame.dtypes
        self.weighted = _weighted(found, weight)
        self.ids, self.vertices = _kind(found[:2], "the first two columns are"), None
        if vertices is not None:
            own = _frame(vertices, function)
            if len(own.dtypes) != 1:
                what = f"vertices: expected one column, found {_listed(own.dtypes)}"
                raise UsageError(what, hint='say which, as in vertices.select("id")')
            both = [*found[:2], own.dtypes[0]]
            self.ids = _kind(both, "edges and vertices have")
            self.vertices = own.toDF("vertex").selectExpr(f"cast(vertex as {self.ids}) as vertex")
        names = ["source", "target", "weight"]
        kinds = [self.ids, self.ids, "double"][: 3 if self.weighted else 2]
        chosen = [f"cast({name} as {kind}) as {name}" for name, kind in zip(names, kinds)]
        self.frame = frame.toDF(*names[: len(found)]).selectExpr(*chosen)
        self.reading = {name: value for name, value in reading.items() if value}
        if not self.weighted:
            self.reading["weight"] = False

    @property
    def rows(self) -> Any:
        """Edges and vertices in one DataFrame."""
        if self.vertices is None:
            return self.frame
        weights = ["weight"] if self.weighted else []
        nothing = [f"cast(null as {self.ids}) as target"]
        nothing += [f"cast(null as double) as {weight}" for weight in weights]
        edges = self.frame.selectExpr("source", "target", *weights, f"false as {ALONE}")
        return edges.unionAll(
            self.vertices.selectExpr("vertex as source", *nothing, f"true as {ALONE}")
        )

    def __repr__(self) -> str:
        weights = "with weights" if self.weighted else "without weights"
        return f"<edges of Spark, ids are {self.ids}, {weights}>"


def _frame(edges: Any, function: str) -> Any:
    """The DataFrame, if it is one that can be had."""
    pyspark = needed("pyspark", f"welter.spark.{function}")
    kind = type(edges)
    if kind.__module__.startswith("pyspark.pandas"):
        raise TypeError(f"expected a DataFrame of Spark, found {kind.__module__}: say .to_spark()")
    if not is_frame(edges):
        raise TypeError(
            f"expected a DataFrame of Spark, found {kind.__name__}: functions of welter take what "
            "other packages have, and spark.createDataFrame makes one of it"
        )
    release = re.match(r"(\d+)\.(\d+)", pyspark.__version__)
    if release is None or (int(release[1]), int(release[2])) < (3, 5):
        what = f"welter.spark needs pyspark 3.5 or newer, and this is {pyspark.__version__}"
        raise UsageError(what, hint='pip install "pyspark>=3.5", as the cluster has it')
    return edges


def is_frame(thing: Any) -> bool:
    """Whether it is a DataFrame of Spark, classic or Connect."""
    return type(thing).__module__.startswith("pyspark.sql.") and hasattr(thing, "mapInArrow")


def _listed(columns: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in columns) or "none"


def _kind(columns: list[tuple[str, str]], where: str) -> str:
    """The type of ids of columns."""
    kinds = {kind for _, kind in columns}
    if kinds <= set(INTEGERS):
        return max(kinds, key=INTEGERS.index)
    if kinds == {"string"}:
        return "string"
    what = f"{where} ids, integers or strings alike; found {_listed(columns)}"
    raise InputError(what, hint="cast them in Spark before")


def _weighted(found: list[tuple[str, str]], weight: Any) -> bool:
    """Whether there are weights; looks at the number of columns, and at the third one."""
    listed = _listed(found)
    if len(found) not in (2, 3):
        what = f"expected two or three columns (source, target, weight), found {listed}"
        raise UsageError(what, hint='say which, as in edges.select("src", "dst")')
    weighted = len(found) == 3 and weight is not False
    if weight not in (None, False) and (not weighted or weight not in (3, found[2][0])):
        raise UsageError(f"weight={weight!r}: expected the third column, found {listed}")
    if weighted and found[2][1] not in _NUMBERS and not found[2][1].startswith("decimal"):
        what = f"the third column is the weight, a number; found {listed}"
        raise InputError(what, hint="leave it out with weight=False, or cast it in Spark before")
    return weighted
