"""Options of functions as words of the command line, which checks them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["words"]


def words(options: Mapping[str, Any]) -> list[str]:
    """``--name=value`` of each option that is not None; of each value, where there are several."""
    out: list[str] = []
    for name, value in options.items():
        option = "--" + name.removesuffix("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            out.extend(f"{option}={_text(item)}" for item in value)
        else:
            out.append(f"{option}={_text(value)}")
    return out


def _text(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, float):
        return repr(value)
    return str(value)
