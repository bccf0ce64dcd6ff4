"""Algorithms as other programs compute them, from a file of raw pairs, timed.

    python peers.py list
    python peers.py run PEER ALGORITHM FILE [--source ID] [--iterations N]

`list` says which peers are there and what they have, `run` runs one of them; both print a line of
JSON. Peers are libraries, each in a module of its own: one that is missing is left out, and said.
Each function in there is one peer on one algorithm, in the fastest way that its manual knows: it
reads the file, makes the graph, marks the clock, runs, marks the clock, and sums the answer up,
which is not timed. `rule` says where a peer's answer is another by its own rules. Threads are as
many as OMP_NUM_THREADS says.
"""

import argparse
import importlib
import json
import resource
import sys
from importlib import metadata
from typing import Any

from task import SOLVERS, Task

# The modules of the peers, and the packages they take.
PEERS = {
    "networkit": ("on_networkit", "networkit"),
    "igraph": ("on_igraph", "igraph"),
    "scipy": ("on_scipy", "scipy"),
    "graphblas": ("on_graphblas", "python-graphblas"),
}
# For charts: `cargo xtask bench algorithms` runs the command in its place.
ALL = {**PEERS, "welter": ("on_welter", "welter")}


def described(peer: str) -> dict[str, Any]:
    """The version of a peer and what it has, or what is missing."""
    module, package = PEERS[peer]
    try:
        importlib.import_module(module)
    except ImportError as error:
        return {"peer": peer, "missing": str(error)}
    has = [algorithm for name, algorithm in SOLVERS if name == peer]
    return {"peer": peer, "version": metadata.version(package), "algorithms": has}


def run(peer: str, algorithm: str, task: Task) -> dict[str, Any]:
    """Runs one and says what it took."""
    solver = SOLVERS[peer, algorithm]
    summary = solver.run(task)
    begun, loaded, ran = task.marks
    return {
        "peer": peer,
        "version": metadata.version(ALL[peer][1]),
        "algorithm": algorithm,
        "load_s": loaded - begun,
        "run_s": ran - loaded,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "rule": solver.rule,
        "summary": summary,
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="which peers are there, and what they have")
    runs = commands.add_parser("run", help="run one on a file")
    runs.add_argument("peer", choices=ALL)
    runs.add_argument("algorithm")
    runs.add_argument("file")
    runs.add_argument("--source", type=int, default=0)
    runs.add_argument("--iterations", type=int, default=10)
    said = parser.parse_args()
    if said.command == "list":
        print(json.dumps([described(peer) for peer in PEERS]))
        return
    importlib.import_module(ALL[said.peer][0])
    if (said.peer, said.algorithm) not in SOLVERS:
        sys.exit(f"{said.peer} has no {said.algorithm}")
    task = Task(said.file, said.source, said.iterations)
    print(json.dumps(run(said.peer, said.algorithm, task)))


if __name__ == "__main__":
    main()
