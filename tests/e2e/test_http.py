# SPDX-License-Identifier: MIT
"""HTTP on the port of RESP: routes, errors, bodies that are wrong, clients that are slow."""
import base64
import http.client
import json
import socket
import subprocess
import time

import pytest

from web import Problem, Web, raw, read_all, request


@pytest.fixture
def resp(shared_server):
    with shared_server.wire() as w:
        yield w


def curl(port, *args):
    return subprocess.run(["curl", "-sS", "-m", "60", *args[:-1], f"http://127.0.0.1:{port}{args[-1]}"],
                          capture_output=True, text=True, timeout=100)


# ---- What it is for ----

def test_a_job_from_schedule_to_done(web):
    answer = web.ask("POST", "/v1/jobs", {"queue": "life", "payload": {"to": "ann", "n": 1}, "tag": ["a", "b"],
                                          "meta": {"trace": "x"}, "priority": 1})
    assert answer.status == 201
    id = answer.json["id"]
    assert answer.headers["Location"] == f"/v1/jobs/{id}" and len(id) == 26
    job, = web.post("/v1/leases", {"queues": "life", "worker": "w1"})["jobs"]
    assert (job["id"], job["payload"], job["tags"], job["meta"]) == (id, '{"to":"ann","n":1}', ["a", "b"], {"trace": "x"})
    assert isinstance(job["token"], str)
    assert web.post(f"/v1/jobs/{id}/extend", {"token": job["token"], "for": "2m", "progress": 40})["cancelled"] is False
    done = web.ask("POST", f"/v1/jobs/{id}/complete", {"token": job["token"], "result": [1, {"ok": True}]})
    assert (done.status, done.body) == (204, b"")
    shown = web.get(f"/v1/jobs/{id}")
    assert shown["state"] == "done" and shown["result"] == '[1,{"ok":true}]' and shown["history"][0]["worker"] == "w1"


def test_a_path_names_one_tenant(web):
    answer = web.ask("GET", "/v1/tenants/*/stats")
    assert answer.status == 400 and "name of one tenant" in answer.json["detail"]
    assert web.ask("GET", "/v1/tenants/%2A/stats").status == 400


def test_the_other_verbs(web):
    id = web.post("/v1/jobs", {"queue": "others", "payload": "x", "in": "1h"})["id"]
    assert web.ask("PATCH", f"/v1/jobs/{id}", {"in": 0}).status == 204
    job, = web.post("/v1/leases", {"queues": ["others"]})["jobs"]
    failed = web.post(f"/v1/jobs/{id}/fail", {"token": int(job["token"]), "error": "no", "final": True})
    assert failed == {"state": "dead", "at_ms": None, "attempt": 1, "attempts": 5}
    assert web.post(f"/v1/jobs/{id}/redrive") == {"redriven": 1}
    assert web.post("/v1/queues/others/redrive", {"limit": 5}) == {"redriven": 0}
    assert web.get(f"/v1/jobs/{id}/explain")["reason"] in ("no_worker", "behind")
    job, = web.post("/v1/leases", {"queues": ["others"]})["jobs"]
    assert web.ask("POST", f"/v1/jobs/{id}/release", {"token": job["token"], "in": "1h"}).status == 204
    assert web.call("DELETE", f"/v1/jobs/{id}") == {"outcome": "cancelled"}
    assert web.ask("DELETE", "/v1/jobs/" + "0" * 26).status == 404


def test_queues_and_tenants(web):
    web.post("/v1/jobs", {"queue": "settings", "payload": "x", "in": "1h", "tenant": "acme"})
    assert web.call("PATCH", "/v1/queues/settings?tenant=acme", {"attempts": 7, "rate": "10/1s"})["attempts"] == 7
    assert web.get("/v1/queues/settings?tenant=acme")["rate"] == "10/1s"
    assert web.call("PATCH", "/v1/queues/settings", {"rate": 0, "tenant": "acme"})["rate"] is None
    assert web.ask("GET", "/v1/queues/settings").status == 404
    assert web.ask("POST", "/v1/queues/settings/pause?tenant=acme").status == 204
    assert web.get("/v1/queues?tenant=acme&limit=1")["queues"][0]["paused"] is True
    assert web.ask("POST", "/v1/queues/settings/resume", {"tenant": "acme"}).status == 204
    assert web.call("PATCH", "/v1/tenants/acme", {"weight": 3, "maintenance": True})["maintenance"] is True
    assert web.get("/v1/tenants/acme")["weight"] == 3
    assert web.call("PATCH", "/v1/tenants/acme", {"maintenance": "no"})["maintenance"] is False
    assert "acme" in [t["tenant"] for t in web.get("/v1/tenants")["tenants"]]
    assert web.ask("GET", "/v1/tenants/nobody").status == 404


def test_recurrences(web):
    made = web.call("PUT", "/v1/recurrences/nightly", {"queue": "report", "payload": {}, "cron": "30 2 * * *",
                                                       "tz": "Europe/Berlin", "tag": "n"})
    assert made["kind"] == "cron" and made["payload"] == "{}" and made["ledger"] == []
    assert [r["name"] for r in web.get("/v1/recurrences")["recurrences"]] == ["nightly"]
    assert web.ask("POST", "/v1/recurrences/nightly/pause").status == 204
    assert web.get("/v1/recurrences/nightly")["paused"] is True
    assert web.ask("POST", "/v1/recurrences/nightly/resume", {}).status == 204
    run = web.ask("POST", "/v1/recurrences/nightly/run")
    assert run.status == 201 and run.headers["Location"] == f"/v1/jobs/{run.json['id']}"
    assert web.ask("DELETE", "/v1/recurrences/nightly").status == 204
    assert web.ask("GET", "/v1/recurrences/nightly").json["detail"] == "no such recurrence"
    times = web.post("/v1/preview", {"every": "1h", "count": 2, "start": "2030-01-01T00:00:00Z"})["times"]
    assert [t["at_ms"] for t in times] == [1893456000000, 1893459600000]


def test_stats_forecast_health(web):
    assert web.get("/v1/stats")["version"]
    assert len(web.get("/v1/forecast?step=6h")["steps"]) == 4
    assert web.get("/healthz") == web.get("/readyz") == {"status": "ok"}


def test_a_page_at_a_time(web):
    ids = {web.post("/v1/jobs", {"queue": "pages", "payload": "x", "in": f"{n}h"})["id"] for n in range(1, 8)}
    seen, path = [], "/v1/jobs?queue=pages&limit=3"
    page = web.get(path)
    while True:
        seen += [job["id"] for job in page["jobs"]]
        if page["cursor"] is None:
            break
        page = web.get(f"{path}&cursor={page['cursor']}")
    assert sorted(seen) == sorted(ids)
    assert web.get("/v1/jobs?queue=pages&state=dead")["jobs"] == []


def test_a_batch(web):
    both = web.ask("POST", "/v1/jobs/batch", {"mode": "all", "items": [
        {"queue": "b", "payload": "1", "tag": ["x"], "meta": {"a": "b"}}, {"queue": "b", "payload": [2], "in": 1000}]})
    assert both.status == 201 and len(both.json["results"]) == 2
    assert web.get(f"/v1/jobs/{both.json['results'][1]['id']}")["payload"] == "[2]"
    some = web.ask("POST", "/v1/jobs/batch", {"mode": "each", "items": [
        {"queue": "b", "payload": "1"}, {"queue": "b", "payload": "1", "priority": 9}]})
    assert some.status == 200 and some.json["results"][0]["id"]
    assert some.json["results"][1]["error"]["code"] == "INVALID"
    none = web.ask("POST", "/v1/jobs/batch", {"mode": "all", "items": [
        {"queue": "b2", "payload": "1"}, {"queue": "b2", "payload": "1", "priority": 9}]})
    assert none.status == 400 and "item 2" in none.json["detail"]
    assert web.get("/v1/jobs?queue=b2")["jobs"] == []


def test_by_key_and_names_with_slashes(web):
    id = web.post("/v1/jobs", {"queue": "a/b", "payload": "x", "key": "k/1 é", "in": "1h"})["id"]
    path = "/v1/queues/a%2Fb/keys/k%2F1%20%C3%A9"
    assert web.get(path)["id"] == id and web.get(path + "/explain")["id"] == id
    assert web.get("/v1/queues/a%2fb")["queue"] == "a/b"
    assert web.call("DELETE", path)["outcome"] == "cancelled"


def test_an_idempotency_key_is_a_key_that_keeps(web):
    ids = {web.post("/v1/jobs", {"queue": "idem", "payload": str(n), "in": "1h"}, {"Idempotency-Key": "r-1"})["id"]
           for n in range(3)}
    assert len(ids) == 1 and web.get("/v1/jobs/" + ids.pop())["payload"] == "0"
    for body in ({"key": "other"}, {"ifexists": "replace"}):
        with pytest.raises(Problem) as e:
            web.post("/v1/jobs", {"queue": "idem", "payload": "x", **body}, {"Idempotency-Key": "r-1"})
        assert e.value.status == 400 and "Idempotency-Key" in e.value.detail
    answer = web.ask("POST", "/v1/jobs/batch", {"mode": "all", "items": [{"queue": "q", "payload": ""}]},
                     {"Idempotency-Key": "r-1"})
    assert answer.status == 400


# ---- Values ----

@pytest.mark.parametrize("body, kept", [
    ('"text"', "text"), ('""', ""), ("null", "null"), ("true", "true"), ("17", "17"),
    ("1.10", "1.10"), ("1e400", "1e400"), ("12345678901234567890123", "12345678901234567890123"),
    ('{ "b" : 1 , "a" : [ ] , "é" : "\\u00e9\\n" }', '{"b":1,"a":[],"é":"\\u00e9\\n"}'),
    ('"\\ud83d\\ude00 \\u0000 \\" \\/"', '\U0001f600 \0 " /'),
])
def test_a_payload_is_kept_as_it_was_written(web, body, kept):
    id = web.post("/v1/jobs", f'{{"queue":"kept","in":"1h","payload":{body}}}'.encode())["id"]
    assert web.get(f"/v1/jobs/{id}")["payload"] == kept


def test_bytes_go_in_and_come_out_as_base64(web, resp):
    data = bytes(range(256))
    id = web.post("/v1/jobs", {"queue": "bytes", "payload_base64": base64.b64encode(data).decode(),
                               "key_base64": "/w==", "meta_base64": {"m": "/w=="}})["id"]
    job, = web.post("/v1/leases", {"queues": "bytes"})["jobs"]
    assert base64.b64decode(job["payload_base64"]) == data and "payload" not in job
    assert job["key_base64"] == "/w==" and job["meta"] == {"m_base64": "/w=="}
    assert resp.call("GET", id)["payload"].encode("utf-8", "surrogateescape") == data
    assert web.get("/v1/queues/bytes/keys/%FF")["id"] == id
    web.post(f"/v1/jobs/{id}/complete", {"token": job["token"], "result_base64": "gA=="})
    assert web.get(f"/v1/jobs/{id}")["result_base64"] == "gA=="


BAD_BODIES = [
    (b"", "queue: is missing"),
    (b"{", "no JSON"),
    (b"[]", "expected an object"),
    (b'"x"', "expected an object"),
    (b'{"queue":"q","payload":"x"} x', "nothing behind"),
    (b'{"queue":"q","payload":"x",}', "field's name"),
    (b"{'queue':'q'}", "field's name"),
    (b'{"queue":"q","payload":"\xff"}', "not UTF-8"),
    (b'{"queue":"q","payload":"\xed\xa0\x80"}', "not UTF-8"),
    (b'{"queue":"q","payload":"\\ud800"}', "surrogate"),
    (b'{"queue":"q","payload":"\n"}', "control character"),
    (b'{"queue":"q","payload":01}', "leading zeros"),
    (b'{"queue":"q","payload":+1}', "expected a JSON value"),
    (b'{"queue":"q","payload":NaN}', "expected a JSON value"),
    (b'{"queue":"q","payload":tru}', "true"),
    (b'{"queue":"q","payload":' + b"[" * 65 + b"]" * 65 + b"}", "nested too deeply"),
    (b'{"queue":"q","payload":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", "nested too deeply"),
    (b'{"queue":"q","payload":"x","nope":1}', "nope: unknown field"),
    (b'{"queue":"q","payload":"x","Queue":"q"}', "Queue: unknown field"),
    (b'{"queue":"q","payload":"x","queue":"q"}', "queue: is given twice"),
    (b'{"queue":"q","paylod":"x"}', "paylod: unknown field; did you mean payload?"),
    (b'{"queue":"q","payload":"x","delay":"3s"}', "delay: unknown field; there are queue, payload, in, at"),
    (b'{"queue":"q","payload":"x","payload_base64":""}', "payload: is given twice"),
    (b'{"queue":"q","payload":"x","tag":"a","tag":"b"}', "tag: is given twice"),
    (b'{"queue":"q","payload":"x","meta":{"a":"1","a":"2"}}', "meta: a name is given twice"),
    (b'{"queue":1,"payload":"x"}', "queue: expected a string"),
    (b'{"queue":null,"payload":"x"}', "queue: expected a string"),
    (b'{"queue":"","payload":"x"}', "queue: expected 1-128"),
    (b'{"queue":"q"}', "payload: is missing"),
    (b'{"queue":"q","payload":"x","priority":"1"}', "priority: expected a whole number"),
    (b'{"queue":"q","payload":"x","priority":1.5}', "priority: expected a whole number"),
    (b'{"queue":"q","payload":"x","priority":1e0}', "priority: expected a whole number"),
    (b'{"queue":"q","payload":"x","priority":-1}', "priority: expected 1 to 5"),
    (b'{"queue":"q","payload":"x","priority":99999999999999999999}', "priority: expected 1 to 5"),
    (b'{"queue":"q","payload":"x","priority":true}', "priority: expected a whole number"),
    (b'{"queue":"q","payload":"x","in":{}}', "in: expected a duration"),
    (b'{"queue":"q","payload":"x","in":"soon"}', "in: "),
    (b'{"queue":"q","payload":"x","in":1,"at":1}', "only one of them"),
    (b'{"queue":"q","payload":"x","at":"yesterday"}', "at: "),
    (b'{"queue":"q","payload":"x","tag":[1]}', "tag: expected a string"),
    (b'{"queue":"q","payload":"x","tag":{"a":1}}', "tag: expected a string"),
    (b'{"queue":"q","payload":"x","tag":[["a"]]}', "tag: expected a string"),
    (b'{"queue":"q","payload":"x","meta":["a","b"]}', "meta: expected an object"),
    (b'{"queue":"q","payload":"x","meta":{"a":1}}', "meta: expected an object"),
    (b'{"queue":"q","payload":"x","meta":{' + b",".join(b'"m%d":""' % i for i in range(100000)) + b"}}",
     "meta: expected at most 32 names"),
    (b'{"queue":"q","payload":"x","key":["a"]}', "key: expected a string"),
    (b'{"queue":"q","payload":"x","ifexists":true}', "ifexists: expected a string"),
    (b'{"queue":"q","payload":"x","ifexists":"maybe"}', "ifexists: expected one of"),
    (b'{"queue":"q","payload_base64":"x"}', "payload_base64: expected base64"),
    (b'{"queue":"q","payload_base64":"eA"}', "payload_base64: expected base64"),
    (b'{"queue":"q","payload_base64":"eB=="}', "payload_base64: expected base64"),
    (b'{"queue":"q","payload_base64":1}', "expected a string"),
]


@pytest.mark.parametrize("body, why", BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_a_bad_body_is_told_what_is_wrong_and_changes_nothing(web, body, why):
    before = web.get("/v1/stats")["total_scheduled"]
    answer = web.ask("POST", "/v1/jobs", body)
    assert answer.status == 400 and why in answer.json["detail"], answer
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert web.get("/v1/stats")["total_scheduled"] == before


@pytest.mark.parametrize("path, body, why", [
    ("/v1/leases", {"queues": ["a", 1]}, "queues: expected a string, or an array"),
    ("/v1/leases", {"queues": ["a,b"]}, "queues: expected no comma"),
    ("/v1/leases", {"queues": []}, "queues: expected names"),
    ("/v1/leases", {}, "queues: is missing"),
    ("/v1/jobs/batch", {"mode": "all", "items": []}, "items: expected at least one"),
    ("/v1/jobs/batch", {"mode": "all", "items": {}}, "items: expected an array"),
    ("/v1/jobs/batch", {"mode": "all", "items": [1]}, "items: expected an array of objects"),
    ("/v1/jobs/batch", {"mode": "all", "items": [{"queue": "q"}]}, "item 1: payload: is missing"),
    ("/v1/jobs/batch", {"mode": "all", "items": [{"queue": "q", "payload": ""}, {"x": 1}]}, "item 2: x: unknown"),
    ("/v1/jobs/batch", {"mode": "all"}, "items: is missing"),
    ("/v1/jobs/" + "0" * 26 + "/complete", {"token": "x"}, "token: expected"),
    ("/v1/jobs/" + "0" * 26 + "/complete", {"token": 1, "id": "x"}, "id: unknown field"),
    ("/v1/jobs/%zz/complete", {"token": 1}, "id: expected two hexadecimal digits"),
    ("/v1/jobs?tenant=a", {"queue": "q", "payload": "", "tenant": "a"}, "tenant: is given twice"),
    ("/v1/jobs?queue=q", {"payload": ""}, "queue: unknown parameter"),
])
def test_other_bad_bodies(web, path, body, why):
    answer = web.ask("POST", path, body)
    assert answer.status == 400 and why in answer.json["detail"], answer


@pytest.mark.parametrize("path, why", [
    ("/v1/jobs?limit=0", "limit: expected 1 to 1000"), ("/v1/jobs?limit=1&limit=2", "limit: is given twice"),
    ("/v1/jobs?limit=%zz", "two hexadecimal digits"), ("/v1/jobs?nope=1", "nope: unknown parameter"),
    ("/v1/jobs?%ff=1", "%ff: unknown parameter"), ("/v1/jobs?cursor=x", "cursor: "),
    ("/v1/jobs/" + "0" * 26 + "?key=k", "key: unknown parameter"), ("/v1/jobs?=", "unknown parameter"),
])
def test_a_bad_query(web, path, why):
    answer = web.ask("GET", path)
    assert answer.status == 400 and why in answer.json["detail"], answer


# ---- HTTP ----

def test_paths_methods_and_types(web):
    assert web.ask("GET", "/nope").status == web.ask("GET", "/v1/jobs/").status == 404
    assert web.ask("GET", "/v1/queues//keys/a").status == 404
    answer = web.ask("PUT", "/v1/jobs")
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD, POST" and answer.json["status"] == 405
    assert web.ask("OPTIONS", "/v1/jobs").status == 405
    for type in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp"):
        assert web.ask("POST", "/v1/jobs", b"{}", {"Content-Type": type}).status == 415
    ok = web.ask("POST", "/v1/jobs", {"queue": "types", "payload": ""}, {"Content-Type": "Application/JSON; charset=utf-8"})
    assert ok.status == 201
    assert web.ask("GET", "/v1/stats", b"{}").status == 400
    assert "Access-Control-Allow-Origin" not in ok.headers


def test_errors_have_the_status_of_their_code(web):
    id = web.post("/v1/jobs", {"queue": "status", "payload": "x", "key": "k", "in": "1h"})["id"]
    cases = [
        ("POST", f"/v1/jobs/{id}/complete", {"token": 1}, 409, "STALE"),
        ("POST", "/v1/jobs/" + "0" * 26 + "/complete", {"token": 1}, 404, "NOTFOUND"),
        ("POST", "/v1/jobs", {"queue": "status", "payload": "", "key": "k", "ifexists": "reject"}, 409, "KEYEXISTS"),
        ("POST", f"/v1/jobs/{id}/redrive", None, 409, "STATE"),
        ("GET", "/v1/jobs/" + "0" * 26, None, 404, "NOTFOUND"),
        ("POST", "/v1/jobs", {"queue": "status", "payload": "", "key": "k" * 513}, 413, "TOOLARGE"),
        ("POST", "/v1/jobs", {"queue": "status", "payload": "x" * ((1 << 20) + 1)}, 413, "TOOLARGE"),
    ]
    web.call("PATCH", "/v1/queues/past", {"past_grace": 0})
    cases.append(("POST", "/v1/jobs", {"queue": "past", "payload": "", "at": 1}, 422, "PAST"))
    web.call("PATCH", "/v1/tenants/tiny", {"max_pending": 1})
    web.post("/v1/jobs", {"queue": "q", "payload": "", "tenant": "tiny"})
    cases.append(("POST", "/v1/jobs", {"queue": "q", "payload": "", "tenant": "tiny"}, 429, "LIMIT"))
    for method, path, body, status, code in cases:
        answer = web.ask(method, path, body)
        assert (answer.status, answer.json["status"], answer.json["code"]) == (status, status, code), (path, answer)
        assert set(answer.json) - {"id"} == {"type", "title", "status", "code", "detail"}
        assert ("id" in answer.json) == (code == "KEYEXISTS") and answer.json.get("id", id) == id


def test_keep_alive_and_head(shared_server, web):
    before = web.get("/v1/stats")
    for _ in range(20):
        web.get("/healthz")
    after = web.get("/v1/stats")
    assert after["connections"] == before["connections"]
    get, head = web.ask("GET", "/healthz"), web.ask("HEAD", "/healthz")
    assert head.status == 200 and head.body == b"" and head.headers["Content-Length"] == get.headers["Content-Length"]
    assert b"Connection: close" in raw(shared_server.port, request("GET", "/healthz", b"", "Connection: close"))


def test_pipelined_requests_are_answered_in_order(shared_server):
    bodies = [json.dumps({"queue": "pipe", "payload": str(n), "in": "1h"}).encode() for n in range(50)]
    data = b"".join(request("POST", "/v1/jobs", b) for b in bodies)
    out = raw(shared_server.port, data + request("GET", "/nope", b"", "Connection: close"))
    assert out.count(b"HTTP/1.1 201") == 50 and out.count(b"HTTP/1.1 404") == 1
    ids = [line[7:33].decode() for line in out.split(b"\r\n") if line.startswith(b'{"id":"')]
    ids += [piece[7:33].decode() for line in out.split(b"\r\n") for piece in [line[line.find(b'{"id":"'):]]
            if line.find(b'{"id":"') > 0]
    with Web(shared_server.port) as w:
        assert [w.get(f"/v1/jobs/{id}")["payload"] for id in ids] == [str(n) for n in range(50)]


def test_a_chunked_body(shared_server):
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x.localhost\r\n".replace(b"x.localhost", b"localhost")
    head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    body = b'{"queue":"chunks","payload":"' + b"y" * 3000 + b'"}'
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7))
    out = raw(shared_server.port, head + chunks + b"0\r\n\r\n")
    assert out.startswith(b"HTTP/1.1 201"), out


def test_expect_100_continue(shared_server):
    body = b'{"queue":"expect","payload":"x"}'
    with socket.create_connection(("127.0.0.1", shared_server.port), timeout=30) as s:
        s.sendall(request("POST", "/v1/jobs", body, "Expect: 100-continue", "Connection: close")[:-len(body)])
        assert s.recv(1000).startswith(b"HTTP/1.1 100")
        s.sendall(body)
        assert read_all(s).startswith(b"HTTP/1.1 201")
    with socket.create_connection(("127.0.0.1", shared_server.port), timeout=30) as s:
        s.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                  b"Content-Length: 100000000\r\nExpect: 100-continue\r\n\r\n")
        assert read_all(s).startswith(b"HTTP/1.1 413"), "it is refused before it is sent"


def test_bytes_that_come_one_at_a_time(shared_server):
    for data, start in ((request("POST", "/v1/jobs", b'{"queue":"slow","payload":"x"}', "Connection: close"),
                         b"HTTP/1.1 201"), (request("GET", "/healthz", b"", "Connection: close"), b"HTTP/1.1 200")):
        with socket.create_connection(("127.0.0.1", shared_server.port), timeout=30) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(data)):
                s.sendall(data[i:i + 1])
                time.sleep(0.001)
            assert read_all(s).startswith(start)


def test_resp_that_begins_like_http_is_resp(shared_server):
    with shared_server.wire() as w:
        id = w.call("SCHEDULE", "inline", "x", "IN", "1h")
    for line in (f"GET {id}\r\n", f"get {id}\r\n", "DELETE x\r\n", "PING\r\n", "GE\r\n", "POST\r\n", "PUT \r\n"):
        with socket.create_connection(("127.0.0.1", shared_server.port), timeout=30) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for c in line:
                s.sendall(c.encode())
                time.sleep(0.001)
            answer = s.recv(4096)
            assert answer[:1] in b"*+-%" and not answer.startswith(b"HTTP"), (line, answer)
            if line.lower().startswith("get 0"):
                assert answer.startswith(b"*")
    with socket.create_connection(("127.0.0.1", shared_server.port), timeout=30) as s:
        s.sendall(b"GET ")
        s.shutdown(socket.SHUT_WR)
        assert s.recv(100) == b"", "half a line and its end"


def test_oversize_bodies(shared_server):
    port = shared_server.port
    out = raw(port, b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 4000000000\r\n\r\n")
    assert out.startswith(b"HTTP/1.1 413") and b"TOOLARGE" in out
    head = (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    out = raw(port, head + 4 * chunk + b"0\r\n\r\n")
    assert out.startswith(b"HTTP/1.1 413") and b"TOOLARGE" in out
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        s.sendall(head)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(128):
                s.sendall(chunk)
                time.sleep(0.01)
    with Web(port) as w:
        assert w.get("/healthz")


@pytest.mark.parametrize("data", [
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100000 + b"\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
    b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"GET / \r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\0\0\0: x\r\n\r\n",
])
def test_malformed_http_is_refused_and_others_are_served(shared_server, data):
    out = raw(shared_server.port, data, timeout=1.0)
    assert not out.startswith(b"HTTP/1.1 2") or b"HTTP/1.1 4" in out or data.startswith(b"GET /healthz"), out[:100]
    with Web(shared_server.port) as w:
        assert w.get("/healthz") == {"status": "ok"}


@pytest.mark.parametrize("line, status", [
    (b"Transfer-Encoding : chunked", 400), (b"Content-Length : 5", 400), (b"Content-Length\t: 5", 400),
    (b"X Y: z", 400), (b"X@Y: z", 400), (b"Transfer-Encoding: xchunked", 501),
    (b"Transfer-Encoding: identity", 501), (b"Transfer-Encoding: gzip, chunked", 501),
    (b"Transfer-Encoding: chunked, chunked", 501),
])
@pytest.mark.parametrize("length", [b"", b"Content-Length: 4\r\n"])
def test_headers_that_a_proxy_may_read_otherwise_end_the_connection(shared_server, line, status, length):
    start = time.monotonic()
    out = raw(shared_server.port, b"POST /v1/queues/proxied/pause HTTP/1.1\r\nHost: localhost\r\n" + length + line +
              b"\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", timeout=5.0)
    assert out.startswith((b"HTTP/1.1 %d" % status, b"HTTP/1.1 400")) and out.count(b"HTTP/1.1") == 1, out
    assert time.monotonic() - start < 4, "it is answered and closed at once"


def test_no_answer_is_of_another_type_than_it_says(web):
    for path in ("/healthz", "/metrics", "/v1/stats", "/openapi.json", "/docs", "/nope"):
        assert web.ask("GET", path).headers["X-Content-Type-Options"] == "nosniff", path


@pytest.mark.parametrize("path, headers, status", [
    ("/v1/stats", {"Sec-Fetch-Site": "cross-site"}, 403), ("/metrics", {"Sec-Fetch-Site": "same-site"}, 403),
    ("/v1/stats", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
    ("/docs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
    ("/docs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
    ("/v1/stats", {"Sec-Fetch-Site": "same-origin"}, 200), ("/v1/stats", {"Sec-Fetch-Site": "none"}, 200),
])
def test_what_a_page_of_another_origin_asks_for_is_refused(web, path, headers, status):
    assert web.ask("GET", path, headers=headers).status == status


@pytest.mark.parametrize("headers, status", [
    ({"Host": "[anything"}, 421), ({"Host": "[evil.example]"}, 421), ({"Host": "[::1]x"}, 421),
    ({"Host": "[::1]"}, 204), ({"Host": "1.2.3"}, 421), ({"Host": "127.0.0.1:x"}, 421),
    ({"Host": "localhost.evil.example"}, 421),
    ({"Host": "evil.example"}, 421), ({"Host": "evil.example:2355"}, 421), ({"Host": ""}, 421),
    ({"Host": "localhost:1"}, 204), ({"Host": "[::1]:2355"}, 204), ({"Host": "127.0.0.1"}, 204),
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
    ({"Host": "localhost:7", "Origin": "http://localhost:7"}, 204),
    ({"Host": "localhost:7", "Origin": "http://localhost:8"}, 403),
])
def test_pages_of_strangers_are_refused(shared_server, headers, status):
    """A browser on this machine may be made to ask by a page that it shows."""
    connection = http.client.HTTPConnection("127.0.0.1", shared_server.port)
    connection.putrequest("POST", "/v1/queues/strangers/pause", skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == status


def test_the_docs_are_one_page_that_needs_nothing_else(web):
    one, two = web.ask("GET", "/docs"), web.ask("GET", "/docs")
    policy = one.headers["Content-Security-Policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert one.body != two.body and one.body.count(f'nonce="{nonce}"'.encode()) == 2 and b"NONCE" not in one.body
    assert b"http://" not in one.body and b"https://" not in one.body and b"src=" not in one.body
    assert one.headers["X-Content-Type-Options"] == "nosniff"


def test_curl(shared_server):
    made = curl(shared_server.port, "--json", '{"queue":"curl","payload":"hi"}', "/v1/jobs")
    id = json.loads(made.stdout)["id"]
    assert json.loads(curl(shared_server.port, f"/v1/jobs/{id}").stdout)["payload"] == "hi"
    assert "application/json" in curl(shared_server.port, "-d", "x", "/v1/jobs").stdout
