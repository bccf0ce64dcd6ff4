"""Starters of the machines of a run, which start others in their place, and end them.

A machine that goes wrong tells the host why, so that its end is watched for one thing alone:
whether it died without a word. Such a one is started again, at most :data:`RESTARTS_MAX` times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType

from . import _native
from ._errors import WelterError

__all__ = ["RESTARTS_MAX", "Processes", "Seat", "Starter", "be"]

#: Number of machines, where the host is, the key, and seconds in which one must come.
Seat = tuple[int, str, "str | None", int]

#: Number of times that the machine of a rank is started again; the host gives up then, too.
RESTARTS_MAX = 8

#: Between two looks at machines, in seconds.
_INTERVAL = 0.2

#: Seconds in which machines end by themselves once a run has.
_END = 10.0

#: Code of a process whose machine has told the host why it ends.
_TOLD = 3


class Starter(ABC):
    """Machines of a run. ``begin`` is called once the host listens."""

    def __init__(self, words: list[str], seat: Seat) -> None:
        self.words, self.seat = words, seat
        self._restarts = [0] * seat[0]
        self._over = threading.Event()
        self._watcher: threading.Thread | None = None

    @abstractmethod
    def _start(self, rank: int) -> str | None:
        """Starts the machine of a rank; says why there can be none."""

    @abstractmethod
    def _died(self) -> Iterator[tuple[int, str]]:
        """Ranks whose machines have died since the last look, without a word, and how."""

    @abstractmethod
    def _end(self, seconds: float) -> None:
        """Ends the machines that have not ended by themselves in this time."""

    def begin(self, first: str) -> None:
        """Starts the machines of a host that listens there, and watches them."""
        self.seat = (self.seat[0], first, *self.seat[2:])
        for rank in range(self.seat[0]):
            self._started(rank)
        self._watcher = threading.Thread(target=self._watch, name="welter-machines", daemon=True)
        self._watcher.start()

    def _started(self, rank: int) -> None:
        why = self._start(rank)
        if why is not None:
            _native.cluster_absent(self.seat, rank, why)

    def _watch(self) -> None:
        while not self._over.wait(_INTERVAL):
            for rank, how in self._died():
                self._restarts[rank] += 1
                if self._restarts[rank] > RESTARTS_MAX:
                    why = f"has died {self._restarts[rank]} times, the last time {how}"
                    _native.cluster_absent(self.seat, rank, why)
                else:
                    self._started(rank)

    def __enter__(self) -> Starter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._watcher is not None:
            self._watcher.join()
        self._end(_END)


#: What a process runs: it finds this package where its starter did.
_PROGRAM = (
    "import json, sys; seat = json.loads(sys.stdin.readline()); sys.path[:] = seat.pop('path'); "
    "from welter._starters import be; be(**seat)"
)


class Processes(Starter):
    """Machines that are processes of this computer. They end when this process does."""

    def __init__(self, words: list[str], seat: Seat) -> None:
        super().__init__(words, seat)
        self._children: dict[int, subprocess.Popen[str]] = {}

    def _start(self, rank: int) -> str | None:
        # Ctrl-C is for this process alone, which ends its machines.
        child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._children[rank] = child
        said = {"path": sys.path, "words": self.words, "seat": self.seat, "rank": rank}
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps(said) + "\n")
            child.stdin.flush()
        except BrokenPipeError:
            # It has died, which is seen at the next look.
            pass
        return None

    def _died(self) -> Iterator[tuple[int, str]]:
        for rank, child in list(self._children.items()):
            code = child.poll()
            if code is None:
                continue
            del self._children[rank]
            if child.stdin is not None:
                child.stdin.close()
            if code not in (0, _TOLD):
                yield rank, f"with code {code}"

    def _end(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for child in self._children.values():
            try:
                child.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            if child.stdin is not None:
                child.stdin.close()


def be(words: list[str], seat: list[object], rank: int) -> None:
    """Is a machine in a process of its own, which ends with it."""
    threading.Thread(target=_orphaned, daemon=True).start()
    try:
        _native.cluster_machine(words, tuple(seat), rank)  # type: ignore[arg-type]
    except (KeyboardInterrupt, WelterError):
        # The host has been told why.
        code = _TOLD
    else:
        code = 0
    # Threads that wait for the starter would wait for ever.
    os._exit(code)


def _orphaned() -> None:
    sys.stdin.read()
    os._exit(1)
