"""Tables of edges at random, and every way in which libraries write them.

A writer takes a :class:`Table`, the folder, and a source of chance; it writes one file and returns
a :class:`Written`: the path, what the file holds, and what has to be said to welter (nothing but
what the file cannot say). What is written is what the library made of the table: a graph of
NetworkX has no parallel edges.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

Edge = tuple[Any, ...]


@dataclass
class Table:
    """Edges with two ends and, where there are weights, one."""

    #: What the ids are: ``small``, ``large``, ``unsigned``, ``negative``, ``words``, ``odd``,
    #: ``digits`` or ``uuids``.
    kind: str
    #: What the weights are: ``none``, ``integers``, ``floats`` or ``decimals``.
    weights: str
    edges: list[Edge]

    @property
    def numbers(self) -> bool:
        """Whether ids are integers."""
        return self.kind in ("small", "large", "unsigned", "negative")

    @property
    def weighted(self) -> bool:
        return self.weights != "none"

    @property
    def columns(self) -> list[list[Any]]:
        return [list(column) for column in zip(*self.edges, strict=True)]

    @property
    def first(self) -> int:
        """The least id; above 0 where ids are strings."""
        return min(min(edge[:2]) for edge in self.edges) if self.numbers else 1


@dataclass
class Written:
    """A file that a library wrote."""

    path: Path
    edges: list[Edge]
    undirected: bool = False
    options: list[str] = field(default_factory=list)
    #: Whether the format has the weight 1 where none is written.
    ones: bool = False
    #: Way in which it was written, for messages.
    how: str = ""


Writer = Callable[[Table, Path, random.Random], Written]

ODD = [
    "Lee, Ann",
    'say "hi"',
    '"',
    "two\nlines",
    "semi;colon",
    "pi|pe",
    "tab\there",
    "#rust",
    "%41",
    "Ünïcödé",
    "東京",
    "O'Hara",
    "back\\slash",
    "a b",
    "NA",
    "nan",
    "1e5",
    "0x1f",
    "true",
    "-",
    "{'weight': 3}",
    "// c",
]
DIGITS = ["007", "07", "7", "0", "00", "10", "010", "0010", "12345", "012345"]


def table(chance: random.Random) -> Table:
    """A table of 2 to 30 edges."""
    kind = chance.choice(
        ["small", "small", "large", "unsigned", "negative", "words", "odd", "digits", "uuids"]
    )
    weights = chance.choice(["none", "none", "integers", "floats", "decimals"])
    ids = [identity(kind, chance, number) for number in range(chance.randint(3, 12))]
    edges = []
    for _ in range(chance.randint(2, 30)):
        ends = (chance.choice(ids), chance.choice(ids))
        edges.append(ends if weights == "none" else (*ends, weight(weights, chance)))
    return Table(kind, weights, edges)


def identity(kind: str, chance: random.Random, number: int) -> Any:
    match kind:
        case "small":
            return number + chance.choice([0, 0, 1])
        case "large":
            return chance.randint(0, 2**63 - 1)
        case "unsigned":
            return chance.randint(2**63, 2**64 - 1)
        case "negative":
            return chance.choice([-1, 1]) * chance.randint(0, 10 ** chance.randint(1, 18))
        case "words":
            return "".join(chance.choices("abcdefghijk", k=chance.randint(1, 8)))
        case "odd":
            return chance.choice(ODD)
        case "digits":
            return chance.choice(DIGITS)
        case _:
            return str(uuid.UUID(int=chance.getrandbits(128)))


def weight(kind: str, chance: random.Random) -> Any:
    match kind:
        case "integers":
            return chance.randint(-9, 999)
        case "floats":
            return chance.choice([0.5, 1.0, -2.25, 1e-7, 3.5e12, chance.random()])
        case _:
            return Decimal(chance.randint(-999, 99999)).scaleb(-2)
