"""Runs on Ray whose nodes have a network each: processes are killed, and links are cut.

Run with Ray installed beside the package: ``cargo xtask ray``, as root. Without either nothing here
is tested, which is said; ``WELTER_REQUIRE=ray,netns`` makes an error of that.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from ray_networks import Nodes, address

REQUIRED = os.environ.get("WELTER_REQUIRE", "").split(",")

if importlib.util.find_spec("ray") is None:
    assert "ray" not in REQUIRED, "WELTER_REQUIRE asks for Ray"
    sys.stderr.write("SKIPPED: networks of Ray, which `cargo xtask ray` installs and tests\n")
    pytest.skip("ray is not installed", allow_module_level=True)

#: Ray misses a node whose raylet is gone in 3 s (by itself in 15), and one that is cut off in 77
#: (by itself in 65): machines miss one that is silent in 30.
PATIENT = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "15000",
    "RAY_health_check_failure_threshold": "5",
}

#: Ray misses a node that is cut off in 8 s.
EAGER = {
    **PATIENT,
    "RAY_health_check_timeout_ms": "1500",
    "RAY_health_check_failure_threshold": "4",
}

#: Seconds after which a host hears no more of a machine that says nothing.
SILENCE = 10

#: A run on the nodes, by a program on the first one, and the answer of one process beside it.
PROGRAM = """
import json, sys, time
import numpy, ray, welter
from welter import _ray

asked = json.loads(sys.argv[1])

def say(**words):
    sys.stdout.write(json.dumps(words) + "\\n")
    sys.stdout.flush()

class Watched(_ray.Actors):
    def _start(self, rank):
        why = super()._start(rank)
        say(rank=rank, node=self._nodes[rank])
        return why

_ray.Actors = Watched
ray.init(address=asked["address"], log_to_driver=False)
run = getattr(welter, asked["algorithm"])
try:
    many = run(asked["graph"], cluster=welter.cluster.ray(asked["machines"]), **asked["options"])
except welter.WelterError as error:
    say(error=str(error), code=error.code)
else:
    ended = time.monotonic()
    one = run(asked["graph"], **asked["options"]).to_numpy()[asked["column"]]
    is_same = numpy.allclose(many.to_numpy()[asked["column"]], one, rtol=1e-9, atol=0)
    say(same=bool(is_same), vertices=len(one), ended=ended, cluster=many.report["cluster"])
"""

#: Both take hundreds of iterations, so that a run is under way when something happens to it.
RANKS = {
    "algorithm": "pagerank",
    "options": {"iterations": 250, "tolerance": 0.0, "weight": False},
    "column": "rank",
}
PATHS = {"algorithm": "sssp", "options": {"source": 1}, "column": "distance"}

#: Crossings of a strip of streets, along it and across.
LENGTH, WIDTH = 250, 8


def strip(path):
    """A strip of streets with weights, both ways, as a file that says how many vertices it has."""
    roads = []
    for at in range(LENGTH * WIDTH):
        along, across = divmod(at, WIDTH)
        others = [at + WIDTH] if along + 1 < LENGTH else []
        others += [at + 1] if across + 1 < WIDTH else []
        for other in others:
            roads.append(f"{1 + at} {1 + other} {1 + (at * 7 + other) % 5}")
            roads.append(f"{1 + other} {1 + at} {1 + (at + other * 3) % 5}")
    head = "%%MatrixMarket matrix coordinate real general\n"
    count = LENGTH * WIDTH
    path.write_text(f"{head}{count} {count} {len(roads)}\n" + "\n".join(roads) + "\n")


@pytest.fixture(scope="module")
def nodes(request):
    """Three nodes of Ray, with its configuration."""
    with ExitStack() as stack:
        try:
            made = stack.enter_context(Nodes(3, **request.param))
        except (OSError, subprocess.CalledProcessError) as why:
            if "netns" in REQUIRED:
                raise
            pytest.skip(f"there are no networks of one's own: {why}")
        strip(made.home / "roads.mtx")
        made.start()
        yield made


on_patient = pytest.mark.parametrize("nodes", [PATIENT], indirect=True, ids=["patient"])
on_eager = pytest.mark.parametrize("nodes", [EAGER], indirect=True, ids=["eager"])


class Run:
    """A run under way, whose first machine has stored what an iteration made."""

    def __init__(self, nodes, of, machines):
        for node in range(nodes.count):
            # Machines that were killed have left theirs.
            for left in nodes.directory(node).glob("welter-cluster-*"):
                shutil.rmtree(left)
        asked = {**of, "machines": machines, "address": f"{address(0)}:6379"}
        asked["graph"] = str(nodes.home / "roads.mtx")
        self.nodes, self.machines = nodes, machines
        self.program = nodes.program(PROGRAM, json.dumps(asked))
        until = time.monotonic() + 120
        while not any(nodes.directory(0).glob("welter-cluster-*-0/manifests/*")):
            assert self.program.poll() is None and time.monotonic() < until, nodes.said()
            time.sleep(0.005)

    def ended(self):
        """The last words of the program, and starts of machines that it told of before."""
        with self.program:
            try:
                out, _ = self.program.communicate(timeout=240)
            except subprocess.TimeoutExpired:
                self.program.kill()
                raise
        assert self.program.returncode == 0, self.nodes.said()
        *starts, last = [json.loads(it) for it in out.splitlines() if it.startswith("{")]
        return last, starts

    def answered(self, what, begun, tell):
        """The report of a run that has the answer of one process, and starts of machines. Tells
        how long the run was held up."""
        last, starts = self.ended()
        assert last.get("same"), (last, self.nodes.said())
        assert last["vertices"] == LENGTH * WIDTH
        cluster = last["cluster"]
        assert len(cluster["machines"]) == self.machines
        tell(f"{what}: {last['ended'] - begun:.1f} s from then to the result")
        for it in cluster["recoveries"]:
            kind = "started again" if it["restarted"] else "silent"
            tell(
                f"  machine {it['rank']} {kind} after {it['iterations']} iterations: noticed in "
                f"{it['unnoticed_seconds']:.1f} s, recovered in {it['seconds']:.1f} s more"
            )
        return cluster, starts


@pytest.fixture
def tell(capsys):
    """Says something that is shown though a test passes."""

    def told(line):
        with capsys.disabled():
            print(f"\n{line}", end="", flush=True)

    return told


def restarted(cluster, rank):
    """Whether the report has a recovery of a rank that was started again."""
    return any(it["rank"] == rank and it["restarted"] for it in cluster["recoveries"])


@pytest.mark.short
@on_patient
def test_an_actor_that_is_killed_has_another_one_on_its_node(nodes, tell):
    run = Run(nodes, RANKS, 3)
    begun = time.monotonic()
    os.kill(nodes.machine(1), signal.SIGKILL)
    cluster, starts = run.answered("kill -9 of an actor", begun, tell)
    assert restarted(cluster, 1), cluster["recoveries"]
    assert [it["rank"] for it in starts] == [0, 1, 2, 1]
    assert starts[3]["node"] == starts[1]["node"]


@pytest.mark.short
@on_patient
def test_a_node_that_is_cut_off_for_a_while_comes_back(nodes, tell):
    run = Run(nodes, PATHS, 3)
    begun = time.monotonic()
    nodes.cut(2)
    # Longer than a silence, so that host and machine lose each other.
    time.sleep(SILENCE + 1)
    nodes.heal(2)
    cluster, starts = run.answered("a node cut off for 11 s", begun, tell)
    assert restarted(cluster, 2), cluster["recoveries"]
    # The machine comes by itself; where Ray has taken it for lost, another one does, there.
    assert {it["node"] for it in starts if it["rank"] == 2} == {starts[2]["node"]}


@on_patient
def test_two_nodes_that_do_not_hear_each_other_for_a_while_change_nothing(nodes, tell):
    run = Run(nodes, RANKS, 3)
    begun = time.monotonic()
    nodes.part(1, 2)
    time.sleep(4)
    nodes.unite(1, 2)
    cluster, starts = run.answered("two nodes cut off from each other for 4 s", begun, tell)
    longest = max(it["seconds"] for it in cluster["iteration_times"][1:])
    tell(f"  the longest iteration took {longest:.1f} s")
    assert longest > 3 and len(starts) >= 3


@pytest.mark.short
@on_patient
def test_a_machine_whose_raylet_is_killed_has_another_node(nodes, tell):
    # The last node is gone from here on.
    run = Run(nodes, PATHS, 3)
    begun = time.monotonic()
    os.kill(nodes.raylet(2), signal.SIGKILL)
    cluster, starts = run.answered("kill -9 of a raylet", begun, tell)
    assert restarted(cluster, 2), cluster["recoveries"]
    last = [it["node"] for it in starts if it["rank"] == 2]
    assert len(last) > 1 and last[0] != last[-1]


@on_patient
def test_a_node_that_is_cut_off_for_good_ends_the_run_where_ray_does_not_miss_it(nodes, tell):
    # Two nodes are left, whose run misses one in 30 s.
    run = Run(nodes, RANKS, 2)
    begun = time.monotonic()
    nodes.cut(1)
    last, _ = run.ended()
    tell(f"a node cut off for good, not missed: {time.monotonic() - begun:.1f} s to the end")
    assert last.get("code") == 75, (last, nodes.said())
    assert "machine 1" in last["error"], last


@on_eager
def test_a_node_that_is_cut_off_for_good_is_replaced_where_ray_misses_it(nodes, tell):
    run = Run(nodes, RANKS, 3)
    begun = time.monotonic()
    nodes.cut(2)
    cluster, starts = run.answered("a node cut off for good, replaced", begun, tell)
    assert restarted(cluster, 2), cluster["recoveries"]
    last = [it["node"] for it in starts if it["rank"] == 2]
    assert len(last) > 1 and last[0] != last[-1]
