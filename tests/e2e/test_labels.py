# SPDX-License-Identifier: MIT
"""Tags, metadata and EXPIRE."""
import pytest

from conftest import wait_for
from wire import Refused

SERVER = "server"  # each test has its own


def refused(b, *args):
    with pytest.raises(Refused) as info:
        b.call(*args)
    return info.value


def ids(page):
    return [job["id"] for job in page["jobs"]]


def test_tags_and_metadata_go_with_the_job(b, server):
    id = b.call("SCHEDULE", "q", "x", "TAG", "red", "META", "user", "7", "TAG", "big", "META", "traceparent",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "IN", "0")
    meta = {"user": "7", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    job = b.call("GET", id)
    assert (job["tags"], job["meta"]) == (["red", "big"], meta)
    server.kill()
    server.start()
    with server.wire(3) as again:
        job = again.lease("q")[0]
        assert (job["id"], job["tags"], job["meta"]) == (id, ["red", "big"], meta)
        again.call("COMPLETE", id, job["token"])
        assert again.call("GET", id)["meta"] == meta


def test_a_job_without_labels_has_none(b):
    id = b.call("SCHEDULE", "q", "x")
    job = b.call("GET", id)
    assert (job["tags"], job["meta"], job["expires_ms"]) == ([], {}, None)


def test_list_by_tag(b):
    red = [b.call("SCHEDULE", "q", "x", "TAG", "red", "IN", "1h") for _ in range(3)]
    b.call("SCHEDULE", "q", "x", "TAG", "redder", "IN", "1h")
    both = b.call("SCHEDULE", "p", "x", "TAG", "blue", "TAG", "red", "IN", "2h")
    assert ids(b.call("LIST", "TAG", "red")) == [*red, both]
    assert ids(b.call("LIST", "TAG", "red", "QUEUE", "p")) == [both]
    assert ids(b.call("LIST", "TAG", "green")) == []


def test_tags_are_found_on_disk(make_server):
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        jobs = b.pipeline([("SCHEDULE", "q", "x" * 200, "IN", "1d", "TAG", f"t{i % 1000}") for i in range(60_000)])
        assert b.call("STATS")["cold_jobs"] > 0
        found, cursor = [], None
        while True:
            page = b.call("LIST", "TAG", "t7", "LIMIT", "1000", *(["CURSOR", cursor] if cursor else []))
            found += ids(page)
            cursor = page["cursor"]
            if not cursor:
                break
        assert sorted(set(found)) == sorted(jobs[7::1000])


@pytest.mark.parametrize("words, text", [
    (["TAG", "a b"], "tag: expected 1-128 characters"),
    (["META", "a"], "option meta has no value"),
    (["META", "a b", "x"], "meta: expected a name"),
    (["META", "a", "x" * 1025], "meta: 1025 bytes, the limit is 1024"),
    (sum((["TAG", f"t{i}"] for i in range(17)), []), "tag: expected at most 16"),
    (sum((["META", f"m{i}", "v"] for i in range(33)), []), "meta: expected at most 32"),
    (["EXPIRE", "0"], "expire: expected"),
    (["EXPIRE", "soon"], "expire: "),
])
def test_bad_labels_are_refused(b, words, text):
    assert text in str(refused(b, "SCHEDULE", "q", "x", *words))
    assert ids(b.call("LIST")) == []


def test_what_is_not_started_in_time_expires(b):
    id = b.call("SCHEDULE", "q", "x", "EXPIRE", "50ms", "KEY", "k")
    job = b.call("GET", id)
    assert job["expires_ms"] == job["due_ms"] + 50
    wait_for(lambda: b.call("GET", id)["state"] == "expired")
    assert b.lease("q") == []
    assert ids(b.call("LIST", "STATE", "expired")) == [id]
    queue = b.call("QUEUE", "q")
    assert (queue["expired"], queue["ready"], queue["total_expired"]) == (1, 0, 1)
    assert b.call("SCHEDULE", "q", "x", "KEY", "k") != id  # its key is free


def started(b, expire):
    """The id and token of a job that is leased at once: no stall comes between, in which it would expire."""
    id, (job,) = b.pipeline([("SCHEDULE", "q", "x", "EXPIRE", expire), ("LEASE", "q")])
    assert job["id"] == id
    return id, job["token"]


def test_what_was_started_does_not_expire(b):
    id, token = started(b, "2s")
    b.call("FAIL", id, token, "RETRY", "2500ms")
    assert b.lease("q", "WAIT", "20s")[0]["id"] == id


def test_what_was_given_back_does_not_expire(b):
    id, token = started(b, "1s")
    b.call("RELEASE", id, token, "IN", "1500ms")
    assert b.lease("q", "WAIT", "20s")[0]["id"] == id


def test_expiry_survives_a_restart(server):
    with server.wire(3) as b:
        id = b.call("SCHEDULE", "q", "x", "EXPIRE", "300ms")
    server.kill()
    server.start()
    with server.wire(3) as b:
        wait_for(lambda: b.call("GET", id)["state"] == "expired")
        assert b.lease("q") == []
