"""The process that starts the machines of ``welter run --cluster ray``.

The command is the host of the run; this process has Ray, and ends its actors when it ends itself.
Both speak in lines of JSON::

    command                                     this process
    {"words", "address", "patience"}    ->
                                        <-      {"machines", "first", "key"}, or {"error"}
    {"first"}: machines come there      ->
    the end of its words                ->      ends the machines
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ._errors import WelterError
from .cluster import ray

__all__ = ["main"]


def main() -> int:
    """Starts machines until standard input ends, and returns the exit code."""
    # Whatever else prints, prints for people.
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)

        def say(said: dict[str, Any]) -> None:
            out.write(json.dumps(said) + "\n")
            out.flush()

        asked = json.loads(sys.stdin.readline())
        try:
            cluster = ray(address=asked["address"], patience=asked["patience"])
            with cluster._starter(asked["words"]) as starter:
                machines, first, key, _ = starter.seat
                say({"machines": machines, "first": first, "key": key})
                if line := sys.stdin.readline():
                    starter.begin(json.loads(line)["first"])
                    sys.stdin.read()
        except (WelterError, ModuleNotFoundError, ConnectionError, RuntimeError, ValueError) as why:
            say({"error": str(why)})
            return 1
    return 0
