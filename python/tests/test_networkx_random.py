"""Random graphs of all four classes: each function of the backend beside NetworkX's own."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from welter import _networkx

CLASSES = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
#: Functions whose results are in the order of the nodes of the graph, as NetworkX has it.
ORDERED = {"pagerank", "core_number", "triangles", "clustering"}


def weights_of(rng: random.Random) -> list:
    """Weights of a graph: integers, floats, both, none, or odd ones."""
    return rng.choice(
        [
            [rng.randint(0, 9) for _ in range(8)],
            [rng.randint(1, 3)],
            [rng.random() * 10 for _ in range(8)],
            [0.5, 1.5, 2.0],
            [1, 2.5, 3],
            [None],
            [1, 2, float("inf")],
            [1.0, float("nan")],
            [2**60, 3],
            [1e-310, 1.0],
            [-1, 2],
            [True, 2],
        ]
    )


def random_graph(seed: int) -> nx.Graph:
    """A graph with nodes of all kinds, loops, parallel edges and vertices without edges."""
    rng = random.Random(seed)
    graph = CLASSES[seed % 4]()
    count = rng.choice([0, 1, 2, 5, 12, 30])
    kinds = rng.choice(["range", "names", "mixed", "negative"])
    nodes = {
        "range": list(range(count)),
        "names": [f"n{node}" for node in range(count)],
        "mixed": [
            (node, "x") if node % 3 == 0 else str(node) if node % 3 else node
            for node in range(count)
        ],
        "negative": [node - 3 for node in range(count)],
    }[kinds]
    rng.shuffle(nodes)
    graph.add_nodes_from(nodes)
    weights = weights_of(rng)
    loops = rng.random() < 0.5
    for _ in range(rng.choice([0, count, 2 * count, 5 * count]) if count else 0):
        source, target = rng.choice(nodes), rng.choice(nodes)
        if source == target and not loops:
            continue
        weight = rng.choice(weights)
        facts = {} if weight is None or rng.random() < 0.1 else {"weight": weight}
        graph.add_edge(source, target, **facts)
    return graph


def calls(name: str, graph: nx.Graph, rng: random.Random):
    """Arguments that a function may be given."""
    nodes = list(graph) or [0]
    node, other = rng.choice(nodes), rng.choice(nodes)
    if name in ("ancestors", "descendants", "node_connected_component"):
        return [((node,), {}), (("nobody",), {}), (([],), {})]
    if name.startswith("single"):
        cutoffs = [{"cutoff": cutoff} for cutoff in (0, 1, 1.5, 2, -1)]
        more = [{"weight": None}] if "dijkstra" in name else []
        wrong = [(("nobody",), {}), (([],), {})]
        return [((node,), given) for given in ({}, *cutoffs, *more)] + wrong
    if name == "pagerank":
        shares = {node: 2, other: 1.5}
        return [
            ((), given)
            for given in (
                {},
                {"weight": None},
                {"alpha": 0.5},
                {"personalization": shares},
                {"dangling": shares},
                {"nstart": shares},
                {"max_iter": 2},
                {"max_iter": 0},
                {"personalization": {"nobody": 1}},
                {"personalization": shares, "weight": None},
            )
        ]
    if name in ("triangles", "clustering"):
        return [((), {}), ((node,), {}), (([node, other],), {}), (("nobody",), {}), (([],), {})]
    if name == "average_clustering":
        return [((), {}), ((), {"count_zeros": False}), (([node, other],), {})]
    return [((), {})]


def outcome(name: str, graph: nx.Graph, backend: str, args, kwargs):
    """Outcome of a call: a value, or the kind of exception."""
    try:
        found = getattr(nx, name)(graph, *args, backend=backend, **kwargs)
        return [set(part) for part in found] if hasattr(found, "__next__") else found
    except Exception as error:
        return type(error)


def same(ours, theirs) -> bool:
    """Whether two outcomes are alike: kinds, and values as near as rounding leaves them."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, dict):
        alike = ours.keys() == theirs.keys()
        return alike and all(same(ours[node], theirs[node]) for node in theirs)
    if isinstance(theirs, float):
        return ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    return ours == theirs


def difference(name: str, graph: nx.Graph, args, kwargs) -> str | None:
    """Difference, if there is one; ``declined`` where the backend leaves it to NetworkX."""
    if _networkx.backend.can_run(name, (graph, *args), kwargs) is not True:
        # NetworkX does it, where it may, with the same result.
        with nx.config(backend_priority=["welter"], fallback_to_nx=True):
            ours = outcome(name, graph, None, args, kwargs)
        declined = True
    else:
        ours, declined = outcome(name, graph, "welter", args, kwargs), False
    theirs = outcome(name, graph, "networkx", args, kwargs)
    if name == "strongly_connected_components" and isinstance(theirs, list):
        # In whatever order.
        ours, theirs = sorted(map(sorted_parts, ours)), sorted(map(sorted_parts, theirs))
    if not same(ours, theirs) and not (theirs != theirs and ours != ours):
        if declined and str(ours) == str(theirs):
            return "declined"
        return f"{name}{args}{kwargs}: {ours}, not {theirs}"
    if isinstance(theirs, dict):
        if name in ORDERED and list(ours) != list(theirs):
            return f"{name}{args}{kwargs}: another order of nodes"
        if name.startswith("single") and list(ours.values()) != list(theirs.values()):
            return f"{name}{args}{kwargs}: not the nearest first"
    return "declined" if declined else None


def sorted_parts(part: set) -> list[str]:
    return sorted(map(repr, part))


@pytest.mark.filterwarnings("ignore")
def test_random_graphs_have_the_same_results_as_with_networkx():
    names = list(_networkx.info()["functions"])
    assert len(names) == 21
    compared = dict.fromkeys(names, 0)
    wrong = []
    for seed in range(80):
        graph, rng = random_graph(seed), random.Random(seed)
        for name in names:
            first, *others = calls(name, graph, rng)
            for args, kwargs in [first, *rng.sample(others, min(2, len(others)))]:
                found = difference(name, graph, args, kwargs)
                if found is None:
                    compared[name] += 1
                elif found != "declined":
                    wrong.append(f"{seed} ({type(graph).__name__}, {len(graph)} nodes): {found}")
    assert not wrong, "\n".join(wrong[:20])
    # Each function was done by the backend, and often.
    assert min(compared.values()) >= 20, compared


@pytest.mark.filterwarnings("ignore")
def test_the_comparison_sees_what_is_different(monkeypatch):
    graph = random_graph(5)
    kind = type(_networkx.backend)
    for name, false in [
        ("pagerank", lambda G, **_: dict.fromkeys(G.nodes, 1.0)),
        ("single_source_dijkstra_path_length", lambda G, source, **_: {source: 0.0}),
        ("is_weakly_connected", lambda G: 1),
    ]:
        monkeypatch.setattr(kind, name, staticmethod(false))
        args = (next(iter(graph)),) if name.startswith("single") else ()
        assert difference(name, graph, args, {}) not in (None, "declined"), name
