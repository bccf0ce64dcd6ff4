import os
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

_Tick = Callable[[str, str, int, int | None], None] | None
_Ids = np.ndarray | list[str | None]
_Tables = Sequence[tuple[str, Any, bool]] | None
__all__ = [
    "Graph",
    "Table",
    "__version__",
    "cluster_absent",
    "cluster_host",
    "cluster_key",
    "cluster_machine",
    "command",
    "remove",
    "resume",
]

__version__: str

def command(
    line: Sequence[str | os.PathLike[str]], starter: Sequence[str | os.PathLike[str]]
) -> int: ...

def remove(directory: str | os.PathLike[str]) -> None: ...
def resume(
    directory: str | os.PathLike[str], words: Sequence[str], tick: _Tick = None
) -> Table: ...

_Seat = tuple[int, str, str | None, int]

def cluster_key() -> str: ...
def cluster_host(
    words: Sequence[str], seat: _Seat, listening: Callable[[str], object], tick: _Tick = None
) -> Table: ...
def cluster_machine(words: Sequence[str], seat: _Seat, rank: int) -> None: ...
def cluster_absent(seat: _Seat, rank: int, why: str) -> None: ...
@final
class Graph:
    @staticmethod
    def read(
        words: Sequence[str], tick: _Tick = None, held: bool = True, tables: _Tables = None
    ) -> Graph: ...
    @staticmethod
    def from_stream(
        name: str,
        table: Any,
        words: Sequence[str],
        tick: _Tick = None,
        tables: _Tables = None,
    ) -> Graph: ...
    @staticmethod
    def from_arrays(
        name: str,
        ends: tuple[_Ids, _Ids],
        weight: np.ndarray | None,
        words: Sequence[str],
        tick: _Tick = None,
        tables: _Tables = None,
    ) -> Graph: ...
    def run(
        self, words: Sequence[str], tables: Sequence[tuple[str, Any]], tick: _Tick = None
    ) -> Table: ...
    def degrees(self, words: Sequence[str], tick: _Tick = None) -> Table: ...
    def vertices(self, tick: _Tick = None) -> int: ...
    def explain(self, words: Sequence[str]) -> str: ...
    def command(self, words: Sequence[str]) -> list[str]: ...
    def keep(
        self, directory: str | os.PathLike[str], words: Sequence[str], tick: _Tick = None
    ) -> list[str]: ...
    def facts(self) -> dict[str, Any]: ...
    def readings(self) -> list[str]: ...
    def notes(self) -> list[str]: ...

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def id_columns(self) -> list[str]: ...
    def columns(self) -> dict[str, tuple[Any, np.ndarray | None]]: ...
    def top(self, count: int) -> Table: ...
    def text(self, count: int) -> str | None: ...
    def write(
        self,
        path: str | os.PathLike[str],
        format: str | None,
        threads: int,
        tick: _Tick = None,
    ) -> None: ...
    @property
    def report(self) -> str | None: ...
    def page(self) -> str | None: ...
    @property
    def said(self) -> list[str]: ...
    @property
    def note(self) -> str | None: ...
