"""Runs the tests of the package: ``python3 python/tests/run.py MODULE FOLDER [PYTEST ARGUMENTS]``.

MODULE is the native module as cargo built it. FOLDER gets an environment with what the tests need,
and the package as pip would install it: its Python files, the module, and its entry points.

Ray and Spark are large, so tests on them have an environment and a run of their own, after all
others, where ``WELTER_REQUIRE`` names them; ``WELTER_HOSTS=ray`` runs these alone, as
``cargo xtask ray`` does. ``WELTER_SHORT`` leaves those that are marked as short, for continuous
integration. ``python3 python/tests/run.py --prepare FOLDER`` makes the environments alone.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = Path("python") / "tests"
REQUIREMENTS = ROOT / "python" / "requirements-test.txt"

#: By host: packages at a version, others at that of the requirements, and the tests.
HOSTS = {
    "ray": (
        ["ray==2.60.0"],
        ["numpy", "pytest", "tqdm"],
        ["test_ray.py", "test_ray_networks.py", "test_ray_nodes.py"],
    ),
    "spark": (
        ["pyspark[connect]==4.3.0"],
        ["numpy", "pandas", "pyarrow", "pytest", "tqdm"],
        ["test_spark.py"],
    ),
}


def named(variable: str) -> list[str]:
    """The hosts that a variable of the environment names."""
    words = os.environ.get(variable, "").split(",")
    return [host for host in HOSTS if host in words]


def wanted(host: str | None) -> list[str]:
    """Packages of the environment of a host, or of all other tests."""
    lines = REQUIREMENTS.read_text().splitlines()
    if host is None:
        return [line for line in lines if line and not line.startswith("#")]
    large, others, _ = HOSTS[host]
    return [*large, *(line for line in lines if re.split("[=<>]", line)[0] in others)]


def environment(folder: Path, host: str | None) -> Path:
    """The interpreter of an environment with these packages, made if it is not there."""
    ending = "" if host is None else f"-{host}"
    place, stamp = folder / f"environment{ending}", folder / f"requirements{ending}.txt"
    packages = wanted(host)
    contents = "\n".join([f"# {sys.version}", *packages, ""])
    python = place / "bin" / "python"
    with open(folder / f"lock{ending}", "w") as lock:
        # Another process may be at it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if python.exists() and stamp.exists() and stamp.read_text() == contents:
            return python
        began = time.monotonic()
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *packages], check=True)
        stamp.write_text(contents)
    print(f"== environment of {host or 'Python'}: {time.monotonic() - began:.0f} s", flush=True)
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


def ran(folder: Path, host: str | None, arguments: list[str]) -> int:
    """Runs tests, and returns the code of pytest."""
    python = environment(folder, host)
    environ = {**os.environ, "PYTHONPATH": str(folder / "package"), "PYTHONDONTWRITEBYTECODE": "1"}
    required = os.environ.get("WELTER_REQUIRE", "none").split(",")
    # Tests that are left out are listed with the reason.
    line = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-rs", *arguments]
    if host is None:
        # Tests on hosts have runs of their own where they must be there.
        required = [name for name in required if name not in HOSTS]
        apart = [name for host in named("WELTER_REQUIRE") for name in HOSTS[host][2]]
        line += [f"--ignore={TESTS / name}" for name in apart]
        if not arguments:
            # Most of the time is the interpreter's, which is on one core.
            line += ["-n", "2", "--dist", "worksteal"]
    else:
        required.append(host)
        if os.environ.get("WELTER_SHORT"):
            line += ["-m", "short"]
        # Hosts leave sockets and files to the end of the process, of which Python warns.
        line += ["-W", "default", *(str(TESTS / name) for name in HOSTS[host][2])]
    environ["WELTER_REQUIRE"] = ",".join(required)
    began = time.monotonic()
    code = subprocess.run(line, cwd=ROOT, env=environ).returncode
    print(f"== tests of {host or 'Python'}: {time.monotonic() - began:.0f} s", flush=True)
    return code


def main() -> int:
    """Prepares, and runs pytest."""
    alone = named("WELTER_HOSTS")
    runs: list[str | None] = [*alone] if alone else [None, *named("WELTER_REQUIRE")]
    module, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if module == "--prepare":
        for host in runs:
            environment(folder, host)
        return 0
    package(Path(module).resolve(), folder)
    codes = [ran(folder, host, sys.argv[3:]) for host in runs]
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
