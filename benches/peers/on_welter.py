"""welter itself, from Python: beside the others in a chart, and not a peer of its own benchmark."""

import numpy as np
import welter

from task import DAMPING, Summary, Task, groups, paths, ranks, solves


def graph_of(task: Task) -> welter.Graph:
    """Starts the clock and reads the file, as far as that is done before the first run."""
    task.begin()
    graph = welter.read_edges(task.file, progress=False)
    task.mark()
    return graph


@solves("welter", "pagerank")
def welter_pagerank(task: Task) -> Summary:
    graph = graph_of(task)
    options = {"damping": DAMPING, "iterations": task.iterations}
    found = welter.pagerank(graph, **options, progress=False).to_numpy()["rank"]
    task.mark()
    return ranks(found)


@solves("welter", "bfs")
def welter_bfs(task: Task) -> Summary:
    graph = graph_of(task)
    found = welter.bfs(graph, source=task.source, progress=False).to_numpy()["depth"]
    task.mark()
    return paths(found[found >= 0])


@solves("welter", "wcc")
def welter_wcc(task: Task) -> Summary:
    graph = graph_of(task)
    found = welter.wcc(graph, progress=False).to_numpy()["component"]
    task.mark()
    return groups(np.asarray(found))
