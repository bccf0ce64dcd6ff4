"""Code that all peers share: the file, the clock, the summary of an answer, and rows of a matrix.

A file holds pairs of `u32`, source and target, little-endian, in any order; ending in `.u32f32`
each pair is followed by a weight. Vertices are the ids that some edge names. A summary is a few
numbers that are the same for every program with that answer; benches/src/algorithms/summary.rs
makes them of welter's.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Summary = dict[str, float]
DAMPING = 0.85


@dataclass(frozen=True)
class Pairs:
    """Edges in memory: `sources[i] -> targets[i]` of weight `weights[i]`, ids below `ids`."""

    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    weights: NDArray[np.float32] | None
    ids: int

    def named(self) -> NDArray[np.bool_]:
        """Of each id whether some edge names it."""
        named = np.zeros(self.ids, bool)
        named[self.sources] = True
        named[self.targets] = True
        return named

    def compacted(self) -> "Pairs":
        """Edges with ids 0 to V - 1, in the same order."""
        named = self.named()
        numbers = (np.cumsum(named) - 1).astype(np.uint32)
        ends = numbers[self.sources], numbers[self.targets]
        return Pairs(*ends, self.weights, int(named.sum()))


@dataclass
class Task:
    """Input of a run, and the clock."""

    file: str
    source: int
    iterations: int
    marks: list[float] = field(default_factory=list)

    def begin(self) -> None:
        """Starts the clock."""
        self.marks.append(time.perf_counter())

    def read(self) -> Pairs:
        """Starts the clock and reads the file."""
        self.begin()
        if self.file.endswith(".u32f32"):
            records = np.fromfile(self.file, [("s", "<u4"), ("t", "<u4"), ("w", "<f4")])
            sources, targets, weights = (np.ascontiguousarray(records[name]) for name in "stw")
        else:
            table = np.fromfile(self.file, "<u4").reshape(-1, 2)
            sources, targets = np.ascontiguousarray(table.T)
            weights = None
        return Pairs(sources, targets, weights, int(max(sources.max(), targets.max())) + 1)

    def mark(self) -> None:
        """The graph is there; or, the second time, so is the answer."""
        self.marks.append(time.perf_counter())


@dataclass(frozen=True)
class Solver:
    """A peer's way to run an algorithm."""

    run: Callable[[Task], Summary]
    rule: str | None


SOLVERS: dict[tuple[str, str], Solver] = {}


def solves(peer: str, algorithm: str, rule: str | None = None) -> Callable[[Any], Any]:
    """Registers a function; `rule` says why its answer is another than welter's."""

    def register(run: Callable[[Task], Summary]) -> Callable[[Task], Summary]:
        SOLVERS[peer, algorithm] = Solver(run, rule)
        return run

    return register


def groups(labels: NDArray[Any]) -> Summary:
    """Vertices by what they belong to."""
    sizes = np.unique(labels, return_counts=True)[1]
    return {"groups": len(sizes), "largest": int(sizes.max())}


def forest(weights: NDArray[Any]) -> Summary:
    """The edges of a spanning forest, by their weights."""
    return {"edges": len(weights), "weight": float(weights.sum(dtype=np.float64))}


def paths(lengths: NDArray[Any]) -> Summary:
    """Lengths of paths to what is reached."""
    return {
        "reached": len(lengths),
        "sum": float(lengths.sum(dtype=np.float64)),
        "farthest": float(lengths.max()),
    }


def numbers(values: NDArray[Any]) -> Summary:
    """A number of each vertex."""
    return {"sum": float(values.sum(dtype=np.float64)), "largest": float(values.max())}


def ranks(values: NDArray[Any]) -> Summary:
    """Ranks add up to 1 whatever they are, so it is their squares that are added up."""
    return {"squares": float(np.square(values).sum()), "largest": float(values.max())}


def independent(pairs: Pairs, members: NDArray[np.bool_]) -> Summary:
    """A maximal independent set, which is looked at: sets differ."""
    differ = pairs.sources != pairs.targets
    sources, targets = pairs.sources[differ], pairs.targets[differ]
    assert not (members[sources] & members[targets]).any(), "two members are neighbours"
    covered = members.copy()
    covered[targets[members[sources]]] = True
    covered[sources[members[targets]]] = True
    named = pairs.named()
    assert covered[named].all(), "a vertex that is no member has none among the neighbours"
    return {"members": int(members[named].sum())}


def rows_of(pairs: Pairs) -> Any:
    """Targets by source, parallel edges kept, which a matrix would add up."""
    edges = np.arange(len(pairs.sources), dtype=np.int32)
    # With a column for each edge no two are parallel, so this puts them in order, and adds none.
    incidence = sparse.coo_array(
        (np.ones(len(edges), np.int8), (pairs.sources.astype(np.int32), edges)),
        shape=(pairs.ids, len(edges)),
    )
    order = incidence.tocsr()
    data = np.ones(len(edges)) if pairs.weights is None else pairs.weights[order.indices]
    ends = pairs.targets[order.indices].astype(np.int32)
    shape = (pairs.ids, pairs.ids)
    return sparse.csr_matrix((data.astype(np.float64), ends, order.indptr), shape=shape)


def simple_rows_of(pairs: Pairs) -> Any:
    """Larger neighbours by the smaller end: no directions, no loops, no parallel edges."""
    differ = pairs.sources != pairs.targets
    ends = pairs.sources[differ].astype(np.int32), pairs.targets[differ].astype(np.int32)
    ends = np.minimum(*ends), np.maximum(*ends)
    shape = (pairs.ids, pairs.ids)
    return sparse.coo_matrix((np.ones(len(ends[0]), bool), ends), shape=shape).tocsr()
