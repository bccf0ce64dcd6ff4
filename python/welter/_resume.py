"""Runs that are resumed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from . import _native
from ._graph import Path
from ._progress import ticking
from ._result import Result
from ._words import words

__all__ = ["resume"]


def resume(
    directory: Path,
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: Path | Sequence[Path] | None = None,
    edge_memory: int | str | None = None,
    edge_cache: str | Sequence[str] | None = None,
    encoding: Literal["packed", "short", "compressed", "pairs"] | None = None,
    compression: Literal["none", "zstd", "lz4", "snappy", "zlib", "auto"] | None = None,
    stripe_bits: int | None = None,
    block_bits: int | None = None,
    read_size: int | str | None = None,
    write_size: int | str | None = None,
    in_flight: int | None = None,
    io: Literal["direct", "cached"] | None = None,
    route: Literal["fold", "ranges", "spill"] | None = None,
    no_combine: bool = False,
    no_fuse: bool = False,
    vertices_in_memory: bool = False,
    progress: bool | None = None,
) -> Result:
    """Resumes a run that was interrupted, from its last checkpoint.

    The run was begun with ``checkpoint=directory``, here or by ``welter run --checkpoint``; what it
    reads must be as it was. The directory is removed when the result is there. Where the run names
    files by relative paths, it is resumed in the directory in which it was begun.

    Parameters
    ----------
    directory : of the checkpoints, or the URL of a folder such as ``"s3://bucket/run-7"``
    memory, threads, scratch : over what the run was told, each as of :func:`pagerank`; None: as it
        was told, as with the next ones
    edge_memory, edge_cache, encoding, compression, stripe_bits, block_bits : likewise
    read_size, write_size, in_flight, io : likewise
    route : likewise; it comes with the three below, which are of ``"spill"``. By another route sums
        of floats may be rounded otherwise
    no_combine, no_fuse, vertices_in_memory : as of :func:`pagerank`
    progress : whether bars are drawn; None: on terminals and in notebooks

    Raises
    ------
    MissingError : where no checkpoints are, or an input is gone
    InputError : where an input has changed, or edges with states would lie in another order
    UsageError : where the run names files from another directory than the present one, or the
        method of the run does not have the route
    BudgetError : where the memory is too small, with how much would do

    Examples
    --------
    >>> import welter, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     welter.resume(folder)
    Traceback (most recent call last):
    MissingError: there are no checkpoints of a run
    """
    options = {
        "memory": memory,
        "threads": threads,
        "scratch": scratch,
        "edge_memory": edge_memory,
        "edge_cache": edge_cache,
        "encoding": encoding,
        "compression": compression,
        "stripe_bits": stripe_bits,
        "block_bits": block_bits,
        "read_size": read_size,
        "write_size": write_size,
        "in_flight": in_flight,
        "io": io,
        "route": route,
        "no_combine": no_combine,
        "no_fuse": no_fuse,
        "vertices_in_memory": vertices_in_memory,
    }
    with ticking(progress) as tick:
        return Result(_native.resume(os.fspath(directory), words(options), tick))
