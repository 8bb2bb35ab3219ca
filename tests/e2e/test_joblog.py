# SPDX-License-Identifier: MIT
"""The log of a job: lines that its workers add, and GET LOG yes shows."""
import pytest

from conftest import BUILD, belfry
from wire import Refused, encode, now_ms


def leased(b, q, *more):
    b.call("SCHEDULE", q, "x", *more)
    return b.call("LEASE", q, "FOR", "1h")[0]


def texts(job):
    return [line["text"] for line in job["log"]]


def test_lines_stand_with_their_moments_and_attempts(b, q):
    job = leased(b, q)
    before = now_ms()
    assert b.call("LOG", job["id"], job["token"], "begun") == "OK"
    b.call("FAIL", job["id"], job["token"], "RETRY", "0ms")
    again = b.call("LEASE", q, "WAIT", "10s", "FOR", "1h")[0]
    b.call("LOG", again["id"], again["token"], b"half \xff")
    b.call("COMPLETE", again["id"], again["token"])
    shown = b.call("GET", job["id"], "LOG", "yes")
    assert [(line["attempt"], line["text"]) for line in shown["log"]] == [(1, "begun"), (2, "half \udcff")]
    assert all(before <= line["at_ms"] <= now_ms() for line in shown["log"])
    assert (shown["log_lines"], shown["log_left_out"], shown["state"]) == (2, 0, "done")
    plain = b.call("GET", job["id"])
    assert plain["log"] is None and plain["log_lines"] == 2


def test_a_log_is_bounded_by_lines_and_bytes(b, q):
    job = leased(b, q)
    b.sock.sendall(b"".join(encode("LOG", job["id"], job["token"], f"line {i}") for i in range(150)))
    assert [b.recv() for _ in range(150)] == ["OK"] * 150
    shown = b.call("GET", job["id"], "LOG", "yes")
    assert texts(shown) == [f"line {i}" for i in range(50, 150)] and (shown["log_lines"], shown["log_left_out"]) == (100, 50)
    for i in range(40):
        b.call("LOG", job["id"], job["token"], "é" * 2000)
    shown = b.call("GET", job["id"], "LOG", "yes")
    assert texts(shown)[-1] == "é" * 512 and 10 <= shown["log_lines"] <= 16
    assert shown["log_lines"] + shown["log_left_out"] == 190
    assert sum(len(t.encode()) for t in texts(shown)) <= 16384


def test_only_the_holder_of_the_lease_logs(b, q):
    job = leased(b, q)
    for token in (1, int(job["token"]) + 1):
        with pytest.raises(Refused, match="STALE"):
            b.call("LOG", job["id"], token, "x")
    with pytest.raises(Refused, match="INVALID too few"):
        b.call("LOG", job["id"], job["token"])
    b.call("COMPLETE", job["id"], job["token"])
    with pytest.raises(Refused, match="STALE"):
        b.call("LOG", job["id"], job["token"], "x")
    assert b.call("GET", job["id"], "LOG", "yes")["log"] == []


def test_http_and_the_command_line(shared_server, web, b, q):
    job = leased(b, q)
    path = f"/v1/jobs/{job['id']}"
    assert web.ask("POST", path + "/log", {"token": job["token"], "text": "over http"}).status == 204
    assert web.ask("POST", path + "/log", {"token": "1", "text": "x"}).status == 409
    assert web.ask("POST", path + "/log", {"token": job["token"]}).status == 400
    done = belfry("log", job["id"], job["token"], "by hand", "--port", shared_server.port)
    assert done.returncode == 0, done
    assert [line["text"] for line in web.get(path + "?log=yes")["log"]] == ["over http", "by hand"]
    assert web.get(path)["log"] is None and web.get(path)["log_lines"] == 2
    assert "over http" in belfry("get", job["id"], "--log", "yes", "--port", shared_server.port).stdout


def test_a_command_of_belfry_work_logs(shared_server, b, q):
    id = b.call("SCHEDULE", q, "x")
    script = f'{BUILD}/belfry log "$BELFRY_ID" "$BELFRY_TOKEN" "half done" --port {shared_server.port}'
    done = belfry("work", q, "--once", "--port", shared_server.port, "--", "sh", "-c", script)
    assert done.returncode == 0, done
    assert texts(b.call("GET", id, "LOG", "yes")) == ["half done"]


def test_acknowledged_lines_survive_kill_and_the_reclaiming_of_the_journal(make_server):
    server = make_server(segment_size="64k")
    logged = []
    with server.wire(3) as b:
        job = leased(b, "q", "RETAIN", "1h")
        ended = leased(b, "q", "RETAIN", "1h")
        b.call("LOG", ended["id"], ended["token"], "last words")
        b.call("COMPLETE", ended["id"], ended["token"])
    for round in range(5):
        with server.wire(3) as b:
            for i in range(7):
                logged.append(f"{round}.{i}")
                b.call("LOG", job["id"], job["token"], logged[-1])
            b.sock.sendall(b"".join(encode("SCHEDULE", "fill", "p" * 3000, "RETAIN", "0") for _ in range(50)))
            for _ in range(50):
                b.recv()
            for each in b.call("LEASE", "fill", "COUNT", 50):
                b.call("COMPLETE", each["id"], each["token"])
        server.kill()
        server.start()
        with server.wire(3) as b:
            assert texts(b.call("GET", job["id"], "LOG", "yes")) == logged
            assert texts(b.call("GET", ended["id"], "LOG", "yes")) == ["last words"]
    assert not server.segments()[0].name.endswith("0001.log"), "the first segment was reclaimed"


def test_the_bytes_of_a_log_count(make_server):
    server = make_server()
    with server.wire(3) as b:
        b.call("TENANT", "acme", "MAX_BYTES", 20000)
        b.call("SCHEDULE", "q", "x", "TENANT", "acme")
        job, = b.call("LEASE", "q", "TENANT", "acme")
        before = b.call("TENANT", "acme")["kept_bytes"]
        b.call("LOG", job["id"], job["token"], "x" * 1000)
        assert 1000 <= b.call("TENANT", "acme")["kept_bytes"] - before <= 1040
        b.call("TENANT", "acme", "MAX_BYTES", 2000)
        with pytest.raises(Refused, match="LIMIT .*max_bytes of acme is 2000"):
            for _ in range(3):
                b.call("LOG", job["id"], job["token"], "x" * 1000)
        b.call("FAIL", job["id"], job["token"], "ERROR", "e" * 5000, "FINAL", "yes")  # an end is never refused
        assert len(b.call("GET", job["id"], "TENANT", "acme")["error"]) == 5000
        assert b.call("TENANT", "acme")["kept_bytes"] > 6000
