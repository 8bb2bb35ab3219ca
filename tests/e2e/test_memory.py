# SPDX-License-Identifier: MIT
"""What a scheduled job costs in memory."""
import select
import time

import pytest

from wire import Wire, encode

JOBS = 1_000_000
REPLY = len(b"$26\r\n\r\n") + 26
BYTES_PER_JOB = 220


def fill(port, jobs, batch=1000):
    """Pipelines SCHEDULEs as prebuilt bytes; replies are only counted."""
    data = b"".join(encode("SCHEDULE", "fill", f"{i:0100d}", "IN", "1h") for i in range(batch))
    w = Wire(port)
    received, sent, view = 0, 0, memoryview(data)
    goal, total = jobs * REPLY, jobs // batch * len(data)
    w.sock.setblocking(False)
    while received < goal:
        readable, writable, _ = select.select([w.sock], [w.sock] if sent < total else [], [], 30)
        assert readable or writable, f"silence after {received // REPLY} jobs"
        if readable:
            chunk = w.sock.recv(1 << 20)
            assert chunk, f"closed after {received // REPLY} jobs"
            assert b"-" not in chunk, chunk[:200]
            received += len(chunk)
        if writable:
            sent += w.sock.send(view[sent % len(data):])
    assert received == goal
    w.close()


@pytest.mark.limit(120)
def test_a_million_jobs(make_server):
    server = make_server(memory="1GiB")  # all of them stay there
    start = time.monotonic()
    fill(server.port, JOBS)
    took = time.monotonic() - start
    with server.wire() as w:
        assert w.call("QUEUE", "fill")["scheduled"] == JOBS
    memory = server.memory()
    each = memory["VmRSS"] / JOBS
    print(f"{JOBS} jobs in {took:.1f} s; {each:.1f} bytes each; {memory}")
    assert each <= BYTES_PER_JOB, f"{each:.1f} bytes per job"

    server.kill()
    start = time.monotonic()
    server.start(timeout=60)
    took = time.monotonic() - start
    with server.wire() as w:
        assert w.call("QUEUE", "fill")["scheduled"] == JOBS
    each = server.memory()["VmRSS"] / JOBS
    print(f"started again in {took:.2f} s; {each:.1f} bytes each")
    assert each <= BYTES_PER_JOB, f"{each:.1f} bytes per job after a restart"
