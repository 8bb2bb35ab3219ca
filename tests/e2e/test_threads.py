# SPDX-License-Identifier: MIT
"""A system that allows few threads: the server says so before it serves anybody, or serves."""
import pathlib
import re
import subprocess

import pytest

import conftest
from conftest import Server, wait_for

HERE = pathlib.Path(__file__).parent
ENOUGH = 32
WHY = re.compile(r"cannot start the (pool of threads|log thread)|Resource temporarily unavailable")


@pytest.fixture
def shim(tmp_path, monkeypatch):
    path = tmp_path / "fewthreads.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", path, HERE / "fewthreads.c"], check=True)
    monkeypatch.setitem(conftest.ENV, "LD_PRELOAD", str(path))
    return lambda n: monkeypatch.setitem(conftest.ENV, "FEWTHREADS", str(n))


def test_a_server_has_all_its_threads_before_it_listens_or_says_that_it_cannot(shim, tmp_path):
    """However many are allowed: no abort, no silent end, and none that comes later."""
    refused = 0
    for allowed in range(ENOUGH):
        shim(allowed)
        server = Server(tmp_path / f"s{allowed}")
        server.launch()
        wait_for(lambda: server.process.poll() is not None or server.port_file.exists(), 30, "an end or a beginning")
        code, said = server.process.poll(), server.log()
        if code is None:
            break
        assert code == 1 and WHY.search(said) and "listening" not in said, f"{allowed} threads: {code}\n{said}"
        refused += 1
    server.kill()
    server.start()
    try:
        with server.wire(timeout=30) as w:
            ids = w.pipeline([("SCHEDULE", "q", "x" * 1000, "IN", "1h") for _ in range(1000)])
            assert all(w.call("GET", id) for id in ids[:10])
    finally:
        server.kill()
    assert 8 < refused < ENOUGH - 1, "the pool alone has eight"
