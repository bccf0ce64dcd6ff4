"""The scale model's forecast of an iteration: `cargo xtask forecast`, asked by a program."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]

#: The model as cargo builds it.
BUILT = ["cargo", "run", "--quiet", "--package", "welter-sim", "--bin", "welter-figures", "--"]

#: Megabits a second between processes of one computer, and bytes a second of what the page cache
#: has in the place of a disk: no limits, and assumed.
LOOPBACK, CACHED = 20_000, 5_000_000_000

#: The smallest graph that the model has grains for.
SCALE_MIN = 16


class Model:
    """The scale model, as a program that forecasts; `none` is no model."""

    def __init__(self, program: str | None) -> None:
        self.program = [] if program == "none" else BUILT if program is None else [program]
        if self.program:
            # Where it must be built, that is done before anything is timed.
            found = self.answer("--scale", SCALE_MIN)
            if found is None:
                raise SystemExit("no scale model: name its program by --model, or none")
            print(f"Times of kernels in the model are {found['kernels']}.\n")

    def answer(self, *words: object) -> dict[str, Any] | None:
        """Answer to options; none where it refuses them, which it says itself."""
        asked = [*self.program, "forecast", *map(str, words)]
        try:
            said = subprocess.run(asked, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        except FileNotFoundError:
            return None
        return json.loads(said.stdout) if said.returncode == 0 else None

    def iteration(
        self,
        scale: int,
        report: dict[str, Any],
        disks: list[int],
        *,
        cores: float,
        vertex_bytes: int,
        edge_bytes: float | None = None,
        link: int = LOOPBACK,
        placement: str = "even",
    ) -> float:
        """Seconds of an iteration of the R-MAT graph of a report, on machines whose disks have
        these rates, by route `fold`; no number where there is no model of it."""
        if not self.program or scale < SCALE_MIN:
            return math.nan
        words: list[object] = ["--scale", scale, "--edges", report["edges"], "--cores", cores]
        words += ["--link", link]
        words += ["--disks", ",".join(map(str, disks)), "--placement", placement]
        words += ["--vertex-bytes", vertex_bytes]
        words += [] if edge_bytes is None else ["--edge-bytes", f"{edge_bytes:.3f}"]
        found = self.answer(*words)
        return math.nan if found is None else found["seconds"]


def beside(measured: float, forecast: float) -> list[str]:
    """Cells of a forecast, and of what was measured as a part of it."""
    if math.isnan(forecast):
        return ["-", "-"]
    return [f"{forecast:.3f}", f"{measured / forecast:.2f}"]
