"""Files of Arrow in the directory of an executor: the edges of a task, and vertices beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from ._frames import ALONE
from ._signed import lowest, turn_file

__all__ = ["Files"]


class Files:
    """The two files of a graph. Nothing is in memory but a batch.

    Attributes
    ----------
    edges : path of the file with source, target and perhaps weight
    vertices : path of the file with ids, if there is one
    """

    def __init__(self, folder: str) -> None:
        self.edges = os.path.join(folder, "edges.arrow")
        self.vertices: str | None = None
        self._vertices = os.path.join(folder, "vertices.arrow")

    def write(self, batches: Iterator[Any]) -> tuple[int, int]:
        """Writes batches; how many rows there were, and the lowest id if that is below 0."""
        import pyarrow

        rows, least = 0, 0
        with ExitStack() as stack:
            writers: dict[str, Any] = {}
            for batch in batches:
                rows += batch.num_rows
                for path, part in self._parts(batch):
                    if path not in writers:
                        writers[path] = stack.enter_context(pyarrow.ipc.new_file(path, part.schema))
                    writers[path].write_batch(part)
                    least = min([least, *(lowest(ids) for ids in part.columns[:2])])
        return rows, least

    def _parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        """The files that rows of a batch go to."""
        import pyarrow
        import pyarrow.compute

        if ALONE not in batch.schema.names:
            yield self.edges, batch
            return
        alone = batch.column(ALONE)
        *names, _ = batch.schema.names
        edges = batch.filter(pyarrow.compute.invert(alone))
        yield self.edges, pyarrow.RecordBatch.from_arrays(edges.columns[:-1], names)
        self.vertices = self._vertices
        ids = batch.filter(alone).column("source")
        yield self._vertices, pyarrow.RecordBatch.from_arrays([ids], ["vertex"])

    def turn(self) -> None:
        """Turns the signs of ids."""
        turn_file(self.edges, ["source", "target"])
        if self.vertices is not None:
            turn_file(self.vertices, ["vertex"])

    def text(self, text: str) -> str:
        """A text of the engine without the paths."""
        return text.replace(self.edges, "edges").replace(self._vertices, "vertices")
