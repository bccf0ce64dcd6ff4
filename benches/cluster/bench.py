"""The command on several machines of this computer: what it costs, and whether answers agree."""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

ITERATIONS = 10

#: Cost of a run: processor seconds, seconds of an iteration, and the report of the command.
Cost = tuple[float, float, dict[str, Any]]

T = TypeVar("T")


class Bench:
    """The command, its graph and its folder."""

    def __init__(self, said: argparse.Namespace, folder: Path) -> None:
        self.command, self.rounds, self.folder = os.path.abspath(said.command), said.rounds, folder
        #: Options of the program, and how it asks the scale model.
        self.said = said
        self.cores = said.cores or len(os.sched_getaffinity(0))
        self.graph = folder / "graph.u32"
        self.must("generate", "rmat", str(said.scale), "-q", "-o", str(self.graph))
        self.key = folder / "key"
        self.must("cluster", "init", str(self.key))
        #: Ranks of the first run, by iterations.
        self.ranks: dict[int, list[float]] = {}

    def must(self, *words: str) -> None:
        subprocess.run([self.command, *words], check=True)

    def line(
        self, *options: str, iterations: int = ITERATIONS, has_own_disks: bool = False
    ) -> list[str]:
        """The command of a machine. One with a disk of its own is told of that by `TMPDIR`, since
        words of all machines are the same."""
        output = ["-o", str(self.folder / "ranks.csv"), "--report", str(self.folder / "r.json")]
        run = ["run", "pagerank", str(self.graph), "--tolerance", "0", "-q"]
        run += ["--iterations", str(iterations)]
        scratch = [] if has_own_disks else ["--scratch", str(self.folder)]
        return [self.command, *run, *output, *scratch, *options]

    def cost(self, lines: list[list[str]], environ: list[dict[str, str]]) -> Cost:
        """Runs the commands of all machines, which end well and have the answer of all runs."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        running: list[subprocess.Popen[bytes]] = []
        try:
            for line, own in zip(lines, environ):
                running.append(subprocess.Popen(line, env={**os.environ, **own}))
            codes = [process.wait() for process in running]
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
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
        line = self.line("--cluster", "env", "--credentials", str(self.key), *options)
        return self.by_environment(line, [{}, {}])

    def by_environment(self, line: list[str], own: list[dict[str, str]]) -> Cost:
        """Machines that are commands of their own, each with variables of its own."""
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        where["WORLD_SIZE"] = str(len(own))
        environ = [{**where, "RANK": str(rank), **it} for rank, it in enumerate(own)]
        return self.cost([line] * len(own), environ)

    def in_turns(self, contenders: dict[str, Callable[[], T]]) -> dict[str, list[T]]:
        costs: dict[str, list[T]] = {name: [] for name in contenders}
        for turn in range(self.rounds):
            names = list(contenders)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                costs[name].append(contenders[name]())
        return costs


def of_machines(report: dict[str, Any], figure: str) -> int:
    """Sum of a figure over all machines of a run, of which none was replaced."""
    cluster = report["cluster"]
    if cluster["restarts"]:
        sys.exit(f"machines were replaced {cluster['restarts']} times: figures count that too")
    return sum(machine[figure] for machine in cluster["machines"])


def vertex_bytes(report: dict[str, Any], written: float) -> int:
    """Bytes of a vertex, of those that all machines write in an iteration: values alone."""
    return max(1, round(written / report["vertices"]))


def iterating(report: dict[str, Any]) -> float:
    """Seconds of all iterations of a run, without its beginning."""
    return sum(it["seconds"] for it in report["cluster"]["iteration_times"][1:])


def table(columns: str, rows: Iterable[list[str]]) -> None:
    """A table of Markdown, whose first column is a name."""
    heads = columns.split(", ")
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "--:|" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)
