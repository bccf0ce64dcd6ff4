"""Files that are written: whole or not at all, on the device, and over nothing that was read."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import polars
import pytest

import welter


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A place with files of every kind that is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("a,b\n0,1\n1,2\n")
    np.array([[0, 1], [1, 2]], np.uint32).tofile(tmp_path / "raw.u32")
    (tmp_path / "people.csv").write_text("0\n1\n")
    (tmp_path / "shares.csv").write_text("0,1\n1,1\n2,1\n")
    (tmp_path / "graph.e").write_text("0 1\n")
    (tmp_path / "graph.v").write_text("0\n1\n")
    return tmp_path


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_was_read_is_not_replaced(folder):
    os.symlink("edges.csv", "link.csv")
    before = contents(folder)
    graph = welter.read_edges("edges.csv")
    beside = welter.read_edges("edges.csv", vertices_from="people.csv")
    for result, path in (
        (welter.wcc(graph), "edges.csv"),
        (welter.wcc("edges.csv"), folder / "link.csv"),
        (welter.wcc(welter.read_edges("ed*.csv")), "./edges.csv"),
        (welter.wcc(welter.read_edges("raw.u32")), "raw.u32"),
        (graph.degrees(), "edges.csv"),
        (welter.wcc(beside), "people.csv"),
        (beside.degrees(), "people.csv"),
        (welter.wcc("graph.e"), "graph.v"),
        (welter.pagerank(graph, personalization="shares.csv"), "shares.csv"),
        (welter.pagerank(graph, personalization=["sh*.csv"]), "shares.csv"),
        (welter.spmv(graph, vector_from="shares.csv"), "shares.csv"),
        (welter.bfs(graph, sources_from="people.csv"), "people.csv"),
        (welter.pagerank("edges.csv", checkpoint="kept.run"), "edges.csv"),
    ):
        for _ in range(2):
            with pytest.raises(welter.OutputError, match="is an input and cannot be the output"):
                result.write(path, format="csv")
    with pytest.raises(welter.OutputError, match="is an input and cannot be the output"):
        welter.wcc(graph).report.write("edges.csv")
    assert contents(folder) == before
    welter.wcc(graph).write("new.csv")
    # A file that another run read may be replaced.
    welter.wcc(welter.rmat(4)).write("people.csv")


def test_no_file_is_written_into_a_kept_graph(folder):
    graph = welter.read_edges("edges.csv")
    graph.save("kept")
    manifest = (folder / "kept" / "manifest").read_bytes()
    with pytest.raises(welter.OutputError, match="a graph is kept in"):
        welter.wcc(graph).write("kept/manifest", format="csv")
    with pytest.raises(welter.OutputError, match="is there already"):
        graph.save("kept")
    assert (folder / "kept" / "manifest").read_bytes() == manifest
    assert welter.open("kept").num_edges == 2


#: Results larger than files may be.
LIMITED = """
    import resource, sys, welter
    graph = welter.rmat(14)
    result = welter.pagerank(graph, iterations=1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
    try:
        {call}
    except welter.StorageError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    "call",
    [
        "result.write('old.csv')",
        "result.write('old.parquet')",
        "result.write('old.npy')",
        "result.report.write('old.html')",
        "graph.save('kept')",
    ],
)
def test_a_file_that_cannot_be_written_is_as_it_was(folder, call):
    for name in ("old.csv", "old.parquet", "old.npy", "old.html"):
        (folder / name).write_text("mine")
    before = contents(folder)
    script = textwrap.dedent(LIMITED.format(call=call))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("StorageError"), done.stdout
    assert contents(folder) == before
    assert not [path for path in folder.iterdir() if path.is_dir()], "nothing is left behind"


def test_a_report_goes_where_a_result_may(folder):
    before = contents(folder)
    report = welter.pagerank(welter.rmat(6)).report
    with pytest.raises(welter.OutputError, match="nowhere/run.json: cannot create it"):
        report.write("nowhere/run.json")
    welter.rmat(4).save("kept")
    with pytest.raises(welter.OutputError, match="a graph is kept in"):
        report.write("kept/manifest")
    assert contents(folder) == before


#: Stands between a program and the system, and tells what is in a folder that becomes durable.
SHIM = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fsync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    DIR *folder = opendir(link);
    FILE *log = fopen(getenv("SHIM_LOG"), "a");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        fprintf(log, "%s\n", entry->d_name);
    fclose(log);
    return real(file);
}
"""


@pytest.mark.parametrize("name", ["ranks.csv", "ranks.parquet", "ranks.npy", "ranks.jsonl"])
def test_the_folder_of_a_result_is_on_the_device_when_it_is_written(folder, tmp_path, name):
    (folder / "shim.c").write_text(SHIM)
    shim, log = folder / "shim.so", folder / "log"
    build = ["cc", "-shared", "-fPIC", "-o", str(shim), str(folder / "shim.c"), "-ldl"]
    subprocess.run(build, check=True)
    place = folder / "results"
    place.mkdir()
    script = f"import welter; welter.pagerank(welter.rmat(6)).write({str(place / name)!r})"
    environ = {**os.environ, "LD_PRELOAD": str(shim), "SHIM_LOG": str(log)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environ)
    # Behind the renaming: the file has its name, and nothing else is there.
    assert sorted(log.read_text().split()) == [".", "..", name]


def test_a_result_of_a_frame_has_no_input_to_replace(folder):
    frame = polars.DataFrame({"a": [0], "b": [1]})
    welter.wcc(frame).write("edges.csv")
    assert (folder / "edges.csv").read_text() == "vertex,component\n0,0\n1,0\n"
