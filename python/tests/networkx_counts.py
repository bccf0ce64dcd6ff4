"""A plugin of pytest that counts what the backend ran, and what it declined, by function."""

from __future__ import annotations

import collections
import json
import os

from welter import _networkx

_RUN: collections.Counter[str] = collections.Counter()
_DECLINED: collections.Counter[str] = collections.Counter()


def _counting(name, function):
    def counted(*args, **kwargs):
        _RUN[name] += 1
        return function(*args, **kwargs)

    return counted


def pytest_configure(config):
    """Puts the counters around the functions."""
    kind = type(_networkx.backend)
    for name in _networkx.info()["functions"]:
        setattr(kind, name, staticmethod(_counting(name, getattr(_networkx.backend, name))))
    can_run = kind.can_run

    def counted(name, args, kwargs):
        said = can_run(name, args, kwargs)
        _DECLINED[name] += said is not True
        return said

    kind.can_run = staticmethod(counted)


def pytest_unconfigure(config):
    """Writes the counts."""
    with open(os.environ["WELTER_COUNTS"], "w") as file:
        json.dump({"run": _RUN, "declined": _DECLINED}, file)
