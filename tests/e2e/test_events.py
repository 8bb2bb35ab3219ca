# SPDX-License-Identifier: MIT
"""/v1/events, and log lines about jobs: from the real server, by curl and by a reader of our own."""
import contextlib
import json
import re
import subprocess
import threading
import time

import jsonschema
import pytest

from conftest import wait_for
from sse import Stream
from web import Problem, Web
from wire import Refused


def steps(events, *fields):
    return [tuple(e.data[f] for f in fields) for e in events]


def test_the_life_of_a_job_comes_in_order(server):
    with Stream(server.port, "?queue=life") as s, server.wire() as w:
        s.ready()
        w.call("SCHEDULE", "other", "x")
        w.call("SCHEDULE", "life", "x", "TENANT", "acme")
        id = w.call("SCHEDULE", "life", "x", "ATTEMPTS", "3", "IN", "50ms")
        job, = w.lease("life", "WAIT", "20s", "WORKER", "ann")
        w.call("FAIL", id, job["token"], "ERROR", "boom \u00e9", "RETRY", "10ms")
        job, = w.lease("life", "WAIT", "20s")
        w.call("RELEASE", id, job["token"])
        job, = w.lease("life", "WAIT", "20s")
        w.call("COMPLETE", id, job["token"], "AGAIN", "1h")
        w.call("RESCHEDULE", id, "IN", "0ms")
        job, = w.lease("life", "WAIT", "20s")
        w.call("COMPLETE", id, job["token"])
        child = w.call("SCHEDULE", "life", "x", "AFTER", w.call("SCHEDULE", "life", "p", "IN", "1h"))
        w.call("CANCEL", child)
        w.call("SCHEDULE", "life", "x", "IN", "0ms", "EXPIRE", "10ms")
        got = s.take(15)
    assert steps(got, "state", "from", "cause", "attempt", "outcome") == [
        ("scheduled", None, "created", 0, None),
        ("leased", "ready", "leased", 1, None),
        ("scheduled", "leased", "retried", 1, "failed"),
        ("leased", "ready", "leased", 2, None),
        ("scheduled", "leased", "released", 2, "released"),
        ("leased", "ready", "leased", 2, None),
        ("scheduled", "leased", "again", 2, "again"),
        ("scheduled", "scheduled", "rescheduled", 0, None),
        ("leased", "ready", "leased", 1, None),
        ("done", "leased", "ended", 1, "done"),
        ("scheduled", None, "created", 0, None),
        ("waiting", None, "created", 0, None),
        ("cancelled", "waiting", "ended", 0, None),
        ("scheduled", None, "created", 0, None),
        ("expired", "ready", "ended", 0, None),
    ]
    assert all(e.name == e.data["state"] and e.data["queue"] == "life" and e.data["tenant"] == "default" for e in got)
    assert [e.data["id"] for e in got[:10]] == [id] * 10
    failed = got[2].data
    assert failed["error"] == "boom \u00e9" and failed["worker"] == "ann"
    assert failed["lateness_ms"] >= 0 and failed["duration_ms"] >= 0 and failed["at_ms"] >= failed["happened_ms"] + 10
    assert got[0].data["due_ms"] == got[0].data["at_ms"] and got[11].data["at_ms"] is None
    numbers = [int(e.id.split("-")[1]) for e in got]
    assert numbers == sorted(set(numbers)) and {e.id.split("-")[0] for e in got} == {"1"}


def test_events_are_as_they_are_described(server):
    with Web(server.port) as web, Stream(server.port) as s, server.wire() as w:
        api = web.get("/openapi.json")
        op = api["paths"]["/v1/events"]["get"]
        assert {p["name"]: p["in"] for p in op["parameters"]} == {
            "tenant": "query", "queue": "query", "state": "query", "after": "query", "Last-Event-ID": "header"}
        schema = op["responses"]["200"]["content"]["text/event-stream"]["schema"]
        assert schema == {"$ref": "#/components/schemas/Event"}
        shape = {**api["components"]["schemas"]["Event"], "additionalProperties": False}
        s.ready()
        id = w.call("SCHEDULE", "q", "x")
        job, = w.lease("q", "WORKER", b"\xff")
        w.call("FAIL", id, job["token"], "ERROR", b"\xfe")
        for event in s.take(3):
            jsonschema.Draft202012Validator(shape).validate(event.data)
        assert event.data["worker_base64"] == "/w==" and event.data["error_base64"] == "/g=="


def test_what_matches_the_filters_comes_and_nothing_else(server):
    with Stream(server.port, "?tenant=*&state=done&state=cancelled") as s, \
            Stream(server.port, "?tenant=acme") as acme, server.wire() as w:
        s.ready(), acme.ready()
        first = w.call("SCHEDULE", "q", "x", "TENANT", "acme")
        w.call("CANCEL", first, "TENANT", "acme")
        second = w.call("SCHEDULE", "q", "x")
        job, = w.lease("q")
        w.call("COMPLETE", second, job["token"])
        assert steps(s.take(2), "id", "state", "tenant") == [(first, "cancelled", "acme"), (second, "done", "default")]
        assert steps(acme.take(2), "id", "state") == [(first, "scheduled"), (first, "cancelled")]


def test_bad_filters_are_refused_precisely(shared_server):
    with Web(shared_server.port) as w:
        for query, header, detail in [
                ("state=ready", None, "state: expected one of scheduled|waiting|leased|done|dead|cancelled|expired"),
                ("queue=a%20b", None, "queue"), ("queue=%zz", None, "two hexadecimal digits"),
                ("tenant=", None, "tenant"), ("colour=red", None, "there are tenant, queue, state, after"),
                ("queue=a&queue=b", None, "twice"), ("after=x", None, "after: expected the id of an event, such as 3-17"),
                ("", "1-2-3", "Last-Event-ID: expected the id of an event, such as 3-17")]:
            answer = w.ask("GET", "/v1/events?" + query, headers={"Last-Event-ID": header} if header else None)
            assert answer.status == 400 and answer.headers["Content-Type"] == "application/problem+json", answer
            assert detail in answer.json["detail"], answer.json
        assert w.ask("POST", "/v1/events", {}).status == 405
        head = w.ask("HEAD", "/v1/events")
        assert head.status == 200 and head.headers["Content-Type"] == "text/event-stream" and not head.body
        assert w.get("/healthz") == {"status": "ok"}


def test_curl_shows_them_as_they_happen(server):
    curl = subprocess.Popen(["curl", "-sSN", "-m", "100", f"http://127.0.0.1:{server.port}/v1/events"],
                            stdout=subprocess.PIPE, text=True)
    try:
        assert curl.stdout.readline() == "retry: 1000\n"
        with server.wire() as w:
            id = w.call("SCHEDULE", "q", "x")
        lines = [curl.stdout.readline().rstrip("\n") for _ in range(5)]
        assert lines[0] == "id: 1-0" and lines[1] == "" and lines[2] == "id: 1-1" and lines[3] == "event: scheduled"
        assert json.loads(lines[4].removeprefix("data: "))["id"] == id
    finally:
        curl.kill()
        curl.wait()
    with Web(server.port) as web:  # the server sees that it is gone
        def streams():
            return b"belfry_event_streams 0" in web.ask("GET", "/metrics").body
        wait_for(streams, 30, "the stream is gone")


def test_nothing_is_told_before_it_is_durable(make_server):
    """With a slow disk: when an event is seen, a crash at that moment keeps what it tells of."""
    server = make_server(sync_delay="300ms")
    with server.wire() as w:
        with Stream(server.port) as s:
            s.ready()
            begun = time.monotonic()
            w.send("SCHEDULE", "q", "x")
            event, = s.take(1)
            assert time.monotonic() - begun > 0.25  # not before the sync was over
            server.kill()
    server.start()
    with server.wire() as w:
        assert w.call("GET", event.data["id"])["state"] == "ready"


def test_who_reconnects_goes_on_where_it_was(server):
    with server.wire() as w:
        with Stream(server.port, "?queue=a") as s:
            s.ready()
            w.call("SCHEDULE", "a", "1")
            w.call("SCHEDULE", "b", "2")
            w.call("SCHEDULE", "a", "3")
            seen = s.take(1)
        w.call("SCHEDULE", "a", "4")
        with Stream(server.port, "?queue=a", last_id=seen[0].id) as s:
            again = s.take(2)
            assert [e.name for e in again] == ["scheduled", "scheduled"]
        with Stream(server.port, f"?queue=a&after={again[-1].id}") as s:
            s.ready()
            w.call("SCHEDULE", "a", "5")
            more = s.take(1)
        ids = [e.data["id"] for e in seen + again + more]
        assert len(set(ids)) == 4
        assert [w.call("GET", i)["payload"] for i in ids] == ["1", "3", "4", "5"]


def test_ids_tell_a_tenant_nothing_of_others(server):
    with server.wire() as w:
        w.call("AUTH", w.call("TOKENCREATE", "root", "admin")["token"])
        acme, other = (w.call("TOKENCREATE", t, "read-only", "TENANT", t)["token"] for t in ("acme", "other"))
        with Stream(server.port, token=acme) as s:
            s.ready()
            w.call("SCHEDULE", "q", "1", "TENANT", "acme")
            for _ in range(50):
                w.call("SCHEDULE", "q", "x", "TENANT", "other")
            w.call("SCHEDULE", "q", "2", "TENANT", "acme")
            first, second = s.take(2)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", e.id) for e in (first, second)) and first.id != second.id
        with Stream(server.port, token=acme, last_id=first.id) as s:
            again, = s.take(1)
        assert again.data == second.data and again.data["tenant"] == "acme"
        with Stream(server.port, f"?after={second.id}", token=acme) as s:
            s.ready()
            w.call("SCHEDULE", "q", "3", "TENANT", "acme")
            third, = s.take(1)
        assert third.data["id"] not in (first.data["id"], second.data["id"])
        for id in first.id[:-2], "x", "1-", first.id + "A", "!" * 22:
            with Web(server.port, token=acme) as web, pytest.raises(Problem) as e:
                web.get("/v1/events?after=" + id)
            assert e.value.status == 400 and "after: expected the id of an event, such as" in str(e.value)
        for token, id in (other, first.id), (acme, "1-1"), (acme, "A" * 22):  # not his: where it was nobody knows
            with Stream(server.port, token=token, last_id=id) as s:
                gap, = s.take(1)
            assert gap.name == "gap" and gap.data == {"missed": None}, (token, id)
        server.kill()
        server.start()
        with Stream(server.port, token=acme, last_id=third.id) as s:
            gap, = s.take(1)
        assert gap.name == "gap" and gap.data == {"missed": None}


def test_after_a_crash_there_is_a_gap_and_then_what_follows(server):
    with server.wire() as w, Stream(server.port) as s:
        s.ready()
        id = w.call("SCHEDULE", "q", "x")
        last, = s.take(1)
    server.kill()
    server.start()
    with server.wire() as w, Stream(server.port, last_id=last.id) as s:
        gap, = s.take(1)
        assert gap.name == "gap" and gap.data == {"missed": None} and gap.id.startswith("2-")
        job, = w.lease("q")
        leased, = s.take(1)
        assert (leased.name, leased.data["id"], leased.data["from"]) == ("leased", id, "ready")


def test_a_slow_reader_is_not_waited_for_and_learns_what_it_missed(make_server):
    server = make_server(events_memory="64KiB", client_timeout="1h")  # else one that reads nothing is cut off
    with Stream(server.port) as slow, Stream(server.port, "?state=dead") as picky, server.wire() as w:
        slow.ready(), picky.ready()
        total = 0
        while total < 60000:  # more than sockets hold
            for _ in range(500):
                w.send("SCHEDULE", "q", "x", "IN", "1h")
            ids = [w.recv() for _ in range(500)]
            total += len(ids)
        seen, missed, gaps, last = 0, 0, 0, None
        while seen + missed < total:
            event = slow.next()
            assert event is not None
            if event.name == "gap":
                missed += event.data["missed"]
                gaps += 1
            else:
                seen += 1
                last = event
        assert gaps >= 1 and seen > 0 and missed > 0 and seen + missed == total
        assert last.data["id"] == ids[-1]
        w.call("SCHEDULE", "q", "x")
        job, = w.lease("q")
        w.call("FAIL", job["id"], job["token"], "FINAL", "yes")
        while (event := picky.next()).name == "gap":  # it was awake all the time: none is needed, one is no error
            pass
        assert event.data["id"] == job["id"]


def test_a_tenant_does_not_learn_how_many_it_missed(make_server):
    server = make_server(events_memory="64KiB")
    with server.wire() as w:
        root = w.call("TOKENCREATE", "root", "admin")["token"]
        w.call("AUTH", root)
        acme = w.call("TOKENCREATE", "acme", "read-only", "TENANT", "acme")["token"]
        last = {}
        for token in (root, acme):
            with Stream(server.port, "?tenant=acme", token=token) as s:
                s.ready()
                w.call("SCHEDULE", "q", "x", "TENANT", "acme")
                event, = s.take(1)
                last[token] = event.id
        for _ in range(4):
            for _ in range(500):
                w.send("SCHEDULE", "q", "x", "TENANT", "other", "IN", "1h")
            for _ in range(500):
                w.recv()
        for token, missed in (root, int), (acme, type(None)):
            with Stream(server.port, "?tenant=acme", last_id=last[token], token=token) as s:
                gap, = s.take(1)
            assert gap.name == "gap" and isinstance(gap.data["missed"], missed), gap.data


def test_streams_are_counted_and_bounded(make_server):
    server = make_server(max_streams=2)
    with Stream(server.port), Web(server.port) as w:
        with Stream(server.port):
            with pytest.raises(Problem) as e:
                w.get("/v1/events")
            assert e.value.status == 429 and "max_streams" in e.value.detail
            assert w.ask("GET", "/v1/events").json["title"] == "Too Many Requests"
        wait_for(lambda: b"belfry_event_streams 1\n" in w.ask("GET", "/metrics").body, 30, "one is left")
        with Stream(server.port) as s:
            s.ready()


def test_one_tenant_does_not_keep_out_the_others(make_server):
    server = make_server(max_streams=5)
    with server.wire(3) as w, contextlib.ExitStack() as held:
        root = w.call("TOKENCREATE", "root", "admin")["token"]
        w.call("AUTH", root)
        one, two, other = (w.call("TOKENCREATE", name, "read-only", "TENANT", tenant)["token"]
                           for name, tenant in (("one", "acme"), ("two", "acme"), ("other", "zeta")))
        held.enter_context(Stream(server.port, token=one))
        held.enter_context(Stream(server.port, token=two))
        for token in (one, two):
            with Web(server.port, token=token) as web:
                answer = web.ask("GET", "/v1/events")
                assert answer.status == 429 and answer.json["code"] == "BUSY", answer
                assert answer.json["title"] == "Too Many Requests" and "half of max_streams" in answer.json["detail"]
        held.enter_context(Stream(server.port, token=other))
        held.enter_context(Stream(server.port, token=root))
        held.enter_context(Stream(server.port, token=root))
        with Web(server.port, token=other) as web:
            assert "half" not in web.ask("GET", "/v1/events").json["detail"]
    least = make_server("least", max_streams=1)
    with least.wire(3) as w:
        w.call("AUTH", w.call("TOKENCREATE", "root", "admin")["token"])
        with Stream(least.port, token=w.call("TOKENCREATE", "one", "read-only", "TENANT", "acme")["token"]) as s:
            s.ready()


def test_a_tenant_has_as_many_streams_as_it_may(make_server):
    server = make_server(max_streams=10)

    def refused(web):
        answer = web.ask("GET", "/v1/events")
        assert answer.status == 429 and answer.json["code"] == "BUSY", answer
        return answer.json["detail"]

    with server.wire(3) as w:
        root = w.call("TOKENCREATE", "root", "admin")["token"]
        w.call("AUTH", root)
        acme, zeta = (w.call("TOKENCREATE", name, "admin", "TENANT", name)["token"] for name in ("acme", "zeta"))
        w.call("TENANT", "acme", "MAX_STREAMS", 1)
    server.restart()
    with server.wire(3) as w, server.wire(3) as own, contextlib.ExitStack() as held:
        w.call("AUTH", root)
        own.call("AUTH", acme)
        assert w.call("TENANT", "acme")["max_streams"] == 1
        with pytest.raises(Refused, match="NOPERM.*max_streams"):
            own.call("TENANT", "acme", "MAX_STREAMS", 0)
        with Web(server.port, token=acme) as web:
            held.enter_context(Stream(server.port, token=acme))
            assert refused(web) == "max_streams of acme is 1"
            assert "belfry_event_streams_refused_total 1\n" in w.call("METRICS")
            for token in (zeta, zeta, root):
                held.enter_context(Stream(server.port, token=token))
            # It gives no more than the half.
            w.call("TENANT", "acme", "MAX_STREAMS", 100)
            for _ in range(4):
                held.enter_context(Stream(server.port, token=acme))
            assert "half of max_streams" in refused(web)


@pytest.mark.parametrize("how", ["expired", "expired while others work", "revoked"])
def test_a_stream_ends_with_its_token(server, how):
    with server.wire(3) as w:
        w.call("AUTH", w.call("TOKENCREATE", "root", "admin")["token"])
        brief = () if how == "revoked" else ("EXPIRE", "4s")
        token = w.call("TOKENCREATE", "brief", "read-only", "TENANT", "acme", *brief)["token"]
        with Stream(server.port, token=token, timeout=40) as s:
            s.ready()
            if how == "revoked":
                w.call("TOKENREVOKE", "brief")
            elif how != "expired":
                time.sleep(4.1)
                w.call("SCHEDULE", "q", "x", "TENANT", "acme")
            begun = time.monotonic()
            assert s.next() is None, "nothing more is told"
            assert time.monotonic() - begun < 14, "a sign of life would have come after 15 s only"


def test_a_stop_ends_streams(make_server):
    server = make_server(drain_timeout="45s")
    with Stream(server.port) as s:
        s.ready()
        begun = time.monotonic()
        server.stop()
        assert s.next() is None and time.monotonic() - begun < 30


def test_a_quiet_stream_shows_that_it_lives(server):
    with Stream(server.port, "?queue=nothing", timeout=40) as s, server.wire() as w:
        s.ready()
        w.call("SCHEDULE", "other", "x")
        lines = s.block()  # after 15 s
        assert lines == [": alive", "id: 1-1"]


def test_streams_come_and_go_while_jobs_run(make_server):
    """Many at a time, cut off anywhere: those that stay see all, the server goes on."""
    server = make_server(events_memory="16MiB")
    stop = threading.Event()
    failures = []

    def come_and_go():
        try:
            while not stop.is_set():
                with Stream(server.port, "?tenant=*") as s:
                    s.ready()
                    for _ in range(3):
                        s.next()
        except Exception as e:  # noqa: BLE001 shown below
            if not stop.is_set():
                failures.append(e)

    threads = [threading.Thread(target=come_and_go, daemon=True) for _ in range(6)]
    with Stream(server.port, timeout=40) as s, server.wire() as w:
        s.ready()
        for t in threads:
            t.start()
        ids = []
        for i in range(300):
            ids.append(w.call("SCHEDULE", "q", "x"))
            job, = w.lease("q", "WAIT", "10s")
            w.call("COMPLETE", job["id"], job["token"])
        got = s.take(900)
        stop.set()
        w.call("SCHEDULE", "q", "x")
        assert [e.data["id"] for e in got if e.name == "done"] == ids
        assert all(e.name != "gap" for e in got)
    assert not failures, failures
    for _ in range(3):  # those that wait for an event
        with server.wire() as w:
            w.call("SCHEDULE", "q", "x")


def lines_about_jobs(server):
    out = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
    return [line for line in out if "job" in line]


def test_the_log_tells_of_attempts(make_server):
    server = make_server(log_jobs="ended")
    with server.wire() as w:
        id = w.call("SCHEDULE", "q", "x", "TENANT", "acme")
        job, = w.lease("q", "TENANT", "acme", "WORKER", "ann")
        w.call("FAIL", id, job["token"], "ERROR", b"a\"b\n\xff", "FINAL", "yes")
        gone = w.call("SCHEDULE", "q", "x", "IN", "1h")
        w.call("CANCEL", gone)
    failed, cancelled = wait_for(lambda: len(lines_about_jobs(server)) >= 2 and lines_about_jobs(server))
    assert failed.pop("time") and failed.pop("lateness_ms") >= 0 and failed.pop("duration_ms") >= 0
    assert failed == {"level": "info", "message": "attempt ended", "job": id, "tenant": "acme", "queue": "q",
                      "state": "dead", "cause": "ended", "attempt": 1, "outcome": "failed", "worker": "ann",
                      "error": 'a"b\n?'}
    assert cancelled["job"] == gone and cancelled["state"] == "cancelled" and "outcome" not in cancelled


def test_the_log_is_bounded_and_follows_a_reload(make_server, tmp_path):
    config = tmp_path / "belfry.conf"
    config.write_text("log_jobs = all\nlog_jobs_rate = 5\n")
    server = make_server(config=config)
    with server.wire() as w:
        for _ in range(200):
            w.send("SCHEDULE", "q", "x", "IN", "1h")
        for _ in range(200):
            w.recv()
        skipped = wait_for(lambda: re.findall(r'left out.*"lines":(\d+)', server.log()), 30, "the line about lines")
        wait_for(lambda: len(lines_about_jobs(server)) >= 5)
        assert len(lines_about_jobs(server)) < 100
        wait_for(lambda: len(lines_about_jobs(server)) + sum(map(int, re.findall(r'left out.*"lines":(\d+)', server.log())))
                 == 200, 30, f"all are accounted for: {skipped}")
        config.write_text("log_jobs = off\n")
        server.process.send_signal(1)
        wait_for(lambda: "configuration reloaded" in server.log())
        before = len(lines_about_jobs(server))
        w.call("SCHEDULE", "q", "x")
        config.write_text("log_jobs = all\n")
        server.process.send_signal(1)
        wait_for(lambda: server.log().count("configuration reloaded") == 2)
        w.call("SCHEDULE", "q", "x")
        wait_for(lambda: len(lines_about_jobs(server)) == before + 1)
