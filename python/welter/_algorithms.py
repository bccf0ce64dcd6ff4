"""One function for each algorithm, with the options of the command line.

Made by `cargo run -- markdown python`; a test compares it with the code.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from ._old_names import with_old_names
from ._result import Result
from ._run import run

Path = str | os.PathLike[str]

__all__ = [
    "pagerank",
    "bfs",
    "sssp",
    "wcc",
    "spmv",
    "hyperball",
    "cdlp",
    "kcore",
    "triangles",
    "lcc",
    "mis",
    "conductance",
    "bp",
    "als",
    "scc",
    "mcst",
]

#: Names of the field, and the functions that they name.
NAMES = {
    "page_rank": "pagerank",
    "breadth_first_search": "bfs",
    "single_source_shortest_paths": "sssp",
    "cc": "wcc",
    "connected_components": "wcc",
    "weakly_connected_components": "wcc",
    "matrix_vector_product": "spmv",
    "hyper_anf": "hyperball",
    "neighborhood_function": "hyperball",
    "label_propagation": "cdlp",
    "lpa": "cdlp",
    "k_core": "kcore",
    "core_number": "kcore",
    "core_numbers": "kcore",
    "coreness": "kcore",
    "triangle_count": "triangles",
    "triangle_counting": "triangles",
    "clustering_coefficient": "lcc",
    "local_clustering_coefficient": "lcc",
    "maximal_independent_set": "mis",
    "belief_propagation": "bp",
    "alternating_least_squares": "als",
    "strongly_connected_components": "scc",
    "mst": "mcst",
    "msf": "mcst",
    "minimum_spanning_tree": "mcst",
    "minimum_spanning_forest": "mcst",
}


@with_old_names
def pagerank(
    graph: Any,
    *,
    damping: float = 0.85,
    iterations: int | None = None,
    tolerance: float | None = None,
    dangling: Literal["spread", "networkx", "drop", "unnormalized"] = "spread",
    precision: Literal["f64", "f32"] = "f64",
    weighted: bool = False,
    weight: int | str | Literal[False] | None = None,
    personalization: Any = None,
    personalization_column: int | str | None = None,
    personalization_default: float | None = None,
    dangling_weights: Any = None,
    dangling_weights_column: int | str | None = None,
    dangling_weights_default: float | None = None,
    initial: Any = None,
    initial_column: int | str | None = None,
    initial_default: float | None = None,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """PageRank: the share of time that a random walk along the edges spends at each vertex.

    Also known as: centrality, importance, ranking, personalised PageRank, eigenvector, random
    walk.

    ::

        rank(v) = (1 - d) / V  +  d * (sum over edges u -> v of rank(u) / out-degree(u))
                               +  d * (sum over sinks s of rank(s)) / V

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    damping : d, the probability that the walk follows an edge and does not jump anywhere
    iterations : Stop after N iterations [default: when the ranks settle, or after 200; networkx:
        100]
    tolerance : Stop when an iteration changes all ranks together by less than this share of them
        [default: 1e-9, with f32 or networkx 1e-6; none where iterations are given]
    dangling : Treatment of the rank of sinks, which have no edge to carry it on
    precision : Width of the ranks
    weighted : Follow edges in proportion to their weights, which may not be negative; f64 only
    weight : Column of the weights, by number (from 1) or name [default: the one called weight,
        else by a word for it such as cost, distance or rating, else the one further column of
        numbers] One rule holds for text, tables and frames. A column whose name is for something
        else (year, timestamp, type, or what ends in _id) is no weight. Where several columns could
        be it, names are refused, and without names the first one behind the ends is taken. Of
        dictionaries at the end of a row, as NetworkX writes them, the value of weight is.
    personalization : A dictionary, a data frame or files (text, Parquet, Arrow) of where the walk
        jumps to, and not to all vertices alike: ids in the first column, in another how often, in
        proportion. The rank of sinks goes there too, without dangling_weights; f64 only
    personalization_column : Column of the proportions, by number (from 1) or name [default: the
        second]
    personalization_default : Proportion of vertices without a row [default: an error]
    dangling_weights : A dictionary, a data frame or files of where the rank of sinks goes, as
        those of personalization; f64 only
    dangling_weights_column : Column of the proportions, by number (from 1) or name [default: the
        second]
    dangling_weights_default : Proportion of vertices without a row [default: an error]
    initial : A dictionary, a data frame or files of ranks to begin with, in proportion to each
        other, as those of personalization: those of a graph that was a little different, say; f64
        only
    initial_column : Column of the ranks, by number (from 1) or name [default: the second]
    initial_default : Rank of vertices without a row [default: an error]
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, rank (f64 or f32)

    Source: Chaos, Table 1; BlitzG; LDBC Graphalytics (PR); Page and others (1999)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3])
    >>> welter.pagerank(graph).top(2)
       vertex      rank
    1       2  0.307853
    2       1  0.264622
    """
    options = {
        "damping": damping,
        "iterations": iterations,
        "tolerance": tolerance,
        "dangling": dangling,
        "precision": precision,
        "weighted": weighted,
        "weight": weight,
        "personalization": personalization,
        "personalization_column": personalization_column,
        "personalization_default": personalization_default,
        "dangling_weights": dangling_weights,
        "dangling_weights_column": dangling_weights_column,
        "dangling_weights_default": dangling_weights_default,
        "initial": initial,
        "initial_column": initial_column,
        "initial_default": initial_default,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(pagerank, graph, options, progress)


@with_old_names
def bfs(
    graph: Any,
    *,
    source: Any = None,
    sources_from: Any = None,
    direction: Literal["out", "in", "both"] = "out",
    parents: bool = False,
    frontier: Literal["auto", "dense", "pull", "sparse", "async"] = "auto",
    index: Literal["auto", "blocks", "csr"] = "auto",
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Breadth-first search: the number of edges from the nearest source to each vertex.

    Also known as: shortest paths (unweighted), breadth-first search, hops, reachable, descendants.

    ::

        depth(s) = 0                                           for each source s
        depth(v) = 1 + (least of depth(u) over edges u -> v)   for all others

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    source : Id of a vertex to begin at, as in the input; a list of several
    sources_from : A data frame or files of such ids, the first column of a table or one a line
    direction : Direction in which edges are followed
    parents : Also find the vertex before each on a shortest path: the one with the smallest id, of
        a source itself
    frontier : Method by which the edges of active vertices are found; the result is the same
    index : Index of the edges of active vertices; the result is the same
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, depth (i64; None where no path leads); with parents=True also parent (an id)

    Source: Chaos, Table 1; LDBC Graphalytics (BFS)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 1], [1, 2, 3])
    >>> welter.bfs(graph, source=0, parents=True).top(2)
       vertex  depth  parent
    1       2      2       1
    2       3      2       1
    """
    options = {
        "source": source,
        "sources_from": sources_from,
        "direction": direction,
        "parents": parents,
        "frontier": frontier,
        "index": index,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(bfs, graph, options, progress)


@with_old_names
def sssp(
    graph: Any,
    *,
    source: Any = None,
    sources_from: Any = None,
    direction: Literal["out", "in", "both"] = "out",
    parents: bool = False,
    precision: Literal["f64", "f32"] = "f64",
    delta: str | int | float = "auto",
    frontier: Literal["auto", "dense", "pull", "sparse", "async"] = "auto",
    index: Literal["auto", "blocks", "csr"] = "auto",
    weight: int | str | Literal[False] | None = None,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Single-source shortest paths: the length from the nearest source to each vertex.

    Also known as: shortest paths (weighted), Dijkstra, Bellman-Ford, delta-stepping, route.

    ::

        distance(s) = 0                                                       for each source s
        distance(v) = least of distance(u) + weight(u, v) over edges u -> v   for all others

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    source : Id of a vertex to begin at, as in the input; a list of several
    sources_from : A data frame or files of such ids, the first column of a table or one a line
    direction : Direction in which edges are followed
    parents : Also find the vertex before each on a shortest path: of several paths on the one with
        the fewest edges, then the one with the smallest id; of a source itself; f64 only
    precision : Width of the distances
    delta : Distances are settled by steps of this width; the result is the same. auto is the mean
        weight of a sample of the edges, inf is one step
    frontier : Method by which the edges of active vertices are found; the result is the same
    index : Index of the edges of active vertices; the result is the same
    weight : Column of the weights, by number (from 1) or name; False: none [default: the one
        called weight, else by a word for it such as cost, distance or rating, else the one further
        column of numbers] One rule holds for text, tables and frames. A column whose name is for
        something else (year, timestamp, type, or what ends in _id) is no weight. Where several
        columns could be it, names are refused, and without names the first one behind the ends is
        taken. Of dictionaries at the end of a row, as NetworkX writes them, the value of weight
        is.
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, distance (f64 or f32; None where no path leads); with parents=True also parent
        (an id)

    Source: Chaos, Table 1; BlitzG; LDBC Graphalytics (SSSP); Meyer and Sanders (2003)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0])
    >>> welter.sssp(graph, source=0).to_dict()
    {0: 0.0, 1: 1.0, 2: 2.5}
    """
    options = {
        "source": source,
        "sources_from": sources_from,
        "direction": direction,
        "parents": parents,
        "precision": precision,
        "delta": delta,
        "frontier": frontier,
        "index": index,
        "weight": weight,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(sssp, graph, options, progress)


@with_old_names
def wcc(
    graph: Any,
    *,
    method: Literal["auto", "union-find", "label-propagation"] = "auto",
    frontier: Literal["auto", "dense", "pull", "sparse", "async"] = "auto",
    index: Literal["auto", "blocks", "csr"] = "auto",
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Weakly connected components: the vertices that paths join, whichever way edges point.

    Also known as: connected components, weakly connected components, cc, union-find, islands.

    ::

        component(v) = the smallest id that a path of edges, in any direction, joins to v

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    method : Method by which the result is found; it is the same either way
    frontier : Method by which the edges of active vertices are found; the result is the same
    index : Index of the edges of active vertices; the result is the same
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, component (the id of its smallest vertex)

    Source: Chaos, Table 1; BlitzG (CC); LDBC Graphalytics (WCC)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 2, 3], [1, 3, 4])
    >>> welter.wcc(graph).top()
       component  vertices
    1          2         3
    2          0         2
    """
    options = {
        "method": method,
        "frontier": frontier,
        "index": index,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(wcc, graph, options, progress)


@with_old_names
def spmv(
    graph: Any,
    *,
    vector: Literal["ones", "random"] = "ones",
    seed: int = 1,
    vector_from: Any = None,
    vector_column: int | str | None = None,
    vector_default: float | None = None,
    iterations: int = 1,
    precision: Literal["f64", "f32"] = "f64",
    weight: int | str | Literal[False] | None = None,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Sparse matrix-vector product: the graph's matrix times a vector.

    Also known as: matrix-vector product, degree, strength, sum over neighbours.

    ::

        value(v) = sum over edges u -> v of weight(u, v) * x(u)

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    vector : x, the vector
    seed : Picks the random vector
    vector_from : A dictionary, a data frame or files (text, Parquet, Arrow) with x: ids in the
        first column, elements in another
    vector_column : Column of the elements, by number (from 1) or name [default: the second]
    vector_default : Element of vertices without a row [default: an error]
    iterations : Multiply so often, each result being the next vector
    precision : Width of the numbers
    weight : Column of the weights, by number (from 1) or name; False: none [default: the one
        called weight, else by a word for it such as cost, distance or rating, else the one further
        column of numbers] One rule holds for text, tables and frames. A column whose name is for
        something else (year, timestamp, type, or what ends in _id) is no weight. Where several
        columns could be it, names are refused, and without names the first one behind the ends is
        taken. Of dictionaries at the end of a row, as NetworkX writes them, the value of weight
        is.
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, value (f64 or f32)

    Source: Chaos, Table 1

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0])
    >>> welter.spmv(graph, vector="ones").to_dict()
    {0: 0.0, 1: 1.0, 2: 5.5}
    """
    options = {
        "vector": vector,
        "seed": seed,
        "vector_from": vector_from,
        "vector_column": vector_column,
        "vector_default": vector_default,
        "iterations": iterations,
        "precision": precision,
        "weight": weight,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(spmv, graph, options, progress)


@with_old_names
def hyperball(
    graph: Any,
    *,
    registers: Literal[16, 64, 256] = 64,
    seed: int = 1,
    iterations: int | None = None,
    direction: Literal["out", "in", "both"] = "out",
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Centralities and distances by HyperBall: how near all vertices are to each, estimated.

    Also known as: closeness, harmonic centrality, neighbourhood function, diameter, HyperANF.

    ::

        harmonic(v)  = sum over u of 1 / d(u, v)          u: all that reach v, v not counted
        closeness(v) = 1 / (sum over u of d(u, v))        0 where no vertex reaches v
        ball(v)      = number of u, v itself counted
        N(t)         = number of pairs u, v with d(u, v) <= t, u = v counted
        each within 1.04 / sqrt(REGISTERS), most of the time

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    registers : Registers of a counter, a byte each: the standard error is 26 %, 13 % or 6.5 %
    seed : Picks the hashes
    iterations : Count what is within N edges [default: all that there is]
    direction : Direction of edges: out is who reaches a vertex, in is whom it reaches
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, harmonic, closeness, ball (f64 each)

    Source: Boldi and Vigna (2013); X-Stream (HyperANF)

    Examples
    --------
    >>> import welter
    >>> welter.hyperball(welter.rmat(8), registers=64).column_names
    ['vertex', 'harmonic', 'closeness', 'ball']
    """
    options = {
        "registers": registers,
        "seed": seed,
        "iterations": iterations,
        "direction": direction,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(hyperball, graph, options, progress)


@with_old_names
def cdlp(
    graph: Any,
    *,
    iterations: int = 10,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Community detection by label propagation, as LDBC Graphalytics defines it.

    Also known as: community detection, communities, label propagation, LPA, Louvain, Leiden,
    clusters.

    ::

        label(v, 0)     = v
        label(v, i + 1) = the most frequent of label(u, i), u -> v or v -> u an edge;
                          the smallest of the most frequent ones

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    iterations : Iterations; fewer are done where one changes nothing
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, community (the id of a vertex)

    Source: LDBC Graphalytics (CDLP); BlitzG (CD); Raghavan, Albert and Kumara (2007)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3], undirected=True)
    >>> welter.cdlp(graph).top()
       community  vertices
    1          0         3
    2          2         3
    """
    options = {
        "iterations": iterations,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(cdlp, graph, options, progress)


@with_old_names
def kcore(
    graph: Any,
    *,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Core numbers: the largest k whose k-core has the vertex.

    Also known as: core numbers, k-core, coreness, degeneracy, k-shell.

    ::

        k-core  = the largest part in which each vertex has k neighbours or more
        core(v) = the largest k whose core v belongs to
        edges have no direction; parallel ones count once, self-loops do not

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, core (u32)

    Source: Lü, Zhou, Zhang and Stanley (2016); Montresor, De Pellegrini and Miorandi (2011)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3], undirected=True)
    >>> welter.kcore(graph).to_dict()
    {0: 2, 1: 2, 2: 2, 3: 1}
    """
    options = {
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(kcore, graph, options, progress)


@with_old_names
def triangles(
    graph: Any,
    *,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Triangle counts: the pairs of neighbours of a vertex that are neighbours too.

    Also known as: triangle count, triangle counting, cliques of three.

    ::

        triangles(v) = number of pairs u, w of neighbours of v with an edge u -> w or w -> u
        the triangles of the graph are a third of the sum
        edges have no direction; parallel ones count once, self-loops do not

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, triangles (u64)

    Source: Hu, Tao and Chung, Massive Graph Triangulation (2013)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3], undirected=True)
    >>> welter.triangles(graph).report["found"]
    {'triangles': 1}
    """
    options = {
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(triangles, graph, options, progress)


@with_old_names
def lcc(
    graph: Any,
    *,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Local clustering coefficients: the share of pairs of neighbours that an edge joins.

    Also known as: local clustering coefficient, clustering, transitivity.

    ::

        N(v)   = what an edge joins to v, in either direction, v left out
        lcc(v) = (number of edges u -> w with u, w in N(v)) / (|N(v)| * (|N(v)| - 1))
        0 for fewer than two neighbours; an undirected edge counts both ways, parallel ones once

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, lcc (f64)

    Source: LDBC Graphalytics (LCC); Watts and Strogatz (1998); Hu, Tao and Chung (2013)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3], undirected=True)
    >>> welter.lcc(graph).top(2)
       vertex  lcc
    1       0    1
    2       1    1
    """
    options = {
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(lcc, graph, options, progress)


@with_old_names
def mis(
    graph: Any,
    *,
    seed: int = 1,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Maximal independent set: no two are neighbours, every other vertex has one among them.

    Also known as: maximal independent set, independent vertices.

    ::

        in_set(v) = 1 when in_set(u) = 0 for all neighbours u of an earlier priority, else 0
        priority(v): a hash of the seed and the vertex; edges are followed both ways

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    seed : Picks the priorities, and with them the set
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, in_set (u32; 1 or 0)

    Source: Chaos, Table 1; Luby (1986); Blelloch, Fineman and Shun (2012)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 0, 0], [1, 2, 3], undirected=True)
    >>> welter.mis(graph, seed=1).to_dict()
    {0: 0, 1: 1, 2: 1, 3: 1}
    """
    options = {
        "seed": seed,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(mis, graph, options, progress)


@with_old_names
def conductance(
    graph: Any,
    *,
    membership: Any = None,
    membership_column: int | str | None = None,
    membership_above: float = 0.0,
    membership_default: float | None = None,
    weighted: bool = False,
    weight: int | str | Literal[False] | None = None,
    direction: Literal["out", "in", "both"] = "both",
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Conductance of a cut: the share of the smaller side's edges that cross it.

    Also known as: cut, quality of a community, quality of a partition.

    ::

        conductance = cut / min(volume(S), volume(rest))      none where a side has no edges
        cut         = number of edges from S to the rest
        volume(X)   = sum of the degrees of the vertices in X; a self-loop counts once
        S           = vertices of odd ids, or those with a value above a limit in a table

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    membership : A dictionary, a data frame or files (text, Parquet, Arrow) of the sides: ids in
        the first column, numbers in another [default: odd ids are one side; of strings, every
        second]
    membership_column : Column of the numbers, by number (from 1) or name [default: the second]
    membership_above : Numbers above this one are in S, all others in the rest
    membership_default : Number of vertices without a row [default: an error]
    weighted : Add up weights instead of counting edges
    weight : Column of the weights, by number (from 1) or name [default: the one called weight,
        else by a word for it such as cost, distance or rating, else the one further column of
        numbers] One rule holds for text, tables and frames. A column whose name is for something
        else (year, timestamp, type, or what ends in _id) is no weight. Where several columns could
        be it, names are refused, and without names the first one behind the ends is taken. Of
        dictionaries at the end of a row, as NetworkX writes them, the value of weight is.
    direction : Direction of edges: out counts those that leave S, of all that leave a side
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, across (edges to the other side: u32, f64 if weighted), side (u32; 1 in S)

    Source: Chaos, Table 1; X-Stream; Leskovec, Lang, Dasgupta and Mahoney (2008)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 0], [2, 3, 0, 1], undirected=True)
    >>> welter.conductance(graph).report["found"]["conductance"]
    0.3333333333333333
    """
    options = {
        "membership": membership,
        "membership_column": membership_column,
        "membership_above": membership_above,
        "membership_default": membership_default,
        "weighted": weighted,
        "weight": weight,
        "direction": direction,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(conductance, graph, options, progress)


@with_old_names
def bp(
    graph: Any,
    *,
    states: Literal[2, 3, 4, 8] = 2,
    priors_from: Any = None,
    coupling: float = 0.6,
    potential: str | int | float | None = None,
    iterations: int = 5,
    tolerance: float = 0.0,
    messages: Literal["edge", "vertex"] = "edge",
    damping: float = 0.0,
    weight: int | str | Literal[False] | None = None,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Belief propagation: which state each vertex is likely in, by its neighbours.

    Also known as: belief propagation, inference, Markov random field, label inference.

    ::

        belief(v)[j] = prior(v)[j] / Z * product over edges u - v of m(u, v)[j]
        m(u, v)[j]   = 1 / Z * sum over states i of psi(i, j) ^ weight(u, v)
                       * belief(u)[i] / m(v, u)[i], of the iteration before
        psi(i, j)    = COUPLING where i = j, (1 - COUPLING) / (STATES - 1) elsewhere
        The sum-product algorithm: exact on trees, after as many iterations as the longest path
        has edges. With messages="vertex" a vertex sends all neighbours one message, in which
        theirs count too: no state on edges, and beliefs that are surer than they should be.

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    states : States that a vertex may be in
    priors_from : A dictionary, a data frame or files (text, Parquet, Arrow) of what is known: ids
        in the first column, then a number for each state, in any proportion; all are as likely for
        vertices without a row [default: nothing is known, and all beliefs stay even]
    coupling : Probability that neighbours are in the same state, between 0 and 1
    potential : Psi itself, row after row, such as "3,1, 1,2": numbers above 0 that are the same
        both ways
    iterations : Iterations, at most
    tolerance : Stop when no belief changes by as much in an iteration; 0 does them all
    messages : Place where messages are kept
    damping : Share of a message of an edge that stays as it was, from 0 to below 1
    weight : Column of the weights, by number (from 1) or name; False: none [default: the one
        called weight, else by a word for it such as cost, distance or rating, else the one further
        column of numbers] One rule holds for text, tables and frames. A column whose name is for
        something else (year, timestamp, type, or what ends in _id) is no weight. Where several
        columns could be it, names are refused, and without names the first one behind the ends is
        taken. Of dictionaries at the end of a row, as NetworkX writes them, the value of weight
        is.
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, belief_1, belief_2 and so on (f64 each; they add up to 1)

    Source: Chaos, Table 1; Pearl (1988); Kang, Chau and Faloutsos (2011)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1], [1, 2], undirected=True)
    >>> welter.bp(graph, coupling=0.9).column_names
    ['vertex', 'belief_1', 'belief_2']
    """
    options = {
        "states": states,
        "priors_from": priors_from,
        "coupling": coupling,
        "potential": potential,
        "iterations": iterations,
        "tolerance": tolerance,
        "messages": messages,
        "damping": damping,
        "weight": weight,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(bp, graph, options, progress)


@with_old_names
def als(
    graph: Any,
    *,
    factors: Literal[4, 8, 16] = 8,
    lambda_: float = 0.05,
    iterations: int = 10,
    seed: int = 1,
    weight: int | str | Literal[False] | None = None,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Matrix factorisation by alternating least squares: users and items from ratings.

    Also known as: recommendation, matrix factorisation, collaborative filtering, ratings.

    ::

        minimise sum over edges u -> i of (rating(u, i) - x(u) . y(i))^2
                 + LAMBDA * (sum over users of n(u) |x(u)|^2 + sum over items of n(i) |y(i)|^2)
        x: factors of the users, that edges leave; y: of the items, that they come to
        n: number of ratings; in an iteration all x are solved for, and then all y

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    factors : Factors of a vertex
    lambda_ : Weight of the penalty on large factors, above 0
    iterations : Solve for both sides so often
    seed : Picks the factors to begin with
    weight : Column of the weights, by number (from 1) or name; False: none [default: the one
        called weight, else by a word for it such as cost, distance or rating, else the one further
        column of numbers] One rule holds for text, tables and frames. A column whose name is for
        something else (year, timestamp, type, or what ends in _id) is no weight. Where several
        columns could be it, names are refused, and without names the first one behind the ends is
        taken. Of dictionaries at the end of a row, as NetworkX writes them, the value of weight
        is.
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, factor_1, factor_2 and so on (f64 each)

    Source: X-Stream; Zhou, Wilkinson, Schreiber and Pan (2008)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 0, 1], [2, 3, 2], [5.0, 1.0, 4.0])
    >>> welter.als(graph, factors=4, iterations=5).num_rows
    4
    """
    options = {
        "factors": factors,
        "lambda_": lambda_,
        "iterations": iterations,
        "seed": seed,
        "weight": weight,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(als, graph, options, progress)


@with_old_names
def scc(
    graph: Any,
    *,
    method: Literal["auto", "passes", "label-propagation"] = "auto",
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Strongly connected components: which vertices reach each other along edges.

    Also known as: strongly connected components, Tarjan, cycles, condensation.

    ::

        component(v) = the smallest id of all vertices that v reaches and that reach v

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    method : Method by which the result is found; it is the same either way
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: vertex, component (the id of its smallest vertex)

    Source: Chaos, Table 1; Fleischer, Hendrickson and Pınar (2000); Orzan (2004); Tarjan (1972)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3])
    >>> welter.scc(graph).top()
       component  vertices
    1          0         3
    2          3         1
    """
    options = {
        "method": method,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(scc, graph, options, progress)


@with_old_names
def mcst(
    graph: Any,
    *,
    cost: Literal["minimum", "maximum"] = "minimum",
    method: Literal["auto", "passes", "label-propagation"] = "auto",
    weight: int | str | Literal[False] | None = None,
    undirected: bool | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_disk: Path | Sequence[Path] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill", "send"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    price: Path | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> Result:
    """Minimum spanning forest: the edges that connect each component and weigh least.

    Also known as: minimum spanning tree, minimum spanning forest, MST, Kruskal, Prim, Boruvka.

    ::

        best(C) = the least edge between C and another component    for each component C
        forest += best(C), and what they join is one component      until there is no such edge
        least by weight, then by the smaller id, then by the larger one

    Parameters
    ----------
    graph : a graph, or what :func:`welter.as_graph` makes one of
    cost : Whether the forest weighs as little or as much as it can
    method : Method by which the result is found; it is the same either way
    weight : Column of the weights, by number (from 1) or name; False: none [default: the one
        called weight, else by a word for it such as cost, distance or rating, else the one further
        column of numbers] One rule holds for text, tables and frames. A column whose name is for
        something else (year, timestamp, type, or what ends in _id) is no weight. Where several
        columns could be it, names are refused, and without names the first one behind the ends is
        taken. Of dictionaries at the end of a row, as NetworkX writes them, the value of weight
        is.
    undirected : Whether every edge goes both ways [default: as the graph was made]
    checkpoint : Write checkpoints into this directory, empty or not there yet, from which
        `welter.resume(DIR)` resumes the run, whatever ended it. It takes three times the values of
        all vertices at most, and is removed when the result is there
    checkpoint_every : Write one after every N iterations [default: as many as take a twentieth of
        the time, and none in the first 10 seconds]
    checkpoint_disk : Directory of another disk, which takes its share of each checkpoint; a list
        of several: docs/disks.md
    threads : Threads [default: one a core, fewer for small graphs]
    memory : Memory that the process may hold, such as 512MiB or 4GB, without pages of the program
        file (up to 20 MiB) and of inputs in the system's cache, which the system takes back when
        it needs them. What cannot fit is refused before it is read [default: most of what is free,
        here or in the control group]
    scratch : Directory for temporary files of what does not fit in memory; a list of several. The
        files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    edge_memory : Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between
        iterations [default: all that fit]
    edge_cache : Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find
        them; a list of several: docs/object-stores.md
    encoding : Encoding of edges [default: packed where all fit in memory, else what is foreseen to
        be fastest]
    compression : Compression of chunks of edges and updates on storage; edges of a kept graph stay
        as they were kept [default: auto]
    stripe_bits : Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from
        the caches]
    block_bits : Log2 of the largest number of sources of a block, 6 to 20 [default: from the
        caches]
    read_size : Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
        512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
        512KiB]
    write_size : Bytes of a write to storage, likewise
    in_flight : Requests that each thread has in flight, 1 to 256; their memory is part of the
        budget [default: as the probe says, else 4]
    io : Way in which storage is read and written [default: direct]
    route : Where updates wait [default: as the memory allows]
    no_combine : Updates wait on storage one by one, not combined before (X-Stream)
    no_fuse : Updates are scattered in a pass of their own, not as soon as new values are there
        (X-Stream)
    vertices_in_memory : Vertices stay in memory, so that only updates are written (X-Stream):
        docs/disks.md
    price : Say the money that it takes, by the prices of this file: docs/object-stores.md
    cluster : run on several machines: ``"local:4"``, or see :mod:`welter.cluster`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    Result: source, target, weight (f64): an edge a row, the smaller id first

    Source: Chaos, Table 1; Borůvka (1926)

    Examples
    --------
    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0], undirected=True)
    >>> welter.mcst(graph).to_numpy()["weight"].tolist()
    [1.0, 1.5]
    """
    options = {
        "cost": cost,
        "method": method,
        "weight": weight,
        "undirected": undirected,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "checkpoint_disk": checkpoint_disk,
        "threads": threads,
        "memory": memory,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
        "price": price,
        "cluster": cluster,
    }
    return run(mcst, graph, options, progress)
