"""Computers with a network each, on this one."""

from __future__ import annotations

import os
import subprocess


class Networks:
    """Four computers with a network each, on a bridge, whose links have a rate."""

    def __init__(self) -> None:
        self.name = f"wb{os.getpid()}"

    def ip(self, words: str) -> None:
        subprocess.run(["ip", *words.split()], check=True)

    def __enter__(self) -> Networks:
        hub = f"{self.name}b"
        try:
            self.ip(f"netns add {hub}")
            self.ip(f"-n {hub} link add hub type bridge")
            self.ip(f"-n {hub} link set hub up")
            for rank in range(4):
                self.add(rank, hub)
        except BaseException:
            self.__exit__()
            raise
        return self

    def add(self, rank: int, hub: str) -> None:
        own = f"{self.name}{rank}"
        self.ip(f"netns add {own}")
        self.ip(f"-n {own} link add e type veth peer name v{rank} netns {hub}")
        self.ip(f"-n {own} addr add 10.78.0.{rank + 1}/24 dev e")
        self.ip(f"-n {own} link set e up")
        self.ip(f"-n {own} link set lo up")
        self.ip(f"-n {hub} link set v{rank} master hub")
        self.ip(f"-n {hub} link set v{rank} up")
        rate = "root tbf rate 1gbit burst 1mb latency 50ms".split()
        for space, device in ((own, "e"), (hub, f"v{rank}")):
            subprocess.run(["tc", "-n", space, "qdisc", "add", "dev", device, *rate], check=True)

    def __exit__(self, *_: object) -> None:
        for space in (*(f"{self.name}{rank}" for rank in range(4)), f"{self.name}b"):
            # Some may not have been made.
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)
