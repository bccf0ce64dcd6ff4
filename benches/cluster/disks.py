"""Disks of machines: files with a file system each, which a control group slows down (root).

    sparse file -> loop device [blkio, version 1] -> ext4 -> the directory of a machine

Reads and writes of a disk have the rate each. A throttle counts by tenths of a second, and knows
what a process asks for alone: requests that the kernel writes back by itself, later, are not
slowed down. Machines sync what they write within an iteration, so theirs are.

Files of disks are in the page cache of the disk that they lie on, and a sync of a machine ends at
its file (`barrier=0`), so that a disk is as fast as its throttle, whatever lies below.

Blocks of edges are dropped from the page cache when a machine has read and closed them (inotify
says when), so that each iteration reads them from its disks, as machines do whose memory has no
room for edges; vertex sets stay there. A group that bounds memory would keep as many edges as a
machine does not take for itself, which is a number that nothing states. Counters of the devices
say what they really gave.

All of it is taken back when the disks are left, whatever happens meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup/blkio")

#: Room of a disk. It takes as much as is stored.
DISK_BYTES = 64 << 30

#: Inodes of a file system: machines have a file a chunk, of megabytes.
INODES = 1 << 16

#: Seconds between two looks for directories of machines.
LOOK = 0.05

#: A file that was open for reading is closed; only a directory is watched.
IN_CLOSE_NOWRITE, IN_ONLYDIR = 0x10, 0x1000000

#: Head of an event: watch, mask, cookie, and bytes of the name that follows.
EVENT = struct.Struct("iIII")

SECTOR_BYTES = 512


def call(*words: object) -> str:
    """Output of a command that succeeds."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {ended.stderr.strip()}")
    return ended.stdout.strip()


class Disks:
    """Disks of this number in a folder; gone at the end of a `with`."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folders = [folder / f"disk-{place}" for place in range(count)]
        self.devices: list[str] = []
        self.group = GROUPS / f"welter-machines-{os.getpid()}"
        self.undo = contextlib.ExitStack()
        #: Bytes of the blocks of edges that were read.
        self.blocks: dict[str, int] = {}
        self.is_left = threading.Event()
        self.dropping = threading.Thread(target=self.drop_edges, daemon=True)

    def __enter__(self) -> Disks:
        if os.geteuid() != 0 or not (GROUPS / "blkio.throttle.read_bps_device").exists():
            sys.exit(f"throttled disks want root, and control groups of version 1 in {GROUPS}")
        try:
            # The undoing of a step stands before it, and does nothing where it was not done.
            self.undo.callback(remove_group, self.group)
            self.group.mkdir()
            for folder in self.folders:
                self.devices.append(self.mount(folder))
            self.undo.callback(self.stop)
            self.dropping.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = [(it, signal.signal(it, signal.SIG_IGN)) for it in ends]
        try:
            self.undo.close()
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def mount(self, folder: Path) -> str:
        """Mounts a disk there; name of its device."""
        image = folder.with_suffix(".img")
        for undone, of in ((remove_image, image), (detach, image), (unmount, folder)):
            self.undo.callback(undone, of)
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(DISK_BYTES)
        extended = "lazy_itable_init=0,nodiscard"
        call("mkfs.ext4", "-q", "-F", "-N", INODES, "-J", "size=16", "-E", extended, image)
        device = call("losetup", "--find", "--show", image)
        call("mount", "-o", "noatime,barrier=0", device, folder)
        return Path(device).name

    def stop(self) -> None:
        self.is_left.set()
        if self.dropping.is_alive():
            self.dropping.join()

    def throttle(self, rates: list[int]) -> None:
        """Gives the first disks these rates, bytes a second of reads and of writes."""
        for device, rate in zip(self.devices, rates):
            number = Path(f"/sys/block/{device}/dev").read_text().strip()
            for way in ("read", "write"):
                limit = self.group / f"blkio.throttle.{way}_bps_device"
                limit.write_text(f"{number} {rate}")

    def confined(self, line: list[str]) -> list[str]:
        """The command, as slow as the disks are."""
        join = 'echo $$ > "$0" && exec "$@"'
        return ["sh", "-c", join, str(self.group / "cgroup.procs"), *line]

    def settle(self) -> None:
        """Waits for what earlier runs have left to be written, and forgets their edges."""
        for folder in self.folders:
            call("sync", "--file-system", folder)
        self.blocks.clear()

    def moved(self) -> tuple[int, int]:
        """Bytes that all devices have read and written until now."""
        if not self.dropping.is_alive():
            sys.exit("edges are not dropped from the page cache any more")
        stats = [Path(f"/sys/block/{it}/stat").read_text().split() for it in self.devices]
        read, written = (sum(int(stat[at]) for stat in stats) for at in (2, 6))
        return SECTOR_BYTES * read, SECTOR_BYTES * written

    def edge_bytes(self) -> int:
        """Bytes of all blocks of edges that were read since the disks settled."""
        return sum(list(self.blocks.values()))

    def drop_edges(self) -> None:
        """Drops blocks of edges that were read, until the disks are left."""
        libc = ctypes.CDLL(None, use_errno=True)
        events = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        watched: dict[int, Path] = {}
        while not self.is_left.is_set():
            for blocks in self.directories() - set(watched.values()):
                mask = IN_CLOSE_NOWRITE | IN_ONLYDIR
                watch = libc.inotify_add_watch(events, os.fsencode(blocks), mask)
                if watch >= 0:
                    watched[watch] = blocks
            until = time.monotonic() + LOOK
            while (left := until - time.monotonic()) > 0:
                if select.select([events], [], [], left)[0]:
                    for watch, name in closed(os.read(events, 1 << 16)):
                        if name.startswith("edges-") and watch in watched:
                            self.drop(watched[watch] / name)
        os.close(events)

    def directories(self) -> set[Path]:
        """Directories in which machines have their blocks."""
        # One may vanish, and is looked for again then.
        with contextlib.suppress(FileNotFoundError):
            found = [folder.glob("welter-cluster-*/blocks") for folder in self.folders]
            return {blocks for of in found for blocks in of}
        return set()

    def drop(self, block: Path) -> None:
        """Drops a block from the page cache."""
        # Machines remove blocks. One that is open for writing is no event when it is closed.
        with contextlib.suppress(FileNotFoundError):
            file = os.open(block, os.O_WRONLY)
            try:
                self.blocks[str(block)] = os.fstat(file).st_size
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def closed(events: bytes) -> list[tuple[int, str]]:
    """Watches and names of files that were closed."""
    at, found = 0, []
    while at < len(events):
        watch, _, _, length = EVENT.unpack_from(events, at)
        at += EVENT.size
        found.append((watch, os.fsdecode(events[at : at + length].rstrip(b"\0"))))
        at += length
    return found


def remove_group(group: Path) -> None:
    """Removes a control group, once its processes are gone."""
    for _ in range(50):
        if not group.exists():
            return
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    print(f"{group}: still has processes", file=sys.stderr)


def remove_image(image: Path) -> None:
    image.unlink(missing_ok=True)


def detach(image: Path) -> None:
    """Gives back the loop devices of a file."""
    if not image.exists():
        return
    listed = ["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)]
    for device in subprocess.run(listed, capture_output=True, text=True).stdout.split():
        subprocess.run(["losetup", "--detach", device], check=False)


def unmount(folder: Path) -> None:
    """Unmounts a disk, if it is mounted; later, where something is open there."""
    if os.path.ismount(folder) and subprocess.run(["umount", str(folder)]).returncode:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)
    with contextlib.suppress(FileNotFoundError):
        folder.rmdir()
