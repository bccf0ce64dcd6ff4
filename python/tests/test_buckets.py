"""Results and graphs in buckets: a store in this process, which speaks as much of S3 as is used."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import welter


class Store(BaseHTTPRequestHandler):
    """Objects, uploads in parts, and a bucket that no user may write to."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]
    uploads: dict[str, dict[int, bytes]]
    asked: list[str]
    ranges: list[int]
    #: States of runs that are taken; others are refused.
    states_max: float
    #: Part of the paths of objects whose ranges do not come, if there are such.
    stalls: str
    stalled: threading.Event

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _any(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append(f"{self.command} {url.path}")
        is_opened = self.headers.get("Range") in (None, "bytes=0-0")
        if self.stalls and self.stalls in url.path and not is_opened:
            self.stalled.set()
            time.sleep(60)
        if url.path.startswith("/closed/") or self._is_late(url.path):
            self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif "uploads" in query:
            self.uploads["1"] = {}
            self._answer(200, b"<InitiateMultipartUploadResult><UploadId>1</UploadId>"
                         b"</InitiateMultipartUploadResult>")
        elif "partNumber" in query:
            self.uploads["1"][int(query["partNumber"][0])] = body
            self._answer(200, ETag='"part"')
        elif self.command == "POST":
            parts = self.uploads.pop("1")
            self.objects[url.path] = b"".join(parts[number] for number in sorted(parts))
            self._answer(200, b"<CompleteMultipartUploadResult><ETag>1</ETag>"
                         b"</CompleteMultipartUploadResult>")
        elif self.command == "DELETE":
            self.uploads.pop("1", None)
            self.objects.pop(url.path, None)
            self._answer(204)
        elif "list-type" in query:
            self._list(url.path.rstrip("/") + "/", query.get("prefix", [""])[0])
        elif self.command in ("GET", "HEAD"):
            self._read(url.path)
        elif self.headers.get("If-None-Match") == "*" and url.path in self.objects:
            self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        else:
            self.objects[url.path] = body
            self._answer(200, ETag='"whole"')

    def _is_late(self, path: str) -> bool:
        """Whether it puts a state behind the last one that is taken."""
        states = [asked for asked in self.asked if asked.startswith("PUT ") and "/state-" in asked]
        return f"{self.command} {path}" in states and len(states) > self.states_max

    def _list(self, bucket: str, prefix: str) -> None:
        about = "<LastModified>2026-11-26T12:00:00.000Z</LastModified><ETag>whole</ETag>"
        items = "".join(
            f"<Contents><Key>{name.removeprefix(bucket)}</Key>{about}<Size>{len(body)}</Size>"
            "</Contents>"
            for name, body in sorted(self.objects.items())
            if name.startswith(bucket + prefix)
        )
        self._answer(200, f"<ListBucketResult>{items}</ListBucketResult>".encode())

    def _read(self, path: str) -> None:
        if path not in self.objects:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        whole, status, headers = self.objects[path], 200, {"ETag": '"whole"'}
        headers["Last_Modified"] = "Thu, 26 Nov 2026 12:00:00 GMT"
        if asked := self.headers.get("Range"):
            first, last = (int(place) for place in asked.removeprefix("bytes=").split("-"))
            last = min(last, len(whole) - 1)
            headers["Content_Range"] = f"bytes {first}-{last}/{len(whole)}"
            whole, status = whole[first : last + 1], 206
            self.ranges.append(len(whole))
        self._answer(status, whole, **headers)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _any


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Store]]:
    """A store, with the variables by which it is found."""

    class Kept(Store):
        objects = {}
        uploads = {}
        asked = []
        ranges = []
        states_max = math.inf
        stalls = ""
        stalled = threading.Event()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Kept)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_REGION": "nowhere-1",
        "AWS_ACCESS_KEY_ID": "WELTERKEY",
        "AWS_SECRET_ACCESS_KEY": "very/secret",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    yield Kept
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "r.npy", "r.csv.gz"])
def test_results_are_those_of_the_files(store: type[Store], tmp_path: Path, name: str) -> None:
    ranks = welter.pagerank(welter.from_numpy([0, 1, 2], [1, 2, 0]))
    ranks.write(tmp_path / name)
    ranks.write(f"s3://box/out/{name}")
    assert store.objects == {f"/box/out/{name}": (tmp_path / name).read_bytes()}
    assert store.uploads == {}


@pytest.mark.parametrize("name", ["run.json", "run.html"])
def test_reports_are_those_of_the_files(store: type[Store], tmp_path: Path, name: str) -> None:
    report = welter.pagerank(welter.from_numpy([0, 1, 2], [1, 2, 0])).report
    report.write(tmp_path / name)
    report.write(f"s3://box/out/{name}")
    written = store.objects.pop(f"/box/out/{name}")
    assert written == (tmp_path / name).read_bytes() and not store.objects
    if name == "run.json":
        assert json.loads(written) == report.to_dict()
    with pytest.raises(welter.WelterError, match=f"s3://closed/{name}: cannot create it"):
        report.write(f"s3://closed/{name}")
    assert store.objects == {}


def test_a_bucket_that_is_closed_is_an_error(store: type[Store]) -> None:
    ranks = welter.pagerank(welter.from_numpy([0, 1, 2], [1, 2, 0]))
    with pytest.raises(welter.WelterError, match="s3://closed/r.csv: cannot create it") as caught:
        ranks.write("s3://closed/r.csv")
    assert "secret" not in str(caught.value) and "KEY" not in str(caught.value)
    assert store.objects == {}


def test_a_graph_in_a_bucket_is_run_on(store: type[Store], tmp_path: Path) -> None:
    sources = [place % 97 for place in range(3000)]
    targets = [place * place % 89 for place in range(3000)]
    held = welter.from_numpy(sources, targets)
    held.save("s3://box/graph")
    assert "/box/graph/manifest" in store.objects and store.uploads == {}
    with pytest.raises(welter.WelterError, match="a graph is kept there already"):
        held.save("s3://box/graph")
    expected = welter.pagerank(held).to_numpy()["rank"]
    assert (welter.pagerank("s3://box/graph").to_numpy()["rank"] == expected).all()
    graph = welter.open("s3://box/graph")
    there = pickle.loads(pickle.dumps(graph))
    assert (welter.pagerank(there).to_numpy()["rank"] == expected).all()
    cached = {"edge_cache": f"{tmp_path / 'cache'}:64MiB", "edge_memory": 0}
    for _ in range(2):
        store.asked.clear()
        assert (welter.pagerank(graph, **cached).to_numpy()["rank"] == expected).all()
    assert not any("edges-0" in asked for asked in store.asked)
    several = [f"{tmp_path / name}:64MiB" for name in ("one", "two")]
    ranks = welter.pagerank(graph, edge_cache=several, edge_memory=0)
    assert (ranks.to_numpy()["rank"] == expected).all()
    assert all((tmp_path / name / "welter-edge-cache").exists() for name in ("one", "two"))


@pytest.fixture
def interrupted() -> Iterator[None]:
    """Ctrl-C as a shell lets it come: a process that was begun in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_ends_what_waits_for_a_bucket_that_stalls(store: type[Store]) -> None:
    sources = [place % 97 for place in range(3000)]
    targets = [place * place % 89 for place in range(3000)]
    welter.from_numpy(sources, targets).save("s3://box/graph")
    graph = welter.open("s3://box/graph")
    expected = welter.pagerank(graph).to_numpy()["rank"]

    def stop() -> None:
        if store.stalled.wait(30):
            os.kill(os.getpid(), signal.SIGINT)

    for wait in (
        lambda: welter.pagerank("s3://box/graph"),
        lambda: welter.pagerank(graph, edge_memory=0),
        lambda: welter.check("s3://box/graph"),
    ):
        store.stalls = "/edges-"
        store.stalled.clear()
        stopping = threading.Thread(target=stop)
        stopping.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert time.monotonic() - began < 10
        stopping.join()
        # It was the word of that run alone: the next one of the same graph goes on.
        store.stalls = ""
        assert (welter.pagerank(graph).to_numpy()["rank"] == expected).all()


def test_a_graph_in_a_bucket_is_checked(store: type[Store]) -> None:
    held = welter.from_numpy([0, 1, 2, 3], [1, 2, 0, 0])
    held.save("s3://box/graph", stripe_bits=24, block_bits=6, read_size="64KiB")
    found = welter.check("s3://box/graph", threads=1)
    assert found["edges"] == 4 and found["foreign"] == []
    assert found["files"] == len(store.objects)
    assert found["bytes"] == sum(map(len, store.objects.values()))
    [name] = [name for name in store.objects if "edges-0" in name]
    store.objects[name] = bytes([store.objects[name][0] ^ 1]) + store.objects[name][1:]
    with pytest.raises(welter.DamagedError, match="edges-0: damaged at offset 0"):
        welter.check("s3://box/graph")
    with pytest.raises(welter.MissingError, match="no graph is kept here"):
        welter.check("s3://box/none")


def test_a_graph_that_is_not_there_is_an_error(store: type[Store]) -> None:
    with pytest.raises(welter.WelterError, match="s3://box/none: no such object"):
        welter.pagerank("s3://box/none")
    assert store.objects == {}


def test_edges_and_checkpoints_lie_in_a_bucket(store: type[Store], tmp_path: Path) -> None:
    edges = "".join(f"{place % 97},{place * place % 89}\n" for place in range(3000))
    (tmp_path / "edges.csv").write_text(edges)
    store.objects["/box/in/edges.csv"] = edges.encode()
    expected = welter.pagerank(tmp_path / "edges.csv", iterations=6).to_numpy()["rank"]
    ranks = welter.pagerank(
        "s3://box/in/*.csv", iterations=6, checkpoint="s3://box/ranks", checkpoint_every=2
    )
    assert (ranks.to_numpy()["rank"] == expected).all()
    put = [asked for asked in store.asked if asked.startswith("PUT /box/ranks/")]
    assert len(put) > 2, store.asked
    # A checkpoint goes when the results are there.
    assert not any(name.startswith("/box/ranks/") for name in store.objects)


def test_a_run_of_urls_is_resumed_in_any_directory(
    store: type[Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = "".join(f"{place % 97},{place * place % 89}\n" for place in range(3000))
    store.objects["/box/in/edges.csv"] = edges.encode()
    run = {"iterations": 6, "tolerance": 0.0, "threads": 1}
    expected = welter.pagerank("s3://box/in/edges.csv", **run).to_numpy()["rank"]
    for more in (
        {"threads": 2, "io": "cached", "in_flight": 2},
        {"edge_memory": 0, "scratch": tmp_path},
        {"route": "spill", "no_combine": True, "no_fuse": True, "vertices_in_memory": True},
        {"route": "ranges", "stripe_bits": 12},
    ):
        (tmp_path / "there").mkdir()
        monkeypatch.chdir(tmp_path / "there")
        store.asked.clear()
        store.states_max = 3
        kept = {"checkpoint": "s3://box/ck", "checkpoint_every": 1}
        with pytest.raises(welter.StorageError, match="access is denied"):
            welter.pagerank("s3://box/in/edges.csv", **run, **kept)
        monkeypatch.chdir(tmp_path)
        (tmp_path / "there").rmdir()
        store.states_max = math.inf
        resumed = welter.resume("s3://box/ck", **more)
        assert np.allclose(resumed.to_numpy()["rank"], expected, rtol=1e-9, atol=0.0), more
        plan = resumed.report["plan"]
        assert plan["route"] == more.get("route", plan["route"]), more
        if "edge_memory" in more:
            assert resumed.report["storage"]["bytes_on_storage"] > 0
        assert set(store.objects) == {"/box/in/edges.csv"}


def test_inputs_are_asked_for_as_is_stated(store: type[Store]) -> None:
    rows = "".join(f"{place % 9973},{place * 31 % 9967}\n" for place in range(200_000))
    store.objects["/box/in/edges.csv"] = rows.encode()
    expected = welter.read_edges("s3://box/in/edges.csv").num_edges
    assert max(store.ranges) > 512 << 10
    for read in (
        lambda: welter.read_edges("s3://box/in/edges.csv", read_size="256KiB", in_flight=2),
        lambda: welter.as_graph("s3://box/in/edges.csv", read_size=256 << 10),
    ):
        store.ranges.clear()
        assert read().num_edges == expected
        assert max(store.ranges) == 256 << 10
    store.ranges.clear()
    welter.wcc("s3://box/in/edges.csv", read_size="256KiB")
    assert max(store.ranges) == 256 << 10


def test_edges_and_graphs_lie_on_web_servers_and_at_azure(
    store: type[Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = "".join(f"{place % 97},{place * place % 89}\n" for place in range(3000))
    (tmp_path / "edges.csv").write_text(edges)
    expected = welter.pagerank(tmp_path / "edges.csv", iterations=6).to_numpy()["rank"]
    held = welter.read_edges(tmp_path / "edges.csv")
    held.save("s3://box/graph")
    kept = welter.pagerank("s3://box/graph", iterations=6).to_numpy()["rank"]
    store.objects["/box/edges.csv"] = edges.encode()
    for name, body in list(store.objects.items()):
        store.objects[f"/me{name}"] = body
    web = os.environ["AWS_ENDPOINT_URL"]
    for name, value in {
        "AZURE_STORAGE_ENDPOINT": f"{web}/me",
        "AZURE_STORAGE_ACCOUNT_NAME": "me",
        "AZURE_SKIP_SIGNATURE": "true",
    }.items():
        monkeypatch.setenv(name, value)
    for box, path in [(f"{web}/box", "/box"), ("az://box", "/me/box")]:
        store.asked.clear()
        ranks = welter.pagerank(f"{box}/edges.csv", iterations=6).to_numpy()["rank"]
        assert (ranks == expected).all(), box
        ranks = welter.pagerank(f"{box}/graph", iterations=6).to_numpy()["rank"]
        assert (ranks == kept).all(), box
        assert {f"GET {path}/edges.csv", f"GET {path}/graph/manifest"} <= set(store.asked)
        assert all(asked.startswith(("GET ", "HEAD ")) for asked in store.asked), store.asked
    with pytest.raises(welter.WelterError, match="nothing is written to a web server"):
        held.save(f"{web}/box/other")


def test_a_bucket_is_probed(store: type[Store]) -> None:
    [found] = welter.probe("s3://box/there", seconds=1, bytes="256KiB")
    assert found["directories"] == ["s3://box/there"] and not found["kept"]
    for direction in ("read", "write"):
        assert all(rate["bytes_per_second"] > 0 for rate in found[direction])
        assert found[f"best_{direction}"] in found[direction]
    assert found["first_byte_seconds"] > 0
    # Rates are all that is left.
    assert set(store.objects) == {"/box/there/.welter-rates"} and not store.uploads
    welter.from_numpy([0, 1, 2], [1, 2, 0]).save("s3://box/graph")
    [found] = welter.probe("s3://box/graph", seconds=1, bytes="256KiB")
    assert found["kept"] and "/box/graph/rates" in store.objects
    with pytest.raises(welter.WelterError, match="s3://closed/there/welter-probe-"):
        welter.probe("s3://closed/there", seconds=1, bytes="256KiB")


def test_a_graph_is_kept_as_it_is_asked_for(tmp_path: Path) -> None:
    sources = [place % 997 for place in range(50_000)]
    targets = [place * place % 9973 for place in range(50_000)]
    held = welter.from_numpy(sources, targets)
    sizes = {}
    for name, options in {
        "packed": {"encoding": "packed", "compression": "none"},
        "zstd": {"encoding": "packed", "compression": "zstd", "write_size": "64KiB"},
        "lz4": {"encoding": "compressed", "compression": "lz4", "in_flight": 2, "io": "cached"},
    }.items():
        kept = tmp_path / name
        held.save(kept, **options)
        sizes[name] = sum(file.stat().st_size for file in kept.rglob("*") if file.is_file())
        expected, found = (welter.pagerank(graph).to_numpy()["rank"] for graph in (held, kept))
        assert (expected == found).all(), name
    assert max(sizes["zstd"], sizes["lz4"]) < sizes["packed"], sizes
    with pytest.raises(welter.UsageError, match="compression"):
        held.save(tmp_path / "no", compression="best")
    with pytest.raises(welter.UsageError, match="stripe_bits=25: 25 is not in 12..=24"):
        held.save(tmp_path / "no", stripe_bits=25)
    for stripe_bits, block_bits in [(12, 7), (24, 6)]:
        kept = tmp_path / f"{stripe_bits}"
        held.save(kept, stripe_bits=stripe_bits, block_bits=block_bits)
        plan = welter.pagerank(kept, iterations=1).report["plan"]
        assert (plan["stripe_bits"], plan["block_bits"]) == (stripe_bits, block_bits)
