"""Fixtures of the tests: small graphs with answers from elsewhere."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def debian() -> str:
    """The example graph: packages of Debian and what they depend on."""
    return str(ROOT / "examples" / "debian-depends.tsv.zst")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference graphs with answers, where they are."""
    folder = Path(os.environ.get("WELTER_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        warnings.warn(f"{folder} is not there: reference graphs are NOT tested", UserWarning)
        pytest.skip(f"{folder} is not there")
    return folder
