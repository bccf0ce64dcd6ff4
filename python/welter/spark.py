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

from ._find import find as _find
from ._spark import FUNCTIONS as _FUNCTIONS
from ._spark import NAMES as _NAMES

globals().update(_FUNCTIONS)

__all__ = [*_FUNCTIONS]


def __getattr__(name: str) -> object:
    """A function by another name of the field; else the functions that may be meant."""
    if name in _NAMES:
        return _FUNCTIONS[_NAMES[name]]
    text = f"module {__name__!r} has no attribute {name!r}"
    if not name.startswith("_"):
        meant = _find(name)
        text += "".join(f"\n  welter.spark.{other}: {about}" for other, about in meant.items())
    raise AttributeError(text)
