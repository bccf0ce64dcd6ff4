"""The report of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ._extras import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Report"]


class Report:
    """Plan, work and cost of a run: the report of the command line, as an object.

    >>> import welter
    >>> report = welter.pagerank(welter.from_numpy([0], [1])).report
    >>> report.algorithm, report["graph"]["edges"]
    ('pagerank', 1)
    """

    def __init__(self, text: str) -> None:
        self._all: dict[str, Any] = json.loads(text)

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self._all["algorithm"]

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self._all["seconds"]

    @property
    def iterations(self) -> int:
        """Iterations that were done."""
        return self._all["iterations"]

    @property
    def phases(self) -> list[dict[str, Any]]:
        """Each phase with its name, unit, amount, bytes and seconds."""
        return self._all["phases"]

    @property
    def memory_bytes(self) -> int:
        """Memory that was planned, at most at any time."""
        return self._all["plan"]["memory_bytes"]

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        return self._all

    def __getitem__(self, name: str) -> Any:
        return self._all[name]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws how long each phase took (matplotlib).

        Parameters
        ----------
        ax : where to draw; a new figure if None
        """
        if ax is None:
            pyplot = needed("matplotlib.pyplot", "a plot")
            _, ax = pyplot.subplots(figsize=(7, 0.45 * len(self.phases) + 1.2))
        names = [phase["name"] for phase in self.phases]
        seconds = [phase["seconds"] for phase in self.phases]
        bars = ax.barh(range(len(names)), seconds, color="#4c78a8")
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        labels = [f"{time:.2f} s" for time in seconds]
        ax.bar_label(bars, labels, padding=3, fontsize="small")
        ax.margins(x=0.15)
        ax.set_xlabel("seconds")
        ax.set_title(f"{self.algorithm}: {self.seconds:.2f} s in all")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        return ax

    def __repr__(self) -> str:
        graph = self._all["graph"]
        lines = [
            f"{self.algorithm}: {self.seconds:.2f} s, {self.iterations:,} iterations, "
            f"{graph['vertices']:,} vertices, {graph['edges']:,} edges",
        ]
        for phase in self.phases:
            done, unit = phase["done"], phase["unit"]
            lines.append(f"  {phase['name']:<10} {phase['seconds']:8.3f} s  {done:,} {unit}")
        return "\n".join(lines)
