# SPDX-License-Identifier: MIT
"""The server is asked by its own description: whatever the description allows is answered by what it says, whatever
it does not allow is refused, and nothing breaks."""
import json
import os
import random
import re
import urllib.parse

import jsonschema
import pytest

from conftest import LONG
from web import Web

SEED = int(os.environ.get("BELFRY_SEED", random.randrange(1 << 30) if os.environ.get("BELFRY_LONG") else 1))
ROUNDS = int(os.environ.get("BELFRY_ROUNDS", 200 if LONG else 12))


@pytest.fixture(scope="module")
def token(shared_server):
    """All operations may be tried, those about tokens too: so there is one from the start."""
    with Web(shared_server.port) as w:
        return w.post("/v1/tokens", {"name": "the-one-of-this-test", "role": "admin"})["token"]


@pytest.fixture(scope="module")
def api(shared_server, token):
    with Web(shared_server.port, token=token) as w:
        return w.get("/openapi.json")


def operations(api):
    for path, methods in api["paths"].items():
        for method, op in methods.items():
            yield path, method, op


def is_stream(op):
    """Its answer does not end: see test_events.py."""
    return "text/event-stream" in op["responses"]["200"].get("content", {}) if "200" in op["responses"] else False


def resolved(api, schema):
    return api["components"]["schemas"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema


def schema_of(api, schema):
    """With what it refers to."""
    return {**schema, "components": api["components"]}


def check(api, schema, value):
    jsonschema.Draft202012Validator(schema_of(api, schema)).validate(value)


def unknown_fields(api, schema, value, where=""):
    """Fields that an answer has and its description does not."""
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].split("/")[-1]]
    if isinstance(value, dict) and "properties" in schema and "additionalProperties" not in schema:
        for name, v in value.items():
            if name not in schema["properties"]:
                yield f"{where}.{name}"
            else:
                yield from unknown_fields(api, schema["properties"][name], v, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for v in value:
            yield from unknown_fields(api, schema["items"], v, where + "[]")


def test_the_description_is_whole(api):
    assert api["openapi"] == "3.1.0"
    ids = [op["operationId"] for _, _, op in operations(api)]
    assert len(ids) == len(set(ids)) and len(ids) > 30
    for name, schema in api["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
    for path, method, op in operations(api):
        where = f"{method} {path}"
        assert op["summary"] and op["tags"] and "default" in op["responses"], where
        named = set(re.findall(r"{(\w+)}", path))
        assert named == {p["name"] for p in op.get("parameters", []) if p["in"] == "path"}, where
        for p in op.get("parameters", []):
            assert p["description"], where
            jsonschema.Draft202012Validator.check_schema(p["schema"])
        if "requestBody" in op:
            body = resolved(api, op["requestBody"]["content"]["application/json"]["schema"])
            jsonschema.Draft202012Validator.check_schema(body)
            assert body["additionalProperties"] is False
            for field, s in body["properties"].items():
                assert s["description"], f"{where} {field}"
    refs = re.findall(r'"\$ref": "([^"]*)"', json.dumps(api))
    assert all(r.split("/")[-1] in api["components"][r.split("/")[-2]] for r in refs) and refs


def test_words_of_answers_are_enumerated(api):
    schemas = api["components"]["schemas"]
    states = ["scheduled", "ready", "leased", "done", "dead", "cancelled", "expired", "waiting"]
    assert schemas["Job"]["properties"]["state"]["enum"] == states
    assert schemas["LedgerEntry"]["properties"]["outcome"]["enum"] == ["open", "ran", "failed", "cancelled", "skipped"]
    assert "no_worker" in schemas["Explanation"]["properties"]["reason"]["enum"]
    assert "retried" in schemas["Event"]["properties"]["cause"]["enum"]
    assert schemas["Token"]["properties"]["role"]["enum"] == ["admin", "producer", "worker", "read-only"]
    assert "STALE" in schemas["Problem"]["properties"]["code"]["enum"]
    assert schemas["Scheduled"]["properties"]["id"]["type"] == "string"
    assert {op["operationId"] for _, _, op in operations(api)} >= {"scheduleJob", "completeJob", "leaseJobs", "getJob"}
    assert api["paths"]["/v1/jobs"]["post"]["requestBody"]["required"] is True
    assert "IN " not in api["paths"]["/v1/jobs"]["post"]["summary"]


def test_limits_come_from_the_verbs(api):
    body = resolved(api, api["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"])
    assert body["properties"]["priority"]["minimum"] == 1 and body["properties"]["priority"]["maximum"] == 5
    assert body["properties"]["ifexists"]["enum"] == ["keep", "replace", "reject"]
    assert body["properties"]["key"]["maxLength"] == 512
    assert body["required"] == ["queue"] and ["payload_base64"] in [o["required"] for o in body["oneOf"]]
    assert "answer" not in body["properties"]


class Maker:
    """Makes values by a schema: mostly right ones, now and then anything."""
    NAMES = ["q", "a.b", "x/y", "t-1", "n:2", "Z_9"]

    def __init__(self, rng, api):
        self.rng, self.api, self.ids, self.held = rng, api, ["0" * 26], [("0" * 26, "1")]
        self.pair = None  # an id and a token that belong together
        self.sober = False  # only what must be given, and as it should be

    def anything(self, depth=0):
        r = self.rng
        return r.choice([None, True, -1, 0, 10 ** 30, 1.5, "", "x" * 2000, "é\0\ud7ff", "*", "1h", [], {}, [[]],
                         {"a": {"b": []}}, ["a", 1], "2030-01-01T00:00:00Z", "\uffff", "-1", "0/0"])

    def text(self, name, schema):
        r = self.rng
        pattern = schema.get("pattern", "")
        if self.pair and name in ("id", "token"):
            return self.pair[name == "token"]
        if name == "id" or "{26}" in pattern:
            return r.choice(self.ids)
        if name == "token":
            return r.choice([token for _, token in self.held])
        if name == "key":
            return r.choice(["k", "k2"])
        if name in ("rrule", "cron", "tz", "backoff", "rate"):
            return r.choice({"rrule": ["FREQ=DAILY", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "x"],
                             "cron": ["* * * * *", "@daily", "61 1 1 1 1"], "tz": ["UTC", "Europe/Berlin", "Mars"],
                             "backoff": ["fixed:1s", "exp:1s:1h", "1s,2s", "no"], "rate": ["5/1s", "0", "x"]}[name])
        if "A-Z" in pattern:
            return r.choice(self.NAMES)
        if isinstance(schema.get("type"), list) and not pattern:  # a duration or a moment
            return r.choice(["10ms", "1h", "5s", "2d", "2030-01-01T00:00:00Z", "soon"])
        if schema.get("contentEncoding"):
            return r.choice(["", "aGk=", "/w==", "x"])
        return r.choice(["", "a", "hello é", "1h", "10ms", "2030-01-01T00:00:00Z", "x" * r.choice([1, 100, 600])])

    def value(self, name, schema, depth=0):
        r = self.rng
        if not self.sober and r.random() < 0.04:
            return self.anything()
        if "$ref" in schema:
            schema = self.api["components"]["schemas"][schema["$ref"].split("/")[-1]]
        for several in ("anyOf", "oneOf"):
            if several in schema and "properties" not in schema:
                return self.value(name, r.choice(schema[several]), depth)
        if "enum" in schema:
            return r.choice(schema["enum"])
        kind = schema.get("type")
        kind = r.choice(kind) if isinstance(kind, list) else kind
        if kind == "integer" and name == "token":
            return int(self.text(name, schema))
        if kind == "integer":
            low, high = schema.get("minimum", 0), min(schema.get("maximum", 1 << 40), 1 << 50)
            return r.choice([low, high, r.randint(low, max(low, high)), low - 1, 1000])
        if kind == "string":
            return self.text(name, schema)
        if kind == "array":
            return [self.value(name, schema["items"], depth + 1) for _ in range(r.choice([0, 1, 1, 2, 3]))]
        if kind == "object" and "properties" in schema:
            return self.body(schema, depth)
        if kind == "object":
            return {r.choice(self.NAMES): self.text("", {}) for _ in range(r.randint(0, 3))}
        return r.choice([self.anything(), "text", {"a": [1, 2]}])

    def body(self, schema, depth=0):
        r = self.rng
        fields = dict(schema["properties"])
        must = list(schema.get("required", []))
        if "oneOf" in schema:
            must += r.choice(schema["oneOf"])["required"]
        likely = 0 if self.sober else 0.12
        chosen = [f for f in fields if f in must and r.random() < 0.97 or f not in must and r.random() < likely]
        if "oneOf" in schema and r.random() < 0.97:
            chosen = [f for f in chosen if f in must or not any(f in o["required"] for o in schema["oneOf"])]
        out = {f: self.value(f, fields[f], depth + 1) for f in chosen}
        if "wait" in out:
            out["wait"] = r.choice([0, "1ms", 5])
        if not self.sober and r.random() < 0.03:
            out["surprise"] = 1
        return out


def path_of(path, params):
    for name, value in params.items():
        path = path.replace("{%s}" % name, urllib.parse.quote(str(value), safe=""))
    return path


@pytest.mark.limit(60 + 3 * ROUNDS)
def test_whatever_the_description_says_is_answered_as_it_says(shared_server, api, token):
    print(f"BELFRY_SEED={SEED}")
    rng = random.Random(SEED)
    maker = Maker(rng, api)
    statuses, went_well = {}, set()
    with Web(shared_server.port, token=token) as web:
        for _ in range(ROUNDS):
            todo = [o for o in operations(api) if not is_stream(o[2])] * 3
            # Most operations are about jobs, and many about leased ones.
            todo += [o for o in todo[:len(todo) // 3] if o[2].get("x-verb") in ("SCHEDULE", "LEASE")] * 9
            rng.shuffle(todo)
            for path, method, op in todo:
                maker.sober = rng.random() < 0.5
                body = resolved(api, op.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))
                maker.pair = rng.choice(maker.held[-3:]) if "token" in body.get("properties", {}) and maker.sober else None
                params = {p["name"]: maker.value(p["name"], p["schema"]) for p in op.get("parameters", [])
                          if p["in"] == "path"}
                params = {k: v if isinstance(v, (str, int)) and v != "" else "x" for k, v in params.items()}
                query = [(p["name"], maker.value(p["name"], p["schema"])) for p in op.get("parameters", [])
                         if p["in"] == "query" and not maker.sober and rng.random() < 0.2]
                query = [(k, v if isinstance(v, str) else json.dumps(v)) for k, v in query if v is not None]
                body = None
                if "requestBody" in op:
                    body = maker.body(resolved(api, op["requestBody"]["content"]["application/json"]["schema"]))
                url = path_of(path, params) + ("?" + urllib.parse.urlencode(query, errors="replace") if query else "")
                headers = {"Idempotency-Key": rng.choice("abc")} if op.get("x-verb") == "SCHEDULE" and rng.random() < .1 else {}
                sent = json.dumps(body).encode() if body is not None else None
                answer = web.ask(method.upper(), url, sent, headers)
                what = f"BELFRY_SEED={SEED}: {method} {url} {sent} -> {answer}"
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                assert answer.status < 500, what
                response = op["responses"].get(str(answer.status), op["responses"]["default"])
                if "$ref" in response:
                    response = api["components"]["responses"][response["$ref"].split("/")[-1]]
                if answer.status < 400:
                    assert str(answer.status) in op["responses"], what
                    went_well.add((path, method))
                else:
                    assert answer.headers["Content-Type"] == "application/problem+json", what
                if "content" in response and "json" in list(response["content"])[0]:
                    schema = list(response["content"].values())[0]["schema"]
                    check(api, schema, answer.json)
                    assert not list(unknown_fields(api, schema, answer.json)), \
                        f"not in src/verbs/shapes.c or src/front/openapi.c: {list(unknown_fields(api, schema, answer.json))[:5]}"
                if answer.json and "id" in answer.json and answer.status == 201:
                    maker.ids = (maker.ids + [answer.json["id"]])[-20:]
                jobs = (answer.json or {}).get("jobs", [])
                for job in jobs if isinstance(jobs, list) else []:  # else it is COUNT's number
                    if isinstance(job, dict) and "token" in job:
                        maker.ids = (maker.ids + [job["id"]])[-20:]
                        maker.held = (maker.held + [(job["id"], job["token"])])[-20:]
        assert web.get("/healthz") == {"status": "ok"}
    missed = {(p, m) for p, m, _ in operations(api)} - went_well
    print(statuses)
    # A job has to be there and in the right state: by chance that does not happen to all.
    assert len(missed) <= 16 and statuses.get(200, 0) > 100 and statuses.get(400, 0) > 20, (missed, statuses)


def test_every_answer_has_the_fields_that_are_described(shared_server, api, token):
    """In full: with jobs in every state the answers have all their parts."""
    with Web(shared_server.port, token=token) as w:
        id = w.post("/v1/jobs", {"queue": "full", "payload": "x", "tag": ["t"], "meta": {"a": "b"}, "key": "full"})["id"]
        lease = w.post("/v1/leases", {"queues": "full", "worker": "w"})
        token = lease["jobs"][0]["token"]
        w.call("PUT", "/v1/recurrences/full", {"queue": "full", "payload": {}, "every": "1h"})
        w.post("/v1/recurrences/full/run")
        answers = {
            ("/v1/leases", "post"): lease,
            ("/v1/jobs/{id}/extend", "post"): w.post(f"/v1/jobs/{id}/extend", {"token": token}),
            ("/v1/jobs/{id}/fail", "post"): w.post(f"/v1/jobs/{id}/fail", {"token": token, "error": "e"}),
            ("/v1/jobs/{id}", "get"): w.get(f"/v1/jobs/{id}"),
            ("/v1/jobs", "get"): w.get("/v1/jobs?queue=full"),
            ("/v1/jobs/{id}/explain", "get"): w.get(f"/v1/jobs/{id}/explain"),
            ("/v1/queues", "get"): w.get("/v1/queues"),
            ("/v1/recurrences/{name}", "get"): w.get("/v1/recurrences/full"),
            ("/v1/recurrences", "get"): w.get("/v1/recurrences"),
            ("/v1/preview", "post"): w.post("/v1/preview", {"every": 1000}),
            ("/v1/tenants", "get"): w.get("/v1/tenants"),
            ("/v1/stats", "get"): w.get("/v1/stats"),
            ("/v1/forecast", "get"): w.get("/v1/forecast"),
            ("/v1/tokens", "get"): w.get("/v1/tokens"),
            ("/v1/tenants/{tenant}/stats", "get"): w.get("/v1/tenants/default/stats"),
        }
        w.call("DELETE", f"/v1/jobs/{id}")
        w.call("DELETE", "/v1/recurrences/full")
    for (path, method), answer in answers.items():
        response = api["paths"][path][method]["responses"]["200"]
        schema = list(response["content"].values())[0]["schema"]
        check(api, schema, answer)
        assert not list(unknown_fields(api, schema, answer)), f"add them to src/verbs/shapes.c or src/front/openapi.c"
    assert answers["/v1/jobs/{id}", "get"]["history"] and answers["/v1/recurrences/{name}", "get"]["ledger"]
