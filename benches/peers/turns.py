"""Two builds of the command in turns: processor time of whole commands, and whether answers agree.

    python turns.py BEFORE AFTER [--rounds N] [--only WORD] [--folder DIR]

Commands are those whose work the benchmarks `kernel`, `job`, `traverse`, `outofcore` and
`algorithms` time, on graphs that AFTER makes in DIR. Each round runs every command by both builds,
in turns with another one first, since machines change from minute to minute. The table has medians
and least times of user and system seconds, and ratios of these; results are compared byte by byte.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

GRAPHS = {
    "r20.u32": "rmat 20",
    "r18.u32": "rmat 18",
    "r18.tsv": "rmat 18",
    "w20.parquet": "rmat 20 --weights 255",
    "w18.parquet": "rmat 18 --weights 255",
}
KEPT = {
    "packed.graph": "r20.u32 --directed --encoding packed",
    "compressed.graph": "r20.u32 --directed --encoding compressed",
}
TIGHT = "--cache 0 --memory"


def jobs() -> list[tuple[str, str, str]]:
    """Benchmark, name and arguments of each command."""
    found = []
    for precision in ["f32", "f64"]:
        for kept in ["packed", "compressed"]:
            for threads in [1, 2]:
                name = f"PageRank, {precision}, {kept}, {threads} thread{'s'[: threads - 1]}"
                run = f"pagerank {kept}.graph --precision {precision} --iterations 20"
                found.append(("kernel", name, f"{run} --threads {threads}"))
    rank = "--precision f32 --iterations 10"
    found += [
        ("job", "PageRank f32 from raw pairs", f"pagerank r20.u32 {rank}"),
        ("job", "PageRank f32 from text", f"pagerank r18.tsv {rank}"),
    ]
    traverse = {
        "breadth-first search": "bfs r20.u32 --source 0",
        "shortest paths": "sssp w20.parquet --source 0",
        "components": "wcc r20.u32",
        "components by labels": "wcc r20.u32 --method labels",
    }
    for threads in [1, 2]:
        for name, run in traverse.items():
            found.append(("traverse", f"{name}, {threads}", f"{run} --threads {threads}"))
    found += [
        ("outofcore", "PageRank f32, 72 MiB", f"pagerank r20.u32 {rank} {TIGHT} 72MiB"),
        ("outofcore", "PageRank f64, 96 MiB", f"pagerank r20.u32 --iterations 10 {TIGHT} 96MiB"),
        ("outofcore", "SpMV, 72 MiB", f"spmv r20.u32 {TIGHT} 72MiB"),
        ("outofcore", "BFS, 72 MiB", f"bfs r20.u32 --source 0 {TIGHT} 72MiB"),
        ("outofcore", "SSSP, 180 MiB", f"sssp w20.parquet --source 0 {TIGHT} 180MiB"),
        ("outofcore", "WCC, 72 MiB", f"wcc r20.u32 {TIGHT} 72MiB"),
        ("outofcore", "PageRank f32, spill", f"pagerank r20.u32 {rank} --route spill"),
        ("outofcore", "PageRank f32, ranges", f"pagerank r20.u32 {rank} --route ranges"),
    ]
    plain = "wcc scc kcore triangles lcc mis conductance spmv hyperball pagerank".split()
    found += [("algorithms", name, f"{name} r18.u32") for name in plain]
    found += [
        ("algorithms", "cdlp", "cdlp r18.u32 --iterations 5"),
        ("algorithms", "bfs", "bfs r18.u32 --source 0"),
        ("algorithms", "sssp", "sssp w18.parquet --source 0"),
        ("algorithms", "mcst", "mcst w18.parquet"),
        ("algorithms", "bp", "bp w18.parquet --iterations 5"),
        ("algorithms", "als", "als w18.parquet --bipartite --iterations 2 --factors 4"),
    ]
    return found


def make(command: str, folder: Path) -> None:
    """Graphs that are not there yet."""
    for name, what in GRAPHS.items():
        if not (folder / name).exists():
            subprocess.run([command, "generate", *what.split(), "-o", name], cwd=folder, check=True)
    for name, what in KEPT.items():
        if not (folder / name).exists():
            subprocess.run([command, "ingest", *what.split(), "-o", name], cwd=folder, check=True)


def seconds(command: str, arguments: str, result: Path) -> float:
    """Processor time of a run, in seconds."""
    result.unlink(missing_ok=True)
    words = [command, "run", *arguments.split(), "-o", str(result), "--quiet"]
    child = subprocess.Popen(words, cwd=result.parent, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(words)} ended with status {status}: {said.decode()}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="commands with this word in their row alone")
    parser.add_argument("--folder", type=Path, default=Path("target/bench-data/turns"))
    options = parser.parse_args()
    builds = [os.path.abspath(options.before), os.path.abspath(options.after)]
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    make(builds[1], folder)
    chosen = [job for job in jobs() if options.only in f"{job[0]} {job[1]}"]
    times = {job: ([], []) for job in chosen}
    results = [folder / "before.npy", folder / "after.npy"]
    differ = set()
    for number in range(options.rounds):
        for job in chosen:
            for build in [number % 2, 1 - number % 2]:
                times[job][build].append(seconds(builds[build], job[2], results[build]))
            if results[0].read_bytes() != results[1].read_bytes():
                differ.add(job)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    table(times, differ)


def table(times: dict, differ: set) -> None:
    """Prints rows, and how many commands are above 1.03."""
    heads = ["before, median (least)", "after, median (least)", "after / before", "results"]
    print(f"| of | command | {' | '.join(heads)} |")
    print("|---|---|--:|--:|--:|---|")
    ratios, totals = [], [0.0, 0.0]
    for job, (before, after) in times.items():
        medians = [statistics.median(before), statistics.median(after)]
        ratio = medians[1] / medians[0]
        ratios.append(ratio)
        totals = [total + median for total, median in zip(totals, medians)]
        least = [min(before), min(after)]
        cells = [f"{both[0]:.2f} ({both[1]:.2f})" for both in zip(medians, least)]
        cells.append(f"{ratio:.2f} ({least[1] / least[0]:.2f})")
        cells.append("others" if job in differ else "alike")
        print(f"| `{job[0]}` | {job[1]} | {' | '.join(cells)} |")
    within = sum(ratio <= 1.03 for ratio in ratios)
    print(f"\n{within} of {len(ratios)} within 1.03; median {statistics.median(ratios):.3f};")
    print(f"all together {totals[1] / totals[0]:.3f}")


if __name__ == "__main__":
    main()
