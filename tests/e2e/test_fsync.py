# SPDX-License-Identifier: MIT
"""A disk that fails to sync: nothing is acknowledged that is not there, and the server rebuilds itself."""
import pathlib
import subprocess
import time

import pytest

import conftest
from conftest import Server
from wire import Closed

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def failing(tmp_path, monkeypatch):
    """A server whose fdatasync fails while the flag file exists."""
    shim = tmp_path / "failsync.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "failsync.c"], check=True)
    flag = tmp_path / "fail"
    monkeypatch.setitem(conftest.ENV, "LD_PRELOAD", str(shim))
    monkeypatch.setitem(conftest.ENV, "FAILSYNC", str(flag))
    server = Server(tmp_path / "server").start()
    yield server, flag
    flag.unlink(missing_ok=True)
    server.kill()


def wait_until_served(server, seconds=20):
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
    assert "could not be written" in server.log()
    with server.wire() as w:
        for id_ in acknowledged:
            assert w.call("GET", id_)["state"] == "scheduled"
    server.kill()
    server.start()
    with server.wire() as w:
        assert all(w.call("GET", id_) for id_ in acknowledged)
