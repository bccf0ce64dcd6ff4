"""The ``welter`` command, from the same module as the functions."""

from __future__ import annotations

import sys

from . import _native

__all__ = ["main"]

#: What the machines of ``--cluster local:N`` run: they find this package where the command did.
_MACHINE = "import sys; sys.path[:] = {path!r}; from welter._command import main; sys.exit(main())"


def main() -> int:
    """Does what the command line asks for, and returns the exit code."""
    if sys.argv[1:] == ["--cluster-starter"]:
        from ._hosted import main as starts

        return starts()
    starter = [sys.executable, "-c", _MACHINE.format(path=sys.path)]
    return _native.command(["welter", *sys.argv[1:]], starter)
