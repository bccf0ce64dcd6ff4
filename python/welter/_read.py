"""Sources of graphs: files, tables and arrays in memory, graphs of others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _columns, _native
from ._columns import column, typed
from ._errors import UsageError
from ._graph import Graph, Path
from ._progress import ticking
from ._vertices import Listed, Vertices, beside, is_frame, one_kind
from ._words import words

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "Column",
    "check",
    "from_arrow",
    "from_numpy",
    "open",
    "read_edges",
    "remove",
]

Column = int | str
Duplicates = bool | Literal["first", "min", "sum"]


def read_edges(
    source: Path | Sequence[Path],
    *,
    format: str | None = None,
    separator: str | None = None,
    quote: str | Literal[False] | None = None,
    escape: Literal["doubled", "backslash"] | None = None,
    comment: str | Literal[False] | None = None,
    header: bool | None = None,
    source_column: Column | None = None,
    target_column: Column | None = None,
    weight: Column | Literal[False] | None = None,
    ids: Literal["auto", "integers", "strings"] | None = None,
    vertices: Vertices | None = None,
    target_vertices: Vertices | None = None,
    vertices_from: Path | Sequence[Path] | None = None,
    target_vertices_from: Path | Sequence[Path] | None = None,
    vertex_column: Column | None = None,
    bipartite: bool | None = None,
    undirected: bool | None = None,
    drop_self_loops: bool = False,
    drop_duplicates: Duplicates = False,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    read_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    progress: bool | None = None,
) -> Graph:
    """Reads edge lists of all formats of the command line.

    Parameters
    ----------
    source : a path, a directory of files, a pattern such as ``"part-*.parquet"``, the URL of an
        object such as ``"s3://bucket/edges/*.parquet"``, or a list of these; or the
        directory of a kept graph, or a generated graph such as ``"rmat:20"``
    format : text, parquet, arrow, mtx, metis, dimacs, ldbc, properties, tntp, adjacency, gml,
        graphml, gexf, pajek, dot, tgf, json, ntriples, graph6, npy, graph500, webgraph, u32, u64,
        u32f32, u32f64, u64f32 or u64f64; guessed if None
    separator : what separates the columns of text: tab, comma, semicolon, pipe, colon, spaces, or
        any string, such as ``"::"``; guessed if None
    quote : what fields of text are quoted with, a double or a single quote; False: nothing; guessed
        if None
    escape : how a quote within quotes is written; guessed if None
    comment : what begins a comment line of text; False: nothing; None: # and %, where the line
        cannot be a row
    header : whether the first row of text names the columns; guessed if None
    source_column, target_column : by number (from 1) or name; guessed if None
    weight : column of the weights, by number or name; False: none; None: one called weight, else
        by a word for it such as cost or distance, else the one further column of numbers, if any
    ids : what ids are: integers, names (any strings), or what a sample looks like
    vertices : vertices, with or without edges: ids of any kind (a list, an array, a column), a data
        frame with a row for each, or a number N for the integers 0 to N - 1; ends of edges that are
        not among ids are vertices as well; None: those with edges
    target_vertices : the same of targets, where these are another kind of vertices
    vertices_from, target_vertices_from : files with a row or line for each, in their place
    vertex_column : column of the ids in data frames and files of vertices, by number or name; None:
        the first
    bipartite : whether sources and targets are two kinds of vertices, such as users and items,
        which may have the same ids; None: what the format says, else no. Such a vertex is
        ``("source", 7)`` or ``("target", 7)`` where one is named or found
    undirected : whether every edge goes both ways; None: what the format says, else no
    drop_self_loops : leave out edges from a vertex to itself
    drop_duplicates : keep one of parallel edges, with the first, the smallest (``"min"``) or the
        sum (``"sum"``) of their weights
    memory : bytes that may be used, or text such as ``"2GiB"``
    threads : one a core if None
    scratch : directories for temporary files of what does not fit
    read_size : bytes of a request for an object in a bucket, or for raw records in files, at most,
        a power of two from ``"4KiB"`` to ``"64MiB"``; None: of a bucket as a probe kept there
        says, else 8 MiB, and 512 KiB of files
    in_flight : such requests that each reader has on their way, 1 to 256; None: likewise, else 4,
        and 3 of files
    io : whether raw records in files come past the page cache or through it; None: through it,
        but for those that are larger than it may become or have stated requests
    progress : whether bars are drawn; None: on terminals and in notebooks

    Raises
    ------
    InputError : with the file and the line or row of what is wrong
    MissingError : where a file is not there

    Examples
    --------
    >>> import welter, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "links.csv")
    ...     _ = path.write_text("from,to\\nhome,news\\nnews,home\\n")
    ...     graph = welter.read_edges(path)
    >>> graph.num_edges
    2
    >>> welter.wcc(graph).to_dict()
    {'home': 'home', 'news': 'home'}
    """
    count, tables = beside(vertices, target_vertices)
    options = {
        "format": format,
        "separator": separator,
        "quote": "none" if quote is False else quote,
        "escape": escape,
        "comment": "none" if comment is False else comment,
        "header": header is True,
        "no_header": header is False,
        "source_column": source_column,
        "target_column": target_column,
        "weight": weight,
        "ids": ids,
        "vertices": count,
        "vertices_from": vertices_from,
        "target_vertices_from": target_vertices_from,
        "vertex_column": vertex_column,
        "bipartite": bipartite,
        **_shape(undirected, drop_self_loops, drop_duplicates),
        **{"memory": memory, "threads": threads, "scratch": scratch},
        **{"read_size": read_size, "in_flight": in_flight, "io": io},
    }
    with ticking(progress) as tick:
        line = [*words(options), "--", *_paths(source)]
        return Graph(_native.Graph.read(line, tick, True, tables))


def from_arrow(
    table: Any,
    *,
    source_column: Column | None = None,
    target_column: Column | None = None,
    weight: Column | Literal[False] | None = None,
    ids: Literal["auto", "integers", "strings"] | None = None,
    vertices: Vertices | None = None,
    target_vertices: Vertices | None = None,
    vertex_column: Column | None = None,
    bipartite: bool = False,
    undirected: bool | None = None,
    drop_self_loops: bool = False,
    drop_duplicates: Duplicates = False,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    name: str = "table",
    progress: bool | None = None,
) -> Graph:
    """Takes the rows of a data frame as edges: of polars, pandas, pyarrow, DuckDB and any other
    that has ``__arrow_c_stream__``.

    Columns are held as they are, without a copy, where ids are whole numbers that lie close
    together. They must not be changed while the graph is there.

    Parameters
    ----------
    table : the data frame
    source_column, target_column : by name or number (from 1); None: a telling pair of names, else
        the first two
    weight : column of the weights; False: none; None: as of :func:`read_edges`
    undirected : whether every edge goes both ways; None: what a column ``Type`` or ``directed``
        says in all rows, else no
    name : what errors call it

    The others are those of :func:`read_edges`.

    Examples
    --------
    >>> import welter, polars
    >>> frame = polars.DataFrame({"who": ["ann", "bob"], "whom": ["bob", "cid"], "km": [2.0, 3.5]})
    >>> graph = welter.from_arrow(frame, source_column="who", target_column="whom", weight="km")
    >>> welter.sssp(graph, source="ann").to_dict()
    {'ann': 0.0, 'bob': 2.0, 'cid': 5.5}

    Vertices without edges are listed beside these; users and items may have the same ids:

    >>> welter.from_arrow(frame, vertices=["ann", "bob", "cid", "dee"]).num_vertices
    4
    >>> stars = polars.DataFrame({"user": [1, 1, 2], "item": [1, 2, 2], "stars": [5, 3, 4]})
    >>> ratings = welter.from_arrow(stars, bipartite=True)
    >>> welter.bfs(ratings, source=("source", 1)).to_dict()[("target", 2)]
    1
    """
    count, tables = beside(vertices, target_vertices, vertex_column)
    options = {
        "source_column": source_column,
        "target_column": target_column,
        "weight": weight,
        "ids": ids,
        "vertices": count,
        "vertex_column": vertex_column,
        "bipartite": _two_kinds(bipartite, target_vertices),
        **_shape(undirected, drop_self_loops, drop_duplicates),
        **{"memory": memory, "threads": threads, "scratch": scratch},
    }
    if not is_frame(table):
        what = "expected a data frame (anything with __arrow_c_stream__)"
        raise TypeError(f"{what}, found {type(table).__name__}{instead(table)}")
    with ticking(progress) as tick:
        line = [*words(options), "--", name]
        return Graph(_native.Graph.from_stream(name, typed(table), line, tick, tables))


def from_numpy(
    source: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    ids: Literal["auto", "integers", "strings"] | None = None,
    vertices: Vertices | None = None,
    target_vertices: Vertices | None = None,
    vertex_column: Column | None = None,
    bipartite: bool = False,
    undirected: bool = False,
    drop_self_loops: bool = False,
    drop_duplicates: Duplicates = False,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    progress: bool | None = None,
) -> Graph:
    """Takes arrays of sources, targets and weights as edges.

    Arrays in one piece are held as they are, without a copy, and must not be changed while the
    graph is there.

    Parameters
    ----------
    source, target : ids of the ends of each edge, shape (edges,): integers or strings, in both
        alike
    weight : shape (edges,), numbers

    The others are those of :func:`read_edges`.

    Examples
    --------
    >>> import welter, numpy
    >>> graph = welter.from_numpy(numpy.array([7, 8]), numpy.array([8, 9]), [1.5, 2.5])
    >>> welter.sssp(graph, source=7).to_dict()
    {7: 0.0, 8: 1.5, 9: 4.0}
    >>> welter.bfs(welter.from_numpy(["a", "b"], ["b", "c"]), source="a").to_dict()
    {'a': 0, 'b': 1, 'c': 2}
    >>> welter.wcc(welter.from_numpy(["a"], ["b"], vertices=["a", "b", "z"])).to_dict()
    {'a': 'a', 'b': 'a', 'z': 'z'}
    """
    ends = column("source", source), column("target", target)
    weights = None if weight is None else _columns.weights("weight", weight)
    for other in (ends[1], weights):
        if other is not None and len(other) != len(ends[0]):
            raise UsageError(f"{len(ends[0])} sources and {len(other)} targets or weights")
    count, tables = beside(vertices, target_vertices, vertex_column)
    nodes = None
    if ids not in ("strings", "names"):
        listed = [(name, table) for name, table, _ in tables if not is_frame(table)]
        one_kind([("source", ends[0]), ("target", ends[1]), *listed])
        if count is None and len(listed) == len(tables):
            ends, tables, nodes = _counted(ends, tables)
    options = {
        "ids": ids,
        "vertices": count,
        "vertex_column": vertex_column,
        "bipartite": _two_kinds(bipartite, target_vertices),
        **_shape(undirected, drop_self_loops, drop_duplicates),
        **{"memory": memory, "threads": threads, "scratch": scratch},
    }
    with ticking(progress) as tick:
        line = [*words(options), "--", "arrays"]
        made = _native.Graph.from_arrays("arrays", ends, weights, line, tick, tables)
        return Graph(made, nodes)


def _counted(
    ends: tuple[Any, Any], tables: Listed
) -> tuple[tuple[Any, Any], Listed, list[int] | None]:
    """Negative integers by their places among all, and the way back; others as they are."""
    columns = [*ends, *(ids for _, ids, _ in tables)]
    whole = all(
        isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.ndim == 1 for ids in columns
    )
    if not whole or not any(len(ids) and ids.min() < 0 for ids in columns):
        return ends, tables, None
    if any(len(ids) and int(ids.max()) >= 2**63 for ids in columns):
        return ends, tables, None
    every = np.concatenate([ids.astype(np.int64) for ids in columns])
    nodes, places = np.unique(every, return_inverse=True)
    small = places.astype(np.uint32 if len(nodes) < 2**32 else np.uint64)
    source, target, *listed = np.split(small, np.cumsum([len(ids) for ids in columns])[:-1])
    named = [(name, ids, side) for (name, _, side), ids in zip(tables, listed, strict=True)]
    return (source, target), named, nodes.tolist()


def open(directory: Path) -> Graph:
    """A graph that is kept in a directory, by :meth:`Graph.save` or ``welter ingest``.

    Nothing is read before a run; what does not fit in memory is streamed then.

    >>> import welter, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = os.path.join(folder, "kept")
    ...     welter.rmat(8).save(kept)
    ...     welter.open(kept).num_edges
    4096
    """
    graph = Graph(_native.Graph.read(["--", *_paths(directory)], None))
    name = os.fspath(directory)
    graph._travels = (open, (name if "://" in name else os.path.abspath(name),))
    return graph


def remove(directory: str | os.PathLike[str]) -> None:
    """Removes a kept graph, on whatever disks it lies; also one of a bucket.

    >>> import welter, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = os.path.join(folder, "kept")
    ...     welter.rmat(8).save(kept)
    ...     welter.remove(kept)
    ...     os.listdir(folder)
    []
    """
    _native.remove(os.fspath(directory))


def check(
    directory: Path, *, threads: int | None = None, progress: bool | None = None
) -> dict[str, Any]:
    """Verifies every byte of a kept graph: checksums, and that its files agree.

    Parameters
    ----------
    directory : of the graph, or its URL such as ``"s3://bucket/graph"``
    threads : one a core if None
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    What was found whole: the numbers ``edges`` (as they are kept: one that goes both ways counts
    twice), ``chunks``, ``files`` and ``bytes``, and ``foreign``, a list of the names in the
    directory that are no part of the graph.

    Raises
    ------
    DamagedError : at the first damage, with its file and offset in bytes
    MissingError : where no graph is kept
    StorageError : where the graph cannot be read

    Examples
    --------
    >>> import welter, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = os.path.join(folder, "kept")
    ...     welter.rmat(8).save(kept)
    ...     found = welter.check(kept)
    >>> found["edges"], found["foreign"]
    (4096, [])
    """
    with ticking(progress) as tick:
        return _native.check(os.fspath(directory), words({"threads": threads}), tick)


def _two_kinds(bipartite: bool, target_vertices: Any) -> bool | None:
    """Whether it is said that there are two kinds of vertices."""
    if target_vertices is not None and not bipartite:
        what = "target_vertices are for two kinds of vertices"
        raise UsageError(what, hint="say bipartite=True, or list all as vertices")
    return bipartite or None


def _shape(
    undirected: bool | None, drop_self_loops: bool, drop_duplicates: Duplicates
) -> dict[str, Any]:
    return {
        "undirected": undirected,
        "drop_self_loops": drop_self_loops,
        "drop_duplicates": drop_duplicates,
    }


def unread(source: Any, weight: Column | Literal[False] | None, **others: Any) -> Graph:
    """A graph of files that each run reads."""
    line = [*words({"weight": weight, **others}), "--", *_paths(source)]
    return Graph(_native.Graph.read(line, None, False))


def _paths(source: Any) -> list[str]:
    """Paths as text."""
    several = [source] if isinstance(source, (str, bytes, os.PathLike)) else source
    if hasattr(several, "read") or isinstance(several, dict) or not isinstance(several, Iterable):
        what = f"expected a path or several, found {type(source).__name__}"
        raise TypeError(what + instead(source))
    paths = list(several)
    for path in paths:
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(f"expected a path or several, found {type(path).__name__} among them")
    return [os.fsdecode(path) for path in paths]


def instead(thing: Any) -> str:
    """Advice for an object that no graph can be made of as it is."""
    if hasattr(thing, "read"):
        name = getattr(thing, "name", None)
        path = repr(name) if isinstance(name, str) else "path"
        return f": give the name of the file, as in welter.read_edges({path})"
    if isinstance(thing, dict):
        return (
            ": of columns, make a data frame (welter.from_arrow(pandas.DataFrame(columns))); of "
            "neighbours, a graph of NetworkX (welter.from_networkx(networkx.Graph(neighbours)))"
        )
    if type(thing).__name__ == "LazyFrame":
        return ": collect it first, as in welter.from_arrow(frame.collect())"
    if hasattr(thing, "__arrow_c_stream__") or type(thing).__name__ == "Series":
        return ", a column alone: give two, as in welter.from_numpy(source, target)"
    if isinstance(thing, np.ndarray):
        return f" of shape {thing.shape}: give columns, as in welter.from_numpy(source, target)"
    if hasattr(thing, "get_edgelist"):
        return ": give its edges, as in welter.from_numpy(*zip(*graph.get_edgelist()))"
    if isinstance(thing, Iterable):
        return ": of edges, give a list of tuples of two ends, and perhaps a weight"
    return ""
