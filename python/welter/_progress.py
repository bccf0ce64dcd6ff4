"""Progress bars by the conventions of tqdm, on terminals and in notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Tick", "ticking"]

Tick = Callable[[str, str, int, "int | None"], None]

#: Phases that end before are not shown, in seconds.
_PATIENCE = 1.0

_VERBS = {
    "take": "taking edges",
    "read": "reading",
    "survey": "looking at edges",
    "partition": "partitioning edges",
    "sort": "sorting edges",
    "iterate": "iterating",
    "write": "writing",
    "check": "checking",
}


@contextmanager
def ticking(wanted: bool | None) -> Iterator[Tick | None]:
    """Callback for the progress of a run. ``wanted``: None asks whether it would be seen."""
    if wanted is None:
        wanted = sys.stderr.isatty() or _in_notebook()
    if not wanted:
        yield None
        return
    bars = _Bars()
    try:
        yield bars.tick
    finally:
        bars.close()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"


class _Bars:
    """One bar at a time: that of the present phase, once it has lasted for a while."""

    def __init__(self) -> None:
        self._phase = ""
        self._since = 0.0
        self._bar: Any = None

    def tick(self, phase: str, unit: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if phase != self._phase:
            self.close()
            self._phase, self._since = phase, now
        if self._bar is None:
            if now - self._since < _PATIENCE:
                return
            from tqdm.auto import tqdm

            self._bar = tqdm(
                desc=_VERBS.get(phase, phase),
                total=total,
                unit=unit if unit == "B" else " " + unit,
                unit_scale=unit != "iterations",
                unit_divisor=1024 if unit == "B" else 1000,
                leave=False,
            )
        if total is not None and self._bar.total != total:
            self._bar.total = total
        self._bar.update(max(0, done - self._bar.n))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        self._phase = ""
