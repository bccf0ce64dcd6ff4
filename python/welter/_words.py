"""Options of functions as words of the command line, which checks them, and its texts in Python."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

__all__ = ["is_table", "spoken", "words"]

#: Options that are tables of vertices, beside those whose names end with ``_from``.
_TABLES = {"personalization", "dangling_weights", "initial", "membership"}

#: Options that a function has as another value of another argument.
_OTHERWISE = {
    "no_weights": "weight=False",
    "no_header": "header=False",
    "directed": "undirected=False",
}

#: Words of the command that functions have in another form.
_MEANT = {
    "`welter ingest`": "the method save of a graph",
    "say which with source: or target: before it": 'say which, as in ("source", ID)',
    "say bipartite=True where users": "make the graph with bipartite=True where users",
}


def is_table(name: str) -> bool:
    """Whether an option is a table of vertices."""
    return name in _TABLES or name.endswith("_from")


def words(options: Mapping[str, Any]) -> list[str]:
    """``--name=value`` of each option that is not None; of each value, where there are several."""
    out: list[str] = []
    for name, value in options.items():
        option = "--" + name.removesuffix("_").replace("_", "-")
        if name == "weight" and value is False:
            option, value = "--no-weights", True
        elif name == "undirected" and value is False:
            option, value = "--directed", True
        elif name == "bipartite" and value is False:
            option, value = "--no-bipartite", True
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
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bytes):
        return os.fsdecode(value)
    if isinstance(value, float):
        return repr(float(value))
    return str(value)


def spoken(text: str) -> str:
    """A text of the command line as a caller of functions knows its options.

    >>> spoken("give more --iterations, or leave --route out")
    'give more iterations, or leave route out'
    >>> spoken("for ids that are strings: --ids strings")
    'for ids that are strings: ids="strings"'
    >>> spoken("--source ann: the graph has no vertex of this id")
    'source="ann": the graph has no vertex of this id'
    >>> spoken("memory:personalization: expected proportions")
    'personalization: expected proportions'
    """
    text = re.sub(r"^--([a-z][a-z-]*) (.+?): ", _begun, text)
    text = re.sub(r"(?<![\w-])--([a-z][a-z-]*)( out\b)?(?:[ =]([^\s,;:()`']+))?", _said, text)
    text = re.sub(r"`welter resume ([^`]+)`", _resumed, text)
    for said, meant in _MEANT.items():
        text = text.replace(said, meant)
    # The name by which words call a table that is in memory.
    return re.sub(r"\bmemory:([a-z_]+)\b", _named, text)


def _named(found: re.Match[str]) -> str:
    return found[1] if is_table(found[1]) else found[0]


def _begun(found: re.Match[str]) -> str:
    name, value = found[1].replace("-", "_"), found[2]
    return f"{name}={value if _is_number(value) else chr(34) + value + chr(34)}: "


def _said(found: re.Match[str]) -> str:
    name, out, value = found[1].replace("-", "_"), found[2], found[3]
    if out is not None:
        return f"{name} out" + (f" {value}" if value else "")
    values, flags = _known()
    if value is not None:
        plain = value.rstrip(".")
        if plain in values.get(name, ()):
            return f'{name}="{plain}"{value[len(plain) :]}'
        if _is_number(plain):
            number = plain if plain.isdigit() else f'"{plain}"'
            return f"{name}={number}{value[len(plain) :]}"
        if plain.isupper():
            return f"{name}={value}"
    rest = f" {value}" if value is not None else ""
    if name in _OTHERWISE:
        return _OTHERWISE[name] + rest
    return f"{name}=True{rest}" if name in flags else name + rest


def _resumed(found: re.Match[str]) -> str:
    return f"welter.resume({found[1].strip(chr(39))!r})"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9][0-9.]*(e-?[0-9]+)?([KMGT]i?B)?", text) is not None


@cache
def _known() -> tuple[dict[str, set[str]], set[str]]:
    """The words that arguments may have as values, and the arguments that are said or not."""
    from . import _algorithms, _read

    values: dict[str, set[str]] = {}
    flags: set[str] = set()
    functions = [getattr(_algorithms, name) for name in _algorithms.__all__]
    for function in (*functions, _read.read_edges):
        for parameter in inspect.signature(function).parameters.values():
            kind = str(parameter.annotation)
            values.setdefault(parameter.name, set()).update(re.findall("['\"]([^'\"]+)['\"]", kind))
            if kind.startswith("bool"):
                flags.add(parameter.name)
    return values, flags
