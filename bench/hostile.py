# SPDX-License-Identifier: MIT
"""Requests that could hold the server's only loop: what bench/worst sends, and what the server needs before.

A case is a function that prepares a fresh server through a Field and answers an Ask: the bytes of the request, and
when it is over. Sizes that only prepare are times field.scale; requests always have their full size.
"""
import contextlib
import json
import selectors
import socket
import sys
import threading
import time

from harness import MIB, ROOT

sys.path.append(str(ROOT / "tests/e2e"))
from wire import Refused, Wire, encode, now_ms

CONTROLS = bytes(range(1, 9)) * 4000  # 32,000 bytes, each of which JSON writes as six, or as two
RARE = ("PREVIEW", "RRULE", "FREQ=SECONDLY;INTERVAL=104729;BYMONTHDAY=-25;BYMINUTE=14,53,58;COUNT=1000000",
        "TZ", "Pacific/Apia", "START", "2024-02-29T12:34:56Z", "FROM", "9990-01-01T00:00:00Z", "COUNT", "1000")
MARK = b"the-end-of-this"
PATIENCE_S = 90
GROUPS = {"found": "What an attacker found", "more": "More of that kind"}
CASES = []


class Case:
    def __init__(self, make, title, group, flags):
        self.make, self.name, self.title, self.group, self.flags = make, make.__name__, title, group, flags
        self.quick = group == "found"


def case(title, *flags, group="found"):
    def keep(make):
        CASES.append(Case(make, title, group, flags))
        return make
    return keep


def more(title, *flags):
    return case(title, *flags, group="more")


def quick(makes_case):
    """Part of a quick run, or not: those of the first group are, unless they take long."""
    def keep(make):
        made = makes_case(make)
        CASES[-1].quick = not CASES[-1].quick
        return made
    return keep


class Ask:
    """A request. `until` answers whether what it began is over, `watch_s` is how long to look on after that."""

    def __init__(self, data, http=False, until=None, watch_s=0.05):
        self.data, self.http, self.until, self.watch_s = data, http, until, watch_s

    def send(self, port):
        """Sends it and reads the whole answer: answers its first bytes, and how many there were."""
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as s:
            end = b"" if self.http else b"$%d\r\n%b\r\n" % (len(MARK), MARK)
            writer = threading.Thread(target=self._write, args=(s, self.data if self.http else
                                                                self.data + encode("PING", MARK)), daemon=True)
            writer.start()
            head, tail, count = b"", b"", 0
            with contextlib.suppress(ConnectionResetError):
                while piece := s.recv(1 << 18):
                    head = (head + piece)[:400] if len(head) < 400 else head
                    tail, count = (tail + piece)[-len(end) - 2:], count + len(piece)
                    if end and tail.endswith(end):
                        break
            writer.join(PATIENCE_S)
            return head, count - len(end)

    @staticmethod
    def _write(s, data):
        with contextlib.suppress(OSError):  # the server may answer and close before it has read everything
            s.sendall(data)


def resp(*words, times=1, **kw):
    return Ask(encode(*words) * times, **kw)


def web(method, path, body=None, headers=(), **kw):
    body = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
    return Ask("\r\n".join(lines).encode() + b"\r\n\r\n" + body, http=True, **kw)


def batch(mode, items):
    return ("BATCH", mode, *(word for item in items for word in (len(item), *item)))


class Field:
    """A fresh server, and a connection to it."""

    def __init__(self, server, scale, ends):
        self.server, self.port, self.scale = server, int(server.port), scale
        self.ends = ends  # closes what a case opened
        self.token = ""
        self.w = ends.enter_context(contextlib.closing(Wire(self.port, 3, timeout=PATIENCE_S)))

    def count(self, full):
        return max(1000, int(full * self.scale))

    def all(self, commands, timeout=PATIENCE_S):
        """Sends them all; an error is a mistake of the case."""
        replies = self.w.pipeline(commands, timeout=timeout)
        for reply in replies:
            if isinstance(reply, Refused):
                raise reply
        return replies

    def fill(self, n, *options, queue="q", payload="x"):
        """That many jobs; options may use {n}. Answers their ids."""
        changes = [i for i, o in enumerate(options) if isinstance(o, str) and "{n}" in o]
        ids = []
        for start in range(0, n, 10_000):
            commands = []
            for first in range(start, min(n, start + 10_000), 1000):
                items = []
                for i in range(first, min(n, first + 1000)):
                    words = [queue.replace("{n}", str(i)), payload, *options]
                    for c in changes:
                        words[2 + c] = words[2 + c].replace("{n}", str(i))
                    items.append(words)
                commands.append(batch("each", items))
            for reply in self.all(commands):
                wrong = [r for r in reply if isinstance(r, Refused)]
                if wrong:
                    raise wrong[0]
                ids += reply
        return ids

    def dead(self, n, queue="q"):
        self.fill(n, queue=queue)
        self.end(n, queue, "FAIL", "FINAL", "yes")

    def end(self, n, queue, verb, *options):
        while n > 0:
            jobs = self.w.call("LEASE", queue, "COUNT", 1000)
            self.all([(verb, job["id"], job["token"], *options) for job in jobs])
            n -= len(jobs)

    def state(self, queue, state):
        return self.w.call("QUEUE", queue)[state]

    def open(self, *words, proto=3):
        """Another connection, on which this was sent, and nothing is read."""
        w = self.ends.enter_context(contextlib.closing(Wire(self.port, proto, timeout=PATIENCE_S)))
        if words:
            w.send(*words)
        return w

    def admin(self):
        """From now on everybody needs a token. Answers that of an admin."""
        self.token = self.w.call("TOKENCREATE", "root", "admin")["token"]
        self.w.call("AUTH", self.token)
        return self.token

    def bulk_over(self):
        return all(b["state"] != "running" for b in self.w.call("BULKS"))


# ---- What an attacker found ----

def recurrences(field, payload):
    field.all([("RECUR", f"r{n:04}", "q", payload, "EVERY", "30d") for n in range(1000)])


@case("HTTP GET /v1/recurrences?limit=1000, 32 KB of control characters each")
def recurrences_http(field):
    recurrences(field, CONTROLS)
    return web("GET", "/v1/recurrences?limit=1000")


@case("HTTP BATCH each, 1000 items × 64 AFTER")
def batch_after_http(field):
    ids = field.fill(64, "IN", "1h")
    items = [{"queue": "q", "payload": "x", "after": ids}] * 1000
    return web("POST", "/v1/jobs/batch", {"mode": "each", "items": items})


@quick(case("HTTP BATCH each, 64 items × 64 AFTER, parents with 900 listeners"))
def batch_after_allowed_http(field):
    ids = parents(field, 900)
    items = [{"queue": "q", "payload": "x", "after": ids}] * 64
    return web("POST", "/v1/jobs/batch", {"mode": "each", "items": items})


@case("20 PREVIEWs of a rare rule, one write")
def previews(field):
    return resp(*RARE, times=20)


@quick(case("278 PREVIEWs of a rare rule, one write"))
def previews_full(field):
    return resp(*RARE, times=278)


@case("PREVIEW of 1000, sparse SECONDLY rule with COUNT")
def preview(field):
    return resp(*RARE)


@case("1000 LISTs that match nothing, one write, beside 400,000 jobs")
def lists(field):
    field.fill(field.count(400_000), "IN", "1h")
    return resp("LIST", "TAG", "none", times=1000)


@case("HTTP LEASE, 4 × 1 MiB of control characters")
def lease_http(field):
    field.all([("SCHEDULE", "q", b"\x01" * MIB)] * 4)
    return web("POST", "/v1/leases", {"queues": ["q"], "count": 4})


def parents(field, listeners):
    """64 jobs, each with that many jobs that wait for it."""
    ids = field.fill(64, "IN", "1h")
    after = [word for id in ids for word in ("AFTER", id)]
    item = ["w", "x", *after]
    for start in range(0, listeners, 60):
        field.all([batch("each", [item] * min(60, listeners - start))])
    return ids


@case("RESP BATCH all, 60 × 64 AFTER, parents with 900 listeners")
def batch_after_resp(field):
    after = [word for id in parents(field, 900) for word in ("AFTER", id)]
    return resp(*batch("all", [["w", "x", *after]] * 60))


@case("HTTP SCHEDULE, 780,000 tags")
def tags_http(field):
    return web("POST", "/v1/jobs", b'{"queue":"q","payload":"x","tag":[' + b'"a",' * 779_999 + b'"a"]}')


@case("HTTP BATCH, 1000 × 700 tags")
def batch_tags_http(field):
    item = b'{"queue":"q","payload":"x","tag":[' + b'"a",' * 699 + b'"a"]}'
    return web("POST", "/v1/jobs/batch", b'{"mode":"each","items":[' + b",".join([item] * 1000) + b"]}")


@case("HTTP GET of a job, 1 MiB of control characters")
def get_http(field):
    id = field.w.call("SCHEDULE", "q", b"\x01" * MIB, "IN", "1h")
    return web("GET", f"/v1/jobs/{id}")


@case("HTTP LIST, 1000 keys of control characters")
def list_http(field):
    field.all([("SCHEDULE", "q", "x", "IN", "1h", "KEY", b"%04d" % n + b"\x01" * 508) for n in range(1000)])
    return web("GET", "/v1/jobs?queue=q&limit=1000")


def queues(field):
    """200,000 queues of 20 tenants, each with a job."""
    for tenant in range(20):
        field.fill(max(500, int(10_000 * field.scale)), "IN", "1h", "TENANT", f"t{tenant}", queue="q{n}")


@case("STATS TENANT beside 200,000 queues")
def stats_queues(field):
    queues(field)
    return resp("STATS", "TENANT", "t7")


@case("METRICS beside 200,000 queues")
def metrics_queues(field):
    queues(field)
    return resp("METRICS")


@quick(case("QUEUES TENANT * LIMIT 1 beside 200,000 queues"))
def queues_queues(field):
    queues(field)
    return resp("QUEUES", "TENANT", "*", "LIMIT", 1)


@case("HTTP BATCH of 115,000 items")
def batch_long_http(field):
    items = b",".join([b'{"queue":"q","payload":1}'] * 115_000)
    return web("POST", "/v1/jobs/batch", b'{"mode":"each","items":[' + items + b"]}")


@quick(case("RESP RECURRENCES LIMIT 1000, 32 KB each"))
def recurrences_resp(field):
    recurrences(field, CONTROLS)
    return resp("RECURRENCES", "LIMIT", 1000)


@case("COMMAND DOCS, a name 16,382 times")
def command_docs(field):
    return resp("COMMAND", "DOCS", *["SCHEDULE"] * 16_382)


@case("RESP BATCH all, 1000 AFTER one job")
def batch_one_parent(field):
    id = field.w.call("SCHEDULE", "q", "x", "IN", "1h")
    return resp(*batch("all", [["w", "x", "AFTER", id]] * 1000))


@case("LIST that matches nothing, beside 400,000 jobs")
def list_none(field):
    field.fill(field.count(400_000), "IN", "1h")
    return resp("LIST", "TAG", "none")


@quick(case("RESP BATCH of 1000 plain jobs"))
def batch_plain(field):
    return resp(*batch("all", [["q", "x"]] * 1000))


@case("RESP BATCH of 1000 jobs with keys of 506 bytes")
def batch_keys(field):
    return resp(*batch("all", [["q", "x", "KEY", b"%06d" % n + b"k" * 500] for n in range(1000)]))


@quick(case("1000 RECUR of 32 KB, EVERY 1s, one write"))
def recur_often(field):
    return Ask(b"".join(encode("RECUR", f"r{n}", "q", b"x" * 32_000, "EVERY", "1s") for n in range(1000)), watch_s=2.5)


# ---- More of that kind ----

@quick(more("BULK cancel with DRYRUN, 400,000 jobs"))
def bulk_dry(field):
    field.fill(field.count(400_000), "IN", "1h")
    return resp("BULK", "cancel", "QUEUE", "q", "DRYRUN", "yes", until=field.bulk_over)


@quick(more("BULK cancel of 200,000 jobs"))
def bulk_cancel(field):
    field.fill(field.count(200_000), "IN", "1h")
    return resp("BULK", "cancel", "QUEUE", "q", until=field.bulk_over)


@more("BULK reschedule of 200,000 jobs into one millisecond, and that millisecond")
def bulk_herd(field):
    field.fill(field.count(200_000), "IN", "1h")
    at = now_ms() + 3500
    return resp("BULK", "reschedule", "QUEUE", "q", "AT", at, until=field.bulk_over,
                watch_s=lambda: max(0.5, (at - now_ms()) / 1000 + 0.5))


@more("QUEUE RETAIN 0 of a queue with 200,000 ended jobs")
def retain_none(field):
    n = field.count(200_000)
    field.w.call("QUEUE", "q", "RETAIN", "1h")
    field.fill(n)
    field.end(n, "q", "COMPLETE")
    return resp("QUEUE", "q", "RETAIN", "0", watch_s=1)


@quick(more("FORECAST of 1000 steps of 1 ms, beside 400,000 jobs"))
def forecast(field):
    field.fill(field.count(400_000), "IN", "1h")
    return resp("FORECAST", "FROM", now_ms(), "TO", now_ms() + 1000, "STEP", "1ms")


@more("FORECAST of 1000 steps over a year TENANT default, beside 400,000 jobs")
def forecast_tenant(field):
    field.fill(field.count(400_000), "IN", "{n}s")
    return resp("FORECAST", "FROM", now_ms(), "TO", now_ms() + 31_536_000_000, "STEP", "9h", "TENANT", "default")


@quick(more("EXPLAIN of the last job of a backlog of 200,000"))
def explain(field):
    ids = field.fill(field.count(200_000))
    return resp("EXPLAIN", ids[-1])


@more("REDRIVE of 10,000 dead jobs")
def redrive(field):
    field.dead(10_000)
    return resp("REDRIVE", "QUEUE", "q", "LIMIT", 10_000)


@more("BULK redrive of 100,000 dead jobs")
def bulk_redrive(field):
    field.dead(field.count(100_000))
    return resp("BULK", "redrive", "QUEUE", "q", until=field.bulk_over)


@quick(more("1000 RECURs with a rare rule, one write"))
def recur_costly(field):
    return Ask(b"".join(encode("RECUR", f"r{n}", "q", "x", *RARE[1:7]) for n in range(1000)))


@more("100 RECURs with 4 KB each of rule, EXDATE and RDATE, one write")
def recur_long(field):
    fields = ";".join(f"BY{name}=" + ",".join(map(str, values)) for name, values in (
        ("MONTH", range(1, 13)), ("MONTHDAY", range(1, 32)), ("HOUR", range(24)), ("MINUTE", range(60)),
        ("SECOND", range(60)), ("YEARDAY", range(1, 367)), ("SETPOS", range(-366, 0))))
    dates = ",".join(f"2030{m:02}{d:02}T{h:02}0000Z" for m in range(1, 13) for d in range(1, 29) for h in (3, 9))[:4079]
    return Ask(b"".join(encode("RECUR", f"r{n}", "q", "x", "RRULE", "FREQ=YEARLY;" + fields, "EXDATE", dates, "RDATE",
                               dates, "TZ", "America/Nuuk") for n in range(100)))


@more("RECUR from 1970 EVERY 1s with CATCHUP all and OVERLAP queue")
def recur_catchup(field):
    return resp("RECUR", "old", "q", "x", "EVERY", "1s", "START", "1970-01-01T00:00:00Z", "CATCHUP", "all", "OVERLAP",
                "queue", watch_s=1.5)


@more("TENANT QUIET off and on again, 100,000 jobs put off")
def quiet(field):
    windows = "mon-sun 00:00-12:00;mon-sun 12:01-24:00"
    field.w.call("TENANT", "default", "QUIET", windows, "TZ", "Europe/Berlin")
    field.fill(field.count(100_000), "NOTIFY", "yes")
    field.w.call("LEASE", "q", "COUNT", 1000)
    return Ask(encode("TENANT", "default", "QUIET", "") + encode("LEASE", "q", "COUNT", 1000)
               + encode("TENANT", "default", "QUIET", windows) + encode("LEASE", "q", "COUNT", 1000), watch_s=0.5)


@quick(more("LEASE that finds 100,000 jobs in quiet hours"))
def quiet_lease(field):
    field.w.call("TENANT", "default", "QUIET", "00:00-12:00;12:01-24:00")
    field.fill(field.count(100_000), "NOTIFY", "yes")
    return resp("LEASE", "q", "COUNT", 1000, watch_s=0.5)


@quick(more("1000 × PAUSE and RESUME of a queue with 200,000 jobs, one write"))
def pause(field):
    field.fill(field.count(200_000))
    return Ask((encode("PAUSE", "q") + encode("RESUME", "q")) * 1000)


@more("TENANT MAINTENANCE yes and no, 9,900 queues with a ready job, a worker waits for 64")
def maintenance(field):
    field.fill(max(1000, int(9_900 * field.scale)), queue="q{n}")
    field.open("LEASE", ",".join(f"none{n}" for n in range(64)), "WAIT", "1m")
    return Ask((encode("TENANT", "default", "MAINTENANCE", "yes") + encode("TENANT", "default", "MAINTENANCE", "no")) * 100)


@more("LEASE TENANT * COUNT 1000 from 2,000 tenants, 1000 of them limited")
def lease_tenants(field):
    field.all([("SCHEDULE", "q", "x", "TENANT", f"t{n}") for n in range(2000)] * 2)
    field.all([("TENANT", f"t{n}", "RATE", "1/1d") for n in range(1000)])
    field.w.call("LEASE", "q", "COUNT", 1000, "TENANT", "*")
    return resp("LEASE", "q", "COUNT", 1000, "TENANT", "*")


@more("RESP BATCH of 60 jobs with 32 × 1 KiB of META each")
def batch_meta(field):
    meta = [w for n in range(32) for w in ("META", f"m{n}", b"\x01" * 1024)]
    return resp(*batch("each", [["q", "x", *meta]] * 60))


@quick(more("HTTP LEASE of 1000 jobs with 32 × 1 KiB of META of control characters"))
def lease_meta(field):
    meta = [w for n in range(32) for w in ("META", f"m{n}", b"\x01" * 1024)]
    for _ in range(20):
        field.all([batch("each", [["q", "x", *meta]] * 50)])
    return web("POST", "/v1/leases", {"queues": ["q"], "count": 1000})


@more("CANCEL of a job that 1000 jobs of 32 KB wait for")
def cancel_parent(field):
    id = field.w.call("SCHEDULE", "q", "x", "IN", "1h")
    for _ in range(50):
        field.all([batch("each", [["w", b"x" * 32_000, "AFTER", id, "AFTERFAIL", "run"]] * 20)])
    return resp("CANCEL", id, until=lambda: field.state("w", "waiting") == 0)


@quick(more("64 CANCELs, 500 jobs wait for all 64, one write"))
def cancel_parents(field):
    ids = parents(field, 500)
    return Ask(b"".join(encode("CANCEL", id) for id in ids), until=lambda: field.state("w", "waiting") == 0)


@more("100,000 jobs of one lane, CANCEL of the first 1000")
def lane(field):
    ids = field.fill(field.count(100_000), "ORDER", "lane")
    return Ask(b"".join(encode("CANCEL", id) for id in ids[:1000]))


@more("100,000 jobs due in one millisecond (no request)")
def herd(field):
    at = now_ms() + (10_000 if field.scale == 1 else 1500)
    field.fill(field.count(100_000), "AT", at)
    return resp("PING", watch_s=lambda: max(0.5, (at - now_ms()) / 1000 + 0.5))


@more("100,000 jobs expire in one millisecond (no request)")
def expire(field):
    at = now_ms() + (10_000 if field.scale == 1 else 1500)
    field.w.call("PAUSE", "q")
    field.fill(field.count(100_000), "AT", at, "EXPIRE", "1s")
    return resp("PING", watch_s=lambda: max(0.5, (at - now_ms()) / 1000 + 1.5))


@more("3 jobs in each of 69,300 classes go to disk, and their runs are merged (no request)")
def classes(field):
    queues = field.count(9900)
    kinds = [("PRIORITY", p) for p in range(1, 6)] + [("GATES", "pass"), ("ORDER", "o")]
    for kind in kinds * 3:
        for start in range(0, queues, 1000):
            field.all([("SCHEDULE", f"q{n}", "x" * 2500, *kind) for n in range(start, min(queues, start + 1000))])
    return resp("PING", watch_s=5)  # merges begin two seconds after the last batch


@more("400,000 jobs on disk expire in one millisecond, memory = 64MiB (no request)", "--memory", "64MiB")
def expire_on_disk(field):
    at = now_ms() + (20_000 if field.scale == 1 else 1500)
    field.fill(field.count(400_000), "AT", at, "EXPIRE", "1s", payload="x" * 100)
    return resp("PING", watch_s=lambda: max(0.5, (at - now_ms()) / 1000 + 3))


@more("50,000 leases end within a second (no request)")
def leases_end(field):
    n = field.count(50_000)
    field.fill(n)
    field.all([("LEASE", "q", "COUNT", 1000, "FOR", "6s" if field.scale == 1 else "2s")] * (n // 1000))
    return resp("PING", until=lambda: field.state("q", "leased") == 0)


@quick(more("BATCH of 1000 jobs to 2000 waiting workers"))
def wake_workers(field):
    for _ in range(2000):
        field.open("LEASE", "q", "WAIT", "1m", "COUNT", 1000, proto=2)
    return resp(*batch("all", [["q", "x"]] * 1000))


@more("TOKENREVOKE of a token with 1000 waiting workers")
def revoke(field):
    secret = field.admin()
    worker = field.w.call("TOKENCREATE", "worker", "worker")["token"]
    for _ in range(1000):
        w = field.open("AUTH", worker, proto=2)
        w.send("LEASE", "q", "WAIT", "1m")
    return Ask(encode("AUTH", secret) + encode("TOKENREVOKE", "worker"))


@more("TOKENS LIMIT 1000, of 9000")
def tokens(field):
    secret = field.admin()
    field.all([("TOKENCREATE", f"t{n}", "worker") for n in range(max(1000, int(9000 * field.scale)))])
    return Ask(encode("AUTH", secret) + encode("TOKENS", "LIMIT", 1000) * 20)


@more("20 × AUDIT LIMIT 1000 of 20,000 entries, and 20 that match nothing, one write")
def audit(field):
    field.all([("QUEUE", "q", "ATTEMPTS", 1 + n % 1000) for n in range(field.count(20_000))])
    return Ask(encode("AUDIT", "LIMIT", 1000) * 20 + encode("AUDIT", "LIMIT", 1000, "TENANT", "nobody") * 20)


@more("5 BATCHes of 1000 jobs, 50 readers of events")
def events(field):
    streams(field, 50)
    return Ask(encode(*batch("all", [["q", "x"]] * 1000)) * 5, watch_s=1)


def streams(field, n, query=""):
    """Readers of events, each of which takes everything."""
    ready = selectors.DefaultSelector()
    for _ in range(n):
        s = field.ends.enter_context(socket.create_connection(("127.0.0.1", field.port), timeout=PATIENCE_S))
        s.sendall(b"GET /v1/events%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % query.encode())
        s.recv(4096)
        ready.register(s, selectors.EVENT_READ)

    def drain():
        with contextlib.suppress(OSError, ValueError, KeyError):
            while ready.get_map():
                for key, _ in ready.select(1):
                    if not key.fileobj.recv(1 << 18):
                        ready.unregister(key.fileobj)

    threading.Thread(target=drain, daemon=True).start()


@more("20 × GET /v1/events of a queue without events, behind 4 MiB of others")
def events_behind(field):
    streams(field, 1)
    field.fill(field.count(50_000))
    one = b"GET /v1/events?queue=none&after=0-1 HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def ask():
        for _ in range(20):
            s = field.ends.enter_context(socket.create_connection(("127.0.0.1", field.port), timeout=PATIENCE_S))
            s.sendall(one)
        return True
    return resp("PING", until=ask, watch_s=0.5)


@more("HTTP SCHEDULE, a payload of nested arrays, numbers of a million digits and 300,000 fields")
def json_forms(field):
    return web("POST", "/v1/jobs", b'{"queue":"q","payload":[' + b"[" * 60 + b"]" * 60 + b"," + b"7" * 400_000 + b",{"
               + b",".join(b'"f%d":[[],{}]' % n for n in range(30_000)) + b"}]}")


@quick(more("HTTP SCHEDULE, a payload of 500,000 escapes"))
def json_escapes(field):
    return web("POST", "/v1/jobs", b'{"queue":"q","payload":"' + b"\\u0001" * 500_000 + b'"}')


@quick(more("HTTP SCHEDULE, 200,000 unknown fields"))
def json_fields(field):
    return web("POST", "/v1/jobs", b'{"queue":"q","payload":"x",' + b",".join(b'"f%d":1' % n for n in range(200_000)) + b"}")


@more("HTTP SCHEDULE of a base64 payload of 1 MiB")
def json_base64(field):
    return web("POST", "/v1/jobs", b'{"queue":"q","payload_base64":"' + b"QUFB" * (MIB // 3) + b'"}')


@more("HTTP GET /v1/jobs with 500 parameters and 200 headers")
def http_parameters(field):
    return web("GET", "/v1/jobs?" + "&".join(f"tag=t{n}" for n in range(500)), headers=["X-A: b"] * 200)


@more("200 × HTTP GET /openapi.json, pipelined")
def openapi(field):
    one = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n"
    return Ask((one + b"\r\n") * 199 + one + b"Connection: close\r\n\r\n", http=True)


@more("HELP 1000 times, COMMAND 200 times, INFO 200 times, one write")
def help_often(field):
    return Ask(encode("HELP") * 1000 + encode("COMMAND") * 200 + encode("INFO") * 200)


@more("64 KiB of blanks and words as a line, 100 times")
def inline(field):
    return Ask((b"PING " + b"a " * 30_000 + b"\r\n") * 100)


@more("300 LEASEs of 64 empty queues, one write")
def lease_names(field):
    return Ask(b"".join(encode("LEASE", ",".join(f"n{n}-{k}" for k in range(64))) for n in range(300)))


@more("1000 connections with 500 bytes of a request each, closed at once")
def close_many(field):
    socks = [socket.create_connection(("127.0.0.1", field.port)) for _ in range(1000)]
    for s in socks:
        s.sendall(b"*3\r\n$8\r\nSCHEDULE\r\n$1\r\nq\r\n$1000\r\n" + b"x" * 500)
    time.sleep(0.3)

    def close():
        while socks:
            socks.pop().close()
        return True
    return resp("PING", until=close, watch_s=0.3)


@more("RESP SCHEDULE of 1 MiB and GET, 50 times, one write")
def payload_large(field):
    return Ask(encode("SCHEDULE", "q", b"\x01" * MIB, "KEY", "k", "IFEXISTS", "replace", "IN", "1h") * 50
               + encode("GET", "KEY", "k", "QUEUE", "q") * 10)


@more("HTTP SCHEDULE and GET of 1.5 MiB with max_payload = 2MiB", "--max-payload", "2MiB")
def payload_two(field):
    field.all([("SCHEDULE", "q", b"\x01" * (2 * MIB - 1), "IN", "1h", "KEY", "k")])
    return web("GET", "/v1/queues/q/keys/k")


@more("RESP SCHEDULE of 16 MiB with max_payload = 16MiB", "--max-payload", "16MiB")
def payload_huge(field):
    return resp("SCHEDULE", "q", b"x" * (16 * MIB - 1), "IN", "1h")
