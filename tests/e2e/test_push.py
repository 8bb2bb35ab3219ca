# SPDX-License-Identifier: MIT
"""Queues that push: a real receiver, and what becomes of jobs by what it answers."""
import base64
import collections
import email.utils
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time

import pytest

from conftest import BUILD, ROOT, wait_for
from web import Web

HERE = pathlib.Path(__file__).resolve().parent
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PRETTY_SOON = 30


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body, self.at = path, headers, body, time.time()
        self.id = headers["webhook-id"]


class Receiver:
    """Answers by `answer(request)`: a status, or (status, headers, body); None: not at all."""

    def __init__(self, answer=lambda request: 200, tls=None):
        self.answer, self.requests, self.tls = answer, [], tls
        self.running = self.most = 0
        self.lock = threading.Lock()
        self.port = 0
        self.start()

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                request = Request(self.path, self.headers, body)
                with outer.lock:
                    outer.requests.append(request)
                    outer.running += 1
                    outer.most = max(outer.most, outer.running)
                try:
                    answer = outer.answer(request)
                finally:
                    with outer.lock:
                        outer.running -= 1
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, text = answer if isinstance(answer, tuple) else (answer, {}, b"")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.http = Listener(("127.0.0.1", self.port), Handler)
        if self.tls:
            self.http.socket = self.tls.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_port
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()

    def of(self, job):
        return [r for r in self.requests if r.id == job]


@pytest.fixture
def receive():
    made = []

    def make(*args, **kw):
        made.append(Receiver(*args, **kw))
        return made[-1]

    yield make
    for receiver in made:
        receiver.stop()


@pytest.fixture
def server(make_server):
    return make_server(push_allow="loopback")


def state_of(w, job):
    return w.call("GET", job)["state"]


def ended(w, job, state="done", timeout=PRETTY_SOON):
    wait_for(lambda: state_of(w, job) == state, timeout, f"{job} is {state}: {w.call('GET', job)}")
    return w.call("GET", job)


def test_a_job_is_posted_and_the_answer_is_its_result(server, receive):
    r = receive(lambda request: (201, {}, b"made \x00\xff" if request.body else b""))
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url + "?a=b", "PUSH_SECRET", SECRET, "PUSH_HEADERS",
               "Authorization: Bearer abc\nX-Env: test")
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        before = time.time()
        job = w.call("SCHEDULE", "q", b'{"n": 1}', "IN", "300ms", "META", "traceparent", trace)
        done = ended(w, job)
        assert done["result"] == b"made \x00\xff" or done["result"].encode("utf-8", "surrogateescape") == b"made \x00\xff"
        assert done["attempt"] == 1 and done["history"][0]["worker"] == "push"
        request, = r.of(job)
        assert request.at >= before + 0.299, "it came early"
        assert request.path == "/hook?a=b" and request.body == b'{"n": 1}'
        h = request.headers
        assert h["belfry-attempt"] == "1" and h["belfry-queue"] == "q" and h["belfry-tenant"] == "default"
        assert int(h["belfry-due-ms"]) == done["due_ms"] and int(h["belfry-token"]) > 0
        assert h["traceparent"] == trace and h["content-type"] == "application/json"
        assert h["authorization"] == "Bearer abc" and h["x-env"] == "test" and "expect" not in h
        assert abs(int(h["webhook-timestamp"]) - request.at) < 20
        binary = w.call("SCHEDULE", "q", b"\x00\x01")
        ended(w, binary)
        assert r.of(binary)[0].headers["content-type"] == "application/octet-stream"
        empty = w.call("SCHEDULE", "q", b"")
        assert ended(w, empty)["result"] is None
        metrics = w.call("METRICS")
        assert 'belfry_push_requests_total{outcome="delivered"} 3' in metrics
        assert "belfry_push_seconds_count 3" in metrics
        stats = w.call("STATS")
        assert stats["total_push_delivered"] == 3 and stats["push_running"] == 0


def test_a_long_answer_is_cut(server, receive):
    r = receive(lambda request: (200, {}, b"x" * 300000))
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url)
        job = w.call("SCHEDULE", "q", "a")
        assert len(ended(w, job)["result"]) == 65536
        assert len(r.of(job)) == 1


def test_failures_count_and_are_retried(server, receive):
    answers = collections.Counter()

    def answer(request):
        answers[request.id] += 1
        return (500, {}, b"broken\n") if answers[request.id] < 3 else 200

    r = receive(answer)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "BACKOFF", "fixed:50ms")
        job = w.call("SCHEDULE", "q", "a")
        done = ended(w, job)
        assert done["attempt"] == 3
        assert [a["outcome"] for a in done["history"]] == ["failed", "failed", "done"]
        assert done["history"][0]["error"] == "the endpoint answered 500: broken "
        assert [x.headers["belfry-attempt"] for x in r.of(job)] == ["1", "2", "3"]
        tokens = [int(x.headers["belfry-token"]) for x in r.of(job)]
        assert tokens == sorted(set(tokens)), "tokens grow"


def test_no_more_attempts_and_410_make_it_dead(server, receive):
    r = receive(lambda request: 410 if request.body == b"gone" else 404)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "BACKOFF", "fixed:20ms", "ATTEMPTS", "2")
        gone, missing = w.call("SCHEDULE", "q", "gone"), w.call("SCHEDULE", "q", "missing")
        assert ended(w, gone, "dead")["attempt"] == 1
        assert ended(w, missing, "dead")["attempt"] == 2
        assert ended(w, missing, "dead")["error"] == "the endpoint answered 404"


def test_a_timeout_fails_the_attempt(server, receive):
    release = threading.Event()
    r = receive(lambda request: release.wait(60) and None)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_TIMEOUT", "200ms", "ATTEMPTS", "1")
        job = w.call("SCHEDULE", "q", "a")
        dead = ended(w, job, "dead")
        assert "push_timeout" in dead["error"]
        assert w.call("STATS")["total_push_timeout"] == 1
    release.set()


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_costs_no_attempt(server, receive, status, form):
    first = {}

    def answer(request):
        if request.id in first:
            return 200
        first[request.id] = time.time()
        later = "2" if form == "seconds" else email.utils.formatdate(time.time() + 3, usegmt=True)
        return status, {"Retry-After": later}, b""

    r = receive(answer)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "ATTEMPTS", "1")
        job = w.call("SCHEDULE", "q", "a")
        done = ended(w, job)
        assert done["attempt"] == 1
        assert [a["outcome"] for a in done["history"]] == ["released", "done"]
        waited = r.of(job)[1].at - first[job]
        assert waited >= 1.9, f"it came after {waited} s"


def test_a_redirect_is_not_followed(server, receive):
    inside = receive()
    r = receive(lambda request: (302, {"Location": inside.url}, b""))
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "ATTEMPTS", "1")
        job = w.call("SCHEDULE", "q", "a")
        assert "redirects are not followed" in ended(w, job, "dead")["error"]
        assert inside.requests == [] and len(r.requests) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0"])
def test_private_addresses_are_refused_unless_allowed(make_server, receive, host):
    server, r = make_server(), receive()
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", f"http://{host}:{r.port}/", "ATTEMPTS", "1")
        job = w.call("SCHEDULE", "q", "a")
        dead = ended(w, job, "dead")
        assert "push_allow" in dead["error"], dead["error"]
        assert r.requests == []
        assert w.call("STATS")["total_push_forbidden"] == 1


def test_proxies_of_the_environment_are_not_asked(make_server, receive, monkeypatch):
    proxy, r = receive(), receive()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setitem(__import__("conftest").ENV, name, f"http://127.0.0.1:{proxy.port}")
    server = make_server(push_allow="loopback")
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url)
        ended(w, w.call("SCHEDULE", "q", "a"))
    assert len(r.requests) == 1 and proxy.requests == []


def test_a_bad_push_allow_is_refused_at_the_start(make_server):
    code, said = make_server(start=False).refused(push_allow="10.0.0.0/8,intranet")
    assert code != 0 and "intranet" in said and "push_allow" in said


def certificate(directory):
    key, cert = directory / "key.pem", directory / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days",
                    "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                   capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


def test_certificates_are_verified(make_server, receive, tmp_path):
    cert, context = certificate(tmp_path)
    r = receive(tls=context)
    plain = make_server(push_allow="loopback")
    with plain.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "ATTEMPTS", "1")
        assert "certificate" in ended(w, w.call("SCHEDULE", "q", "a"), "dead")["error"]
    assert r.requests == []
    trusting = make_server(push_allow="loopback", push_ca_file=cert)
    with trusting.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "ATTEMPTS", "1")
        ended(w, w.call("SCHEDULE", "q", "a"))
    assert len(r.requests) == 1


@pytest.mark.limit(120)
def test_an_endpoint_that_is_down_is_left_alone_and_then_gets_everything(server, receive):
    r = receive()
    r.stop()
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_CONCURRENCY", "4", "BACKOFF", "fixed:100ms", "ATTEMPTS", "20")
        begun = time.monotonic()
        jobs = [w.call("SCHEDULE", "q", str(i)) for i in range(60)]
        wait_for(lambda: w.call("STATS")["push_circuits_open"] == 1, PRETTY_SOON)
        held = wait_for(lambda: w.call("QUEUE", "q")["held_by"], PRETTY_SOON)
        assert "endpoint" in held
        why = wait_for(lambda: (x := w.call("EXPLAIN", jobs[-1]))["reason"] == "endpoint" and x, PRETTY_SOON)
        assert why["until_ms"] is not None
        assert "belfry_push_circuits_open 1" in w.call("METRICS")
        time.sleep(4)
        tried = w.call("STATS")["total_push_unreachable"]
        # Five failures, up to three more that were on their way, and a few probes: less than six in 4 s.
        assert 5 <= tried <= 8 + 1.5 * (time.monotonic() - begun), tried
        r.start()
        down = time.monotonic() - begun
        for job in jobs:
            ended(w, job, timeout=60)
        burnt = sum(w.call("GET", job)["attempt"] - 1 for job in jobs)
        assert burnt <= 14 + 1.5 * down, f"{burnt} attempts were burnt in {down:.1f} s"
        assert w.call("STATS")["push_circuits_open"] == 0
        assert collections.Counter(x.id for x in r.requests) == {job: 1 for job in jobs}
    server.says("an endpoint fails")
    server.says("an endpoint is well again")


def test_no_more_at_a_time_than_the_queue_and_the_server_allow(make_server, receive):
    server = make_server(push_allow="loopback", push_max=5)

    def answer(request):
        time.sleep(0.05)
        return 200

    a, b = receive(answer), receive(answer)
    with server.wire() as w:
        w.call("QUEUE", "a", "PUSH_URL", a.url, "PUSH_CONCURRENCY", "3")
        w.call("QUEUE", "b", "PUSH_URL", b.url, "PUSH_CONCURRENCY", "100")
        for i in range(30):
            w.call("SCHEDULE", "a", "x")
            w.call("SCHEDULE", "b", "x")
        wait_for(lambda: w.call("STATS")["done"] == 60, PRETTY_SOON)
    assert 2 <= a.most <= 3 and 2 <= b.most <= 5


def verify(headers, body, *secrets):
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    want = ["v1," + base64.b64encode(hmac.new(base64.b64decode(s[6:]), signed, hashlib.sha256).digest()).decode()
            for s in secrets]
    return headers["webhook-signature"].split(" ") == want


def test_secrets_sign_rotate_and_are_never_shown(server, receive):
    r = receive()
    with server.wire() as w, Web(server.port) as web:
        shown = w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_SECRET", SECRET)
        assert shown["push_secrets"] == 1 and shown["push_url"] == r.url

        def push():
            job = w.call("SCHEDULE", "q", "hello")
            ended(w, job)
            return r.of(job)[0]

        x = push()
        assert verify(x.headers, x.body, SECRET) and not verify(x.headers, b"other", SECRET)
        shown = w.call("QUEUE", "q", "push_secret", f"{OTHER} {SECRET}", "PUSH_HEADERS", "X-Key: topsecret")
        assert shown["push_secrets"] == 2 and shown["push_headers"] == "X-Key"
        x = push()
        assert verify(x.headers, x.body, OTHER, SECRET)
        assert web.ask("PATCH", "/v1/queues/q", {"push_secret": OTHER}).status == 200
        x = push()
        assert verify(x.headers, x.body, OTHER)
        w.call("QUEUE", "q", "PUSH_SECRET", "")
        assert "webhook-signature" not in push().headers
        text = str([w.call("AUDIT"), w.call("QUEUES"), w.call("METRICS"), web.ask("GET", "/v1/queues/q").json])
    for secret in (SECRET[6:], OTHER[6:], "topsecret"):
        assert secret not in text + server.log()
    assert "hidden" in text


@pytest.mark.limit(300)
def test_the_standard_webhooks_library_verifies_them(server, receive):
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.fail("node and npm are needed: scripts/setup test")
    home = BUILD / "node"
    if not (home / "node_modules/standardwebhooks/package.json").exists():
        home.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(home),
                               "standardwebhooks@1", "ioredis@5"], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, f"npm install standardwebhooks failed:\n{done.stderr[-2000:]}"
    r = receive()
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_SECRET", f"{OTHER} {SECRET}")
        jobs = [w.call("SCHEDULE", "q", json.dumps({"n": i})) for i in range(3)]
        for job in jobs:
            ended(w, job)
    lines = [{"headers": {k.lower(): v for k, v in x.headers.items()}, "body": base64.b64encode(x.body).decode()}
             for x in r.requests]
    lines.append({**lines[0], "body": base64.b64encode(b'{"n": 7}').decode()})
    for secret in (SECRET, OTHER):
        done = subprocess.run(["node", str(HERE / "webhooks.js"), secret], capture_output=True, text=True, timeout=100,
                              input="\n".join(map(json.dumps, lines)),
                              env={**os.environ, "NODE_PATH": str(home / "node_modules")})
        answers = done.stdout.splitlines()
        assert answers[:3] == ["good"] * 3 and answers[3].startswith("bad"), done.stdout + done.stderr


def test_another_commit_than_its_lease_s_sends_nothing(make_server, receive):
    """Each sync takes 1.5 s. One is under way when a job comes due: only the next one has the job's lease."""
    server, r = make_server(push_allow="loopback", sync_delay="1500ms"), receive()
    with server.wire(timeout=60) as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url)
        due = time.time() + 6
        job = w.call("SCHEDULE", "q", "x", "AT", int(due * 1000))
        time.sleep(max(0, due - 1 - time.time()))
        begun = time.time()
        w.call("SCHEDULE", "other", "y", "IN", "1h")
        ended(w, job)
    assert r.of(job)[0].at - begun >= 2.99, "two syncs"



def test_nothing_is_sent_before_its_lease_is_durable(make_server, receive):
    """With a disk that takes 700 ms, a request comes so long after its job was due."""
    server, r = make_server(push_allow="loopback", sync_delay="700ms"), receive()
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url)
        job = w.call("SCHEDULE", "q", "a", "IN", "2s")
        due = w.call("GET", job)["due_ms"] / 1000
        ended(w, job)
    assert r.of(job)[0].at - due >= 0.69


@pytest.mark.limit(120)
def test_kill_in_the_middle_of_a_push(make_server, receive):
    """The lease is durable before anything is sent, so the attempt counts; the job is sent again."""
    server = make_server(push_allow="loopback")
    arrived, go = threading.Event(), threading.Event()

    def answer(request):
        arrived.set()
        go.wait(60)
        return 200

    r = receive(answer)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_TIMEOUT", "5s")
        job = w.call("SCHEDULE", "q", "a")
        assert arrived.wait(PRETTY_SOON)
    server.kill()
    server.start()
    with server.wire() as w:
        shown = w.call("GET", job)
        assert shown["state"] == "leased" and shown["attempt"] == 1
        go.set()
        done = ended(w, job, timeout=60)
        assert done["attempt"] == 2
        assert [a["outcome"] for a in done["history"]] == ["stalled", "done"]
        assert [x.headers["belfry-attempt"] for x in r.of(job)] == ["1", "2"]


def test_a_stop_waits_for_answers(make_server, receive):
    server = make_server(push_allow="loopback", drain_timeout="45s")
    arrived, go = threading.Event(), threading.Event()

    def answer(request):
        arrived.set()
        go.wait(60)
        return 200, {}, b"late"

    r = receive(answer)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_CONCURRENCY", "1")
        job = w.call("SCHEDULE", "q", "a")
        other = w.call("SCHEDULE", "q", "b")
        assert arrived.wait(PRETTY_SOON)
    server.running = False
    server.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "stopping" in server.log(), what="it stops")
    time.sleep(0.5)
    assert server.process.poll() is None, "it waits"
    go.set()
    assert server.process.wait(60) == 0
    assert len(r.requests) == 1
    server.start()
    with server.wire() as w:
        assert w.call("GET", job)["result"] == "late"
        assert ended(w, other)["attempt"] == 1


def test_a_stop_does_not_wait_for_ever(make_server, receive):
    server = make_server(push_allow="loopback", drain_timeout="300ms")
    go, arrived = threading.Event(), threading.Event()
    r = receive(lambda request: arrived.set() or go.wait(60) and None)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_TIMEOUT", "1h")
        w.call("SCHEDULE", "q", "a")
        assert arrived.wait(PRETTY_SOON)
    server.stop(timeout=45)  # the endpoint would take a minute
    go.set()


def test_jobs_with_urls_of_their_own(server, receive):
    well, dead = receive(), receive()
    dead.stop()
    with server.wire() as w, Web(server.port) as web:
        for refused in (("PUSH", well.url),):
            with pytest.raises(Exception, match="push_url"):
                w.call("SCHEDULE", "each", "a", *refused)
        w.call("QUEUE", "each", "PUSH_URL", "job", "ATTEMPTS", "20", "BACKOFF", "fixed:50ms")
        with pytest.raises(Exception, match="expected a URL"):
            w.call("SCHEDULE", "each", "a")
        with pytest.raises(Exception, match="http://"):
            w.call("SCHEDULE", "each", "a", "PUSH", "ftp://example.org/")
        begun = time.monotonic()
        lost = [w.call("SCHEDULE", "each", "x", "PUSH", dead.url) for _ in range(8)]
        wait_for(lambda: w.call("STATS")["push_circuits_open"] == 1, PRETTY_SOON)
        made = web.ask("POST", "/v1/jobs", {"queue": "each", "payload": "a", "push": well.url})
        assert made.status == 201, made
        job = made.json["id"]
        assert ended(w, job)["push"] == well.url, "one endpoint that is down holds up no other"
        assert web.ask("GET", f"/v1/jobs/{job}").json["push"] == well.url
        w.call("RECUR", "often", "each", "tick", "EVERY", "500ms", "PUSH", well.url)
        wait_for(lambda: any(x.body == b"tick" for x in well.requests), PRETTY_SOON)
        w.call("RECURDELETE", "often")
        time.sleep(1)
        attempts, took = sum(w.call("GET", x)["attempt"] for x in lost), time.monotonic() - begun
        assert attempts <= 17 + 1.5 * took, f"attempts are not burnt meanwhile: {attempts} in {took:.1f} s"
        dead.start()
        for x in lost:
            ended(w, x, timeout=60)


def test_workers_do_not_get_what_is_pushed(server, receive):
    r = receive(lambda request: time.sleep(0.2) or 200)
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url, "PUSH_CONCURRENCY", "1")
        w.call("QUEUE", "q", "PUSH_URL", r.url, "TENANT", "acme", "PUSH_CONCURRENCY", "1")
        with pytest.raises(Exception, match="push_url"):
            w.call("LEASE", "other,q")
        jobs = [w.call("SCHEDULE", "q", "x", "TENANT", t) for t in ("default", "acme") for _ in range(3)]
        w.call("SCHEDULE", "q", "for a worker", "TENANT", "zeta")
        leased = w.lease("q", "TENANT", "*", "COUNT", "10")
        assert [x["payload"] for x in leased] == ["for a worker"]
        for job in jobs:
            wait_for(lambda: w.call("GET", job, "TENANT", "*")["state"] == "done", PRETTY_SOON)
        # Without its URL it is for workers again.
        w.call("QUEUE", "q", "PUSH_URL", "")
        job = w.call("SCHEDULE", "q", "y")
        assert [x["id"] for x in w.lease("q")] == [job]


def test_pauses_rates_and_orders_hold_pushes(server, receive):
    r = receive()
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", r.url)
        w.call("PAUSE", "q")
        jobs = [w.call("SCHEDULE", "q", str(i), "ORDER", "one") for i in range(5)]
        time.sleep(0.3)
        assert r.requests == []
        w.call("RESUME", "q")
        for job in jobs:
            ended(w, job)
        assert [x.body for x in r.requests] == [b"0", b"1", b"2", b"3", b"4"]
        w.call("QUEUE", "q", "RATE", "5/1s")
        begin = time.time()
        jobs = [w.call("SCHEDULE", "q", "x") for i in range(8)]
        for job in jobs:
            ended(w, job)
        assert time.time() - begin >= 0.5


def test_settings_survive_and_bad_ones_change_nothing(server):
    url = "https://example.org:8443/a?b=c"
    with server.wire() as w:
        w.call("QUEUE", "q", "PUSH_URL", url, "PUSH_SECRET", SECRET, "PUSH_HEADERS", "A: b", "PUSH_TIMEOUT", "7s",
               "PUSH_CONCURRENCY", "3")
        before = w.call("QUEUE", "q")
        for option, value in [("PUSH_URL", "example.org"), ("PUSH_URL", "file:///etc/passwd"), ("PUSH_URL", "http://"),
                              ("PUSH_URL", "http://u:p@example.org/"), ("PUSH_URL", "http://example.org:0/"),
                              ("PUSH_URL", "http://exa mple.org/"), ("PUSH_URL", "http://example.org\\@x/"),
                              ("PUSH_URL", "http://example.org/#a"), ("PUSH_URL", "http://" + "a" * 3000),
                              ("PUSH_SECRET", "whsec_"), ("PUSH_SECRET", "hello"), ("PUSH_SECRET", "whsec_AAAA"),
                              ("PUSH_SECRET", " ".join([SECRET] * 3)), ("PUSH_HEADERS", "nonsense"),
                              ("PUSH_HEADERS", "Host: example.org"), ("PUSH_HEADERS", "webhook-id: 7"),
                              ("PUSH_HEADERS", "A: b\nContent-Length: 0"), ("PUSH_HEADERS", "A b: c"),
                              ("PUSH_TIMEOUT", "0ms"), ("PUSH_TIMEOUT", "2h"), ("PUSH_CONCURRENCY", "0"), ("PUSH_URL", "job")]:
            with pytest.raises(Exception, match=option.lower()):
                w.call("QUEUE", "q", option, value)
        assert {**w.call("QUEUE", "q"), "asked_ms": 0} == {**before, "asked_ms": 0}  # the server asks for its pushes
        assert before["push_url"] == url and before["push_timeout_ms"] == 7000 and before["push_concurrency"] == 3
    server.kill()
    server.start()
    with server.wire() as w:
        after = w.call("QUEUE", "q")
        assert {k: v for k, v in after.items() if k.startswith("push")} == \
            {k: v for k, v in before.items() if k.startswith("push")}


def test_the_receiver_of_the_docs(server, tmp_path):
    text = (ROOT / "docs/push.md").read_text()
    program, = re.findall(r"```python\n(.*?)```", text, re.S)
    (tmp_path / "receiver.py").write_text(program)
    receiver = subprocess.Popen([sys.executable, str(tmp_path / "receiver.py"), "0"], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "SECRETS": SECRET})
    try:
        port = int(receiver.stdout.readline().split()[1])
        with server.wire() as w:
            w.call("QUEUE", "q", "PUSH_URL", f"http://127.0.0.1:{port}/", "PUSH_SECRET", f"{OTHER} {SECRET}",
                   "ATTEMPTS", "1")
            job = w.call("SCHEDULE", "q", '{"n": 1}')
            assert ended(w, job)["result"] == "thank you"
            assert receiver.stdout.readline() == 'attempt 1 of {"n": 1}\n'
            w.call("QUEUE", "q", "PUSH_SECRET", OTHER)
            job = w.call("SCHEDULE", "q", '{"n": 2}')
            assert ended(w, job, "dead")["error"] == "the endpoint answered 401: bad signature"
    finally:
        receiver.send_signal(signal.SIGTERM)
        receiver.wait(60)
        receiver.stdout.close()
