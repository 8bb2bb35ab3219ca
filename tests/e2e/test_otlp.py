# SPDX-License-Identifier: MIT
"""Traces of jobs, as an OTLP receiver sees them."""
import http.server
import json
import re
import socket
import threading
import time

import pytest

from conftest import belfry, best, elapsed, wait_for

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Receiver:
    """Takes spans, or answers a status that is set."""

    def __init__(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers.items())))
                receiver.gate.wait(100)
                status = receiver.status
                if status == 200:
                    receiver.take(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.requests, self.spans, self.status, self.services = [], [], 200, set()
        self.gate = threading.Event()
        self.gate.set()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request):
        """By the shape of ExportTraceServiceRequest in JSON."""
        assert list(request) == ["resourceSpans"]
        for resource in request["resourceSpans"]:
            self.services.add(attributes(resource["resource"])["service.name"])
            for scope in resource["scopeSpans"]:
                assert scope["scope"]["name"] == "belfry"
                for span in scope["spans"]:
                    check(span)
                    self.spans.append(span)

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


def attributes(thing):
    out = {}
    for a in thing["attributes"]:
        (kind, value), = a["value"].items()
        assert kind in ("stringValue", "intValue") and isinstance(value, str), a
        out[a["key"]] = int(value) if kind == "intValue" else value
    return out


def check(span):
    assert set(span) <= {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano",
                         "attributes", "status"}, span
    assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and int(span["traceId"], 16)
    assert re.fullmatch("[0-9a-f]{16}", span["spanId"]) and int(span["spanId"], 16)
    assert re.fullmatch("[0-9a-f]{16}", span.get("parentSpanId", "0" * 16))
    assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    assert abs(int(span["endTimeUnixNano"]) / 1e9 - time.time()) < 600
    assert span["kind"] in (1, 4, 5) and attributes(span)["messaging.system"] == "belfry"


@pytest.fixture
def receiver():
    r = Receiver()
    yield r
    r.close()


def metric(server, name):
    with server.wire() as w:
        return int(re.search(rf"^belfry_{name} (\d+)$", w.call("METRICS"), re.M)[1])


def test_attempts_hang_below_the_schedule_in_the_callers_trace(make_server, receiver):
    server = make_server(otlp_endpoint=f"http://127.0.0.1:{receiver.port}/", otlp_service="clock",
                         otlp_headers="x-token=a b, x-other = c=d")
    with server.wire() as w:
        id = w.call("SCHEDULE", "mail", "x", "ATTEMPTS", "2", "META", "traceparent", f"00-{TRACE}-{PARENT}-01")
        for _ in range(2):
            job, = w.lease("mail", "WAIT", "20s", "WORKER", "ann")
            assert job["meta"]["traceparent"] == f"00-{TRACE}-{PARENT}-01"  # the worker gets it as it is
            w.call("FAIL", id, job["token"], "ERROR", "boom", "RETRY", "10ms")
        plain = w.call("SCHEDULE", "mail", "y")
        job, = w.lease("mail")
        w.call("COMPLETE", plain, job["token"])
        w.call("SCHEDULE", "mail", "z", "META", "traceparent", f"00-{TRACE}-{PARENT}-00")  # not to be traced
    spans = wait_for(lambda: len(receiver.spans) >= 7 and receiver.spans, 30, "the spans")
    mine = [s for s in spans if s["traceId"] == TRACE]
    assert [s["name"] for s in mine] == ["schedule mail", "deliver mail", "deliver mail", "finish mail"]
    schedule, first, second, finish = mine
    assert schedule["parentSpanId"] == PARENT and schedule["kind"] == 4
    assert first["parentSpanId"] == second["parentSpanId"] == schedule["spanId"] and first["kind"] == 5
    assert finish["parentSpanId"] == second["spanId"]
    assert len({s["spanId"] for s in mine}) == 4
    assert all(s["status"] == {"code": 2, "message": "boom"} for s in (first, second, finish)) and "status" not in schedule
    assert [attributes(s)["belfry.attempt"] for s in (first, second)] == [1, 2]
    assert attributes(first)["belfry.worker"] == "ann" and attributes(first)["belfry.outcome"] == "failed"
    assert attributes(first)["messaging.message.id"] == id and attributes(finish)["belfry.state"] == "dead"
    other = [s for s in spans if s["traceId"] != TRACE]
    assert [s["name"] for s in other] == ["schedule mail", "deliver mail", "finish mail"] and len(spans) == 7
    assert len({s["traceId"] for s in other}) == 1 and "parentSpanId" not in other[0]
    assert other[1]["parentSpanId"] == other[0]["spanId"] and all("status" not in s for s in other)
    path, headers = receiver.requests[0]
    assert path == "/v1/traces" and headers["Content-Type"] == "application/json"
    assert headers["x-token"] == "a b" and headers["x-other"] == "c=d" and receiver.services == {"clock"}
    wait_for(lambda: metric(server, "otlp_spans_exported_total") == 7)
    assert metric(server, "otlp_spans_dropped_total") == 0


def test_what_the_receiver_does_not_take_is_sent_again_then_dropped(make_server, receiver):
    server = make_server(otlp_endpoint=f"http://127.0.0.1:{receiver.port}")
    receiver.status = 503
    with server.wire() as w:
        w.call("SCHEDULE", "q", "x", "IN", "1h")
    wait_for(lambda: len(receiver.requests) >= 2, 30, "it is tried again")
    receiver.status = 200
    wait_for(lambda: len(receiver.spans) == 1, 30, "it came")
    receiver.status = 400
    with server.wire() as w:
        w.call("SCHEDULE", "q", "x", "IN", "1h")
    wait_for(lambda: metric(server, "otlp_spans_dropped_total") == 1, 30, "a bad request is not repeated")
    server.says("traces could not be exported")


def test_a_receiver_that_hangs_or_is_not_there_slows_nobody(make_server, receiver):
    receiver.gate.clear()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        nobody = s.getsockname()[1]
    for port in (receiver.port, nobody):
        best(9, lambda p=port: a_stop_without_receiver(make_server, p))


def a_stop_without_receiver(make_server, port):
    """How long it takes."""
    server = make_server(otlp_endpoint=f"http://127.0.0.1:{port}")
    with server.wire() as w:
        for _ in range(40):
            for _ in range(500):
                w.send("SCHEDULE", "q", "x", "IN", "1h")
            for _ in range(500):
                w.recv()
        assert w.call("PING") == "PONG"
    wait_for(lambda: metric(server, "otlp_spans_dropped_total") > 0, 30, "what is too much is dropped")
    assert metric(server, "otlp_spans_exported_total") == 0
    return elapsed(server.stop)


def test_what_has_gathered_is_sent_before_the_end(make_server, receiver):
    server = make_server(otlp_endpoint=f"http://127.0.0.1:{receiver.port}")
    with server.wire() as w:
        w.call("SCHEDULE", "q", "x", "IN", "1h")
    server.stop()
    spans = wait_for(lambda: receiver.spans, what="the span")  # it was sent; this process may be slow to read it
    assert [s["name"] for s in spans] == ["schedule q"]


@pytest.mark.parametrize("option,value", [("otlp_endpoint", "localhost:4318"), ("otlp_headers", "nothing"),
                                          ("otlp_headers", "a b=c"), ("otlp_headers", "=c")])
def test_bad_options_are_refused(make_server, option, value):
    options = {"otlp_endpoint": "http://127.0.0.1:1", option: value}
    code, said = make_server(start=False, **options).refused()
    assert code != 0 and option in said and "expected" in said


def test_the_command_line_hands_the_trace_to_its_command(server, tmp_path):
    trace = f"00-{TRACE}-{PARENT}-01"
    with server.wire() as w:
        w.call("SCHEDULE", "q", "x", "META", "traceparent", trace)
    out = tmp_path / "env"
    done = belfry("--port", server.port, "work", "q", "--once", "--", "sh", "-c", f"env > {out}")
    assert done.returncode == 0, done.stderr
    assert trace in out.read_text()
