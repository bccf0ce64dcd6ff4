"""Writers of arrays, matrices and graphs: NumPy, SciPy and NetworkX."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import scipy.io
import scipy.sparse
from round_trips import Edge, Table, Written


def arrays(edges: Table) -> tuple[np.ndarray, np.ndarray | None]:
    """Pairs of small integers that stand for the ids where those do not fit, and the weights."""
    if edges.kind in ("small", "large"):
        pairs = np.array([edge[:2] for edge in edges.edges], np.int64)
    else:
        places = numbered(edges)
        pairs = np.array([[places[end] for end in edge[:2]] for edge in edges.edges], np.int64)
    weights = [float(edge[2]) for edge in edges.edges] if edges.weighted else None
    return pairs, None if weights is None else np.array(weights)


def numbered(edges: Table) -> dict[Any, int]:
    ids = sorted({end for edge in edges.edges for end in edge[:2]}, key=str)
    return {end: place for place, end in enumerate(ids)}


def rows(pairs: np.ndarray, weights: np.ndarray | None) -> list[Edge]:
    ends = [(int(a), int(b)) for a, b in pairs]
    if weights is None:
        return ends
    return [(a, b, float(weight)) for (a, b), weight in zip(ends, weights, strict=True)]


def numpy_text(edges: Table, folder: Path, chance: random.Random) -> Written:
    pairs, weights = arrays(edges)
    options: dict[str, Any] = {
        "delimiter": chance.choice([" ", ",", "\t", ";"]),
        "header": chance.choice(["", "", "source target weight", "made by a test"]),
        "comments": chance.choice(["# ", "# ", "% "]),
    }
    path = folder / chance.choice(["numpy.txt", "numpy.csv", "numpy.txt.gz"])
    if weights is None:
        np.savetxt(path, pairs, fmt=chance.choice(["%d", "%d", "%8d"]), **options)
        return Written(path, rows(pairs, None), how=f"numpy savetxt {options}")
    if pairs.max() < 2**53 and chance.random() < 0.4:
        np.savetxt(path, np.column_stack([pairs, weights]), **options)
        options["fmt"] = "floats"
    else:
        found = np.array(
            [(a, b, w) for (a, b), w in zip(pairs, weights, strict=True)], dtype=object
        )
        np.savetxt(path, found, fmt=["%d", "%d", "%.17g"], **options)
    return Written(path, rows(pairs, weights), how=f"numpy savetxt {options}")


def numpy_binary(edges: Table, folder: Path, chance: random.Random) -> Written:
    pairs, weights = arrays(edges)
    kind = chance.choice(["pairs", "pairs", "columns", "records", "floats", "npz", "raw"])
    path, wanted = folder / "numpy.npy", rows(pairs, None)
    fits = [
        kind
        for kind in ("u1", "<i4", ">i4", "<u4", "<i8", ">u8")
        if np.iinfo(kind).max >= pairs.max()
    ]
    dtype = np.dtype(chance.choice(fits))
    match kind:
        case "pairs":
            np.save(path, np.array(pairs, dtype, order=chance.choice(["C", "F"])))
        case "columns":
            # Two edges in two rows can be read in two ways.
            np.save(path, np.vstack([pairs, pairs, pairs]).T.astype(dtype))
            wanted = wanted * 3
        case "records":
            fields = [("source", dtype), ("target", dtype)]
            found = np.empty(
                len(pairs), fields if weights is None else [*fields, ("weight", "<f8")]
            )
            found["source"], found["target"] = pairs.T
            if weights is not None:
                found["weight"] = weights
                wanted = rows(pairs, weights)
            np.save(path, found)
        case "floats":
            if weights is not None and pairs.max() < 2**53:
                np.save(path, np.column_stack([pairs, weights]))
                wanted = rows(pairs, weights)
            else:
                np.save(path, pairs)
        case "npz":
            path = folder / "numpy.npz"
            np.savez(path, source=pairs[:, 0], target=pairs[:, 1])
        case _:
            path = folder / ("numpy.u32" if pairs.max() < 2**32 else "numpy.u64")
            pairs.astype("<u4" if path.suffix == ".u32" else "<u8").tofile(path)
    return Written(path, wanted, how=f"numpy {kind} {dtype}")


def scipy_any(edges: Table, folder: Path, chance: random.Random) -> Written:
    places = numbered(edges)
    pairs = np.array([[places[end] for end in edge[:2]] for edge in edges.edges])
    weights = [float(edge[2]) for edge in edges.edges] if edges.weighted else [1.0] * len(pairs)
    if chance.random() < 0.5 and all(weight == int(weight) for weight in weights):
        weights = [int(weight) for weight in weights]
    shape = (len(places),) * 2
    matrix = scipy.sparse.coo_matrix((weights, pairs.T), shape)
    matrix.sum_duplicates()
    symmetric = chance.random() < 0.3
    if symmetric:
        matrix = (matrix + matrix.T).tocoo()
    # A sum may be nothing at all.
    matrix.eliminate_zeros()
    kind = chance.choice(["market", "market", "market", "npz"])
    if kind == "npz" or not matrix.nnz:
        path = folder / "scipy.npz"
        scipy.sparse.save_npz(path, matrix.tocsr(), compressed=chance.random() < 0.5)
        wanted = [
            (int(a), int(b), float(w))
            for a, b, w in zip(matrix.row, matrix.col, matrix.data, strict=True)
        ]
        return Written(path, wanted, how="scipy save_npz")
    pattern = not edges.weighted and chance.random() < 0.7
    path = folder / chance.choice(["scipy.mtx", "scipy.mtx.gz"])
    options = {
        "comment": chance.choice(["", "made by a test"]),
        "field": "pattern" if pattern else None,
        "precision": None if pattern else 17,
        "symmetry": chance.choice(["AUTO", "general"]),
    }
    if path.suffix == ".gz":
        with gzip.open(path, "wb") as out:
            scipy.io.mmwrite(out, matrix, **options)
    else:
        scipy.io.mmwrite(path, matrix, **options)
    undirected = symmetric and options["symmetry"] == "AUTO"
    wanted = []
    for a, b, w in zip(matrix.row, matrix.col, matrix.data, strict=True):
        if not undirected or a >= b:
            ends = (int(a) + 1, int(b) + 1)
            wanted.append(ends if pattern else (*ends, float(w)))
    return Written(path, wanted, undirected, how=f"scipy mmwrite {options}")


def graph(edges: Table, chance: random.Random, *, weights: bool = True) -> networkx.Graph:
    """A graph of NetworkX, directed or not, with the last of parallel edges."""
    made = chance.choice([networkx.Graph, networkx.DiGraph])()
    for edge in edges.edges:
        if edges.weighted and weights:
            made.add_edge(*edge[:2], weight=number(edge[2]))
        else:
            made.add_edge(*edge[:2])
    return made


def number(value: Any) -> Any:
    return value if isinstance(value, int) else float(value)


def listed(made: networkx.Graph) -> list[Edge]:
    data = made.edges(data=True)
    return [(a, b, float(d["weight"])) if "weight" in d else (a, b) for a, b, d in data]


def networkx_text(edges: Table, folder: Path, chance: random.Random) -> Written:
    made = graph(edges, chance)
    kind = chance.choice(["edgelist", "edgelist", "weighted", "bare", "adjlist", "multiline"])
    path = (
        folder / f"networkx.{'edgelist' if kind in ('edgelist', 'weighted', 'bare') else 'adjlist'}"
    )
    # NetworkX quotes nothing: names with spaces, commas and braces cannot be told apart, and it
    # takes those that begin with # for comments itself.
    separator = "\t" if edges.kind == "odd" else chance.choice([" ", " ", "\t", ","])
    listing = kind in ("adjlist", "multiline")
    lost = "\n\t" if listing else ""
    names = [node for node in made if isinstance(node, str)]
    made.remove_nodes_from([name for name in names if name[0] == "#" or set(name) & set(lost)])
    if not made.edges:
        ends = ("a", "b") if names else (1, 2)
        made.add_edge(*ends, **({"weight": 1} if edges.weighted else {}))
    wanted = listed(made)
    # The file says nothing of directions.
    options = [] if made.is_directed() else ["--undirected"]
    match kind:
        case "edgelist":
            networkx.write_edgelist(made, path, delimiter=separator)
        case "weighted":
            networkx.write_weighted_edgelist(made, path, delimiter=separator)
        case "bare":
            networkx.write_edgelist(made, path, delimiter=separator, data=False)
            wanted = [edge[:2] for edge in wanted]
        case "adjlist":
            networkx.write_adjlist(made, path, delimiter=separator)
            wanted = [edge[:2] for edge in wanted]
            if any(" " in name for name in made if isinstance(name, str)):
                options += ["--separator", "tab"]
        case _:
            networkx.write_multiline_adjlist(made, path, delimiter=separator)
    how = f"networkx {kind} {separator!r}"
    return Written(path, wanted, not made.is_directed(), options, how=how)


def networkx_markup(edges: Table, folder: Path, chance: random.Random) -> Written:
    made = graph(edges, chance)
    kind = chance.choice(["gml", "graphml", "gexf", "pajek"])
    path = folder / f"networkx.{ {'pajek': 'net'}.get(kind, kind) }{chance.choice(['', '', '.gz'])}"
    if path.suffix == ".gz" and kind == "pajek":
        path = folder / "networkx.net"
    write = {
        "gml": networkx.write_gml,
        "graphml": networkx.write_graphml_xml,
        "gexf": networkx.write_gexf,
        "pajek": networkx.write_pajek,
    }[kind]
    wanted = listed(made)
    if kind == "gml":
        # Labels are attributes; ids are places.
        made = networkx.relabel_nodes(made, {node: str(node) for node in made})
        places = {node: place for place, node in enumerate(made)}
        wanted = [(places[str(a)], places[str(b)], *rest) for a, b, *rest in wanted]
    options = []
    if kind == "pajek":
        made = networkx.relabel_nodes(made, {node: str(node) for node in made})
        wanted = [(str(a), str(b), *(rest or [1.0])) for a, b, *rest in wanted]
        if chance.random() < 0.5:
            options = ["--ids", "strings"]
        else:
            places = {node: place for place, node in enumerate(made, 1)}
            wanted = [(places[a], places[b], *rest) for a, b, *rest in wanted]
    write(made, path)
    undirected = not made.is_directed()
    return Written(path, wanted, undirected, options, kind == "gexf", f"networkx {kind} {options}")


def networkx_json(edges: Table, folder: Path, chance: random.Random) -> Written:
    made = graph(edges, chance)
    kind = chance.choice(["node_link", "node_link", "adjacency", "cytoscape"])
    data = {
        "node_link": lambda: networkx.node_link_data(made, edges=chance.choice(["edges", "links"])),
        "adjacency": lambda: networkx.adjacency_data(made),
        "cytoscape": lambda: networkx.cytoscape_data(made),
    }[kind]()
    path = folder / "networkx.json"
    path.write_text(
        json.dumps(data, indent=chance.choice([None, 1]), ensure_ascii=chance.random() < 0.5)
    )
    return Written(path, listed(made), not made.is_directed(), how=f"networkx {kind}")


def networkx_packed(edges: Table, folder: Path, chance: random.Random) -> Written:
    made = networkx.convert_node_labels_to_integers(
        networkx.Graph(graph(edges, chance, weights=False))
    )
    kind = chance.choice(["graph6", "sparse6"])
    if kind == "graph6":
        made.remove_edges_from(list(networkx.selfloop_edges(made)))
    path = folder / f"networkx.{ {'graph6': 'g6', 'sparse6': 's6'}[kind] }"
    write = networkx.write_graph6 if kind == "graph6" else networkx.write_sparse6
    write(made, path, header=chance.random() < 0.5)
    return Written(path, listed(made), True, how=f"networkx {kind}")


def dot(edges: Table, folder: Path, chance: random.Random) -> Written:
    """As pydot writes it."""
    made = graph(edges, chance, weights=False)
    arrow = "->" if made.is_directed() else "--"
    lines = [f"strict {'di' if made.is_directed() else ''}graph  {{"]
    lines += [f"{quoted(node)};" for node in made]
    lines += [f"{quoted(a)} {arrow} {quoted(b)};" for a, b in made.edges()]
    path = folder / chance.choice(["pydot.dot", "pydot.gv"])
    path.write_text("\n".join([*lines, "}"]) + "\n")
    return Written(path, listed(made), not made.is_directed(), ones=True, how="networkx dot")


def quoted(node: Any) -> str:
    if isinstance(node, int):
        return str(node)
    # A backslash before anything but a quote stands for itself.
    return '"' + node.replace('"', '\\"') + '"'


WRITERS = [
    numpy_text,
    numpy_binary,
    scipy_any,
    networkx_text,
    networkx_markup,
    networkx_json,
    networkx_packed,
    dot,
]
