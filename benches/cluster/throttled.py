"""Machines with a disk of its own each that is throttled: how they scale, and one that is slow.

An iteration is what a run of more iterations takes, reads and writes more than one of few, so the
ingest, the first iteration (which finds what the ingest wrote in the page cache) and the result
are in none. Beside it stands the forecast of the scale model for these machines.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

from bench import ITERATIONS, Bench, Cost, iterating, of_machines, table, vertex_bytes
from disks import Disks
from model import Model, beside

#: Iterations of the shorter run.
FEW = 3

MB = 1e6


@dataclass
class Iteration:
    """An iteration, on average."""

    seconds: float
    #: Bytes of blocks that machines read and wrote, by their reports.
    read: float
    written: float
    #: Bytes that devices gave.
    given: float
    #: Cores that all machines together kept at work.
    cores: float
    #: Bytes of the edges on all disks.
    edge_bytes: float


@dataclass
class Row:
    """A contender: machines, the rates of their disks, and where chunks lie."""

    rates: list[int]
    placement: str = "even"


class Throttled:
    """Machines on disks, which a benchmark runs."""

    def __init__(self, bench: Bench, disks: Disks) -> None:
        self.bench, self.disks = bench, disks
        self.model = Model(bench.said.model)
        #: Report of the last run.
        self.report: dict[str, Any] = {}

    def cores(self, machines: int) -> float:
        """Cores of each machine, if all have the same share."""
        return self.bench.cores / machines

    def run(self, row: Row, iterations: int) -> tuple[Cost, int]:
        """A run, and the bytes that the devices gave for it."""
        machines = len(row.rates)
        threads = str(max(1, int(self.cores(machines))))
        options = ["--cluster", "env", "--route", "fold", "--threads", threads]
        options += ["--placement", row.placement]
        line = self.bench.line(*options, iterations=iterations, has_own_disks=True)
        own = [{"TMPDIR": str(folder)} for folder in self.disks.folders[:machines]]
        self.disks.settle()
        self.disks.throttle(row.rates)
        before, _ = self.disks.moved()
        cost = self.bench.by_environment(self.disks.confined(line), own)
        return cost, self.disks.moved()[0] - before

    def iteration(self, row: Row) -> Iteration:
        """An iteration, by two runs."""
        (spent, _, report), given = self.run(row, FEW)
        few = [spent, iterating(report), given]
        few += [of_machines(report, figure) for figure in ("bytes_read", "bytes_written")]
        (spent, _, report), given = self.run(row, FEW + ITERATIONS)
        more = [spent, iterating(report), given]
        more += [of_machines(report, figure) for figure in ("bytes_read", "bytes_written")]
        self.report = report
        each = [(long - short) / ITERATIONS for long, short in zip(more, few)]
        spent, seconds, given_bytes, read, written = each
        edge_bytes = self.disks.edge_bytes()
        return Iteration(seconds, read, written, given_bytes, spent / seconds, edge_bytes)

    def medians(self, rows: dict[str, Row]) -> dict[str, Iteration]:
        """Iterations of contenders that take turns: the median of each figure."""

        def of(row: Row) -> Callable[[], Iteration]:
            return lambda: self.iteration(row)

        found = self.bench.in_turns({name: of(row) for name, row in rows.items()})
        median = {
            name: Iteration(*map(statistics.median, zip(*map(astuple, all_of))))
            for name, all_of in found.items()
        }
        for name, it in median.items():
            if it.given < 0.95 * it.edge_bytes:
                part = f"{100 * it.given / it.edge_bytes:.0f} % of the edges"
                print(f"**{name}: {part} came from disks, others from memory**\n")
        return median

    def forecast(self, row: Row, it: Iteration) -> float:
        """The scale model's seconds of an iteration."""
        return self.model.iteration(
            self.bench.said.scale,
            self.report,
            row.rates,
            cores=self.cores(len(row.rates)),
            vertex_bytes=vertex_bytes(self.report, it.written),
            edge_bytes=it.edge_bytes / self.report["edges"],
            placement=row.placement,
        )


@contextlib.contextmanager
def on_disks(bench: Bench, count: int) -> Iterator[Throttled]:
    """Disks of this number, and machines for them."""
    with Disks(bench.folder, count) as disks:
        yield Throttled(bench, disks)


def scaling(bench: Bench) -> None:
    """Machines with a disk each, all of one rate."""
    rate = int(bench.said.rate * MB)
    rows = {str(count): Row([rate] * count) for count in bench.said.machines}
    with on_disks(bench, max(bench.said.machines)) as machines:
        found = machines.medians(rows)
        first = min(rows, key=int)
        lines = []
        for name, it in found.items():
            count = int(name)
            linear = found[first].seconds * int(first) / (it.seconds * count)
            disk = it.given / it.seconds / count
            cells = [name, f"{it.seconds:.3f}"]
            cells += [f"{moved / MB:.0f}" for moved in (it.read, it.written, it.given)]
            cells += [f"{disk / MB:.0f}", f"{100 * disk / rate:.0f} %", f"{100 * linear:.0f} %"]
            cells += [f"{it.cores:.2f}", *beside(it.seconds, machines.forecast(rows[name], it))]
            lines.append(cells)
    heads = "machines, iteration (s), read (MB), written (MB), from disks (MB), MB/s a disk"
    heads += ", of the throttle, of linear, cores at work, model (s), measured by model"
    table(heads, lines)


def slow(bench: Bench) -> None:
    """Machines of which the last one has a disk of a quarter of the rate."""
    count, rate = max(bench.said.machines), int(bench.said.rate * MB)
    rates = [rate] * (count - 1) + [rate // 4]
    weighted = "weighted:" + ",".join(["4"] * (count - 1) + ["1"])
    rows = {
        "none is slow, even": Row([rate] * count),
        "one is slow, even": Row(rates),
        "one is slow, weighted": Row(rates, weighted),
    }
    with on_disks(bench, count) as machines:
        found = machines.medians(rows)
        lines = []
        for name, it in found.items():
            ideal = it.given / sum(rows[name].rates)
            cells = [name, f"{it.seconds:.3f}", f"{ideal:.3f}", f"{it.seconds / ideal:.2f}"]
            cells += beside(it.seconds, machines.forecast(rows[name], it))
            lines.append(cells)
    heads = "disks and placement, iteration (s), all disks to their end (s), times"
    table(f"{heads}, model (s), measured by model", lines)
