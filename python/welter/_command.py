"""The ``welter`` command, from the same module as the functions."""

from __future__ import annotations

import sys

from . import _native

__all__ = ["main"]


def main() -> int:
    """Does what the command line asks for, and returns the exit code."""
    return _native.command(["welter", *sys.argv[1:]])
