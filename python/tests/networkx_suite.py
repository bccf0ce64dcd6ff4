"""The tests of NetworkX on the backend, as Markdown: ``python networkx_suite.py``.

The whole suite alone, where a test is left out by NetworkX as soon as it calls a function that the
backend has not; then the modules of the functions that it has with NetworkX behind it, so that
every test goes to its end. Takes about six minutes and one, and needs the package and what its
tests need (``python/requirements-test.txt``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

#: Modules with tests of functions that the backend has.
SUITES = [
    "networkx.algorithms.link_analysis.tests.test_pagerank",
    "networkx.algorithms.components",
    "networkx.algorithms.tests.test_core",
    "networkx.algorithms.tests.test_cluster",
    "networkx.algorithms.shortest_paths.tests.test_unweighted",
    "networkx.algorithms.shortest_paths.tests.test_weighted",
    "networkx.algorithms.tests.test_dag",
]


def counted(modules: list[str], alone: bool, folder: Path) -> tuple[dict[str, Any], str]:
    """Counts of the plugin, and what pytest printed."""
    counts = folder / "counts.json"
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {
        **os.environ,
        "NETWORKX_TEST_BACKEND": "welter",
        "NETWORKX_FALLBACK_TO_NX": "" if alone else "True",
        "WELTER_COUNTS": str(counts),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    line += ["-p", "networkx_counts", "--tb=short", "--pyargs", *modules]
    done = subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True)
    return json.loads(counts.read_text()), done.stdout


def failed(printed: str) -> set[str]:
    """The names of the tests that failed."""
    rows = [row for row in printed.splitlines() if row.startswith(("FAILED", "ERROR"))]
    return {row.split("::")[-1].split(" ")[0] for row in rows}


def _totals(name: str, counts: dict[str, Any], printed: str) -> str:
    tests = counts["tests"]
    sums = ", ".join(f"{tests.get(end, 0):,} {end}" for end in ("passed", "left out", "failed"))
    names = ", ".join(f"`{test}`" for test in sorted(failed(printed)))
    return f"{name}: {sums}" + (f" ({names})" if names else "")


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as folder:
        alone, alone_printed = counted(["networkx"], True, Path(folder))
        behind, behind_printed = counted(SUITES, False, Path(folder))
    print(_totals("Alone", alone, alone_printed), "\n")
    modules = "Modules of its functions, with NetworkX behind it"
    print(_totals(modules, behind, behind_printed), "\n")
    print("| function | alone: passed | left out | failed ", end="")
    print("| NetworkX behind: passed | failed | declined |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, counts in behind["functions"].items():
        one = alone["functions"][name]
        cells = [one.get(end, 0) for end in ("passed", "left out", "failed")]
        cells += [counts.get(end, 0) for end in ("passed", "failed", "asked for more")]
        print(f"| `{name}` | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    print("\nWhat tests asked for that were left out, most often:", end=" ")
    asked = sorted(alone["left out"].items(), key=lambda item: -item[1])
    print("; ".join(f"{reason} {count:,}" for reason, count in asked[:12]))


if __name__ == "__main__":
    main()
