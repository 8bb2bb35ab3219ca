# SPDX-License-Identifier: MIT
"""Answers are never long to make or large to hold: pages end at bytes, escapes are quick, arrays end at limits."""
import base64
import pathlib
import socket
import time

import pytest

from conftest import best, elapsed
from web import Web, request

PAGE = 2 << 20
CONTROLS = bytes(range(1, 9)) * 4000  # 32,000 bytes, each of which JSON writes as six, or as two


@pytest.fixture(scope="module")
def full(shared_server):
    """A server with many large recurrences, and jobs with long keys."""
    with shared_server.wire() as w:
        w.pipeline([("RECUR", f"r{n:04}", "q", CONTROLS, "EVERY", "30d") for n in range(300)])
        w.pipeline([("SCHEDULE", "keys", "x", "IN", "30d", "KEY", b"%04d" % n + b"\x01" * 508,
                     "ORDER", b"%04d" % n + b"\x02" * 508) for n in range(1500)])
    return shared_server


def loop_ms(server):
    """The processor time of the loop's thread so far."""
    pid = server.process.pid
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e6


def pages(ask, what):
    """All pages: their sizes, and the things in them."""
    sizes, things, cursor = [], [], None
    while True:
        page, size = ask(cursor)
        sizes.append(size)
        things += page[what]
        cursor = page["cursor"]
        if cursor is None:
            return sizes, things


def web_pages(server, path, what):
    with Web(server.port) as web:
        def ask(cursor):
            answer = web.ask("GET", path + "limit=1000" + (f"&cursor={cursor}" if cursor else ""))
            assert answer.status == 200, answer
            return answer.json, len(answer.body)
        return pages(ask, what)


def wire_pages(server, words, what):
    with server.wire() as w:
        def ask(cursor):
            page = w.call(*words, "LIMIT", 1000, *(("CURSOR", cursor) if cursor else ()))
            return page, sum(len(str(v)) for thing in page[what] for v in thing.values())
        return pages(ask, what)


def test_pages_of_recurrences_end_at_bytes_and_leave_none_out(full):
    names = [f"r{n:04}" for n in range(300)]
    sizes, things = web_pages(full, "/v1/recurrences?", "recurrences")
    assert max(sizes) < PAGE + 65536 and len(sizes) > 5
    assert sorted({t["name"] for t in things}) == names  # one that goes to disk meanwhile may come twice
    assert all(base64.b64decode(t["payload_base64"]) == CONTROLS for t in things)
    sizes, things = wire_pages(full, ["RECURRENCES"], "recurrences")
    assert max(sizes) < PAGE + 65536 and len(sizes) > 4
    assert sorted({t["name"] for t in things}) == names  # one that goes to disk meanwhile may come twice


def test_pages_of_jobs_end_at_bytes_and_leave_none_out(full):
    for sizes, things in (web_pages(full, "/v1/jobs?queue=keys&", "jobs"),
                          wire_pages(full, ["LIST", "QUEUE", "keys"], "jobs")):
        assert max(sizes) < PAGE + 65536
        assert len({t["id"] for t in things}) == 1500


def test_a_page_for_http_holds_nobody_up(full):
    data = request("GET", "/v1/recurrences?limit=1000", b"", "Connection: close")

    def ping():
        with full.wire() as w, socket.create_connection(("127.0.0.1", full.port)) as s:
            s.sendall(data)
            time.sleep(0.002)
            return elapsed(lambda: w.call("PING"))
    best(0.1, ping)


def test_answers_that_are_not_read_take_little_memory(full):
    before = full.memory()["VmRSS"]
    sockets = [socket.create_connection(("127.0.0.1", full.port)) for _ in range(8)]
    for s in sockets:
        s.sendall(request("GET", "/v1/recurrences?limit=1000"))
    with full.wire() as w:
        assert w.call("PING") == "PONG"
        time.sleep(0.2)
        assert w.call("PING") == "PONG"
    assert full.memory()["VmRSS"] - before < 8 * 8 << 20
    for s in sockets:
        s.close()


@pytest.mark.parametrize("payload", [b"\x01" * (1 << 20), b'"' * (1 << 20), "中".encode() * 300000],
                         ids=["controls", "quotes", "wide"])
def test_a_payload_of_any_bytes_is_answered_at_once(full, payload):
    with full.wire() as w, Web(full.port) as web:
        id = w.call("SCHEDULE", "large", payload, "IN", "1h")

        def cpu():
            before = loop_ms(full)
            answer = web.get(f"/v1/jobs/{id}")
            assert payload in (base64.b64decode(answer.get("payload_base64", "")), answer.get("payload", "").encode())
            return loop_ms(full) - before
        best(15, cpu, 10)  # milliseconds, those for sending included


@pytest.mark.parametrize("element", [b"0,", b"[],", b'{"":0},'])
def test_a_payload_of_many_values_is_read_up_to_its_limit(full, element):
    body = b'{"queue":"q","payload":[' + element * (3000000 // len(element)) + b"0]}"
    with Web(full.port) as web:
        def cpu():
            before = loop_ms(full)
            answer = web.ask("POST", "/v1/jobs", body)
            assert answer.status == 413 and "payload: larger than the limit of 1048576" in answer.json["detail"], answer
            return loop_ms(full) - before
        best(18, cpu, 10)


@pytest.mark.parametrize("path, body, why", [
    ("/v1/jobs", b'{"queue":"q","payload":"x","tag":[' + b'"t",' * 780000 + b'"t"]}', "tag: expected at most 16 of them"),
    ("/v1/jobs", b'{"queue":"q","payload":"x","after":[' + b'"01",' * 600000 + b'"t"]}', "after: expected at most 64 of them"),
    ("/v1/leases", b'{"queues":[' + b'"q",' * 780000 + b'"q"]}', "queues: expected at most 64 names"),
    ("/v1/jobs/batch", b'{"mode":"each","items":[' + b'{"queue":"q","payload":"x"},' * 110000 + b"0]}",
     "items: expected at most 1000 of them"),
    ("/v1/jobs/batch", b'{"mode":"each","items":[' + b",".join(
        [b'{"queue":"q","payload":"x","tag":[' + b'"t",' * 700 + b'"t"]}'] * 1000) + b"]}",
     "item 1: tag: expected at most 16 of them"),
    ("/v1/jobs/batch", b'{"mode":"each","items":[' + b",".join(
        [b'{"queue":"q","payload":"x","after":[' + b",".join([b'"%026d"' % n for n in range(64)]) + b"]}"] * 1600) + b"]}",
     "item 65: after: expected at most 4096 of them in a batch"),
], ids=["tags", "after", "queues", "items", "tags of items", "after of items"])
def test_arrays_are_read_up_to_their_limits(full, path, body, why):
    with Web(full.port) as web:
        def cpu():
            before = loop_ms(full)
            answer = web.ask("POST", path, body)
            assert answer.status == 400 and why in answer.json["detail"], answer
            return loop_ms(full) - before
        best(15, cpu, 10)  # milliseconds, most of them for taking in three megabytes


def test_a_lease_of_large_metadata_is_answered_at_once(full):
    """An answer is full at two MiB, metadata included, and has one job at least."""
    meta = [word for n in range(32) for word in ("META", f"m{n}", b"\x01" * 1024)]
    with full.wire(3) as w, Web(full.port) as web:
        w.pipeline([("SCHEDULE", "meta", "x", *meta)] * 200)
        answer = web.ask("POST", "/v1/leases", b'{"queues":["meta"],"count":1000}')
        assert 40 < len(answer.json["jobs"]) < 70 and len(answer.body) < 3 << 20
        assert w.call("QUEUE", "meta")["leased"] == len(answer.json["jobs"])
