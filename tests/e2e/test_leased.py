# SPDX-License-Identifier: MIT
"""The memory of leased jobs: a tenant that leases many large jobs for long stops no other tenant."""
import pytest

from conftest import wait_for

MIB = 1 << 20


def lease_all(w, tenant):
    """Takes what the tenant gets, until nothing comes for a while."""
    taken = []
    while jobs := w.call("LEASE", "big", "COUNT", 10, "FOR", "1w", "WAIT", "500ms", "TENANT", tenant):
        taken += jobs
    return taken


def is_served(w, tenant):
    for payload in ("small", "x" * (200 << 10)):
        job = w.call("SCHEDULE", "work", payload, "TENANT", tenant)
        (leased,) = w.call("LEASE", "work", "WAIT", "10s", "TENANT", "*")
        assert leased["id"] == job and leased["tenant"] == tenant
        assert w.call("COMPLETE", job, leased["token"], "TENANT", tenant) == "OK"
        job = w.call("SCHEDULE", "own", payload, "TENANT", tenant)
        (leased,) = w.call("LEASE", "own", "WAIT", "10s", "TENANT", tenant)
        assert w.call("COMPLETE", job, leased["token"], "TENANT", tenant) == "OK"


def is_held(w, server, waiting):
    shown = w.call("EXPLAIN", waiting, "TENANT", "acme")
    assert shown["reason"] == "leased_memory"
    assert shown["why"] == "leased jobs of the tenant take as much memory as one tenant may"
    assert w.call("QUEUE", "big", "TENANT", "acme")["held_by"] == shown["why"]
    stats = w.call("STATS", "TENANT", "*")
    assert stats["leased_memory_tenants"] == 1 and stats["leased_memory_holds"] >= 1
    assert w.call("TENANT", "acme")["leased_bytes"] == stats["leased_bytes"]
    metrics = w.call("METRICS")
    assert "belfry_leased_memory_tenants 1\n" in metrics and f"belfry_leased_bytes {stats['leased_bytes']}\n" in metrics
    line = '"leased jobs of a tenant take its share of memory'
    wait_for(lambda: line in server.log(this_run=True), 10)
    assert server.log(this_run=True).count(line) == 1


@pytest.mark.limit(120)
@pytest.mark.parametrize("memory, jobs", [("64MiB", 40), ("256MiB", 140)])
def test_large_leased_jobs_of_a_tenant_stop_no_other(make_server, memory, jobs):
    server = make_server(memory=memory)
    budget = int(memory.removesuffix("MiB")) * MIB
    payload = "x" * MIB
    with server.wire() as w:
        for _ in range(jobs):
            w.call("SCHEDULE", "big", payload, "TENANT", "acme")
        mine = lease_all(w, "acme")
        assert budget // 4 <= len(mine) * MIB <= budget // 4 + 2 * MIB
        # Due before all others of its class: it is in memory.
        waiting = w.call("SCHEDULE", "big", "me", "PRIORITY", 1, "TENANT", "acme")
        is_served(w, "other")
        assert w.call("LEASE", "big", "TENANT", "acme") == []
        is_held(w, server, waiting)
    for again in (server.restart, lambda: (server.kill(), server.start())):
        again()
        with server.wire() as w:
            is_served(w, "other")
            assert w.call("LEASE", "big", "TENANT", "acme") == []
            is_held(w, server, waiting)
    with server.wire() as w:  # with a lease that ends it goes on
        for job in mine[:2]:
            w.call("COMPLETE", job["id"], job["token"], "TENANT", "acme")
        (first,) = w.call("LEASE", "big", "WAIT", "10s", "TENANT", "acme")
        assert first["id"] == waiting


def test_max_leased_of_a_tenant_bites_before_its_share(make_server):
    server = make_server()
    with server.wire() as w:
        w.call("TENANT", "acme", "MAX_LEASED", 3 * MIB // 2)
        ids = [w.call("SCHEDULE", "big", "x" * MIB, "TENANT", "acme") for _ in range(4)]
        mine = lease_all(w, "acme")
        assert [job["id"] for job in mine] == ids[:2]
    for _ in range(2):
        with server.wire() as w:
            assert w.call("TENANT", "acme")["max_leased"] == 3 * MIB // 2
            assert w.call("LEASE", "big", "TENANT", "acme") == []
            shown = w.call("EXPLAIN", ids[2], "TENANT", "acme")
            assert shown["reason"] == "leased_memory"
            assert shown["why"] == "leased jobs of the tenant take as much memory as its max_leased allows"
            assert w.call("QUEUE", "big", "TENANT", "acme")["held_by"] == shown["why"]
            assert w.call("STATS", "TENANT", "*")["leased_memory_tenants"] == 1
            assert "belfry_leased_memory_tenants 1\n" in w.call("METRICS")
            is_served(w, "other")
        wait_for(lambda: '"share_bytes":1572864' in server.log(this_run=True), 10)
        assert '"leased jobs of a tenant take its max_leased of memory' in server.log(this_run=True)
        server.restart()
    with server.wire() as w:
        w.call("COMPLETE", mine[0]["id"], mine[0]["token"], "TENANT", "acme")
        (third,) = w.call("LEASE", "big", "WAIT", "10s", "FOR", "1w", "TENANT", "acme")
        assert third["id"] == ids[2] and w.call("LEASE", "big", "TENANT", "acme") == []
        w.call("TENANT", "acme", "MAX_LEASED", 0)
        assert w.call("STATS", "TENANT", "*")["leased_memory_tenants"] == 0
        (fourth,) = w.call("LEASE", "big", "WAIT", "10s", "TENANT", "acme")
        assert fourth["id"] == ids[3]


@pytest.mark.limit(120)
def test_less_memory_than_leased_jobs_take_stops_no_other_tenant(make_server):
    server = make_server(memory="64MiB")
    with server.wire() as w:
        for _ in range(20):
            w.call("SCHEDULE", "big", "x" * MIB, "TENANT", "acme")
        assert len(lease_all(w, "acme")) >= 16
    server.restart(memory="24MiB")
    with server.wire() as w:
        is_served(w, "other")
        assert w.call("LEASE", "big", "TENANT", "acme") == []


@pytest.mark.parametrize("when", ["0ms", "5s"])
def test_a_large_job_in_each_of_many_queues(make_server, when):
    """A class that no worker asks for may have to be on disk whole, so nobody is refused, and memory is bounded."""
    server = make_server(memory="16MiB")
    with server.wire(3, timeout=60) as w:
        ids = [w.call("SCHEDULE", f"q{i}", "x" * 500_000, "IN", when, "TENANT", "acme") for i in range(100)]
        wait_for(lambda: w.call("STATS", "TENANT", "acme")["ready"] == 100, what="all are due")
        is_served(w, "other")
        assert w.call("STATS")["memory_bytes"] < 16 * MIB
        for i in range(99, -1, -1):
            (leased,) = w.call("LEASE", f"q{i}", "WAIT", "30s", "TENANT", "acme")
            assert leased["id"] == ids[i]
            assert w.call("COMPLETE", leased["id"], leased["token"], "TENANT", "acme") == "OK"
