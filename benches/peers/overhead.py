"""Cost of Python: PageRank of a data frame of polars beside the command on the same edges.

    python overhead.py FILE.u32 [--rounds N] [--iterations N]

The command reads the raw file and writes ranks as npy; Python has the same pairs in a data frame,
and gets the ranks as arrays of numpy. Both in a process of their own each time, in turns. The data
frame is made before the clock starts, as users have theirs. Peak memory is that of the process
beside the frame itself.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CHILD = """
import json, resource, sys, time
import numpy, polars, welter
pairs = numpy.fromfile(sys.argv[1], "<u4").reshape(-1, 2)
frame = polars.DataFrame({"source": pairs[:, 0].copy(), "target": pairs[:, 1].copy()})
del pairs
begun = time.perf_counter()
graph = welter.from_arrow(frame)
ranks = welter.pagerank(graph, iterations=int(sys.argv[2]), precision="f32", progress=False)
values = ranks.to_numpy()["rank"]
took = time.perf_counter() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": took, "peak": peak, "frame": frame.estimated_size()}))
"""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--command", default="welter")
    said = parser.parse_args()
    count = str(said.iterations)
    commands, frames, peaks = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "ranks.npy")
        line = [said.command, "run", "pagerank", said.file, "--iterations", count, "--quiet"]
        line += ["--precision", "f32", "-o", output]
        for _ in range(said.rounds):
            begun = time.perf_counter()
            subprocess.run(line, check=True)
            commands.append(time.perf_counter() - begun)
            child = [sys.executable, "-c", CHILD, said.file, count]
            found = json.loads(subprocess.run(child, check=True, capture_output=True).stdout)
            frames.append(found["seconds"])
            peaks.append((found["peak"] - found["frame"]) / 2**20)
    command, frame = statistics.median(commands), statistics.median(frames)
    print(f"command {command:.2f} s ({min(commands):.2f} to {max(commands):.2f})")
    print(f"frame   {frame:.2f} s ({min(frames):.2f} to {max(frames):.2f})")
    print(f"ratio   {frame / command:.2f}; peak beside the frame {max(peaks):,.0f} MiB")


if __name__ == "__main__":
    main()
