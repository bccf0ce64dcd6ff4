"""Nodes of Ray that are computers with a network each, on a bridge, and files of their own.

::

    hub      namespace with a bridge, and an end of each cable: v0, v1, ..
    node i   namespace with the other end; 10.79.0.(i + 1); a directory, which is at one path on
             each node and has Ray's sockets and logs, and the files of machines

Processes of a node are those of its namespace, by which they are found and ended. Root is needed.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_MADE = itertools.count()

#: Mounts the directory of a node at the path that all nodes have, where no other process sees it.
_MOUNTED = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'

#: Ray's own command.
_RAY = "from ray.scripts.scripts import main; main()"

#: Address that Ray sends nothing to, but asks how it would get there, to know its own.
_FAR = "8.8.8.8"

#: Hardware address that no node has.
_NOWHERE = "02:00:00:00:00:99"


def ip(words: str) -> None:
    """Runs ``ip``."""
    done = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip {words}: {done.stderr.strip()}")


def address(node: int) -> str:
    """The address of a node."""
    return f"10.79.0.{node + 1}"


class Nodes:
    """Nodes with a network each, which are removed at the end with all that runs there.

    Variables are in the environment of each, such as ``RAY_health_check_period_ms``.
    """

    def __init__(self, count: int, **variables: str) -> None:
        self.name = f"wr{os.getpid() % 100_000}x{next(_MADE)}"
        self.count = count
        # Names of sockets have a hundred bytes at most.
        self.home = Path(tempfile.mkdtemp(prefix="wr", dir="/tmp"))
        self.own = self.home / "own"
        unwanted = ("RAY_", "WELTER_")
        kept = {name: it for name, it in os.environ.items() if not name.startswith(unwanted)}
        own = {"TMPDIR": str(self.own), "RAY_TMPDIR": str(self.own)}
        # No other process reaches these networks, and nothing is told to the outside.
        settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
        self.environ = {**kept, **own, **settings, **variables}

    def __enter__(self) -> Nodes:
        try:
            self.own.mkdir()
            self._connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> None:
        hub = f"{self.name}b"
        ip(f"netns add {hub}")
        ip(f"-n {hub} link add hub type bridge")
        ip(f"-n {hub} link set hub up")
        for node in range(self.count):
            own = f"{self.name}{node}"
            self.directory(node).mkdir()
            ip(f"netns add {own}")
            ip(f"-n {own} link add e type veth peer name v{node} netns {hub}")
            ip(f"-n {own} addr add {address(node)}/24 dev e")
            ip(f"-n {own} link set e up")
            ip(f"-n {own} link set lo up")
            ip(f"-n {own} route add {_FAR} dev e")
            ip(f"-n {hub} link set v{node} master hub")
            ip(f"-n {hub} link set v{node} up")
            subprocess.run(self.line(node, "true"), check=True)

    def directory(self, node: int) -> Path:
        """The directory of a node, as processes of no node see it."""
        return self.home / f"node-{node}"

    def line(self, node: int, *words: str) -> list[str]:
        """Words of a command that runs on a node."""
        places = [str(self.directory(node)), str(self.own)]
        return [
            *("ip", "netns", "exec", f"{self.name}{node}"),
            *("sh", "-c", _MOUNTED, "sh", *places, *words),
        ]

    def start(self) -> None:
        """Starts Ray on each node, with two processors."""
        for node in range(self.count):
            join = [f"--address={address(0)}:6379"]
            begin = ["--head", "--port=6379", "--include-dashboard=false"]
            options = [f"--node-ip-address={address(node)}", "--num-cpus=2"]
            options += ["--object-store-memory=100000000", *(begin if node == 0 else join)]
            line = self.line(node, sys.executable, "-c", _RAY, "start", *options)
            # Processes that it leaves there have what it writes to, so that is no pipe.
            said = self.home / f"start-{node}.log"
            with open(said, "wb") as out:
                quiet = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
                done = subprocess.run(line, env=self.environ, timeout=180, **quiet)
            assert done.returncode == 0, said.read_text(errors="replace")

    def program(self, text: str, *words: str) -> subprocess.Popen[str]:
        """A program of Python that runs on the first node."""
        line = self.line(0, sys.executable, "-c", text, *words)
        with open(self.home / "program.log", "w") as errors:
            return subprocess.Popen(
                line,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def said(self) -> str:
        """The words of the last program for people."""
        return (self.home / "program.log").read_text(errors="replace")

    def processes(self, node: int) -> list[int]:
        """All processes of a node."""
        line = ["ip", "netns", "pids", f"{self.name}{node}"]
        found = subprocess.run(line, capture_output=True, text=True)
        return [int(word) for word in found.stdout.split()]

    def raylet(self, node: int) -> int:
        """The process of Ray that has the others of a node."""
        for process in self.processes(node):
            words = _read(process, "cmdline").split(b"\0")
            if os.path.basename(words[0]) == b"raylet":
                return process
        raise LookupError(f"node {node} has no raylet")

    def machine(self, node: int) -> int:
        """The process of a node that has files of a machine open."""
        for process in self.processes(node):
            if any("/welter-cluster-" in name for name in _files(process)):
                return process
        raise LookupError(f"node {node} has no machine")

    def cut(self, node: int) -> None:
        """Cuts a node off from all others."""
        ip(f"-n {self.name}b link set v{node} down")

    def heal(self, node: int) -> None:
        """Ends that."""
        ip(f"-n {self.name}b link set v{node} up")

    def part(self, one: int, other: int) -> None:
        """Cuts two nodes off from each other, both ways."""
        for here, there in ((one, other), (other, one)):
            wrong = f"{address(there)} lladdr {_NOWHERE} dev e"
            ip(f"-n {self.name}{here} neigh replace {wrong}")

    def unite(self, one: int, other: int) -> None:
        """Ends that."""
        for here, there in ((one, other), (other, one)):
            ip(f"-n {self.name}{here} neigh del {address(there)} dev e")

    def close(self) -> None:
        """Ends all that runs on nodes, and removes them."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            running = [it for node in range(self.count) for it in self.processes(node)]
            if not running:
                break
            for process in running:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    # It has ended meanwhile.
                    continue
            time.sleep(0.05)
        for place in (*range(self.count), "b"):
            # Some may not have been made.
            subprocess.run(["ip", "netns", "del", f"{self.name}{place}"], capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)


def _read(process: int, name: str) -> bytes:
    """A file about a process; nothing where it has ended."""
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


def _files(process: int) -> list[str]:
    """Names of the files that a process has open."""
    try:
        return [os.readlink(it) for it in Path(f"/proc/{process}/fd").iterdir()]
    except OSError:
        # It has ended, or closed one, meanwhile.
        return []
