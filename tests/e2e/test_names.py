# SPDX-License-Identifier: MIT
"""Clients choose keys, and compute them so that they would have one XXH3 hash, whose function is public. Such keys neither
hide the keys of others nor cost more than other keys."""
import ctypes
import os

import pytest

from conftest import Server, wait_for

WORD = (1 << 64) - 1
PRIME_1, PRIME_2, PRIME_4 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x85EBCA77C2B2AE63
SECRET = bytes.fromhex("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f")  # the beginning of XXH3's own
LARGE = "." * (120 << 10)


class Wide(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXH = ctypes.CDLL("libxxhash.so.0")
XXH.XXH3_64bits.restype = ctypes.c_uint64
XXH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
XXH.XXH3_128bits_withSeed.restype = Wide
XXH.XXH3_128bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def seed_of(queue):
    return XXH.XXH3_64bits(queue, len(queue))


def name_of(queue, key):
    """What older versions wrote in the locator for a key."""
    wide = XXH.XXH3_128bits_withSeed(key, len(key), seed_of(queue))
    return wide.low, wide.high


def word(at):
    return int.from_bytes(SECRET[at:at + 8], "little")


def as_bytes(*words):
    return b"".join((w & WORD).to_bytes(8, "little") for w in words)


def keys_of_one_hash(queue, count):
    """Keys of 32 bytes: their first word makes a factor zero, and so the second does not matter."""
    return [as_bytes(word(0) + seed_of(queue), i * 0x9E3779B97F4A7C15 + 1, 0, 0) for i in range(count)]


def undo_avalanche(h):
    h ^= h >> 32
    h = h * pow(0x165667919E3779F9, -1, 1 << 64) & WORD
    return h ^ h >> 37


def key_of_name(queue, name):
    """A key of 32 bytes in this queue that has the name of another key; None: there is none of this form."""
    seed, size = seed_of(queue), 32
    a, b = undo_avalanche(name[0]), undo_avalanche(-name[1] & WORD)
    b = b - (size - seed) * PRIME_2 & WORD
    factor, rest = PRIME_1 - PRIME_4 & WORD, b - a * PRIME_4 & WORD
    twos = (factor & -factor).bit_length() - 1
    if rest & (1 << twos) - 1:
        return None
    low = (rest >> twos) * pow(factor >> twos, -1, 1 << 64 - twos) % (1 << 64 - twos)
    first, second = word(0) + seed, word(16) + seed
    key = as_bytes(first, a - low - first, second, (low ^ size * PRIME_1 & WORD) - second)
    assert name_of(queue, key) == name
    return key


@pytest.fixture
def server(tmp_path):
    s = Server(tmp_path, memory="16MiB")
    s.start()
    yield s
    s.kill()


def push_out(w, queue):
    """So many large jobs that all that are there go to disk."""
    before = w.call("STATS")["fed_batches"]
    for _ in range(300):
        w.call("SCHEDULE", queue, LARGE, "IN", "3h")
    wait_for(lambda: w.call("STATS")["fed_batches"] > before + 1, what="jobs go to disk")


def expect_found(w, ids):
    fetches = w.call("STATS")["fetches"]
    for key, id in ids.items():
        assert w.call("GET", "KEY", key, "QUEUE", "mail", "TENANT", "good")["id"] == id, key
    assert w.call("STATS")["fetches"] > fetches, "they were not on disk"


def test_keys_on_disk_are_not_hidden_by_keys_that_were_made_for_it(server):
    with server.wire() as w:
        ids = {f"user-{i}": w.call("SCHEDULE", "mail", "hello", "IN", "2h", "KEY", f"user-{i}", "TENANT", "good")
               for i in range(20)}
        push_out(w, "fill")
        expect_found(w, ids)
        for key in ids:
            made = ((queue, key_of_name(b"evil@" + queue.encode(), name_of(b"good@mail", key.encode())))
                    for queue in (f"x{i}" for i in range(200)))
            queue, bad = next((queue, bad) for queue, bad in made if bad)
            w.call("SCHEDULE", queue, "y", "IN", "2h", "KEY", bad, "TENANT", "evil")
        push_out(w, "more")
        expect_found(w, ids)
        for i, (key, id) in enumerate(ids.items()):
            if i < 10:
                assert w.call("SCHEDULE", "mail", "again", "IN", "2h", "KEY", key, "TENANT", "good") == id
            elif i < 15:
                assert w.call("CANCEL", "KEY", key, "QUEUE", "mail", "TENANT", "good") == "cancelled"
    server.kill()
    server.start()
    with server.wire() as w:
        for key, id in list(ids.items())[:10]:
            assert w.call("GET", "KEY", key, "QUEUE", "mail", "TENANT", "good")["id"] == id


def loop_ticks(server):
    fields = open(f"/proc/{server.process.pid}/task/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def batches(w, queue, keys, option, size=500):
    for at in range(0, len(keys), size):
        words = ["BATCH", "all"]
        for key in keys[at:at + size]:
            words += ["6", queue, "x", option, key, "IN", "0s"]
        w.call(*words)


@pytest.mark.parametrize("option", ["KEY", "ORDER"])
def test_keys_that_were_made_for_it_cost_no_more_than_others(server, option):
    """The first job of each ordering key is ready, so all of them are in one table."""
    count = 6000
    costs = []
    with server.wire() as w:
        for queue, keys in (("plain", [os.urandom(32) for _ in range(count)]),
                            ("made", keys_of_one_hash(b"made", count))):
            before = loop_ticks(server)
            batches(w, queue, keys, option)
            wait_for(lambda queue=queue: w.call("QUEUE", queue)["ready"] == count, what="all are ready")
            costs.append((loop_ticks(server) - before) / os.sysconf("SC_CLK_TCK"))
    plain, made = costs
    assert made < 3 * plain + 0.3, f"{made} s instead of {plain} s"
