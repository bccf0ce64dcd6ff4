"""Result of an algorithm."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._errors import UsageError
from ._extras import needed
from ._progress import ticking
from ._report import Report
from ._sides import SIDES, is_sided
from ._words import spoken

if TYPE_CHECKING:
    import pandas
    import polars

    from ._native import Table

__all__ = ["Result"]

#: Rows that are shown where the whole is not asked for.
_SHOWN = 10


class Result:
    """A table of results: a row for each vertex, or a list of edges, with the ids that came in.

    It has ``__arrow_c_stream__``, so that polars, pandas, pyarrow and DuckDB take it as it is. Rows
    may lie in temporary files, and are read from there when they are asked for.

    >>> import welter
    >>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3])
    >>> ranks = welter.pagerank(graph)
    >>> ranks.num_rows, ranks.column_names
    (4, ['vertex', 'rank'])
    >>> ranks[2]
    0.30785...
    >>> ranks.top(1)
       vertex      rank
    1       2  0.307853

    What was not reached has no value: None in dictionaries, rows and ``result[vertex]``, null in
    frames, masked in arrays. Files say -1 and inf there, as the command does.
    """

    def __init__(self, table: Table, nodes: Sequence[Any] | None = None, top: Table | None = None):
        self._table = table
        self._nodes = nodes
        self._all = top
        #: Columns as arrays, once a vertex was looked up.
        self._arrays: dict[str, np.ndarray] = {}
        self._places: dict[Any, int] = {}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self._nodes is not None:
            raise TypeError("nodes of NetworkX may be any objects: see to_polars and to_pandas")
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._table.num_rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows, a tuple each.

        >>> import welter
        >>> [row for row in welter.bfs(welter.from_numpy([0], [1]), source=0)]
        [(0, 0), (1, 1)]
        """
        columns = [values.tolist() for values in self.to_numpy().values()]
        return zip(*columns, strict=True)

    def __getitem__(self, vertex: Any) -> Any:
        """Result of a vertex: the value, or a tuple where there are several columns. Of two
        kinds of vertices one is ``("source", 7)`` or ``("target", 7)``, or its id where the other
        kind has it not.

        >>> import welter
        >>> welter.wcc(welter.from_numpy([0, 2], [1, 3]))[3]
        2
        """
        row = self._row(vertex)
        own = ("vertex", "side") if self._two_kinds else ("vertex",)
        found = [_item(values, row) for name, values in self._arrays.items() if name not in own]
        return found[0] if len(found) == 1 else tuple(found)

    def __contains__(self, vertex: Any) -> bool:
        try:
            self._row(vertex)
        except KeyError:
            return False
        return True

    def _row(self, vertex: Any) -> int:
        """The row of a vertex."""
        if "vertex" not in self.columns:
            raise KeyError("a list has no vertices to find its rows by; see to_numpy")
        if not self._arrays:
            self._arrays = self.to_numpy()
        found = [row for row in map(self._found, self._named(vertex)) if row is not None]
        if len(found) == 2:
            what = f"{vertex!r} is a source and a target: say which, as in"
            raise KeyError(f'{what} result["source", {vertex!r}]')
        if not found:
            hint = f': to_numpy()["{vertex}"] is the column' if vertex in self.columns else ""
            raise KeyError(f"{vertex!r} is no vertex of the result{hint}")
        return found[0]

    @property
    def _two_kinds(self) -> bool:
        """Whether vertices are sources and targets, which may have the same ids."""
        return self.columns[:2] == ["vertex", "side"]

    def _named(self, vertex: Any) -> list[Any]:
        """The vertices that one may be: of two kinds, with its side."""
        if not self._two_kinds or is_sided(vertex):
            return [vertex]
        return [(side, vertex) for side in SIDES]

    def _found(self, vertex: Any) -> int | None:
        """The row of a vertex, if it is there."""
        vertices = self._arrays["vertex"]
        if self._nodes is not None or self._all is not None:
            if not self._places:
                self._places = {own: row for row, own in enumerate(self._keys(self._arrays))}
            return self._places.get(vertex)
        if not self._two_kinds:
            return _searched(vertices, vertex)
        side, own = vertex
        sources = int(np.count_nonzero(self._arrays["side"] == SIDES[0]))
        if side == SIDES[0]:
            return _searched(vertices[:sources], own)
        row = _searched(vertices[sources:], own)
        return None if row is None else sources + row

    def _keys(self, columns: dict[str, np.ndarray]) -> list[Any]:
        """The vertices of the rows, with their sides where there are two kinds."""
        vertices: list[Any] = columns["vertex"].tolist()
        if not self._two_kinds:
            return vertices
        return list(zip(columns["side"].tolist(), vertices, strict=True))

    def path(self, target: Any) -> list[Any] | None:
        """The vertices on the shortest path to one, from its source on; None if there is none.

        Of results of ``bfs`` and ``sssp`` with ``parents=True``.

        >>> import welter
        >>> roads = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0])
        >>> welter.sssp(roads, source=0, parents=True).path(2)
        [0, 1, 2]
        """
        if "parent" not in self.columns or self._all is not None:
            raise ValueError("paths are known where bfs or sssp ran with parents=True")
        row = self._row(target)
        parents, sides = self._arrays["parent"], self._arrays.get("parent_side")
        first = _item(self._arrays["vertex"], row)
        path = [first if sides is None else (_item(self._arrays["side"], row), first)]
        while True:
            parent = _item(parents, row)
            if parent is None:
                return None
            parent = parent if sides is None else (_item(sides, row), parent)
            if parent == path[-1]:
                return path[::-1]
            path.append(parent)
            row = self._row(parent)

    def __copy__(self) -> Result:
        return self

    def __deepcopy__(self, memo: object) -> Result:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a result does not pickle, as its rows may lie in temporary files: send "
            "result.to_dict(), .to_polars() or .to_numpy(), or write it with result.write(path)"
        )

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._table.column_names

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self._table.num_rows

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._table.column_names

    @property
    def report(self) -> Report:
        """Plan, work and cost of the run."""
        if self._table.report is None:
            raise ValueError("some rows of a result have no report; ask the whole one")
        return Report(self._table.report, self._table.page, self._table.write_report)

    @property
    def note(self) -> str | None:
        """Note on the result: that it is not settled, how much was reached."""
        return None if self._table.note is None else spoken(self._table.note)

    @property
    def log(self) -> list[str]:
        """Messages of the command line for such a run, a line each."""
        return [spoken(line) for line in self._table.said]

    def to_numpy(self) -> dict[str, np.ndarray]:
        """The columns by name.

        Strings are arrays of objects. What is missing (the parent of a vertex that was not reached)
        is masked, in a masked array.

        >>> import welter
        >>> graph = welter.from_numpy([0, 1], [1, 2])
        >>> welter.bfs(graph, source=0).to_numpy()["depth"].tolist()
        [0, 1, 2]
        """
        out: dict[str, np.ndarray] = {}
        for name, (values, absent) in self._table.columns().items():
            if isinstance(values, list):
                strings = np.empty(len(values), dtype=object)
                strings[:] = values
                values = strings
            if absent is not None:
                values = np.ma.masked_array(values, absent)
            if self._nodes is not None and name in self._table.id_columns:
                values = _picked(self._nodes, values)
            out[name] = values
        return out

    def to_dict(self, column: str | None = None) -> dict[Any, Any]:
        """The results by vertex: of one column, or of the only one; else a tuple each. Of two kinds
        of vertices each is ``("source", 7)`` or ``("target", 7)``.

        >>> import welter
        >>> graph = welter.from_numpy([0, 1], [1, 2])
        >>> welter.bfs(graph, source=0).to_dict()
        {0: 0, 1: 1, 2: 2}
        """
        if "vertex" not in self.columns:
            raise ValueError("a list has no vertices to find its rows by; see to_numpy")
        arrays = self.to_numpy()
        vertices = self._keys(arrays)
        columns = {name: values.tolist() for name, values in arrays.items() if name != "vertex"}
        if self._two_kinds:
            del columns["side"]
        if column is not None:
            if column not in columns:
                raise KeyError(f"{column}: expected one of {', '.join(columns)}")
            return dict(zip(vertices, columns[column], strict=True))
        if len(columns) == 1:
            (values,) = columns.values()
            return dict(zip(vertices, values, strict=True))
        return dict(zip(vertices, zip(*columns.values(), strict=True), strict=True))

    def to_polars(self) -> polars.DataFrame:
        """The table as a data frame of polars, without a copy of numbers.

        >>> import welter
        >>> frame = welter.wcc(welter.from_numpy([0, 2], [1, 3])).to_polars()
        >>> frame["component"].to_list()
        [0, 0, 2, 2]
        """
        polars = needed("polars", "to_polars")
        if self._nodes is not None:
            return polars.DataFrame(
                {name: values.tolist() for name, values in self.to_numpy().items()}, strict=False
            )
        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a data frame of pandas.

        >>> import welter
        >>> frame = welter.wcc(welter.from_numpy([0, 2], [1, 3])).to_pandas()
        >>> frame["component"].tolist()
        [0, 0, 2, 2]
        """
        pandas = needed("pandas", "to_pandas")
        columns: dict[str, Any] = {}
        for name, values in self.to_numpy().items():
            if isinstance(values, np.ma.MaskedArray):
                data, missing = np.asarray(values.data), np.ma.getmaskarray(values)
                if values.dtype.kind in "iu":
                    columns[name] = pandas.arrays.IntegerArray(data, missing)
                else:
                    none: Any = None if data.dtype == object else np.nan
                    columns[name] = np.where(missing, none, data)
            else:
                columns[name] = values
        return pandas.DataFrame(columns)

    def top(self, count: int = 20) -> Result:
        """The rows that matter most, the first one first, as the command line shows them.

        >>> import welter
        >>> welter.pagerank(welter.from_numpy([0, 1, 2], [1, 0, 1])).top(2).to_dict()["1"]
        Traceback (most recent call last):
        KeyError: '1'
        """
        return Result(self._table.top(count), self._nodes, self._table)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["csv", "tsv", "jsonl", "parquet", "arrow", "npy", "ldbc"] | None = None,
        threads: int = 0,
        progress: bool | None = None,
    ) -> None:
        """Writes all rows to a file, whole or not at all, and on the device when that is done; its
        name tells the format. A file that was read for the result is not replaced. ``path`` may be
        the URL of an object such as ``"s3://bucket/ranks.parquet"``.

        >>> import welter, tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "ranks.csv")
        ...     welter.pagerank(welter.from_numpy([0], [1])).write(path)
        ...     with open(path) as rows:
        ...         print(rows.readline().strip())
        vertex,rank
        """
        if self._nodes is not None:
            what = "the vertices are objects of Python, which files of welter do not hold"
            raise UsageError(what, hint="write the frame that to_polars or to_pandas gives")
        with ticking(progress) as tick:
            self._table.write(os.fspath(path), format, threads, tick)

    def __repr__(self) -> str:
        whole = self._all or self._table
        rows = self.num_rows
        count = rows if self._all is not None else min(rows, _SHOWN)
        shown = (self if self._all is not None else self.top(count)).to_numpy()
        missing = any(isinstance(values, np.ma.MaskedArray) for values in shown.values())
        if self._nodes is not None or missing:
            lines = [_lines(shown)]
        else:
            lines = [(whole.text(count) or "").rstrip("\n")]
        if self._all is None:
            if rows > count:
                lines.append(f"... of {rows:,} rows")
            if self.note:
                lines.append(f"note: {self.note}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown = self if self._all is not None else self.top(_SHOWN)
        columns = {name: values.tolist() for name, values in shown.to_numpy().items()}
        cell = "<td style='text-align:right'>{}</td>"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        rows = zip(*columns.values(), strict=True)
        body = "".join(
            "<tr>" + "".join(cell.format(html.escape(_cell(value))) for value in row) + "</tr>"
            for row in rows
        )
        more = "" if self._all is not None else f"<caption>{self.num_rows:,} rows</caption>"
        note = f"<p>{html.escape(self.note)}</p>" if self.note and self._all is None else ""
        return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _item(values: np.ndarray, row: int) -> Any:
    """A value as Python has it; None where there is none."""
    value = values[row]
    if value is np.ma.masked:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _searched(vertices: np.ndarray, vertex: Any) -> int | None:
    """The row of a vertex among ascending ones, if it is there."""
    named = vertices.dtype == object
    integer = isinstance(vertex, (int, np.integer)) and not isinstance(vertex, bool)
    if not (isinstance(vertex, str) if named else integer) or len(vertices) == 0:
        return None
    if not named and not 0 <= int(vertex) <= int(vertices[-1]):
        return None
    wanted = vertex if named else vertices.dtype.type(vertex)
    row = int(np.searchsorted(vertices, wanted))
    return row if row < len(vertices) and vertices[row] == wanted else None


def _picked(nodes: Sequence[Any], places: np.ndarray) -> np.ndarray:
    """The nodes at these places; None where there is none."""
    picked = np.empty(len(places), dtype=object)
    for index, place in enumerate(places.tolist()):
        picked[index] = None if place is None else nodes[place]
    return picked


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _lines(columns: dict[str, np.ndarray]) -> str:
    """Columns as text, side by side."""
    shown = [
        [name, *(_cell(value) for value in values.tolist())] for name, values in columns.items()
    ]
    widths = [max(map(len, column)) for column in shown]
    rows = zip(*shown, strict=True)
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
