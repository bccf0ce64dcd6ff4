"""Machines that are actors of a Ray cluster, one a node.

Ray starts the processes and tells when one is gone; what a run is, and when a machine is replaced,
is the host's. Nothing but words, a rank and a key goes through Ray: edges, updates and results
travel between the machines and the host, by their own connections. The reference of the long call
``run`` is the sign of life of an actor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from . import _native
from ._errors import UsageError, WelterError
from ._extras import needed
from ._starters import Seat, Starter

__all__ = ["Actors", "joined"]


class Secret:
    """A key that no log shows."""

    def __init__(self, key: str | None) -> None:
        self.key = key

    def __repr__(self) -> str:
        return "Secret()"


class Machine:
    """The actor. What it is given at first is small, so that Ray keeps it in line."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def run(self, words: list[str], place: tuple[int, str, int], secret: Secret, cwd: str) -> bool:
        """Is a machine until the run ends: False if it ends with a reason, which the host has."""
        # Files are named from where the caller is; the process is this actor's alone.
        if os.path.isdir(cwd):
            os.chdir(cwd)
        machines, first, patience = place
        try:
            _native.cluster_machine(words, (machines, first, secret.key, patience), self.rank)
        except (KeyboardInterrupt, WelterError):
            return False
        return True


def joined(
    address: str | None, machines: int | None, cpus: float
) -> tuple[Any, str, list[dict[str, Any]]]:
    """Ray, the address of this node, and the nodes that machines are to be on."""
    ray = needed("ray", "welter.cluster.ray")
    if not ray.is_initialized():
        ray.init(address=address)
    if ray.util.client.ray.is_connected():
        what = "this program is outside of the Ray cluster, where machines do not reach it"
        raise UsageError(what, hint="run it on a node: ray job submit -- python program.py")
    nodes = fit(ray, cpus)
    if machines is not None and machines > len(nodes) or not nodes:
        what = f"{machines or 1} nodes with {cpus:g} processors are wanted, and Ray has"
        raise UsageError(f"{what} {len(nodes)}", hint="say fewer machines, or fewer cpus")
    return ray, ray.util.get_node_ip_address(), nodes[:machines]


def fit(ray: Any, cpus: float) -> list[dict[str, Any]]:
    """Nodes that live and have the processors, always in one order."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    nodes = [node for node in nodes if node["Resources"].get("CPU", 0) >= cpus]
    return sorted(nodes, key=lambda node: (node["NodeManagerAddress"], node["NodeID"]))


class Actors(Starter):
    """Machines that are actors."""

    def __init__(
        self,
        ray: Any,
        words: list[str],
        seat: Seat,
        nodes: tuple[list[dict[str, Any]], float],
    ) -> None:
        super().__init__(words, seat)
        self._ray = ray
        self._nodes = [node["NodeID"] for node in nodes[0]]
        self._cpus = nodes[1]
        self._actors: dict[int, Any] = {}
        #: References of their long calls, by rank.
        self._calls: dict[int, Any] = {}

    def _start(self, rank: int) -> str | None:
        node = self._node(rank)
        if node is None:
            return "no node of the Ray cluster is left for it"
        self._nodes[rank] = node
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        actor = self._ray.remote(Machine).options(
            num_cpus=self._cpus,
            max_restarts=0,
            scheduling_strategy=affinity(node_id=node, soft=False),
        )
        machines, first, key, patience = self.seat
        self._actors[rank] = actor.remote(rank)
        call = self._actors[rank].run
        place = machines, first, patience
        self._calls[rank] = call.remote(self.words, place, Secret(key), os.getcwd())
        return None

    def _node(self, rank: int) -> str | None:
        """The node of a rank, or another one where that is gone."""
        alive = [node["NodeID"] for node in fit(self._ray, self._cpus)]
        if self._nodes[rank] in alive:
            return self._nodes[rank]
        return min(alive, key=self._nodes.count, default=None)

    def _died(self) -> Iterator[tuple[int, str]]:
        calls = list(self._calls.values())
        ended, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0) if calls else ([], [])
        for rank, call in list(self._calls.items()):
            if call not in ended:
                continue
            del self._calls[rank]
            # Ray may be wrong about its end, and two would have one folder.
            self._ray.kill(self._actors[rank], no_restart=True)
            try:
                self._ray.get(call)
            except self._ray.exceptions.RayError as error:
                lines = str(error).strip().splitlines()
                yield rank, f"as Ray says: {lines[0] if lines else type(error).__name__}"

    def _end(self, seconds: float) -> None:
        calls = list(self._calls.values())
        if calls:
            self._ray.wait(calls, num_returns=len(calls), timeout=seconds)
        for actor in self._actors.values():
            self._ray.kill(actor, no_restart=True)
