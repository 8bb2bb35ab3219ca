# SPDX-License-Identifier: MIT
"""BATCH: all or none in one commit, or each by itself."""
import pytest

from wire import Refused

SERVER = "server"  # each test has its own


def words(*items):
    return [word for item in items for word in (str(len(item)), *item)]


def refused(b, *args):
    with pytest.raises(Refused) as info:
        b.call(*args)
    return info.value


def count(b):
    return len(b.call("LIST", "LIMIT", "1000")["jobs"])


def test_all_in_order(b):
    ids = b.call("BATCH", "all", *words(("q", "one"), ("q", "two", "IN", "1h", "KEY", "k"), ("p", "three", "TAG", "t"),
                                        ("q", "four", "TENANT", "acme")))
    assert [b.call("GET", id)["payload"] for id in ids[:3]] == ["one", "two", "three"]
    assert b.call("GET", ids[3]) is None
    assert b.call("GET", ids[3], "TENANT", "acme")["payload"] == "four"
    assert b.call("GET", "KEY", "k", "QUEUE", "q")["id"] == ids[1]


@pytest.mark.parametrize("bad, code, text", [
    (("q", "x", "PRIORITY", "9"), "INVALID", "item 3: priority"),
    (("q", "x", "COLOUR", "red"), "INVALID", "item 3: unknown option 'COLOUR'"),
    (("q q", "x"), "INVALID", "item 3: queue"),
    (("q", "x", "KEY", "taken", "IFEXISTS", "reject"), "KEYEXISTS", "item 3: "),
    (("q", "x", "KEY", "mine", "IFEXISTS", "reject"), "KEYEXISTS", "item 3: "),
    (("full", "x", "TENANT", "small"), "LIMIT", "item 3: max_pending of small is 1"),
    (("strict", "x", "AT", "2001-01-01T00:00:00Z"), "PAST", "item 3: "),
])
def test_one_that_is_refused_refuses_all(b, bad, code, text):
    b.call("SCHEDULE", "q", "x", "KEY", "taken")
    b.call("TENANT", "small", "MAX_PENDING", "1")
    b.call("SCHEDULE", "full", "x", "TENANT", "small")
    b.call("QUEUE", "strict", "PAST_GRACE", "1s")
    before = b.call("STATS")
    error = refused(b, "BATCH", "all", *words(("q", "one", "KEY", "mine"), ("q", "two"), bad, ("q", "four")))
    assert error.code == code and text in str(error)
    after = b.call("STATS")
    assert all(after[name] == before[name] for name in ("ready", "scheduled", "total_scheduled"))


def test_a_tenants_limit_counts_the_whole_batch(b):
    b.call("TENANT", "small", "MAX_PENDING", "3")
    b.call("SCHEDULE", "q", "x", "TENANT", "small")
    item = ("q", "x", "TENANT", "small")
    assert "item 3" in str(refused(b, "BATCH", "all", *words(item, item, item)))
    assert len(b.call("BATCH", "all", *words(item, item))) == 2
    assert refused(b, "SCHEDULE", *item).code == "LIMIT"


def test_keys_within_a_batch(b):
    ids = b.call("BATCH", "all", *words(("q", "one", "KEY", "k"), ("q", "two", "KEY", "k"),
                                        ("q", "three", "KEY", "k", "IFEXISTS", "replace")))
    assert len(set(ids)) == 1 and b.call("GET", ids[0])["payload"] == "three"


def test_each_by_itself(b):
    b.send("BATCH", "each", *words(("q", "one"), ("q", "two", "PRIORITY", "9"), ("q", "three")))
    answer = b.recv()
    assert b.call("GET", answer[0])["payload"] == "one" and b.call("GET", answer[2])["payload"] == "three"
    assert isinstance(answer[1], Refused) and answer[1].code == "INVALID" and "item 2: priority" in str(answer[1])
    assert count(b) == 2


@pytest.mark.parametrize("args, text", [
    ([], "too few arguments"),
    (["some", "2", "q", "x"], "mode: expected one of all|each"),
    (["all", "x", "q", "x"], "item 1: expected the number of its words"),
    (["all", "3", "q", "x"], "item 1: expected the number of its words"),
    (["all", "1", "q"], "item 1: expected the number of its words"),
    (["all", "2", "q", "x", "0"], "item 2: expected the number of its words"),
    (["all", "99999999999999999999", "q", "x"], "item 1: expected the number of its words"),
    (["all", *(["2", "q", "x"] * 1001)], "items: 1001, the limit is 1000"),
])
def test_malformed(b, args, text):
    assert text in str(refused(b, "BATCH", *args))
    assert count(b) == 0


def test_too_much_for_one_commit(b):
    large = ("q", "x" * 700_000)
    assert refused(b, "BATCH", "all", *words(large, large)).code == "TOOLARGE"
    assert count(b) == 0
    assert len(b.call("BATCH", "each", *words(large, large))) == 2


def test_a_batch_is_whole_after_kill_9(server):
    acknowledged = 0
    with server.wire(3) as b:
        for _ in range(30):
            assert len(b.call("BATCH", "all", *words(*[("q", "x" * 2000)] * 400))) == 400
            acknowledged += 1
        for _ in range(20):  # not waited for
            b.send("BATCH", "all", *words(*[("q", "x" * 2000)] * 400))
        server.kill()
    server.start()
    with server.wire(3) as b:
        stats = b.call("STATS")
        jobs = stats["ready"] + stats["scheduled"]  # some thousand become ready in a turn
    assert jobs % 400 == 0 and acknowledged * 400 <= jobs <= (acknowledged + 20) * 400


def test_keys_that_could_be_on_disk_and_a_queue_that_is_not_there_yet(make_server):
    """The filters of what is on disk say `maybe` for some keys that no job has."""
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        b.pipeline([("SCHEDULE", "q", "x" * 200, "IN", "1d", "KEY", f"k{i}") for i in range(60_000)])
        assert b.call("STATS")["cold_jobs"] > 0
        for mode in "all", "each":
            for queue in "q", f"new-{mode}":
                fresh = [(queue, "x", "KEY", f"{mode}{i}") for i in range(1000)]
                ids = b.call("BATCH", mode, *words(*fresh))
                assert len(set(ids)) == 1000
                assert b.call("BATCH", mode, *words(*fresh)) == ids


def test_keys_on_disk(make_server):
    server = make_server(memory="16MiB")
    with server.wire(3) as b:
        ids = b.pipeline([("SCHEDULE", "q", "x" * 200, "IN", "1d", "KEY", f"k{i}") for i in range(60_000)])
        assert b.call("STATS")["cold_jobs"] > 0
        again = [("q", "new", "KEY", f"k{i}") for i in range(0, 60_000, 3000)]
        assert b.call("BATCH", "all", *words(*again)) == ids[::3000]
        assert b.call("BATCH", "each", *words(*again)) == ids[::3000]
        error = refused(b, "BATCH", "all", *words(("q", "n", "KEY", "fresh"), ("q", "n", "KEY", "k1", "IFEXISTS", "reject")))
        assert error.code == "KEYEXISTS"
        assert b.call("GET", "KEY", "fresh", "QUEUE", "q") is None
        mixed = words(("q", "changed", "KEY", "k2", "IFEXISTS", "replace"), ("q", "n", "KEY", "fresh"))
        assert b.call("BATCH", "all", *mixed)[0] == ids[2]
        assert b.call("GET", ids[2])["payload"] == "changed"
