"""igraph: under the GPL, so nothing of welter depends on it."""

from typing import Any

import igraph
import numpy as np

from task import (
    DAMPING,
    Pairs,
    Summary,
    Task,
    forest,
    groups,
    numbers,
    paths,
    ranks,
    simple_rows_of,
    solves,
)


def ig_graph(pairs: Pairs, *, directed: bool = False, simple: bool = False) -> Any:
    """`simple` leaves out loops and all but one of parallel edges."""
    ends = simple_rows_of(pairs).nonzero() if simple else (pairs.sources, pairs.targets)
    edges = np.stack(ends, axis=1).astype(np.int64)
    return igraph.Graph(n=pairs.ids, edges=edges, directed=directed)


@solves("igraph", "wcc")
def igraph_wcc(task: Task) -> Summary:
    return ig_components(task, "weak")


@solves("igraph", "scc")
def igraph_scc(task: Task) -> Summary:
    return ig_components(task, "strong")


def ig_components(task: Task, mode: str) -> Summary:
    """Components, weak or strong."""
    pairs = task.read()
    graph = ig_graph(pairs, directed=True)
    task.mark()
    found = graph.connected_components(mode)
    task.mark()
    return groups(np.array(found.membership)[pairs.named()])


@solves("igraph", "cdlp", rule="vertices change one after the other, until all have settled")
def igraph_cdlp(task: Task) -> Summary:
    pairs = task.read()
    graph = ig_graph(pairs)
    task.mark()
    found = graph.community_label_propagation()
    task.mark()
    return groups(np.array(found.membership)[pairs.named()])


@solves("igraph", "mcst")
def igraph_mcst(task: Task) -> Summary:
    pairs = task.read()
    graph = ig_graph(pairs)
    weights = pairs.weights.tolist()
    task.mark()
    edges = graph.spanning_tree(weights, return_tree=False)
    task.mark()
    return forest(pairs.weights[edges])


@solves("igraph", "kcore")
def igraph_kcore(task: Task) -> Summary:
    graph = ig_graph(task.read(), simple=True)
    task.mark()
    cores = graph.coreness()
    task.mark()
    return numbers(np.array(cores))


@solves("igraph", "lcc")
def igraph_lcc(task: Task) -> Summary:
    pairs = task.read()
    graph = ig_graph(pairs, simple=True)
    task.mark()
    values = graph.transitivity_local_undirected(mode="zero")
    task.mark()
    return numbers(np.array(values)[pairs.named()])


@solves("igraph", "bfs")
def igraph_bfs(task: Task) -> Summary:
    graph = ig_graph(task.read(), directed=True)
    task.mark()
    found = graph.distances(task.source)
    task.mark()
    lengths = np.array(found[0], np.float64)
    return paths(lengths[np.isfinite(lengths)])


@solves("igraph", "sssp")
def igraph_sssp(task: Task) -> Summary:
    pairs = task.read()
    graph = ig_graph(pairs, directed=True)
    weights = pairs.weights.tolist()
    task.mark()
    found = graph.distances(task.source, weights=weights)
    task.mark()
    lengths = np.array(found[0], np.float64)
    return paths(lengths[np.isfinite(lengths)])


@solves("igraph", "pagerank", rule="to the end, not a number of iterations")
def igraph_pagerank(task: Task) -> Summary:
    graph = ig_graph(task.read().compacted(), directed=True)
    task.mark()
    values = graph.pagerank(damping=DAMPING)
    task.mark()
    return ranks(np.array(values))
