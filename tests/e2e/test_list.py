# SPDX-License-Identifier: MIT
"""Filters of LIST, over RESP, HTTP and the command line, for jobs in memory and on disk."""
import json
import time

import pytest

from conftest import wait_for
from steps import refused


def pages(b, *words):
    """All jobs of a LIST, by id."""
    found, cursor = {}, []
    while True:
        page = b.call("LIST", "LIMIT", "50", *words, *cursor)
        found.update((job["id"], job) for job in page["jobs"])
        if not page["cursor"]:
            return found
        cursor = ["CURSOR", page["cursor"]]


def history(b, q):
    """Jobs of many fates; answers their ids by name."""
    b.call("QUEUE", q, "ATTEMPTS", "1", "RETAIN", "1h")
    ids = {}
    for name, words in {"ok": ["KEY", "user-1/ok"], "timeout": ["KEY", "user-1/late"], "refused": ["ORDER", "acc-7"]}.items():
        ids[name] = b.call("SCHEDULE", q, f"payload of {name}", *words)
        (job,) = b.call("LEASE", q, "WORKER", "w-2" if name == "refused" else "w-1")
        if name == "ok":
            b.call("COMPLETE", job["id"], job["token"])
        else:
            b.call("FAIL", job["id"], job["token"], "ERROR", {"timeout": "connect: timeout after 5 s", "refused": "refused"}[name])
    ids["leased"] = b.call("SCHEDULE", q, "x")
    b.call("LEASE", q, "WORKER", "w-1")
    ids["later"] = b.call("SCHEDULE", q, "x", "IN", "1h", "KEY", "user-2", "ORDER", "acc-7")
    return ids


CASES = [
    (["STATE", "dead"], {"timeout", "refused"}), (["STATE", "dead", "STATE", "done"], {"ok", "timeout", "refused"}),
    (["STATE", "leased", "STATE", "scheduled"], {"leased", "later"}),
    (["WORKER", "w-1"], {"ok", "timeout", "leased"}), (["WORKER", "w-1", "STATE", "leased"], {"leased"}), (["WORKER", "w-"], set()),
    (["ERROR", "timeout"], {"timeout"}), (["ERROR", "e"], {"timeout", "refused"}), (["ERROR", "nope"], set()),
    (["KEY_PREFIX", "user-1/"], {"ok", "timeout"}), (["KEY_PREFIX", "user-"], {"ok", "timeout", "later"}),
    (["ORDER", "acc-7"], {"refused", "later"}), (["ORDER", "acc-7", "STATE", "dead"], {"refused"}),
    (["RECURRENCE", "nope"], set()), ([], {"ok", "timeout", "refused", "leased", "later"}),
]


@pytest.mark.parametrize("words, want", CASES)
def test_filters(b, words, want):
    q = "filters-" + "-".join(words).lower().replace("/", "")
    ids = history(b, q)
    assert set(pages(b, "QUEUE", q, *words)) == {ids[name] for name in want}


def test_jobs_that_ended_in_a_window(b, q):
    ids = history(b, q)
    now = int(time.time() * 1000)
    ended = {ids[name] for name in ("ok", "timeout", "refused")}
    assert set(pages(b, "QUEUE", q, "ENDED_FROM", now - 60_000)) == ended
    assert set(pages(b, "QUEUE", q, "ENDED_TO", now + 1000)) == ended
    assert set(pages(b, "QUEUE", q, "ENDED_FROM", now + 60_000)) == set(pages(b, "QUEUE", q, "ENDED_TO", now - 60_000)) == set()


def test_occurrences_of_a_recurrence(b, q):
    b.call("RECUR", q, q, "x", "EVERY", "1h")
    made = b.call("RECURRUN", q)
    b.call("SCHEDULE", q, "x")
    found = pages(b, "QUEUE", q, "RECURRENCE", q)
    assert made in found and all(b.call("GET", id)["recurrence"] == q for id in found)
    b.call("RECURDELETE", q)


def test_a_preview_of_the_payload(b, web, q):
    b.call("SCHEDULE", q, "é" * 50)
    b.call("SCHEDULE", q, b"\xff\x00" * 50)
    b.call("SCHEDULE", q, "short")
    assert [job["preview"] for job in pages(b, "QUEUE", q).values()] == [None] * 3
    previews = {job["preview"] if isinstance(job["preview"], str) else "bytes"
                for job in pages(b, "QUEUE", q, "PREVIEW", "11").values()}
    assert "é" * 5 in previews and "short" in previews
    jobs = web.get(f"/v1/jobs?queue={q}&preview=11")["jobs"]
    assert {job.get("preview") or job["preview_base64"] for job in jobs} == {"é" * 5, "short", "/wD/AP8A/wD/AP8="}
    refused("INVALID", b.call, "LIST", "PREVIEW", "1001")


def test_http_and_the_command_line_take_several_states(b, web, cli, q):
    ids = history(b, q)
    jobs = web.get(f"/v1/jobs?queue={q}&state=dead&state=done&worker=w-1&preview=7")["jobs"]
    assert {(job["id"], job["preview"]) for job in jobs} == {(ids["ok"], "payload"), (ids["timeout"], "payload")}
    assert web.ask("GET", f"/v1/jobs?queue={q}&state=dead&state=nope").status == 400
    out = cli("list", "--queue", q, "--state", "dead", "--state", "leased", "--error", "refused", "--json")
    assert ids["refused"] in out.stdout and ids["timeout"] not in out.stdout


def test_filters_find_jobs_on_disk(make_server):
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        ids = history(b, "q")
        for i in range(12):
            b.call("BATCH", "each", *[w for _ in range(500) for w in ("6", "other", "x" * 2000, "IN", "5h", "KEY_HOLD", "1h")])
            if b.call("STATS")["cold_jobs"] > 1000:
                break
        wait_for(lambda: b.call("STATS")["cold_jobs"] > 1000, 60, "jobs are on disk")
        for words, want in CASES:
            assert set(pages(b, "QUEUE", "q", *words)) == {ids[name] for name in want}, words
        assert len(pages(b, "QUEUE", "other", "KEY_PREFIX", "nope")) == 0
        assert json.dumps(sorted(pages(b, "ERROR", "timeout"))) == json.dumps([ids["timeout"]])
