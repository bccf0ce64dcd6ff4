"""Runs that are resumed."""

from __future__ import annotations

import os
from collections.abc import Sequence

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
    progress: bool | None = None,
) -> Result:
    """Resumes a run that was interrupted, from its last checkpoint.

    The run was begun with ``checkpoint=directory``, here or by ``welter run --checkpoint``; what it
    reads must be as it was. The directory is removed when the result is there.

    Parameters
    ----------
    directory : of the checkpoints
    memory, threads, scratch : over what the run was told
    progress : whether bars are drawn; None: on terminals and in notebooks

    Examples
    --------
    >>> import welter, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     welter.resume(folder)
    Traceback (most recent call last):
    MissingError: there are no checkpoints of a run
    """
    options = {"memory": memory, "threads": threads, "scratch": scratch}
    with ticking(progress) as tick:
        return Result(_native.resume(os.fspath(directory), words(options), tick))
