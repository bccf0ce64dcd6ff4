"""python-graphblas, and what graphblas-algorithms has on it."""

from typing import Any

import graphblas as gb
import graphblas_algorithms as ga
import numpy as np
from numpy.typing import NDArray

from task import DAMPING, Pairs, Summary, Task, numbers, paths, ranks, simple_rows_of, solves


def gb_matrix(pairs: Pairs, values: NDArray[Any], parallel: str) -> Any:
    """The adjacency matrix; `parallel` says what becomes of parallel edges."""
    operator = getattr(gb.binary, parallel)
    size = pairs.ids
    return gb.Matrix.from_coo(
        pairs.sources, pairs.targets, values, nrows=size, ncols=size, dup_op=operator
    )


def gb_simple(pairs: Pairs) -> Any:
    """A graph without directions, loops and parallel edges."""
    lower, upper = simple_rows_of(pairs).nonzero()
    ends = np.concatenate([lower, upper]), np.concatenate([upper, lower])
    return ga.Graph(gb.Matrix.from_coo(*ends, True, nrows=pairs.ids, ncols=pairs.ids))


@solves("graphblas", "triangles")
def graphblas_triangles(task: Task) -> Summary:
    graph = gb_simple(task.read())
    task.mark()
    found = ga.algorithms.cluster.total_triangles(graph)
    task.mark()
    return {"triangles": int(found)}


@solves("graphblas", "lcc")
def graphblas_lcc(task: Task) -> Summary:
    graph = gb_simple(task.read())
    task.mark()
    _, values = ga.algorithms.cluster.clustering(graph).to_coo()
    task.mark()
    return numbers(values[np.isfinite(values)])


@solves("graphblas", "bfs")
def graphblas_bfs(task: Task) -> Summary:
    pairs = task.read()
    graph = ga.DiGraph(gb_matrix(pairs, np.ones(len(pairs.sources), bool), "any"))
    task.mark()
    lengths = ga.algorithms.single_source_shortest_path_length(graph, task.source)
    task.mark()
    return paths(lengths.to_coo()[1])


@solves("graphblas", "sssp")
def graphblas_sssp(task: Task) -> Summary:
    pairs = task.read()
    graph = ga.DiGraph(gb_matrix(pairs, pairs.weights.astype(np.float64), "min"))
    task.mark()
    lengths = ga.algorithms.single_source_bellman_ford_path_length(graph, task.source)
    task.mark()
    return paths(lengths.to_coo()[1])


@solves("graphblas", "pagerank")
def graphblas_pagerank(task: Task) -> Summary:
    pairs = task.read().compacted()
    matrix = gb_matrix(pairs, np.ones(len(pairs.sources)), "plus")
    task.mark()
    shares = (DAMPING / matrix.reduce_rowwise("plus")).new()
    rank = gb.Vector(float, pairs.ids)
    rank[:] = 1 / pairs.ids
    sinks = gb.Vector(float, pairs.ids)
    sinks(~shares.S) << 1.0
    for _ in range(task.iterations):
        lost = rank.ewise_mult(sinks, gb.binary.times).reduce("plus").get(0.0)
        signals = rank.ewise_mult(shares, gb.binary.times).new()
        rank[:] = (1 - DAMPING + DAMPING * lost) / pairs.ids
        rank(gb.binary.plus) << gb.semiring.plus_times(signals @ matrix)
    task.mark()
    return ranks(rank.to_dense(0.0))


@solves("graphblas", "spmv")
def graphblas_spmv(task: Task) -> Summary:
    pairs = task.read()
    matrix = gb_matrix(pairs, pairs.weights.astype(np.float64), "plus")
    ones = gb.Vector.from_scalar(1.0, pairs.ids)
    task.mark()
    product = gb.semiring.plus_times(ones @ matrix).new()
    task.mark()
    return numbers(product.to_dense(0.0))
