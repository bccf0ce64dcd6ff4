"""A table of edges at random, written by each library in each of its formats, is read back as the
graph that was written, or refused: never as another one without a word.

Each case is a number from which everything follows; a failure names it. ``WELTER_ROUND_TRIPS=5000``
tries more of them, from ``WELTER_ROUND_TRIPS_FROM`` on. What this does not show: that a refusal is
needed, beyond a share that has to be read; and vertices without edges.
"""

from __future__ import annotations

import contextlib
import csv
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import round_trips
import round_trips_graphs
import round_trips_tables
from round_trips import Written
from welter import _native

CASES = int(os.environ.get("WELTER_ROUND_TRIPS", "300"))
FIRST = int(os.environ.get("WELTER_ROUND_TRIPS_FROM", "0"))
WRITERS = round_trips_tables.WRITERS + round_trips_graphs.WRITERS


@contextlib.contextmanager
def errors(path: Path) -> Iterator[None]:
    """Messages of the command go to a file, not to standard error."""
    kept = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def read(written: Written, folder: Path) -> tuple[int, list[tuple[str, ...]], str]:
    """The exit code of ``welter convert``, the edges that it wrote, and what it said."""
    out, said = folder / "read" / "edges.csv", folder / "read" / "said.txt"
    out.parent.mkdir()
    line = ["welter", "convert", str(written.path), *written.options, "-o", str(out)]
    with errors(said):
        code = _native.command(line, [])
    edges: list[tuple[str, ...]] = []
    if code == 0:
        with out.open(newline="", encoding="utf-8") as file:
            edges = [tuple(row) for row in csv.reader(file)][1:]
    return code, edges, said.read_text()


def canonical(edges: list, undirected: bool, ones: bool) -> Counter:
    """The edges with ids as text, in an order of their own where they have no direction."""
    found: Counter = Counter()
    for source, target, *weight in edges:
        ends = [str(source), str(target)]
        weight = weight or [1.0] * ones
        found[(*(sorted(ends) if undirected else ends), *map(float, weight))] += 1
    return found


def judge(written: Written, folder: Path) -> str:
    """``read`` or ``refused``; anything else is what is wrong."""
    code, edges, said = read(written, folder)
    if code in (65, 2):
        return "refused" if "error: " in said and "panicked" not in said else said
    if code != 0:
        return f"exit code {code}: {said}"
    undirected = "each edge stands for both directions" in said
    if undirected != written.undirected:
        return f"undirected: {undirected}, written: {written.undirected}; {said}"
    wanted, found = (canonical(each, undirected, written.ones) for each in (written.edges, edges))
    if wanted == found:
        return "read"
    return f"missing {list(wanted - found)[:4]}, found {list(found - wanted)[:4]}; {said}"


def test_what_libraries_write_is_read_back_or_refused(tmp_path: Path) -> None:
    verdicts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for number in range(FIRST, FIRST + CASES):
        chance = random.Random(number)
        folder = tmp_path / str(number)
        folder.mkdir()
        edges = round_trips.table(chance)
        writer = WRITERS[number % len(WRITERS)]
        written = writer(edges, folder, chance)
        verdict = judge(written, folder)
        library = written.how.split()[0]
        if verdict not in ("read", "refused"):
            head = written.path.read_bytes()[:200]
            ids = f"{edges.kind} ids, {edges.weights} weights"
            wrong.append(f"case {number}: {written.how}, {ids}: {verdict}\n{head!r}")
            verdict = "wrong"
        verdicts[(library, verdict)] += 1
        shutil.rmtree(folder)
    for (library, verdict), count in sorted(verdicts.items()):
        print(f"{library:10} {verdict:8} {count}")
    assert not wrong, "\n\n".join(wrong)
    read = sum(count for (_, verdict), count in verdicts.items() if verdict == "read")
    assert read >= CASES // 2, verdicts
