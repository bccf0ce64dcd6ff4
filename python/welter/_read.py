"""What graphs are made from: files, tables and arrays in memory, graphs of others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _columns, _native
from ._columns import column, typed
from ._errors import InputError, UsageError
from ._graph import Graph, Path
from ._progress import ticking
from ._words import words

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "Column",
    "from_arrow",
    "from_networkx",
    "from_numpy",
    "from_scipy",
    "open",
    "read_edges",
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
    ids: Literal["auto", "integers", "names"] | None = None,
    vertices: int | None = None,
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
    progress: bool | None = None,
) -> Graph:
    """Reads edge lists of all formats of the command line.

    Parameters
    ----------
    source : a path, a directory of files, a pattern such as ``"part-*.parquet"``, or a list of
        these; or the directory of a kept graph, or a generated graph such as ``"rmat:20"``
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
    vertices : the graph has the vertices 0 to ``vertices - 1``; None: those with edges
    vertices_from : files that list vertices, so that those without edges exist too, of any ids
    target_vertices_from : the same of targets, where these are another kind of vertices
    vertex_column : column of the ids in those files, by number or name; None: the first
    bipartite : whether sources and targets are two kinds of vertices, which may have the same ids;
        None: what the format says, else no
    undirected : whether every edge goes both ways; None: what the format says, else no
    drop_self_loops : leave out edges from a vertex to itself
    drop_duplicates : keep one of parallel edges, with the first, the smallest (``"min"``) or the
        sum (``"sum"``) of their weights
    memory : bytes that may be used, or text such as ``"2GiB"``
    threads : one a core if None
    scratch : directories for temporary files of what does not fit
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
        "vertices": vertices,
        "vertices_from": vertices_from,
        "target_vertices_from": target_vertices_from,
        "vertex_column": vertex_column,
        "bipartite": bipartite,
        **_shape(undirected, drop_self_loops, drop_duplicates),
        **{"memory": memory, "threads": threads, "scratch": scratch},
    }
    with ticking(progress) as tick:
        line = [*words(options), "--", *_paths(source)]
        return Graph(_native.Graph.read(line, tick))


def from_arrow(
    table: Any,
    *,
    source_column: Column | None = None,
    target_column: Column | None = None,
    weight: Column | Literal[False] | None = None,
    ids: Literal["auto", "integers", "names"] | None = None,
    vertices: int | None = None,
    undirected: bool = False,
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
    name : what errors call it

    The others are those of :func:`read_edges`.

    Examples
    --------
    >>> import welter, polars
    >>> frame = polars.DataFrame({"who": ["ann", "bob"], "whom": ["bob", "cid"], "km": [2.0, 3.5]})
    >>> graph = welter.from_arrow(frame, source_column="who", target_column="whom", weight="km")
    >>> welter.sssp(graph, source="ann").to_dict()
    {'ann': 0.0, 'bob': 2.0, 'cid': 5.5}
    """
    options = {
        "source_column": source_column,
        "target_column": target_column,
        "weight": weight,
        "ids": ids,
        "vertices": vertices,
        **_shape(undirected, drop_self_loops, drop_duplicates),
        **{"memory": memory, "threads": threads, "scratch": scratch},
    }
    if not hasattr(table, "__arrow_c_stream__"):
        what = "expected a data frame (anything with __arrow_c_stream__)"
        raise TypeError(f"{what}, found {type(table).__name__}{instead(table)}")
    with ticking(progress) as tick:
        line = [*words(options), "--", name]
        return Graph(_native.Graph.from_stream(name, typed(table), line, tick))


def from_numpy(
    source: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    vertices: int | None = None,
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
    """
    ends = column("source", source), column("target", target)
    weights = None if weight is None else _columns.weights("weight", weight)
    for other in (ends[1], weights):
        if other is not None and len(other) != len(ends[0]):
            raise UsageError(f"{len(ends[0])} sources and {len(other)} targets or weights")
    kinds = ["strings" if isinstance(end, list) else "integers" for end in ends]
    if len(ends[0]) and kinds[0] != kinds[1]:
        what = f"source holds {kinds[0]} and target {kinds[1]}: is one of them another column?"
        raise UsageError(
            what, hint="where they are ids alike, make strings of both (map(str, ...))"
        )
    ends, nodes = _counted(ends) if vertices is None else (ends, None)
    options = {
        "vertices": vertices if nodes is None else len(nodes),
        **_shape(undirected, drop_self_loops, drop_duplicates),
        **{"memory": memory, "threads": threads, "scratch": scratch},
    }
    with ticking(progress) as tick:
        line = [*words(options), "--", "arrays"]
        return Graph(_native.Graph.from_arrays("arrays", *ends, weights, line, tick), nodes)


def _counted(ends: tuple[Any, Any]) -> tuple[tuple[Any, Any], list[int] | None]:
    """Negative integers by their places among all, and the way back; others as they are."""
    signed = [isinstance(end, np.ndarray) and end.dtype.kind == "i" for end in ends]
    if not any(
        kind and end.ndim == 1 and (end < 0).any() for kind, end in zip(signed, ends, strict=True)
    ):
        return ends, None
    if not all(
        kind or end.size == 0 or int(end.max()) < 2**63
        for kind, end in zip(signed, ends, strict=True)
    ):
        return ends, None
    both = np.concatenate([end.astype(np.int64) for end in ends])
    nodes, places = np.unique(both, return_inverse=True)
    small = places.astype(np.uint32 if len(nodes) < 2**32 else np.uint64)
    count = len(ends[0])
    return (small[:count], small[count:]), nodes.tolist()


def from_scipy(
    matrix: Any,
    *,
    weighted: bool = True,
    undirected: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    progress: bool | None = None,
) -> Graph:
    """Takes a square sparse matrix of SciPy: an entry in row u and column v is an edge from u to v.

    Columns and values are held as they are; the rows of a CSR matrix are written out, four bytes an
    edge. Every row is a vertex, with or without edges.

    Parameters
    ----------
    matrix : in any sparse format; CSR and COO are not converted
    weighted : whether values are weights

    The others are those of :func:`read_edges`.

    Examples
    --------
    >>> import welter, scipy.sparse
    >>> matrix = scipy.sparse.csr_matrix([[0, 2.0, 0], [0, 0, 0], [0, 0, 0]])
    >>> welter.wcc(welter.from_scipy(matrix)).to_dict()
    {0: 0, 1: 0, 2: 2}
    """
    rows, columns = matrix.shape
    if rows != columns:
        raise UsageError(f"expected a square matrix, found {rows} rows and {columns} columns")
    if matrix.format == "csr":
        degrees = np.diff(matrix.indptr)
        small = np.uint32 if rows <= 1 << 32 else np.uint64
        source = np.repeat(np.arange(rows, dtype=small), degrees)
        target, values = matrix.indices, matrix.data
    else:
        entries = matrix.tocoo()
        source, target, values = entries.row, entries.col, entries.data
    return from_numpy(
        source,
        target,
        values if weighted else None,
        vertices=rows,
        undirected=undirected,
        memory=memory,
        threads=threads,
        scratch=scratch,
        progress=progress,
    )


def from_networkx(
    graph: Any,
    *,
    weight: Any = "weight",
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    progress: bool | None = None,
) -> Graph:
    """Takes a graph of NetworkX, directed or not, with its nodes, which may be any objects.

    Parameters
    ----------
    graph : of NetworkX; parallel edges of multigraphs are kept
    weight : attribute of the weights, 1 where an edge has none; there are no weights if no edge has
        it, or if it is None

    The others are those of :func:`read_edges`.

    Examples
    --------
    >>> import welter, networkx
    >>> path = networkx.path_graph(["a", "b", ("c", 3)])
    >>> welter.bfs(welter.from_networkx(path), source="a").to_dict()
    {'a': 0, 'b': 1, ('c', 3): 2}
    """
    nodes = list(graph)
    places = {node: place for place, node in enumerate(nodes)}
    edges = list(graph.edges(data=weight, default=None)) if weight else list(graph.edges())
    source = np.fromiter((places[edge[0]] for edge in edges), np.uint32, len(edges))
    target = np.fromiter((places[edge[1]] for edge in edges), np.uint32, len(edges))
    weights = None
    if weight and any(edge[2] is not None for edge in edges):
        weights = _columns.weights("weight", _weights(edges, weight))
    made = from_numpy(
        source,
        target,
        weights,
        vertices=len(nodes),
        undirected=not graph.is_directed(),
        memory=memory,
        threads=threads,
        scratch=scratch,
        progress=progress,
    )
    plain = all(type(node) is int and node == place for place, node in enumerate(nodes))
    return Graph(made._graph, None if plain else nodes)


def _weights(edges: list[Any], weight: Any) -> np.ndarray:
    """The weight of each edge, 1 where it has none."""
    weights = np.empty(len(edges), dtype=object)
    for row, (source, target, value) in enumerate(edges):
        weights[row] = 1.0 if value is None else value
        if isinstance(value, (str, bytes, complex)):
            what = f"expected a number as {weight!r}, found {value!r}"
            raise InputError(f"edge {source!r} to {target!r}: {what}")
    return weights


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
    graph._travels = (open, (os.path.abspath(directory),))
    return graph


def _shape(
    undirected: bool | None, drop_self_loops: bool, drop_duplicates: Duplicates
) -> dict[str, Any]:
    return {
        "undirected": undirected,
        "drop_self_loops": drop_self_loops,
        "drop_duplicates": drop_duplicates,
    }


def unread(source: Any, weight: Column | Literal[False] | None) -> Graph:
    """A graph of files that each run reads."""
    line = [*words({"weight": weight}), "--", *_paths(source)]
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
    """What to do with something that no graph can be made of as it is."""
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
    if hasattr(thing, "get_edgelist"):
        return ": give its edges, as in welter.from_numpy(*zip(*graph.get_edgelist()))"
    return ""
