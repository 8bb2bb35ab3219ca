# SPDX-License-Identifier: MIT
"""Jobs with a key, then a child AFTER each of them, pipelined, then a second one: each is written
anew while it may be on its way to disk or back. All of them are to be there afterwards, once."""
import collections

from pipe import Pipe, Refusal


def _requests(kind, count, ids, size, due_in):
    payload = b"p" * size
    for i in range(count):
        if kind == "par":
            yield ("SCHEDULE", "par", b"%d %b" % (i, payload), "IN", due_in, "KEY", f"k{i}")
        else:
            yield ("SCHEDULE", kind, b"%d" % i, "IN", "1s", "AFTER", ids[i])


def _send(pipe, requests, batch):
    requests, replies = list(requests), []
    for first in range(0, len(requests), batch):
        pipe.exchange(requests[first:first + batch], replies, timeout=600)
    return replies


def _audit(pipe, ids, complain):
    """Each parent by id, by key and in LIST."""
    seen = collections.Counter(job["id"] for job in pipe.pages("QUEUE", "par"))
    lost = set()
    views = _send(pipe, (("GET", id) for id in ids), 1000)
    taken = _send(pipe, (("SCHEDULE", "par", "x", "KEY", f"k{i}", "IFEXISTS", "reject") for i in range(len(ids))), 1000)
    for i, id in enumerate(ids):
        name = f"parent {i} {id.decode()}"
        if views[i] is None or views[i]["state"] != b"scheduled":
            lost.add(i)
            complain(f"{name}: GET shows {views[i] and views[i]['state']}, LIST {seen[id]} times, its key {taken[i]!r}")
        elif seen[id] != 1:
            lost.add(i)
            complain(f"{name}: LIST shows it {seen[id]} times")
        elif not isinstance(taken[i], Refusal) or taken[i].text != "KEYEXISTS " + id.decode():
            lost.add(i)
            complain(f"{name}: its key answers {taken[i]!r}")
    return lost


def run(server, count, size, batch, complain, say, children=2):
    """Answers how many parents are lost."""
    pipe = Pipe(server.port)
    ids = _send(pipe, _requests("par", count, None, size, "2h"), batch)
    wrong = [i for i, id in enumerate(ids) if isinstance(id, Refusal)]
    assert not wrong, f"{len(wrong)} parents are refused, such as {ids[wrong[0]]}"
    for child in range(children):
        replies = _send(pipe, _requests(f"child{child}", count, ids, size, None), batch)
        refused = [(i, r) for i, r in enumerate(replies) if isinstance(r, Refusal)]
        say(f"child {child + 1} of each: {len(refused)} refused")
        for i, reply in refused:
            complain(f"child {child + 1} of parent {i} {ids[i].decode()}: {reply!r}")
    lost = _audit(pipe, ids, complain)
    say(f"{len(lost)} of {count} parents are lost")
    queue = {q["queue"]: q for q in pipe.call("QUEUES")}[b"par"]
    if queue["scheduled"] != count:
        complain(f"QUEUES counts {queue['scheduled']} parents")
    for stop in (server.kill, server.stop):
        pipe.close()
        stop()
        server.start()
        pipe = Pipe(server.port)
        again = _audit(pipe, ids, complain if not lost else lambda text: None)
        say(f"after {'kill -9' if stop == server.kill else 'a stop'} and a start: {len(again)} lost")
        lost |= again
    return len(lost)
