"""welter and other programs from Python, on one file: a table and a chart.

    python chart.py FILE.u32 [--source ID] [--rounds N] [--patience S] [--chart peers.svg]

Each program reads the file and runs PageRank (10 iterations), a breadth-first search and weakly
connected components, in a process of its own each time, in turns; medians are shown. Answers are
compared with each other. Programs that are not installed are left out, and said; those that take
longer than the patience run once.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ALGORITHMS = {
    "pagerank": "PageRank, 10 iterations",
    "bfs": "breadth-first search",
    "wcc": "components",
}
PROGRAMS = ["welter", "networkit", "igraph", "scipy", "graphblas"]
HERE = Path(__file__).resolve().parent


def timed(program: str, algorithm: str, said: argparse.Namespace) -> dict[str, Any] | None:
    """One run in a process of its own; None where the program is not there or has no such thing."""
    line = [sys.executable, str(HERE / "peers.py"), "run", program, algorithm, said.file]
    line += ["--source", str(said.source), "--iterations", "10"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=said.timeout)
    except subprocess.TimeoutExpired:
        print(f"{program} {algorithm}: more than {said.timeout} s", file=sys.stderr)
        return None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        print(f"{program} {algorithm}: {last}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def agree(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether two summaries are the same, but for rounding."""
    return all(math.isclose(value, other[name], rel_tol=1e-5) for name, value in one.items())


def measured(said: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """Seconds from file to answer by algorithm and program."""
    times: dict[str, dict[str, list[float]]] = {name: {} for name in ALGORITHMS}
    for algorithm, rows in times.items():
        programs, expected = list(PROGRAMS), None
        for _ in range(said.rounds):
            for program in list(programs):
                run = timed(program, algorithm, said)
                if run is None:
                    programs.remove(program)
                    rows.pop(program, None)
                    continue
                expected = expected or run["summary"]
                if run["rule"] is None and not agree(run["summary"], expected):
                    sys.exit(f"{program} {algorithm}: {run['summary']} and not {expected}")
                seconds = run["load_s"] + run["run_s"]
                rows.setdefault(program, []).append(seconds)
                if seconds > said.patience:
                    programs.remove(program)
    return times


def table(times: dict[str, dict[str, list[float]]]) -> str:
    """Medians, as Markdown."""
    lines = ["| seconds, file to answer | " + " | ".join(PROGRAMS) + " |"]
    lines.append("|---|" + "--:|" * len(PROGRAMS))
    for algorithm, rows in times.items():
        cells = [
            f"{statistics.median(rows[program]):.2f}" if program in rows else "-"
            for program in PROGRAMS
        ]
        lines.append(f"| {ALGORITHMS[algorithm]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(times: dict[str, dict[str, list[float]]], path: str) -> None:
    """A panel for each algorithm, a row for each program; a decade is as wide everywhere."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(times), figsize=(10, 2.6), sharex=True, sharey=True)
    for axes, (algorithm, rows) in zip(panels, times.items(), strict=True):
        for place, program in enumerate(PROGRAMS):
            if program not in rows:
                continue
            median = statistics.median(rows[program])
            colour = "#e45756" if program == "welter" else "#4c78a8"
            axes.plot(rows[program], [place] * len(rows[program]), "|", color=colour, alpha=0.6)
            axes.plot(median, place, "o", color=colour)
            label = f"{median:.3g} s"
            offset = {"xytext": (7, -3), "textcoords": "offset points"}
            axes.annotate(label, (median, place), fontsize="small", **offset)
        axes.set_xscale("log")
        axes.set_xlim(0.3, 1500)
        axes.set_title(ALGORITHMS[algorithm], fontsize="medium")
        axes.grid(axis="x", alpha=0.3)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    panels[0].set_yticks(range(len(PROGRAMS)), PROGRAMS)
    panels[0].invert_yaxis()
    panels[1].set_xlabel("seconds from a file of raw pairs to the answer (each step ten times)")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--source", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("--chart")
    said = parser.parse_args()
    times = measured(said)
    print(table(times))
    if said.chart:
        draw(times, said.chart)


if __name__ == "__main__":
    main()
