# SPDX-License-Identifier: MIT
"""What one producer puts into memory stops no other tenant: nobody is refused, and memory stays within its account."""
import threading
import time

import pytest

from wire import Refused, now_ms

MIB = 1 << 20
MEMORY = 16 * MIB
KINDS = [("PRIORITY", p) for p in range(1, 6)] + [("GATES", "pass"), ("ORDER", "o")]


class Other:
    """Another tenant: it schedules all the time, and looks at the memory of the server."""

    def __init__(self, server):
        self.w = server.wire(3, timeout=60)
        self.refused, self.memory, self.longest_s, self.over = [], 0, 0, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over:
            begun = time.monotonic()
            try:
                self.w.call("SCHEDULE", "q", "x", "IN", "1h", "TENANT", "other")
            except Refused as refused:
                self.refused.append(str(refused))
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            self.memory = max(self.memory, self.w.call("STATS")["memory_bytes"])
            time.sleep(0.02)

    def judge(self):
        self.over = True
        self.thread.join()
        self.w.close()
        assert not self.refused, f"{len(self.refused)} times: {self.refused[0]}"
        assert self.memory < MEMORY * 5 / 4, f"{self.memory / MIB:.1f} MiB"
        assert self.longest_s < 5


@pytest.fixture
def besieged(make_server):
    server = make_server(memory=MEMORY)
    with server.wire(3, timeout=60) as w:
        other = Other(server)
        try:
            yield server, w, other
        finally:
            other.over = True


@pytest.mark.limit(120)
def test_recurrences_with_large_payloads(besieged):
    """Each second a thousand jobs of 32 KB become ready, which nobody takes."""
    _, w, other = besieged
    w.pipeline([("RECUR", f"r{n}", f"q{n % 50}", "x" * 32_000, "EVERY", "1s", "TENANT", "acme") for n in range(1000)])
    time.sleep(12)
    other.judge()


@pytest.mark.limit(120)
def test_a_few_jobs_in_each_of_many_classes(besieged):
    server, w, other = besieged
    for kind in KINDS * 6:
        w.pipeline([("SCHEDULE", f"q{n}", "x" * 700, *kind, "TENANT", "acme") for n in range(800)], timeout=60)
    other.judge()
    assert w.call("STATS", "TENANT", "acme")["ready"] == 6 * 7 * 800
    server.restart()
    with server.wire(3) as again:
        assert again.call("STATS")["memory_bytes"] < MEMORY * 5 / 4
        assert again.call("SCHEDULE", "q", "x", "TENANT", "other")


@pytest.mark.limit(120)
def test_small_jobs_that_edits_make_large(besieged):
    server, w, other = besieged
    ids = w.pipeline([("SCHEDULE", "q", "x", "IN", "1h", "TENANT", "acme") for _ in range(320)])

    def edit(some):
        with server.wire(3, timeout=60) as mine:
            mine.pipeline([("EDIT", id, "PAYLOAD", "x" * 200_000, "TENANT", "acme") for id in some], timeout=60)

    editors = [threading.Thread(target=edit, args=(ids[n::8],)) for n in range(8)]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join()
    other.judge()
    assert len(w.call("GET", ids[-1], "TENANT", "acme")["payload"]) == 200_000


@pytest.mark.limit(120)
def test_a_backlog_on_disk_that_expires_in_one_moment(besieged):
    _, w, other = besieged
    at = now_ms() + 12_000
    for _ in range(10):
        w.pipeline([("SCHEDULE", "q", "x" * 100, "AT", at, "EXPIRE", "500ms", "TENANT", "acme")] * 10_000, timeout=60)
    time.sleep(max(0, at - now_ms()) / 1000 + 1)
    end = time.monotonic() + 60
    while w.call("STATS", "TENANT", "acme")["expired"] < 100_000:
        assert time.monotonic() < end
        time.sleep(0.1)
    other.judge()
