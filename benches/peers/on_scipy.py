"""scipy: its graph routines, and products of its matrices."""

import numpy as np
from scipy.sparse import csgraph

from task import DAMPING, Summary, Task, forest, groups, numbers, paths, ranks, rows_of, solves


@solves("scipy", "wcc")
def scipy_wcc(task: Task) -> Summary:
    return scipy_components(task, "weak")


@solves("scipy", "scc")
def scipy_scc(task: Task) -> Summary:
    return scipy_components(task, "strong")


def scipy_components(task: Task, connection: str) -> Summary:
    """Components, weak or strong."""
    pairs = task.read()
    rows = rows_of(pairs)
    if connection == "strong":
        # With parallel edges the search for strong components of scipy 1.17 does not end.
        rows.sum_duplicates()
    task.mark()
    _, labels = csgraph.connected_components(rows, connection=connection)
    task.mark()
    return groups(labels[pairs.named()])


@solves("scipy", "mcst")
def scipy_mcst(task: Task) -> Summary:
    rows = rows_of(task.read())
    task.mark()
    found = csgraph.minimum_spanning_tree(rows, overwrite=True)
    task.mark()
    return forest(found.data)


@solves("scipy", "bfs")
def scipy_bfs(task: Task) -> Summary:
    rows = rows_of(task.read())
    task.mark()
    order, parents = csgraph.breadth_first_order(rows, task.source)
    task.mark()
    # Each vertex jumps over as many levels again as it has, until all are at the source.
    parents[task.source] = task.source
    depths = (parents != np.arange(len(parents))).astype(np.int64)
    parents[parents < 0] = task.source
    while (parents != task.source).any():
        depths += depths[parents]
        parents = parents[parents]
    return paths(depths[order])


@solves("scipy", "sssp")
def scipy_sssp(task: Task) -> Summary:
    rows = rows_of(task.read())
    task.mark()
    lengths = csgraph.dijkstra(rows, indices=task.source)
    task.mark()
    return paths(lengths[np.isfinite(lengths)])


@solves("scipy", "pagerank")
def scipy_pagerank(task: Task) -> Summary:
    pairs = task.read().compacted()
    rows = rows_of(pairs)
    incoming = rows.T
    task.mark()
    degrees = np.diff(rows.indptr)
    sinks = degrees == 0
    shares = DAMPING / np.maximum(degrees, 1)
    rank = np.full(pairs.ids, 1 / pairs.ids)
    for _ in range(task.iterations):
        base = (1 - DAMPING + DAMPING * rank[sinks].sum()) / pairs.ids
        rank = base + incoming @ (rank * shares)
    task.mark()
    return ranks(rank)


@solves("scipy", "spmv")
def scipy_spmv(task: Task) -> Summary:
    incoming = rows_of(task.read()).T
    task.mark()
    product = incoming @ np.ones(incoming.shape[1])
    task.mark()
    return numbers(product)


@solves("scipy", "conductance")
def scipy_conductance(task: Task) -> Summary:
    rows = rows_of(task.read())
    task.mark()
    odd = np.arange(rows.shape[0]) % 2 == 1
    within = rows @ odd.astype(np.float64)
    degrees = np.diff(rows.indptr) + np.bincount(rows.indices, minlength=rows.shape[0])
    degrees -= rows.diagonal().astype(np.int64)
    leaving = np.diff(rows.indptr)[odd].sum() - within[odd].sum()
    cut = int(leaving + within[~odd].sum())
    task.mark()
    return {"cut": cut, "set": int(degrees[odd].sum()), "rest": int(degrees[~odd].sum())}
