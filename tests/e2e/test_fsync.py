# SPDX-License-Identifier: MIT
"""A disk that fails to sync: nothing is acknowledged that is not there, and the server rebuilds itself."""
import http.client
import pathlib
import socket
import subprocess
import time

import pytest

import conftest
from conftest import Server
from web import Web, read_all, request
from wire import Closed

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def shim(tmp_path, monkeypatch):
    """Servers get their fdatasync from failsync.c."""
    path = tmp_path / "failsync.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", path, HERE / "failsync.c"], check=True)
    monkeypatch.setitem(conftest.ENV, "LD_PRELOAD", str(path))


@pytest.fixture
def failing(shim, tmp_path, monkeypatch):
    """A server whose fdatasync fails while the flag file exists."""
    flag = tmp_path / "fail"
    monkeypatch.setitem(conftest.ENV, "FAILSYNC", str(flag))
    server = Server(tmp_path / "server").start()
    yield server, flag
    flag.unlink(missing_ok=True)
    server.kill()


def wait_until_served(server, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with server.wire() as w:
                if w.call("PING") == "PONG":
                    return
        except (OSError, Closed):
            time.sleep(0.05)
    raise AssertionError(f"not served again after {seconds} s:\n{server.log()}")


def test_a_failed_sync_is_never_acknowledged_and_everything_acknowledged_stays(failing):
    server, flag = failing
    acknowledged, unknown = [], []
    for round_ in range(3):
        with server.wire() as w:
            acknowledged += [w.call("SCHEDULE", "q", f"ok {round_} {i}", "IN", "1h") for i in range(50)]
            flag.touch()
            with pytest.raises((OSError, Closed)):
                unknown.append(w.call("SCHEDULE", "q", f"lost {round_}", "IN", "1h"))
        flag.unlink()
        wait_until_served(server)
    assert unknown == []
    assert server.alive()
    server.says("could not be written")
    with server.wire() as w:
        for id_ in acknowledged:
            assert w.call("GET", id_)["state"] == "scheduled"
    server.kill()
    server.start()
    with server.wire() as w:
        assert all(w.call("GET", id_) for id_ in acknowledged)


def test_the_same_for_clients_that_speak_http(failing):
    server, flag = failing
    acknowledged = []
    for round_ in range(3):
        waiting = socket.create_connection(("127.0.0.1", server.port))
        waiting.sendall(request("POST", "/v1/leases", b'{"queues":"none","wait":"60s"}'))
        idle = Web(server.port)
        idle.get("/healthz")
        with Web(server.port) as w:
            acknowledged += [w.post("/v1/jobs", {"queue": "q", "payload": f"{round_} {i}", "in": "1h"})["id"]
                             for i in range(20)]
            flag.touch()
            with pytest.raises((OSError, http.client.HTTPException)):
                w.post("/v1/jobs", {"queue": "q", "payload": "lost", "in": "1h"})
        assert read_all(waiting) == b"", "it waited for what is no longer there"
        flag.unlink()
        wait_until_served(server)
        with pytest.raises((OSError, http.client.HTTPException)):
            idle.get("/healthz")
    with Web(server.port) as w:
        assert all(w.get(f"/v1/jobs/{id_}")["state"] == "scheduled" for id_ in acknowledged)
        assert w.get("/v1/stats")["connections"] == 1


def test_interval_syncs_by_its_deadline_also_under_steady_load(shim, tmp_path, monkeypatch, make_server):
    count = tmp_path / "syncs"
    monkeypatch.setitem(conftest.ENV, "COUNTSYNC", str(count))
    server = make_server(durability="interval", sync_interval="200ms")
    time.sleep(1)  # spare files are made and synced
    with server.wire() as w:
        for _ in range(3):  # where the machine stalls there are fewer: then once more
            before = count.stat().st_size if count.exists() else 0
            end = time.monotonic() + 3
            while time.monotonic() < end:  # never a pause as long as the interval
                w.call("SCHEDULE", "q", "x", "IN", "1h")
                time.sleep(0.02)
            during = count.stat().st_size - before
            if during >= 8:
                break
    assert 8 <= during <= 50, f"{during} syncs in 3 s"  # 15 by the interval; not one per commit
