# SPDX-License-Identifier: MIT
"""HTTP over time: requests that wait, clients that are slow, servers that end or have no room."""
import signal
import socket
import threading
import time

import pytest

from conftest import belfry, best, wait_for
from web import Web, raw, read_all, request


@pytest.mark.quiet
def test_a_lease_waits_until_there_is_work(shared_server, web):
    best(1, lambda: a_waiting_worker_gets_a_job(shared_server, web))


def a_waiting_worker_gets_a_job(shared_server, web):
    """How long after it was asked for."""
    found = {}

    def worker():
        with Web(shared_server.port) as w:
            found["jobs"] = w.post("/v1/leases", {"queues": "wait", "wait": "50s"})["jobs"]
            found["at"] = time.monotonic()

    thread = threading.Thread(target=worker)
    thread.start()
    wait_for(lambda: web.ask("GET", "/v1/queues/wait").status == 200 and
             web.get("/v1/queues/wait")["waiting_workers"] == 1, what="it waits")
    start = time.monotonic()
    id = web.post("/v1/jobs", {"queue": "wait", "payload": "x"})["id"]
    thread.join(60)
    assert [job["id"] for job in found["jobs"]] == [id]
    web.post(f"/v1/jobs/{id}/complete", {"token": found["jobs"][0]["token"]})
    return found["at"] - start


def test_a_wait_ends_when_its_client_goes_away(shared_server, web):
    s = socket.create_connection(("127.0.0.1", shared_server.port))
    s.sendall(request("POST", "/v1/leases", b'{"queues":"gone","wait":"60s"}'))
    wait_for(lambda: web.ask("GET", "/v1/queues/gone").status == 200 and
             web.get("/v1/queues/gone")["waiting_workers"] == 1, what="it waits")
    s.close()
    wait_for(lambda: web.get("/v1/queues/gone")["waiting_workers"] == 0, what="the wait ended")
    id = web.post("/v1/jobs", {"queue": "gone", "payload": "x"})["id"]
    time.sleep(0.05)
    assert web.get(f"/v1/jobs/{id}")["state"] == "ready", "it was not given to nobody"


def test_a_wait_outlasts_client_timeout_and_slow_clients_do_not(make_server):
    server = make_server(client_timeout="1s")
    port = server.port
    start = time.monotonic()
    answer = raw(port, request("POST", "/v1/leases", b'{"queues":"q","wait":"3500ms"}', "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b'{"jobs":[]}\n'), answer
    assert time.monotonic() - start >= 3.49  # the server counts whole milliseconds
    slow = {}
    for name, first in (("line", b"GET /heal"), ("headers", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"),
                        ("body", request("POST", "/v1/jobs", b"{" + b" " * 100)[:-90]), ("guess", b"GET ")):
        slow[name] = socket.create_connection(("127.0.0.1", port), timeout=30)
        slow[name].sendall(first)
        slow[name].settimeout(0.05)
    end, cut = time.monotonic() + 25, set()  # client_timeout is 30 s if not told
    while len(cut) < len(slow) and time.monotonic() < end:
        for name, s in slow.items():
            if name in cut:
                continue
            try:
                if name != "guess":
                    s.sendall(b"x: y\r\n" if name == "headers" else b" ")
                if s.recv(1000) == b"":
                    cut.add(name)
            except TimeoutError:
                pass
            except OSError:
                cut.add(name)
        with Web(port) as w:  # a new one each time: if this process stalls, one that is kept is closed as idle
            assert w.ask("GET", "/healthz").status == 200, "others are served meanwhile"
    assert cut == set(slow)
    wait_for(lambda: Web(port).get("/v1/stats")["connections"] <= 3, what="they are not counted any more")


def test_a_client_that_does_not_read_is_cut_off(make_server):
    server = make_server(client_timeout="1s", max_payload="16MiB")
    with server.wire() as w:
        w.call("SCHEDULE", "big", "x" * 16000000)  # more than the kernel takes
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", server.port))
    s.sendall(request("POST", "/v1/leases", b'{"queues":"big"}'))
    with server.wire() as w:
        wait_for(lambda: w.call("QUEUE", "big")["leased"] == 1, what="its request is answered")
        wait_for(lambda: w.call("STATS")["connections"] == 1, 25, "it is cut off")
    s.close()


def test_connections_are_limited_together(make_server):
    server = make_server(max_connections=4)
    with server.wire() as w:
        wait_for(lambda: w.call("STATS")["connections"] == 1, what="the one that looked whether it is there has gone")
        webs = [Web(server.port) for _ in range(3)]
        for web in webs:
            assert web.get("/healthz")
        assert raw(server.port, request("GET", "/healthz")).startswith(b"-BUSY")
        assert w.call("STATS")["connections"] == 4


def test_sigterm_answers_what_is_under_way(make_server):
    server = make_server(sync_delay="300ms", drain_timeout="45s")
    waiting, writing, idle = (socket.create_connection(("127.0.0.1", server.port)) for _ in range(3))
    waiting.sendall(request("POST", "/v1/leases", b'{"queues":"q","wait":"60s"}'))
    idle.sendall(request("GET", "/healthz"))
    assert idle.recv(1000).startswith(b"HTTP/1.1 200")
    with server.wire() as w:
        wait_for(lambda: (w.call("QUEUE", "q") or {}).get("waiting_workers") == 1, what="it waits")
    writing.sendall(request("POST", "/v1/jobs", b'{"queue":"other","payload":"under way"}'))
    wait_for(lambda: server.has_written(b"under way"), what="it is written, and being synced")
    server.running = False
    server.process.send_signal(signal.SIGTERM)
    assert read_all(waiting).endswith(b'{"jobs":[]}\n')
    assert b"HTTP/1.1 201" in read_all(writing)
    assert server.process.wait(60) == 0
    server.start()
    with Web(server.port) as w:
        assert len(w.get("/v1/jobs?queue=other")["jobs"]) == 1


def test_jobs_on_disk_are_fetched(make_server):
    server = make_server(memory="16MiB")
    with server.wire() as w:
        ids = [id for n in range(4) for id in w.pipeline(
            [("SCHEDULE", "cold", "x" * 200, "IN", f"{n + 2}h", "KEY", f"k{n}-{i}") for i in range(10000)])]
        wait_for(lambda: w.call("STATS")["cold_jobs"] > 1000, 30, "some are on disk")
    with Web(server.port) as web:
        for n in range(0, len(ids), 1500):
            assert web.get(f"/v1/jobs/{ids[n]}")["payload"] == "x" * 200
            assert web.call("DELETE", f"/v1/queues/cold/keys/k{n // 10000}-{n % 10000}") == {"outcome": "cancelled"}
        assert web.get("/v1/stats")["fetches"] > 0, "they were on disk"


@pytest.mark.limit(360)
def test_those_who_add_wait_while_memory_is_short_and_all_is_kept(make_server):
    best(5, lambda: others_wait_while_memory_is_short(make_server))  # those who add nothing do not wait


def others_wait_while_memory_is_short(make_server):
    """For how long at most."""
    server = make_server(memory="16MiB")
    made, failed, over = [], [], threading.Event()

    def flood():
        try:
            belfry("bench", "--port", server.port, "--op", "schedule", "--jobs", 600000, "--keep", "--queue", "flood",
                   timeout=100)
        finally:
            over.set()

    def add(number):
        with Web(server.port, timeout=60) as w:
            while not over.is_set():
                answer = w.ask("POST", "/v1/jobs", {"queue": "much", "payload": f"{number} " + "x" * 300, "in": "2h"})
                (made if answer.status == 201 else failed).append(answer)

    threads = [threading.Thread(target=flood)] + [threading.Thread(target=add, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    worst = 0.0
    with Web(server.port) as w:
        while any(t.is_alive() for t in threads):
            start = time.monotonic()
            assert w.get("/healthz")
            worst = max(worst, time.monotonic() - start)
            time.sleep(0.02)
        assert not failed, failed[:3]
        assert w.get("/v1/queues/much")["scheduled"] == len(made) > 0
        assert w.get("/v1/queues/flood")["scheduled"] == 600000
    server.stop()
    return worst
