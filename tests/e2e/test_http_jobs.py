# SPDX-License-Identifier: MIT
"""HTTP as its users expect it: keys that hold, answers that say what was made, payloads as JSON, traces, pages."""
import pytest

from web import Web


@pytest.fixture
def web(shared_server):
    with Web(shared_server.port) as w:
        yield w


@pytest.fixture
def resp(shared_server):
    with shared_server.wire(3) as w:
        yield w


def finish(web, queue, **how):
    job = web.post("/v1/leases", {"queues": queue})["jobs"][0]
    verb = "fail" if "final" in how else "complete"
    web.post(f"/v1/jobs/{job['id']}/{verb}", {"token": job["token"], **how})


@pytest.mark.parametrize("end", ["done", "dead", "cancelled"])
def test_an_idempotency_key_holds_when_the_job_has_ended(web, end):
    queue, key = "idem-" + end, {"Idempotency-Key": "pay-1"}
    body = {"queue": queue, "payload": "x"}
    made = web.ask("POST", "/v1/jobs", body, key)
    id = made.json["id"]
    assert (made.status, made.json) == (201, {"id": id, "created": True, "outcome": "created"})
    again = web.ask("POST", "/v1/jobs", body, key)
    assert (again.status, again.json) == (200, {"id": id, "created": False, "outcome": "kept"})
    assert made.headers["Location"] == again.headers["Location"] == f"/v1/jobs/{id}"
    if end == "cancelled":
        web.call("DELETE", f"/v1/jobs/{id}")
    else:
        finish(web, queue, **({"final": True} if end == "dead" else {}))
    assert web.get(f"/v1/jobs/{id}")["state"] == end
    kept = web.ask("POST", "/v1/jobs", body, key)
    assert (kept.status, kept.json["id"], kept.json["created"]) == (200, id, False)
    if end == "dead":
        web.post(f"/v1/jobs/{id}/redrive")
        assert web.get(f"/v1/jobs/{id}")["state"] == "ready"


def test_a_plain_key_is_free_when_its_job_is_done(web):
    body = {"queue": "plain-key", "payload": "x", "key": "k"}
    id = web.post("/v1/jobs", body)["id"]
    finish(web, "plain-key")
    again = web.ask("POST", "/v1/jobs", {**body, "key_hold": "1h"})
    assert again.status == 201 and again.json["id"] != id
    finish(web, "plain-key")
    assert web.ask("POST", "/v1/jobs", body).json == {"id": again.json["id"], "created": False, "outcome": "kept"}


def test_the_hold_of_idempotency_keys_is_an_option(make_server):
    with Web(make_server(idempotency_hold="0ms").port) as web:
        ids = set()
        for _ in range(2):
            ids.add(web.post("/v1/jobs", {"queue": "q", "payload": ""}, {"Idempotency-Key": "k"})["id"])
            finish(web, "q")
        assert len(ids) == 2


def test_a_batch_says_which_jobs_it_made(web):
    item = {"queue": "batch-made", "payload": "", "key": "k"}
    first = web.ask("POST", "/v1/jobs/batch", {"mode": "all", "items": [item, {**item, "key": "l"}]})
    assert first.status == 201 and [r["created"] for r in first.json["results"]] == [True, True]
    mixed = web.ask("POST", "/v1/jobs/batch", {"mode": "all", "items": [item, {**item, "key": "m"}]})
    assert mixed.status == 201 and [r["created"] for r in mixed.json["results"]] == [False, True]
    none = web.ask("POST", "/v1/jobs/batch", {"mode": "each", "items": [item, {**item, "ifexists": "reject"}]})
    assert none.status == 200 and none.json["results"][0]["created"] is False
    assert none.json["results"][1]["error"]["id"] == none.json["results"][0]["id"]


def test_resp_is_asked_for_a_map(resp):
    id = resp.call("SCHEDULE", "resp-map", "x", "KEY", "k")
    assert isinstance(id, (str, bytes))
    assert resp.call("SCHEDULE", "resp-map", "x", "KEY", "k", "ANSWER", "id") == id
    kept = resp.call("SCHEDULE", "resp-map", "x", "KEY", "k", "ANSWER", "map")
    assert kept == {"id": id, "created": False, "outcome": "kept"}
    replaced = resp.call("BATCH", "all", "8", "resp-map", "y", "KEY", "k", "IFEXISTS", "replace", "ANSWER", "map")
    assert replaced == [{"id": id, "created": False, "outcome": "replaced"}]


def test_a_job_that_has_ended_is_not_cancelled(web):
    id = web.post("/v1/jobs", {"queue": "ended", "payload": ""})["id"]
    answer = web.ask("POST", f"/v1/jobs/{id}/complete", {"token": "1"})
    assert answer.status == 409 and answer.json["detail"] == \
        "lease no longer held: the job is ready, and was never leased"
    finish(web, "ended")
    for path in (f"/v1/jobs/{id}",):
        answer = web.ask("DELETE", path)
        assert (answer.status, answer.json["code"]) == (409, "STATE") and "already done" in answer.json["detail"]
    answer = web.ask("POST", f"/v1/jobs/{id}/complete", {"token": "1"})
    assert answer.json["code"] == "STALE" and "already done" in answer.json["detail"]
    assert web.ask("DELETE", "/v1/jobs/" + "0" * 26).status == 404


@pytest.mark.parametrize("method, path, thing", [
    ("GET", "/v1/jobs/" + "0" * 26, "job"), ("GET", "/v1/queues/nope", "queue"),
    ("GET", "/v1/recurrences/nope", "recurrence"), ("POST", "/v1/recurrences/nope/run", "recurrence"),
    ("DELETE", "/v1/recurrences/nope", "recurrence"), ("GET", "/v1/tenants/nope", "tenant"),
    ("DELETE", "/v1/tokens/nope", "token"), ("DELETE", "/v1/bulks/" + "0" * 26, "bulk"),
    ("GET", "/v1/queues/q/keys/nope", "job"), ("DELETE", "/v1/queues/q/keys/nope", "job")])
def test_what_is_missing_is_named(web, method, path, thing):
    answer = web.ask(method, path)
    assert (answer.status, answer.json["title"]) == (404, "no such " + thing)


def test_payloads_come_back_as_json(web, resp):
    id = web.post("/v1/jobs", {"queue": "json", "payload": {"to": ["ann", 1.5]}})["id"]
    assert web.get(f"/v1/jobs/{id}")["payload"] == '{"to":["ann",1.5]}'
    shown = web.get(f"/v1/jobs/{id}?payload=json")
    assert shown["payload_json"] == {"to": ["ann", 1.5]} and "payload" not in shown
    job = web.post("/v1/leases", {"queues": "json", "payload": "json"})["jobs"][0]
    assert job["payload_json"] == {"to": ["ann", 1.5]}
    web.post(f"/v1/jobs/{id}/complete", {"token": job["token"], "result": [1, {"b": None}]})
    assert web.get(f"/v1/jobs/{id}?payload=json")["result_json"] == [1, {"b": None}]
    for payload, field, value in (("not json", "payload", "not json"), (b"\xff", "payload_base64", "/w=="),
                                  ("", "payload", ""), ("17", "payload_json", 17)):
        id = resp.call("SCHEDULE", "json", payload)
        shown = web.get(f"/v1/jobs/{id}?payload=json")
        assert shown[field] == value and sum(k in ("payload", "payload_json", "payload_base64") for k in shown) == 1
    waits = web.post("/v1/leases", {"queues": "json-later", "payload": "json", "wait": "20ms"})
    assert waits == {"jobs": []}
    assert web.ask("GET", f"/v1/jobs/{id}?payload=xml").status == 400


def test_a_job_goes_on_in_the_trace_of_its_request(web):
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"}
    id = web.post("/v1/jobs", {"queue": "trace", "payload": ""}, trace)["id"]
    assert web.get(f"/v1/jobs/{id}")["meta"] == trace
    id = web.post("/v1/jobs", {"queue": "trace", "payload": ""}, {**trace, "traceparent": "bad"})["id"]
    assert web.get(f"/v1/jobs/{id}")["meta"] == {}
    batch = web.post("/v1/jobs/batch", {"mode": "all", "items": [{"queue": "trace", "payload": ""}]}, trace)
    assert web.get(f"/v1/jobs/{batch['results'][0]['id']}")["meta"] == trace


def test_the_start_page_is_for_its_reader(web):
    page = web.ask("GET", "/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.headers["Content-Type"].startswith("text/html") and "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert web.ask("GET", "/", headers={"Accept": "application/json"}).json["docs"] == "/docs"
    text = web.ask("GET", "/", headers={"Accept": "*/*"})
    assert text.headers["Content-Type"].startswith("text/plain") and b"SCHEDULE" in text.body
    assert web.ask("GET", "/favicon.ico").status == 204


def test_answers_end_with_their_line(web):
    for path in ("/healthz", "/v1/stats", "/nope", "/openapi.json", "/", "/metrics"):
        assert web.ask("GET", path).body.endswith(b"\n"), path


def test_a_client_that_writes_its_whole_body_first_reads_that_it_is_too_large(shared_server):
    """urllib and others write all of the body before they look for an answer."""
    for size in (5 << 20, 40 << 20):
        body = b'{"queue":"q","payload":"' + b"x" * size + b'"}'
        with Web(shared_server.port) as w:
            answer = w.ask("POST", "/v1/jobs", body)
            assert answer.status == 413 and answer.json["code"] == "TOOLARGE" and answer.headers["Connection"] == "close"
