"""Runs on a Ray cluster of three nodes, which are processes of this computer.

Run with Ray installed beside the package: ``cargo xtask ray``. Without it nothing here is tested,
which is said; ``WELTER_REQUIRE=ray`` makes that an error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import welter

try:
    import ray
    from ray.cluster_utils import Cluster
except ModuleNotFoundError:
    if "ray" in os.environ.get("WELTER_REQUIRE", "").split(","):
        raise
    sys.stderr.write("SKIPPED: runs on Ray, which `cargo xtask ray` installs and tests\n")
    pytest.skip("ray is not installed", allow_module_level=True)

from welter import _ray


@pytest.fixture(scope="module")
def nodes():
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def test_three_nodes_have_the_answer_of_one_process(nodes, tmp_path, monkeypatch):
    assert len(_ray.fit(ray, 1)) == 3
    graph = welter.rmat(10, weights=9)
    ranks = welter.pagerank(graph, cluster="ray")
    one = welter.pagerank(graph).to_numpy()["rank"]
    assert len(ranks.report["cluster"]["machines"]) == 3
    assert np.allclose(ranks.to_numpy()["rank"], one, rtol=1e-9)
    # A file is named from where the caller is.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n4 4 4\n1 2 2\n2 3 2.5\n1 3 9\n3 4 1\n"
    )
    paths = welter.sssp("roads.mtx", source=1, cluster=welter.cluster.ray(2))
    assert paths.to_dict() == {1: 0.0, 2: 2.0, 3: 4.5, 4: 5.5}


def test_an_actor_that_is_killed_is_replaced(nodes, monkeypatch):
    started = []

    class Watched(_ray.Actors):
        def _start(self, rank):
            why = super()._start(rank)
            started.append(self._actors[rank])
            return why

    monkeypatch.setattr(_ray, "Actors", Watched)
    monkeypatch.setattr(_ray.Machine, "pid", lambda self: os.getpid(), raising=False)

    def kill():
        while len(started) < 3:
            time.sleep(0.01)
        ray.kill(started[1], no_restart=True)

    killer = threading.Thread(target=kill)
    killer.start()
    begun = time.monotonic()
    graph = welter.rmat(12)
    found = welter.pagerank(graph, iterations=100, cluster="ray")
    killer.join()
    assert time.monotonic() - begun < 90
    # Machines that die before all have met are no restarts of the run.
    assert len(started) == 4
    assert found.report["cluster"]["restarts"] <= 1
    one = welter.pagerank(graph, iterations=100)
    assert np.allclose(found.to_numpy()["rank"], one.to_numpy()["rank"], rtol=1e-9)


@pytest.mark.short
def test_the_command_runs_on_the_nodes(nodes, tmp_path):
    entry = "import sys; from welter._command import main; sys.exit(main())"
    line = [sys.executable, "-c", entry, "run", "bfs", "rmat:10", "--source=7", "-q"]
    one = subprocess.run(line, capture_output=True, text=True)
    line += [f"--cluster=ray:{nodes.address}", f"--report={tmp_path / 'r.json'}"]
    many = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert many.returncode == 0, many.stderr
    assert many.stdout == one.stdout and one.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert len(report["cluster"]["machines"]) == 3


def test_what_ray_has_not_is_refused(nodes):
    with pytest.raises(welter.UsageError, match="4 nodes with 1 processors are wanted, and Ray h"):
        welter.pagerank(welter.rmat(8), cluster=welter.cluster.ray(4))


def test_a_key_is_not_shown():
    assert "abc" not in repr(_ray.Secret("abc")) + str(_ray.Secret("abc"))
