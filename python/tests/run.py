"""Runs the tests of the package: ``python3 python/tests/run.py MODULE FOLDER [PYTEST ARGUMENTS]``.

MODULE is the native module as cargo built it. FOLDER gets an environment with what the tests need,
and the package as pip would install it: its Python files, the module, and its entry points.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "python" / "requirements-test.txt"
# Ray and Spark are large, so their tests have tasks of their own: `cargo xtask ray`, and `spark`.
LARGE = {"ray": ["ray>=2.52"], "spark": ["pyspark[connect]>=3.5"]}
HOSTS = [host for host in os.environ.get("WELTER_REQUIRE", "").split(",") if host in LARGE]
LARGE_REQUIREMENTS = [package for host in HOSTS for package in LARGE[host]]


def environment(folder: Path) -> Path:
    """The interpreter of an environment with the requirements, made if it is not there."""
    place, stamp = folder / "environment", folder / "requirements.txt"
    wanted = f"# {sys.version} {LARGE_REQUIREMENTS}\n{REQUIREMENTS.read_text()}"
    python = place / "bin" / "python"
    if not (python.exists() and stamp.exists() and stamp.read_text() == wanted):
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "-r", str(REQUIREMENTS), *LARGE_REQUIREMENTS], check=True)
        stamp.write_text(wanted)
    return python


def package(module: Path, folder: Path) -> Path:
    """A folder with the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    version = cargo["workspace"]["package"]["version"]
    place = folder / "package"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(
        ROOT / "python" / "welter",
        place / "welter",
        ignore=shutil.ignore_patterns("__pycache__", "*.so"),
    )
    shutil.copyfile(module, place / "welter" / "_native.abi3.so")
    about = place / f"welter-{version}.dist-info"
    about.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
    (about / "METADATA").write_text(head)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {point}" for name, point in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return place


def main() -> int:
    """Prepares, and runs pytest."""
    module, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    python = environment(folder)
    place = package(module, folder)
    environ = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    line = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *sys.argv[3:]]
    if len(sys.argv) == 3:
        # Most of the time is the interpreter's, which is on one core.
        line += ["-n", "2", "--dist", "worksteal"]
    if HOSTS:
        # Hosts leave sockets and files to the end of the process, of which Python warns.
        line += ["-W", "default", *(f"python/tests/test_{host}.py" for host in HOSTS)]
    return subprocess.run(line, cwd=ROOT, env=environ).returncode


if __name__ == "__main__":
    sys.exit(main())
