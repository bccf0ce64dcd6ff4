"""Runs on machines that are processes of this computer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import welter
from welter import _starters


@pytest.fixture
def roads(tmp_path):
    """A file with weights that says how many vertices it has."""
    path = tmp_path / "roads.mtx"
    lines = [f"{1 + at} {1 + (at * 7 + 3) % 200} {1 + at % 9}" for at in range(200)]
    lines += [f"{1 + at} {1 + (at + 1) % 200} {1 + at % 4}" for at in range(200)]
    head = "%%MatrixMarket matrix coordinate real general\n200 200 400\n"
    path.write_text(head + "\n".join(lines) + "\n")
    return path


def test_one_line_has_the_answer_of_one_process(roads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ranks = welter.pagerank("roads.mtx", weight=False, cluster="local:3")
    one = welter.pagerank(roads, weight=False)
    assert ranks.to_dict().keys() == one.to_dict().keys()
    assert np.allclose(ranks.to_numpy()["rank"], one.to_numpy()["rank"], rtol=1e-9)
    report = ranks.report
    assert len(report["cluster"]["machines"]) == 3 and report.algorithm == "pagerank"
    paths = welter.sssp("roads.mtx", source=1, parents=True, cluster=welter.cluster.local(2))
    assert paths.to_dict("distance") == welter.sssp(roads, source=1).to_dict("distance")


def test_graphs_that_can_be_read_again_are(roads, tmp_path):
    graph = welter.read_edges(roads, undirected=True)
    groups = graph.run("wcc", cluster="local:2")
    assert groups.to_dict() == welter.wcc(graph).to_dict()
    made = welter.rmat(8, seed=3)
    assert welter.bfs(made, source=0, cluster="local:2").to_dict() == welter.bfs(
        made, source=0
    ).to_dict()


def test_what_a_cluster_cannot_do_is_an_error_of_its_kind(roads, tmp_path):
    memory = welter.from_numpy([0, 1], [1, 2])
    for graph, options, kind, words in [
        (memory, {}, welter.UsageError, "this one is in memory"),
        (roads, {"stripe_bits": 20}, welter.UsageError, "stripe_bits"),
        (roads, {"personalization": {1: 1.0}}, welter.UsageError, "is in memory"),
        (roads, {"cluster": "local:0"}, welter.UsageError, "machines"),
        (roads, {"cluster": "locl:2"}, welter.UsageError, "expected local:N"),
        (roads, {"cluster": 3}, welter.UsageError, "expected local:N"),
        (tmp_path / "none.mtx", {}, welter.MissingError, "none.mtx"),
    ]:
        with pytest.raises(kind, match=words):
            welter.pagerank(graph, **{"cluster": "local:2", **options})
    broken = tmp_path / "broken.mtx"
    broken.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n1 x\n")
    with pytest.raises(welter.InputError, match="broken.mtx"):
        welter.pagerank(broken, cluster="local:2")


def test_the_command_that_pip_installs_has_machines(roads, tmp_path):
    # As its entry point does, and from a folder whose name is that of the package.
    (tmp_path / "welter").mkdir()
    entry = "import sys; from welter._command import main; sys.exit(main())"
    for entered in (["-c", entry], ["-m", "welter"]):
        line = [sys.executable, *entered, "run", "sssp", str(roads), "--source=1", "-q"]
        one = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        assert one.returncode == 0, one.stderr
        many = [*line, "--cluster=local:3", "--report=r.json"]
        found = subprocess.run(many, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert found.returncode == 0, found.stderr
        assert found.stdout == one.stdout and one.stdout
        report = json.loads((tmp_path / "r.json").read_text())
        assert len(report["cluster"]["machines"]) == 3
        assert report["cluster"]["restarts"] == 0


#: A starter of the command that has processes in the place of Ray's actors.
DOUBLE = """
import sys
import welter._hosted as hosted
from welter import _command, _native, _starters

class Double:
    def __init__(self, address, patience):
        self.address, self.patience = address, patience
    def _starter(self, words):
        if self.address == "none:1":
            raise ConnectionError("nobody is there")
        assert words[1] == "sssp" and "--cluster=env" in words, words
        print("a word that is for people")
        seat = 3, "127.0.0.1:0", _native.cluster_key(), self.patience
        return _starters.Processes(words, seat)

hosted.ray = Double
sys.exit(_command.main())
"""


def test_the_command_is_the_host_of_machines_that_python_starts(roads, tmp_path):
    (tmp_path / "double.py").write_text(DOUBLE)
    entry = "import sys; from welter import _command; _command._MACHINE = (\"import sys; "
    entry += f"sys.path[:] = {{path!r}}; exec(open('{tmp_path}/double.py').read())\"); "
    entry += "sys.exit(_command.main())"
    # The folder is that of the command, and so are names of files.
    line = [sys.executable, "-c", entry, "run", "sssp", roads.name, "--source=1", "-q"]
    said = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120}
    one = subprocess.run(line, **said)
    many = subprocess.run([*line, "--cluster=ray:a:1", "--report=r.json"], **said)
    assert many.returncode == 0, many.stderr
    assert many.stdout == one.stdout and one.stdout and "for people" in many.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert len(report["cluster"]["machines"]) == 3
    for options, code, words in [
        (["--cluster=ray:none:1"], 2, "nobody is there"),
        (["--cluster=ray", "--rank=1"], 2, "--rank"),
        (["--cluster=ray", "--stripe-bits=20"], 2, "--stripe-bits"),
    ]:
        ended = subprocess.run([*line, *options], **said)
        assert ended.returncode == code and words in ended.stderr, ended.stderr


class Watched(_starters.Processes):
    """Tells of the processes that it starts."""

    started: list[subprocess.Popen[str]] = []

    def _start(self, rank):
        why = super()._start(rank)
        self.started.append(self._children[rank])
        return why


@pytest.fixture
def started(monkeypatch):
    Watched.started = []
    monkeypatch.setattr(_starters, "Processes", Watched)
    return Watched.started


def test_a_machine_that_is_killed_is_replaced(started):
    def kill():
        while len(started) < 2:
            time.sleep(0.01)
        time.sleep(0.7)
        started[1].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    graph = welter.rmat(12)
    found = welter.pagerank(graph, iterations=60, cluster="local:2")
    killer.join()
    # It may have been over by then, or not begun.
    restarts = found.report["cluster"]["restarts"]
    assert restarts <= 1 and len(started) <= 3
    one = welter.pagerank(graph, iterations=60)
    assert np.allclose(found.to_numpy()["rank"], one.to_numpy()["rank"], rtol=1e-9)
    assert all(child.poll() is not None for child in started)


def test_a_machine_that_dies_again_and_again_ends_the_run(started, monkeypatch):
    monkeypatch.setattr(_starters, "_PROGRAM", "import os; os._exit(9)")
    begun = time.monotonic()
    with pytest.raises(welter.MachineError, match="has died 9 times, the last time with code 9"):
        welter.pagerank(welter.rmat(8), cluster="local:2")
    assert time.monotonic() - begun < 50


def test_ctrl_c_ends_all(tmp_path):
    program = (
        "import welter\n"
        "try:\n"
        "    welter.pagerank(welter.rmat(14), iterations=100000, cluster='local:2')\n"
        "except KeyboardInterrupt as end:\n"
        "    print('interrupted', end.args)\n"
    )
    line = [sys.executable, "-c", program]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    child = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environ)

    def machines():
        return list(tmp_path.glob("welter-cluster-*"))

    until = time.monotonic() + 60
    while len(machines()) < 2:
        assert child.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=40)
    assert out == "interrupted ()\n"
    assert not machines()
