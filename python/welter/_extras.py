"""Packages that some methods need and that are not always there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["needed"]


def needed(module: str, what: str) -> Any:
    """A module of another package; that it is missing is told with the way to get it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        text = f"{what} needs {package}, which is not installed: pip install {package}"
        raise ModuleNotFoundError(text, name=package) from None
