"""Rates of storage from Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import welter

SMALL = {"seconds": 1, "bytes": "256KiB"}


def test_each_target_has_its_rates_and_keeps_them(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    page = tmp_path / "page.html"
    found = welter.probe(one, str(other), html=page, **SMALL)
    assert [target["directories"] for target in found] == [[str(one)], [str(other)]]
    for target in found:
        for rates in (target["read"], target["write"]):
            assert {rate["request_bytes"] for rate in rates} >= {4096, 65536}
            assert all(rate["bytes_per_second"] > 0 for rate in rates)
        assert target["best_read"] in target["read"]
        assert target["first_byte_seconds"] > 0
        assert not target["kept"]
    assert (one / ".welter-rates").exists()
    assert "<svg" in page.read_text()
    [both] = welter.probe(one, other, together=True, **SMALL)
    assert both["directories"] == [str(one), str(other)]


def test_a_graph_keeps_its_rates(tmp_path):
    kept = tmp_path / "kept"
    welter.rmat(8).save(kept)
    [target] = welter.probe(kept, **SMALL)
    assert target["kept"]
    assert (kept / "rates").exists()


def test_refusals_are_those_of_the_command(tmp_path):
    with pytest.raises(welter.UsageError):
        welter.probe()
    with pytest.raises(welter.UsageError, match="at least 64KiB"):
        welter.probe(tmp_path, bytes=1)
    with pytest.raises(welter.UsageError, match="together: a bucket is measured by itself"):
        welter.probe("s3://a/b", "s3://a/c", together=True)
    with pytest.raises(welter.WelterError):
        welter.probe(tmp_path / "none", **SMALL)


def test_other_threads_continue_meanwhile(tmp_path):
    count, done = 0, threading.Event()

    def counting():
        nonlocal count
        while not done.wait(0.01):
            count += 1

    thread = threading.Thread(target=counting)
    thread.start()
    welter.probe(tmp_path, **SMALL)
    done.set()
    thread.join()
    # One that waited for the whole of it would have counted once.
    assert count > 2


def test_ctrl_c_ends_a_probe(tmp_path):
    code = (
        "import welter, sys\n"
        "print('begun', flush=True)\n"
        "try:\n"
        "    welter.probe(sys.argv[1], seconds=600, bytes='16MiB')\n"
        "except KeyboardInterrupt:\n"
        "    print('ended', flush=True)\n"
    )
    line = [sys.executable, "-c", code, os.fspath(tmp_path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.stdout.readline() == "ended\n"
        assert time.monotonic() - began < 10
    assert os.listdir(tmp_path) == []
