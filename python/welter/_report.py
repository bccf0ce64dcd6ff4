"""The report of a run."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable
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

    A notebook shows it as a page with charts, which :meth:`to_html` gives and :meth:`write` writes.
    """

    def __init__(
        self, text: str, page: Callable[[], str | None], write: Callable[[str], None]
    ) -> None:
        self._all: dict[str, Any] = json.loads(text)
        self._page = page
        self._write = write

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self._all["algorithm"]

    @property
    def seconds(self) -> float:
        """Time that it took, in seconds."""
        return self._all["seconds"]

    @property
    def iterations(self) -> int:
        """Iterations that were done."""
        return self._all["iterations"]

    @property
    def phases(self) -> list[dict[str, Any]]:
        """Each phase with its name, unit, amount, bytes and seconds; none of runs on a cluster."""
        return self._all.get("phases", [])

    @property
    def memory_bytes(self) -> int:
        """Memory that was planned, at most at any time."""
        return self._all["plan"]["memory_bytes"]

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        return self._all

    def to_html(self) -> str:
        """A page with tables and charts: one file, without scripts or anything from elsewhere."""
        return self._page() or ""

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes it, as a page where the name ends in ``.html``, else as JSON: whole or not at all,
        and on the device when that is done, as results are.

        Parameters
        ----------
        path : of the file, which is replaced, or the URL of an object such as
            ``"s3://bucket/run.json"``

        Raises
        ------
        OutputError : when the file cannot be made, or was read for the result
        StorageError : when writing fails; what had the name before stays

        >>> import welter, tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "run.json")
        ...     welter.pagerank(welter.from_numpy([0], [1])).report.write(path)
        ...     os.listdir(folder)
        ['run.json']
        """
        self._write(os.fspath(path))

    def _repr_html_(self) -> str:
        # A frame keeps the style of the page from that of the notebook.
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40rem; border: 0"></iframe>'

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
        # Reports of clusters have no plan of one process.
        graph = self._all.get("graph", self._all)
        lines = [
            f"{self.algorithm}: {self.seconds:.2f} s, {self.iterations:,} iterations, "
            f"{graph['vertices']:,} vertices, {graph['edges']:,} edges",
        ]
        for phase in self.phases:
            done, unit = phase["done"], phase["unit"]
            lines.append(f"  {phase['name']:<10} {phase['seconds']:8.3f} s  {done:,} {unit}")
        for rank, machine in enumerate(self._all.get("cluster", {}).get("machines", [])):
            seconds = machine["seconds"]
            busy = sum(seconds.values()) - seconds["idle"]
            lines.append(f"  machine {rank:<2} {busy:8.3f} s of work, {seconds['idle']:.3f} s idle")
        return "\n".join(lines)
