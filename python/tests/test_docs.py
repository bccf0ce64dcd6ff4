"""Examples in docstrings, and types."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import welter

MODULES = [
    name
    for _, name, _ in pkgutil.iter_modules(welter.__path__)
    if name not in ("_native", "__main__")
]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples(name):
    module = importlib.import_module(f"welter.{name}" if name else "welter")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    done = doctest.testmod(module, optionflags=flags)
    assert done.failed == 0
    if name in ("_algorithms", "_graph", "_read", "_result"):
        assert done.attempted > 5


def test_all_that_is_public_has_an_example():
    for name in welter.__all__:
        thing = getattr(welter, name)
        if inspect.isfunction(thing) or inspect.isclass(thing) and not issubclass(thing, Exception):
            assert ">>> " in inspect.getdoc(thing), name


def test_stubs_are_what_the_module_has():
    line = [sys.executable, "-m", "mypy.stubtest", "welter._native", "--ignore-disjoint-bases"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types():
    root = Path(__file__).resolve().parents[2]
    line = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml")]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
