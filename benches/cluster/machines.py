"""Machines of a cluster beside one process, and what their disks and links can carry.

    python machines.py WELTER [--scale N] [--rounds N] [--only PARTS] [--folder DIR]
                       [--rate MB] [--machines N,N,..] [--cores N] [--model PROGRAM|none]

    processor     processor seconds of two machines beside those of one process with its edges on
                  the disk, by route, in the open and by TLS
    checkpoints   seconds of iterations with a checkpoint after each beside one after a thousand
    links         four machines in networks of their own, behind links of 1 Gb/s (root): the share
                  of the link that an iteration uses, beside what the plan and the scale model
                  foresee
    disks         1, 2 and 4 machines, each on a disk of its own that is throttled to 200 MB/s
                  (root): an iteration, the share of the throttle, and the scale model's forecast
    slow          as many as the most of them, of which one has a disk of a quarter of the rate,
                  by placement (root)

PageRank of R-MAT graphs, contenders in turns, medians. Ranks are compared before anything is
timed. Seconds of iterations are those that a report has (`cluster.iteration_times`) without the
beginning. Disks of machines of the first three parts are directories of the folder, so their rate
is that of one device.

Machines share the cores of this computer: `--cores` says how many these are, of which each gets an
equal share, in the model too. The model is built by cargo unless `--model` names a program
(`welter-figures`).
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import ITERATIONS, Bench, Cost, of_machines, table, vertex_bytes
from model import CACHED, Model, beside
from networks import Networks
from throttled import scaling, slow

LINK_BYTES = 125e6


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


def links(bench: Bench) -> None:
    """The share of links that iterations use."""
    peers = bench.folder / "peers"
    peers.write_text("".join(f"10.78.0.{host}:7070\n" for host in range(1, 5)))
    model, rows = Model(bench.said.model), []
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
            longer, report = run(route, 2 * ITERATIONS), costs[0][2]
            more = zip(sent_by(longer), sent_by(costs[0]))
            sent = max((long - short) / ITERATIONS for long, short in more)
            machines = report["cluster"]["machines"]
            foreseen = max(it["plan"]["iteration_bytes_sent"] for it in machines) / LINK_BYTES
            share = 100 * sent / LINK_BYTES / seconds
            written = of_machines(longer[2], "bytes_written") - of_machines(report, "bytes_written")
            modelled = float("nan")
            # The model has another program's updates than route `spill` combines, and no messages.
            if route == "fold":
                modelled = model.iteration(
                    bench.said.scale, report, [CACHED] * 4, cores=bench.cores / 4, link=1000,
                    vertex_bytes=vertex_bytes(report, written / ITERATIONS),
                )  # fmt: skip
            cells = [route, f"{seconds:.3f}", f"{foreseen:.3f}", f"{share:.0f} %"]
            rows.append([*cells, *beside(seconds, modelled)])
    heads = "route, iteration (s), planned bytes by the link (s), share of the link"
    table(f"{heads}, model (s), measured by model", rows)


PARTS = {
    "processor": processor,
    "checkpoints": checkpoints,
    "links": links,
    "disks": scaling,
    "slow": slow,
}


def counts(text: str) -> list[int]:
    """Numbers of machines, ascending."""
    numbers = sorted({int(word) for word in text.split(",")})
    if numbers[0] < 1:
        raise argparse.ArgumentTypeError("there is one machine at least")
    return numbers


def leave(number: int, _: object) -> None:
    """Ends the program as an exception does, which takes back what was made."""
    sys.exit(128 + number)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--folder")
    parser.add_argument("--rate", type=float, default=200, help="MB/s of a disk")
    parser.add_argument("--machines", type=counts, default=[1, 2, 4], help="on disks")
    parser.add_argument("--cores", type=int, default=0, help="of this computer (all)")
    parser.add_argument("--model", help="the program welter-figures, or none (built by cargo)")
    said = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    with tempfile.TemporaryDirectory(dir=said.folder) as folder:
        bench = Bench(said, Path(folder))
        for name in said.only.split(","):
            begun = time.monotonic()
            print(f"{name}, R-MAT {said.scale}, {ITERATIONS} iterations\n")
            PARTS[name](bench)
            print(f"{time.monotonic() - begun:.0f} s\n", file=sys.stderr)


if __name__ == "__main__":
    main()
