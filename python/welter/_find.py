"""Functions by the words that people look for."""

from __future__ import annotations

import re

from . import _algorithms

__all__ = ["find"]


def find(words: str) -> dict[str, str]:
    """The algorithms that words mean, with what each computes.

    Words are looked for in names, and in what else an algorithm is known as (``help(welter.wcc)``
    says it). ``""`` finds all.

    >>> import welter
    >>> list(welter.find("connected"))
    ['wcc', 'scc']
    >>> list(welter.find("community")), list(welter.find("shortest"))
    (['cdlp', 'conductance'], ['bfs', 'sssp'])
    """
    wanted = _parts(words)
    return {name: about for name, (about, said) in _said().items() if _says(said, wanted)}


def _says(said: list[str], wanted: list[str]) -> bool:
    return all(any(own.startswith(word) for own in said) for word in wanted)


def _said() -> dict[str, tuple[str, list[str]]]:
    """Summary of each algorithm, and all words for it."""
    out = {}
    for name in _algorithms.__all__:
        about, _, rest = (getattr(_algorithms, name).__doc__ or "").partition("\n\n")
        also = rest.partition("\n\n")[0].removeprefix("    Also known as: ")
        about = " ".join(about.split()).removesuffix(".")
        out[name] = (about, _parts(f"{name} {also}"))
    return out


def _parts(text: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word]
