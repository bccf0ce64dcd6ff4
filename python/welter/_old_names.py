"""Names that options had before: functions take them, and say what they are called now."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

__all__ = ["renamed", "with_old_names"]

_F = TypeVar("_F", bound=Callable[..., Any])

#: The name before, and the name now.
_NAMES = {
    "teleport_from": "personalization",
    "teleport_column": "personalization_column",
    "teleport_default": "personalization_default",
    "sinks_from": "dangling_weights",
    "sinks_column": "dangling_weights_column",
    "sinks_default": "dangling_weights_default",
    "start_from": "initial",
    "start_column": "initial_column",
    "start_default": "initial_default",
    "side_from": "membership",
    "side_column": "membership_column",
    "side_above": "membership_above",
    "side_default": "membership_default",
    "every": "checkpoint_every",
    "cache": "edge_memory",
}


def renamed(options: Mapping[str, Any], *, depth: int = 3) -> dict[str, Any]:
    """Options by their names of today. ``depth``: frames from here to the caller."""
    out = dict(options)
    for name in options:
        now = _NAMES.get(name)
        if now is None:
            continue
        if now in options:
            raise TypeError(f"{name} is {now} now, and both are said")
        warnings.warn(f"{name} is called {now} now", DeprecationWarning, stacklevel=depth)
        out[now] = out.pop(name)
    return out


def with_old_names(function: _F) -> _F:
    """The function, which takes old names of its options too."""

    @functools.wraps(function)
    def taking(*graph: Any, **options: Any) -> Any:
        return function(*graph, **renamed(options))

    return cast(_F, taking)
