"""Nodes of a Ray cluster that are lost while machines run on them.

Run with Ray installed beside the package: ``cargo xtask ray``. Without it nothing here is tested,
which is said; ``WELTER_REQUIRE=ray`` makes that an error.
"""

from __future__ import annotations

import os
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
    sys.stderr.write("SKIPPED: nodes of Ray, which `cargo xtask ray` installs and tests\n")
    pytest.skip("ray is not installed", allow_module_level=True)

from welter import _ray

#: Ray looks at nodes more often than it does by itself, so that it misses one in two seconds.
LOOKS = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}


@pytest.fixture
def nodes():
    """A cluster of three nodes, each with room for two machines, and its last node."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "_system_config": LOOKS})
    made.add_node(num_cpus=2)
    last = made.add_node(num_cpus=2)
    ray.init(address=made.address, log_to_driver=False)
    made.wait_for_nodes()
    yield made, last
    ray.shutdown()
    made.shutdown()


def test_a_machine_whose_node_is_lost_has_another_one(nodes, monkeypatch, capsys):
    _, last = nodes
    started = []

    class Watched(_ray.Actors):
        def _start(self, rank):
            why = super()._start(rank)
            started.append((rank, self._nodes[rank]))
            return why

    monkeypatch.setattr(_ray, "Actors", Watched)
    lost = []

    def lose():
        while len(started) < 3:
            time.sleep(0.01)
        # Machines have met by then, or have not: a node may be lost at any time.
        time.sleep(3)
        last.kill_raylet()
        lost.append(time.monotonic())

    loser = threading.Thread(target=lose)
    loser.start()
    graph, words = welter.rmat(12), {"iterations": 1500, "tolerance": 0.0}
    found = welter.pagerank(graph, cluster=welter.cluster.ray(3), **words)
    ended = time.monotonic()
    loser.join()
    with capsys.disabled():
        print(f"\n{ended - lost[0]:.1f} s from the loss of a node to the result")
    assert len(started) == 4, started
    rank, node = started[3]
    assert node != dict(started[:3])[rank], "it has another node"
    one = welter.pagerank(graph, **words)
    assert np.allclose(found.to_numpy()["rank"], one.to_numpy()["rank"], rtol=1e-9)
