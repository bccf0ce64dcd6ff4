"""Machines of a cluster beside one process, runs without checkpoints, and what links can carry.

    python machines.py WELTER [--scale N] [--rounds N] [--only PARTS] [--folder DIR]

    processor     processor seconds of two machines beside those of one process with its edges on
                  the disk, by route, in the open and by TLS
    checkpoints   seconds of iterations with a checkpoint after each beside one after a thousand
    links         four machines in networks of their own, behind links of 1 Gb/s (root): the share
                  of the link that an iteration uses, beside what the plan foresees

PageRank of R-MAT graphs, contenders in turns, medians. Ranks are compared before anything is
timed. Seconds of iterations are those that a report has (`cluster.iteration_times`) without the
beginning. Disks of machines are directories of the folder, so their rate is that of one device.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ITERATIONS = 10
LINK_BYTES = 125e6

#: Cost of a run: processor seconds, seconds of an iteration, and the report of the command.
Cost = tuple[float, float, dict[str, Any]]


class Bench:
    """The command, its graph and its folder."""

    def __init__(self, said: argparse.Namespace, folder: Path) -> None:
        self.command, self.rounds, self.folder = os.path.abspath(said.command), said.rounds, folder
        self.graph = folder / "graph.u32"
        self.must("generate", "rmat", str(said.scale), "-q", "-o", str(self.graph))
        self.key = folder / "key"
        self.must("cluster", "init", str(self.key))
        #: Ranks of the first run, by iterations.
        self.ranks: dict[int, list[float]] = {}

    def must(self, *words: str) -> None:
        subprocess.run([self.command, *words], check=True)

    def line(self, *options: str, iterations: int = ITERATIONS) -> list[str]:
        output = ["-o", str(self.folder / "ranks.csv"), "--report", str(self.folder / "r.json")]
        run = ["run", "pagerank", str(self.graph), "--tolerance", "0", "-q"]
        run += ["--iterations", str(iterations)]
        return [self.command, *run, *output, "--scratch", str(self.folder), *options]

    def cost(self, lines: list[list[str]], environ: list[dict[str, str]]) -> Cost:
        """Runs the commands of all machines, which end well and have the answer of all runs."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = [
            subprocess.Popen(line, env={**os.environ, **own})
            for line, own in zip(lines, environ)
        ]
        codes = [process.wait() for process in running]
        if any(codes):
            sys.exit(f"{lines[0]}: ended with {codes}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        report = json.loads((self.folder / "r.json").read_text())
        self.compare(report["iterations"])
        times = report.get("cluster", {}).get("iteration_times", [])[1:]
        seconds = statistics.mean(it["seconds"] for it in times) if times else float("nan")
        return spent, seconds, report

    def compare(self, iterations: int) -> None:
        """Ends the program where ranks are others than those of the first run that was as long."""
        lines = (self.folder / "ranks.csv").read_text().splitlines()[1:]
        ranks = [float(line.rsplit(",", 1)[1]) for line in lines]
        expected = self.ranks.setdefault(iterations, ranks)
        apart = max(abs(one - other) for one, other in zip(expected, ranks))
        if len(ranks) != len(expected) or apart > 1e-9 * max(expected):
            sys.exit(f"other ranks: {apart:.1e} apart")

    def local(self, *options: str) -> Cost:
        return self.cost([self.line("--cluster", "local:2", *options)], [{}])

    def computers(self, *options: str) -> Cost:
        """Two machines that are commands of their own, and prove that they have the key."""
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        where = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        line = self.line("--cluster", "env", "--credentials", str(self.key), *options)
        return self.cost([line, line], [{**where, "RANK": str(rank)} for rank in range(2)])

    def in_turns(self, contenders: dict[str, Callable[[], Cost]]) -> dict[str, list[Cost]]:
        costs: dict[str, list[Cost]] = {name: [] for name in contenders}
        for turn in range(self.rounds):
            names = list(contenders)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                costs[name].append(contenders[name]())
        return costs


def table(columns: str, rows: list[list[str]]) -> None:
    """A table of Markdown, whose first column is a name."""
    heads = columns.split(", ")
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "--:|" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def processor(bench: Bench) -> None:
    """Processor time of two machines beside one process."""
    one = "one process, edges on the disk"
    contenders: dict[str, Callable[[], Cost]] = {
        one: lambda: bench.cost([bench.line("--edge-memory", "0")], [{}])
    }
    for route in ("fold", "spill", "send"):
        contenders[f"two, {route}"] = lambda route=route: bench.local("--route", route)
        tls = f"two, {route}, TLS"
        contenders[tls] = lambda route=route: bench.computers("--route", route)
    costs = bench.in_turns(contenders)
    medians = {name: statistics.median(it[0] for it in all_of) for name, all_of in costs.items()}
    rows = [[name, f"{it:.2f}", f"{it / medians[one]:.2f}"] for name, it in medians.items()]
    table("machines, processor seconds, times", rows)


def checkpoints(bench: Bench) -> None:
    """Iterations with a checkpoint after each, beside those with none."""
    rows = []
    for route in ("fold", "spill"):
        costs = bench.in_turns(
            {
                every: lambda every=every, route=route: bench.local(
                    "--route", route, "--checkpoint", str(bench.folder / "kept"),
                    "--checkpoint-every", every,
                )
                for every in ("1", "1000")
            }
        )  # fmt: skip
        each, none = (statistics.median(cost[1] for cost in costs[it]) for it in ("1", "1000"))
        rows.append([route, f"{each:.3f}", f"{none:.3f}", f"{100 * (each / none - 1):.1f} %"])
    table("route, with (s), without (s), cost", rows)


class Networks:
    """Four computers with a network each, on a bridge, whose links have a rate."""

    def __init__(self) -> None:
        self.name = f"wb{os.getpid()}"

    def ip(self, words: str) -> None:
        subprocess.run(["ip", *words.split()], check=True)

    def __enter__(self) -> Networks:
        hub = f"{self.name}b"
        self.ip(f"netns add {hub}")
        self.ip(f"-n {hub} link add hub type bridge")
        self.ip(f"-n {hub} link set hub up")
        for rank in range(4):
            own = f"{self.name}{rank}"
            self.ip(f"netns add {own}")
            self.ip(f"-n {own} link add e type veth peer name v{rank} netns {hub}")
            self.ip(f"-n {own} addr add 10.78.0.{rank + 1}/24 dev e")
            self.ip(f"-n {own} link set e up")
            self.ip(f"-n {own} link set lo up")
            self.ip(f"-n {hub} link set v{rank} master hub")
            self.ip(f"-n {hub} link set v{rank} up")
            rate = "root tbf rate 1gbit burst 1mb latency 50ms".split()
            for space, device in ((own, "e"), (hub, f"v{rank}")):
                tc = ["tc", "-n", space, "qdisc", "add", "dev", device, *rate]
                subprocess.run(tc, check=True)
        return self

    def __exit__(self, *_: object) -> None:
        for space in (*(f"{self.name}{rank}" for rank in range(4)), f"{self.name}b"):
            subprocess.run(["ip", "netns", "del", space], check=False)


def links(bench: Bench) -> None:
    """The share of links that iterations use."""
    peers = bench.folder / "peers"
    peers.write_text("".join(f"10.78.0.{host}:7070\n" for host in range(1, 5)))
    rows = []
    with Networks() as networks:

        def run(route: str, iterations: int) -> Cost:
            options = ["--route", route, "--credentials", str(bench.key)]
            options += ["--cluster", f"static:{peers}", "--rank"]
            lines = []
            for rank in range(4):
                line = bench.line(*options, str(rank), iterations=iterations)
                lines.append(["ip", "netns", "exec", f"{networks.name}{rank}", *line])
            return bench.cost(lines, [{}] * 4)

        def sent_by(cost: Cost) -> list[int]:
            return [machine["bytes_sent"] for machine in cost[2]["cluster"]["machines"]]

        for route in ("fold", "spill", "send"):
            costs = [run(route, ITERATIONS) for _ in range(bench.rounds)]
            seconds = statistics.median(cost[1] for cost in costs)
            # Edges that are sent in the beginning are in both.
            more = zip(sent_by(run(route, 2 * ITERATIONS)), sent_by(costs[0]))
            sent = max((long - short) / ITERATIONS for long, short in more)
            machines = costs[0][2]["cluster"]["machines"]
            foreseen = max(it["plan"]["iteration_bytes_sent"] for it in machines) / LINK_BYTES
            share = 100 * sent / LINK_BYTES / seconds
            rows.append([route, f"{seconds:.3f}", f"{foreseen:.3f}", f"{share:.0f} %"])
    table("route, iteration (s), planned bytes by the link (s), share of the link", rows)


PARTS = {"processor": processor, "checkpoints": checkpoints, "links": links}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="processor,checkpoints,links")
    parser.add_argument("--folder")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=said.folder) as folder:
        bench = Bench(said, Path(folder))
        for name in said.only.split(","):
            begun = time.monotonic()
            print(f"{name}, R-MAT {said.scale}, {ITERATIONS} iterations\n")
            PARTS[name](bench)
            print(f"{time.monotonic() - begun:.0f} s\n", file=sys.stderr)


if __name__ == "__main__":
    main()
