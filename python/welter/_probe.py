"""Rates of storage."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _native
from ._graph import Path
from ._progress import ticking
from ._words import words

__all__ = ["probe"]


def probe(
    *targets: Path,
    together: bool = False,
    seconds: int = 20,
    bytes: int | str | None = None,
    html: Path | None = None,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Measures how fast directories, buckets and files of web servers are read and written.

    Each size of a request is tried with several numbers of requests at a time. Directories and
    buckets keep the rates, with which later runs there are planned: those on a graph, and those
    with ``scratch`` there. Like ``welter probe``, whose JSON it returns.

    Parameters
    ----------
    targets : directories, or URLs of folders in buckets or of web files
    together : whether directories are measured as one, as runs that are striped over them
    seconds : for each target, about
    bytes : space that may be taken meanwhile [default: 512 MiB, or half of what is free]
    html : a page with charts is written there
    progress : whether bars are drawn; None: on terminals and in notebooks

    Returns
    -------
    For each target ``directories``, the rates ``read`` and ``write`` by ``request_bytes`` and
    ``depth``, ``best_read`` and ``best_write``, ``first_byte_seconds``, limits of requests a second
    where these are met, and whether a kept graph keeps it.

    Examples
    --------
    >>> import welter, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [disk] = welter.probe(folder, seconds=1, bytes="64KiB")
    >>> disk["best_read"]["bytes_per_second"] > 0
    True
    """
    options = {"together": together, "seconds": seconds, "bytes": bytes, "html": html}
    named = [os.fsdecode(target) for target in targets]
    with ticking(progress) as tick:
        text = _native.probe([*words(options), "--", *named], tick)
    return json.loads(text)["targets"]
