"""From how many edges on the NetworkX backend gains: each function beside NetworkX's own.

    python backend.py [--scales 8,10,12,14,16] [--rounds N] [--only NAMES]

R-MAT graphs of growing size, as graphs of NetworkX. Times of the backend include the conversion,
which is done anew each time; the best of the rounds is shown, and how many times as fast as
NetworkX it is.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np

#: Functions, with arguments beside the graph, and whether they take graphs with directions.
FUNCTIONS: dict[str, tuple[tuple[int, ...], bool]] = {
    "single_source_shortest_path_length": ((0,), True),
    "single_source_dijkstra_path_length": ((0,), True),
    "connected_components": ((), False),
    "strongly_connected_components": ((), True),
    "pagerank": ((), True),
    "core_number": ((), False),
    "triangles": ((), False),
    "clustering": ((), False),
    "transitivity": ((), False),
}


def graphs(scale: int, folder: str) -> tuple[nx.Graph, nx.DiGraph]:
    """An R-MAT graph without directions, and with them."""
    file = Path(folder) / "edges.u32"
    line = [sys.executable, "-m", "welter", "generate", "rmat", str(scale), "-o", str(file)]
    subprocess.run([*line, "--quiet"], check=True)
    pairs = np.fromfile(file, "<u4").reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]].tolist()
    return nx.Graph(pairs), nx.DiGraph(pairs)


def best(call: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest call; what is made lazily is made."""
    seconds = []
    for _ in range(rounds):
        begun = time.perf_counter()
        found = call()
        if hasattr(found, "__next__"):
            list(found)
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", default="8,10,12,14,16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(FUNCTIONS))
    said = parser.parse_args()
    nx.config.cache_converted_graphs = False
    scales = [int(scale) for scale in said.scales.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        made = [graphs(scale, folder) for scale in scales]
    edges = " | ".join(f"{undirected.number_of_edges():,} edges" for undirected, _ in made)
    print(f"| ms with the backend (times as fast) | {edges} |")
    print("|---|" + "--:|" * len(made))
    for name in said.only.split(","):
        (arguments, directed), function, cells = FUNCTIONS[name], getattr(nx, name), []
        for pair in made:
            graph = pair[directed]
            ours = best(lambda: function(graph, *arguments, backend="welter"), said.rounds)
            theirs = best(lambda: function(graph, *arguments, backend="networkx"), said.rounds)
            cells.append(f"{ours * 1e3:.1f} ({theirs / ours:.2f})")
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
