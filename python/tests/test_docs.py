"""Examples in docstrings, and types."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import networkx
import polars
import pytest

import welter

ROOT = Path(__file__).resolve().parents[2]

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


def test_examples_of_the_manual(tmp_path, monkeypatch):
    """Blocks of docs/python.md run one after the other, in a folder with the files they name."""
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    shutil.copyfile(ROOT / "examples" / "debian-depends.tsv.zst", tmp_path / "links.tsv.zst")
    monkeypatch.chdir(tmp_path)
    names = {"polars": polars, "G": networkx.karate_club_graph()}
    with networkx.config(backend_priority=[]):
        for block in blocks:
            exec(compile(block, "docs/python.md", "exec"), names)
            networkx.config.backend_priority = []
    assert names["graph"].num_vertices == 3
    assert names["welter"].sssp(names["roads"], source=0, parents=True).path(2) == [0, 1, 2]


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
    line = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
