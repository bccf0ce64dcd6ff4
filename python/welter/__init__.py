"""Graph analytics: exact results, inside the memory you have, without tuning.

>>> import welter
>>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3])
>>> welter.pagerank(graph).to_dict()[3]
0.21376...

Graphs are made of files (:func:`read_edges`), data frames (:func:`from_arrow`), arrays
(:func:`from_numpy`), matrices (:func:`from_scipy`), graphs of NetworkX (:func:`from_networkx`),
kept graphs (:func:`open`) and generators (:func:`rmat`, :func:`web`); algorithms take any of these,
too: ``welter.pagerank("links.tsv").top(20)``. :func:`find` finds algorithms by other words for
them: ``welter.find("connected components")``.
"""

from . import _algorithms as _made
from . import cluster, spark
from ._algorithms import *  # noqa: F403
from ._algorithms import __all__ as _algorithms_all
from ._errors import *  # noqa: F403
from ._errors import __all__ as _errors_all
from ._find import find
from ._foreign import from_networkx, from_scipy
from ._generate import rmat, web
from ._graph import Graph
from ._native import __version__
from ._probe import probe
from ._read import check, from_arrow, from_numpy, open, read_edges, remove
from ._report import Report
from ._result import Result
from ._resume import resume
from ._run import as_graph

__all__ = [
    "Graph",
    "Report",
    "Result",
    "__version__",
    "as_graph",
    "check",
    "cluster",
    "find",
    "from_arrow",
    "from_networkx",
    "from_numpy",
    "from_scipy",
    "open",
    "probe",
    "read_edges",
    "remove",
    "resume",
    "rmat",
    "spark",
    "web",
    *_algorithms_all,
    *_errors_all,
]


def __getattr__(name: str) -> object:
    """A function by another name of the field; else the functions that may be meant."""
    if name in _made.NAMES:
        return getattr(_made, _made.NAMES[name])
    text = f"module {__name__!r} has no attribute {name!r}"
    if not name.startswith("_"):
        meant = find(name)
        text += "".join(f"\n  welter.{other}: {about}" for other, about in meant.items())
    raise AttributeError(text)
