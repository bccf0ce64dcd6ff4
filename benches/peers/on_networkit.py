"""networkit."""

from typing import Any

import networkit as nk
import numpy as np

from task import (
    DAMPING,
    Pairs,
    Summary,
    Task,
    groups,
    independent,
    numbers,
    paths,
    ranks,
    rows_of,
    simple_rows_of,
    solves,
)


def nk_graph(pairs: Pairs, *, directed: bool = False, simple: bool = False) -> Any:
    """`simple` leaves out loops and all but one of parallel edges."""
    rows = simple_rows_of(pairs) if simple else rows_of(pairs)
    return nk.graph.GraphFromCsr(rows, directed=directed, weighted=pairs.weights is not None)


def nk_partition(task: Task, pairs: Pairs, program: Any) -> Summary:
    """Runs what parts vertices. Programs of components do not hold their graph: the caller does."""
    task.mark()
    program.run()
    task.mark()
    return groups(np.array(program.getPartition().getVector())[pairs.named()])


@solves("networkit", "wcc")
def networkit_wcc(task: Task) -> Summary:
    pairs = task.read()
    graph = nk_graph(pairs)
    return nk_partition(task, pairs, nk.components.ConnectedComponents(graph))


@solves("networkit", "scc")
def networkit_scc(task: Task) -> Summary:
    pairs = task.read()
    graph = nk_graph(pairs, directed=True)
    return nk_partition(task, pairs, nk.components.StronglyConnectedComponents(graph))


@solves("networkit", "cdlp", rule="vertices change one after the other, until few do")
def networkit_cdlp(task: Task) -> Summary:
    pairs = task.read()
    graph = nk_graph(pairs)
    return nk_partition(task, pairs, nk.community.PLP(graph))


@solves("networkit", "mcst")
def networkit_mcst(task: Task) -> Summary:
    graph = nk_graph(task.read())
    task.mark()
    program = nk.graph.PrimMSF(graph)
    program.run()
    task.mark()
    found = program.getForest()
    return {"edges": found.numberOfEdges(), "weight": found.totalEdgeWeight()}


@solves("networkit", "kcore")
def networkit_kcore(task: Task) -> Summary:
    graph = nk_graph(task.read(), simple=True)
    task.mark()
    # One thread with buckets takes a small part of the time of the parallel way.
    program = nk.centrality.CoreDecomposition(graph, enforceBucketQueueAlgorithm=True)
    program.run()
    task.mark()
    return numbers(np.array(program.scores()))


@solves("networkit", "triangles")
def networkit_triangles(task: Task) -> Summary:
    graph = nk_graph(task.read(), simple=True)
    graph.indexEdges()
    task.mark()
    program = nk.sparsification.TriangleEdgeScore(graph)
    program.run()
    task.mark()
    return {"triangles": sum(program.scores()) / 3}


@solves("networkit", "lcc")
def networkit_lcc(task: Task) -> Summary:
    pairs = task.read()
    graph = nk_graph(pairs, simple=True)
    task.mark()
    program = nk.centrality.LocalClusteringCoefficient(graph, turbo=True)
    program.run()
    task.mark()
    return numbers(np.array(program.scores())[pairs.named()])


@solves("networkit", "bfs")
def networkit_bfs(task: Task) -> Summary:
    return nk_search(task, nk.distance.BFS)


@solves("networkit", "sssp")
def networkit_sssp(task: Task) -> Summary:
    return nk_search(task, nk.distance.Dijkstra)


def nk_search(task: Task, search: Any) -> Summary:
    """Lengths of paths from the source; what is not reached has the largest float there is."""
    graph = nk_graph(task.read(), directed=True)
    task.mark()
    program = search(graph, task.source, storePaths=False)
    program.run()
    task.mark()
    lengths = np.array(program.getDistances())
    return paths(lengths[lengths < np.finfo(np.float64).max])


@solves("networkit", "pagerank")
def networkit_pagerank(task: Task) -> Summary:
    graph = nk_graph(task.read().compacted(), directed=True)
    task.mark()
    sinks = nk.centrality.SinkHandling.DistributeSinks
    program = nk.centrality.PageRank(graph, DAMPING, tol=0.0, distributeSinks=sinks)
    program.maxIterations = task.iterations
    program.run()
    task.mark()
    return ranks(np.array(program.scores()))


@solves("networkit", "mis", rule="another set, which was looked at")
def networkit_mis(task: Task) -> Summary:
    pairs = task.read()
    graph = nk_graph(pairs)
    graph.removeSelfLoops()
    task.mark()
    members = nk.independentset.Luby().run(graph)
    task.mark()
    return independent(pairs, np.array(members))
