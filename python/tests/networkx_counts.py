"""A plugin of pytest that counts calls of the backend, and the tests with them, by function."""

from __future__ import annotations

import collections
import json
import os

from welter import _networkx

_NAMES = list(_networkx.info()["functions"])
#: By function: calls that were run and declined, and tests in which it was, by how they ended.
_COUNTS = {name: collections.Counter() for name in _NAMES}
#: Tests that NetworkX left out, by what they asked for.
_LEFT_OUT: collections.Counter[str] = collections.Counter()
_TESTS: collections.Counter[str] = collections.Counter()
#: Functions that the test at hand had run, and those that were declined.
_RUN: set[str] = set()
_DECLINED: set[str] = set()


def _counting(name, function):
    def counted(*args, **kwargs):
        _COUNTS[name]["run"] += 1
        _RUN.add(name)
        return function(*args, **kwargs)

    return counted


def pytest_configure(config):
    """Puts the counters around the functions."""
    kind = type(_networkx.backend)
    for name in _NAMES:
        setattr(kind, name, staticmethod(_counting(name, getattr(_networkx.backend, name))))
    can_run = kind.can_run

    def counted(name, args, kwargs):
        said = can_run(name, args, kwargs)
        if said is not True:
            _COUNTS[name]["declined"] += 1
            _DECLINED.add(name)
        return said

    kind.can_run = staticmethod(counted)


def _ended(report):
    """Outcome of a test, once it has ended; none before."""
    if report.failed:
        return "failed"
    if hasattr(report, "wasxfail"):
        return "left out"
    if report.skipped:
        return "skipped"
    return "passed" if report.when == "call" else None


def pytest_runtest_logreport(report):
    """Counts a test for the functions in it."""
    ended = _ended(report)
    if ended is not None:
        _TESTS[ended] += 1
        if ended == "left out":
            _LEFT_OUT[report.wasxfail.removeprefix("reason: ")] += 1
        for name in _RUN:
            _COUNTS[name][ended] += 1
        for name in _DECLINED:
            _COUNTS[name]["asked for more"] += 1
    if report.when == "teardown":
        _RUN.clear()
        _DECLINED.clear()


def pytest_unconfigure(config):
    """Writes the counts."""
    counts = {"functions": _COUNTS, "left out": _LEFT_OUT, "tests": _TESTS}
    with open(os.environ["WELTER_COUNTS"], "w") as file:
        json.dump(counts, file)
