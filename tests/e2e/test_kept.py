# SPDX-License-Identifier: MIT
"""The bytes that are kept of a tenant, in memory and on disk, and their limit."""
import pytest

from conftest import Server, wait_for
from wire import Refused

KIB = 1024


@pytest.fixture
def mine(q):
    """A tenant that no other test uses."""
    return "mine." + q[:110]


def test_a_tenant_keeps_as_many_bytes_as_it_may(b, q, mine):
    b.call("TENANT", mine, "MAX_BYTES", 30_000)
    ids = [b.call("SCHEDULE", q, "x" * 9_000, "IN", "1h", "TENANT", mine) for _ in range(3)]
    kept = b.call("TENANT", mine)["kept_bytes"]
    assert 27_000 < kept < 28_000
    assert b.call("STATS", "TENANT", mine)["kept_bytes"] == kept
    assert f'belfry_tenant_kept_bytes{{tenant="{mine}"}} {kept}\n' in b.call("METRICS", "TENANT", mine)
    refused = b.call("STATS")["kept_bytes_refused"]
    with pytest.raises(Refused, match=f"LIMIT.*max_bytes of {mine} is 30000: {kept} are kept, and this takes 9"):
        b.call("SCHEDULE", q, "x" * 9_000, "TENANT", mine)
    with pytest.raises(Refused, match=f"LIMIT.*max_bytes of {mine} is 30000"):
        b.call("RECUR", "r", q, "x" * 9_000, "EVERY", "1h", "TENANT", mine)
    assert b.call("STATS")["kept_bytes_refused"] == refused + 2
    b.call("SCHEDULE", q, "x" * 9_000)  # others go on
    b.call("CANCEL", ids[0], "TENANT", mine)
    b.call("TENANT", mine, "MAX_BYTES", 0)
    b.call("SCHEDULE", q, "x" * 9_000, "TENANT", mine)


def kept(w, tenant):
    return w.call("TENANT", tenant)["kept_bytes"]


def test_jobs_on_disk_count_after_a_kill(tmp_path):
    """Far more than memory has room for: the sum is the same before and after, and new jobs are refused."""
    server = Server(tmp_path, memory="16MiB", tenant_bytes="24MiB")
    server.start()
    with server.wire() as w:
        for i in range(350):
            w.call("SCHEDULE", "q", "x" * 64 * KIB, "IN", "1d", "TENANT", "acme")
        with pytest.raises(Refused, match="LIMIT.*tenant_bytes of the server is 25165824: .* of the tenant are kept"):
            for i in range(50):
                w.call("SCHEDULE", "q", "x" * 64 * KIB, "IN", "1d", "TENANT", "acme")
        wait_for(lambda: w.call("STATS")["cold_jobs"] > 100)
        before = kept(w, "acme")
        assert 24 * KIB * KIB - 65 * KIB < before <= 24 * KIB * KIB
        w.call("SCHEDULE", "q", "x" * 64 * KIB, "TENANT", "other")
    server.kill()
    server.start()
    with server.wire() as w:
        assert kept(w, "acme") == before
        with pytest.raises(Refused, match="LIMIT.*tenant_bytes"):
            w.call("SCHEDULE", "q", "x" * 64 * KIB, "TENANT", "acme")
        w.call("TENANT", "acme", "MAX_BYTES", 10 ** 12)
        w.call("SCHEDULE", "q", "x" * 64 * KIB, "TENANT", "acme")
    server.kill()


def end_many(w, tenant, n, size):
    """Schedules and cancels jobs one by one; a producer that is refused tries again."""
    ids = []
    for i in range(n):
        def accepted():
            try:
                ids.append(w.call("SCHEDULE", "q", "x" * size, "IN", "1d", "RETAIN", "520w", "TENANT", tenant))
                return True
            except Refused as e:
                assert "max_bytes of" in str(e)
        wait_for(accepted, what="history gives way")
        w.call("CANCEL", ids[-1], "TENANT", tenant)
    return ids


def there(w, id, tenant):
    return w.call("GET", id, "TENANT", tenant) is not None


@pytest.mark.parametrize("memory", ["16MiB", "256MiB"])
def test_history_of_a_tenant_at_its_limit_gives_way_oldest_first(tmp_path, memory):
    """On disk, and in memory where nothing goes to disk."""
    server = Server(tmp_path, memory=memory)
    server.start()
    with server.wire() as w:
        others = end_many(w, "other", 100, 64 * KIB)
        w.call("TENANT", "acme", "MAX_BYTES", 16 * KIB * KIB)
        waiting = w.call("SCHEDULE", "waits", "x" * 64 * KIB, "IN", "1d", "TENANT", "acme")
        ids = end_many(w, "acme", 600, 64 * KIB)
        wait_for(lambda: kept(w, "acme") <= 14 * KIB * KIB, what="room again")
        kept_ids = [there(w, id, "acme") for id in ids]
        assert not any(kept_ids[:100]) and all(kept_ids[-50:]) and kept_ids == sorted(kept_ids)
        assert w.call("QUEUE", "q", "TENANT", "acme")["total_history_dropped"] == kept_ids.count(False)
        assert there(w, waiting, "acme") and all(there(w, id, "other") for id in others)
        before = kept(w, "acme")
    server.stop()
    server.start()
    with server.wire() as w:
        assert kept(w, "acme") == before
    server.kill()
