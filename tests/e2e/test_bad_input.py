# SPDX-License-Identifier: MIT
"""Bad input gets a precise error and changes nothing; bad clients harm nobody but themselves."""
import random
import re
import resource
import select
import signal
import socket
import subprocess
import time

import pytest

from conftest import best, elapsed, wait_for
from wire import Refused, encode

MIB = 1 << 20


def answer_of(b, *args):
    b.send(*args)
    reply = b.recv()
    assert isinstance(reply, Refused), f"{args} was accepted: {reply}"
    return reply


def read_all(sock, timeout=30):
    """What comes until the other side closes."""
    sock.settimeout(timeout)
    data = b""
    while True:
        try:
            more = sock.recv(65536)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


@pytest.mark.parametrize("args, code, words", [
    (("FROBNICATE",), "UNKNOWN", ["FROBNICATE"]),
    (("SCHEDULLE", "q", "x"), "UNKNOWN", ["SCHEDULLE"]),
    (("",), "UNKNOWN", []),
    (("SCHEDULE",), "INVALID", ["SCHEDULE"]),
    (("SCHEDULE", "q"), "INVALID", ["payload"]),
    (("COMPLETE", "0" * 26), "INVALID", ["token"]),
    (("STATS", "x"), "INVALID", []),
    (("SCHEDULE", "q", "x", "IN"), "INVALID", ["IN"]),
    (("SCHEDULE", "q", "x", "COLOUR", "red"), "INVALID", ["COLOUR"]),
    (("LEASE", "q", "colour", "red"), "INVALID", ["colour"]),
    (("SCHEDULE", "q", "x", "IN", "1h", "IN", "2h"), "INVALID", ["IN"]),
    (("SCHEDULE", "q", "x", "PRIORITY", 0), "INVALID", ["PRIORITY", "1", "5"]),
    (("SCHEDULE", "q", "x", "PRIORITY", 6), "INVALID", ["PRIORITY", "1", "5"]),
    (("SCHEDULE", "q", "x", "PRIORITY", "high"), "INVALID", ["PRIORITY"]),
    (("SCHEDULE", "q", "x", "ATTEMPTS", -1), "INVALID", ["ATTEMPTS"]),
    (("SCHEDULE", "q", "x", "ATTEMPTS", "99999999999999999999999"), "INVALID", ["ATTEMPTS"]),
    (("SCHEDULE", "q", "x", "IFEXISTS", "maybe"), "INVALID", ["keep", "replace", "reject"]),
    (("SCHEDULE", "q", "x", "IN", "soon"), "INVALID", ["IN"]),
    (("SCHEDULE", "q", "x", "IN", "-5s"), "INVALID", ["IN"]),
    (("SCHEDULE", "q", "x", "IN", "5 s"), "INVALID", ["IN"]),
    (("SCHEDULE", "q", "x", "IN", "1s1h"), "INVALID", ["IN"]),
    (("SCHEDULE", "q", "x", "IN", ""), "INVALID", ["IN"]),
    (("SCHEDULE", "q", "x", "AT", "tomorrow"), "INVALID", ["AT"]),
    (("SCHEDULE", "q", "x", "AT", "2026-02-30T00:00:00Z"), "INVALID", ["AT"]),
    (("SCHEDULE", "q", "x", "AT", "2027-01-01T00:00:00"), "INVALID", ["AT"]),
    (("SCHEDULE", "q", "x", "LEASE", "0ms"), "INVALID", ["LEASE"]),
    (("SCHEDULE", "q", "x", "LEASE", "8d"), "INVALID", ["LEASE"]),
    (("LEASE", "q", "WAIT", "25h"), "INVALID", ["WAIT"]),
    (("LEASE", "q", "WORKER", "w" * 129), "TOOLARGE", ["WORKER"]),
    (("LEASE", ",".join(f"q{i}" for i in range(65))), "INVALID", ["64"]),
    (("SCHEDULE", "", "x"), "INVALID", ["queue"]),
    (("SCHEDULE", "two words", "x"), "INVALID", ["queue"]),
    (("SCHEDULE", "a,b", "x"), "INVALID", ["queue"]),
    (("SCHEDULE", b"\xff\xfe", "x"), "INVALID", ["queue"]),
    (("SCHEDULE", "q\0", "x"), "INVALID", ["queue"]),
    (("SCHEDULE", "q" * 129, "x"), "INVALID", ["queue"]),
    (("COMPLETE", "0" * 26, "-1"), "INVALID", ["token"]),
    (("COMPLETE", "0" * 26, "99999999999999999999999"), "INVALID", ["token"]),
    (("GET", "0" * 25), "INVALID", ["id"]),
    (("GET", "Z" * 26), "INVALID", ["id"]),
    (("REDRIVE",), "INVALID", []),
])
def test_a_precise_error(b, args, code, words):
    reply = answer_of(b, *args)
    assert reply.code == code, reply
    text = str(reply)
    assert len(text) > len(code) + 5 and "\n" not in text
    for word in words:
        assert word.lower() in text.lower(), text
    assert b.call("PING") == "PONG"


@pytest.mark.parametrize("args, text", [
    (("SCHEDUL", "q", "x"), "UNKNOWN unknown verb 'SCHEDUL'; did you mean SCHEDULE?"),
    (("lsit",), "UNKNOWN unknown verb 'lsit'; did you mean LIST?"),
    (("del", "q"), "UNKNOWN unknown verb 'del'; did you mean DELETE?"),
    (("PNIG",), "UNKNOWN unknown verb 'PNIG'; did you mean PING?"),
    (("FROBNICATE",), "UNKNOWN unknown verb 'FROBNICATE'; HELP lists all verbs"),
    (("HELP", "LAESE"), "UNKNOWN unknown verb 'LAESE'; did you mean LEASE?"),
    (("SCHEDULE", "q", "x", "PRIORTY", 1), "INVALID unknown option 'PRIORTY'; did you mean PRIORITY?"),
    (("SCHEDULE", "q", "x", "--in", "1s"), "INVALID unknown option '--in'; did you mean IN?"),
    (("SCHEDULE", "q", "x", "if_exists", "keep"), "INVALID unknown option 'if_exists'; did you mean IFEXISTS?"),
    (("SCHEDULE", "q", "x", "COLOUR", "red"), "INVALID unknown option 'COLOUR'; HELP SCHEDULE lists the options"),
    (("STATS", "now"), "INVALID unknown option 'now'; HELP STATS lists the options"),
    (("TOKENREVOKE", "me", "now"), "INVALID unknown option 'now'; expected TOKENREVOKE name"),
    (("SCHEDULE", "q"), "INVALID too few arguments: expected SCHEDULE queue payload; HELP SCHEDULE says more"),
    (("SCHEDULE", "q", "x", "IN"), "INVALID option in has no value; expected: duration"),
    (("SCHEDULE", "q", "x", "IFEXISTS"), "INVALID option ifexists has no value; expected: keep|replace|reject"),
    (("SCHEDULE", "q", "x", "IN", "1h", "in", "2h"), "INVALID option in is given twice"),
])
def test_the_nearest_name_is_told_instead_of_all(b, args, text):
    assert str(answer_of(b, *args)) == text


def test_bad_input_changes_nothing(server):
    with server.wire() as w:
        for args in (("SCHEDULE", "q", "x", "PRIORITY", 9), ("QUEUE", "q", "ATTEMPTS", 3, "BACKOFF", "never"),
                     ("SCHEDULE", "q", "x", "AT", "never"), ("PAUSE", "bad name")):
            answer_of(w, *args)
        assert w.call("LIST")["jobs"] == []
        assert w.call("QUEUES") == []


def test_a_name_of_128_characters_is_fine(b):
    name = "Az09._-:/" + "q" * 119
    assert b.call("GET", b.call("SCHEDULE", name, "x"))["queue"] == name


def test_a_payload_over_the_limit(make_server):
    server = make_server(max_payload="1KiB")
    with server.wire() as w:
        id = w.call("SCHEDULE", "q", "x" * 1024)
        assert len(w.call("GET", id)["payload"]) == 1024
        w.send("SCHEDULE", "q", "x" * 1025)
        assert w.recv().code == "TOOLARGE"
    with server.wire() as w:
        try:
            w.send("SCHEDULE", "q", "x" * (5 * MIB))  # refused by its length line
            reply = w.recv()
            assert reply.code in ("TOOLARGE", "PROTOCOL"), reply
        except (ConnectionResetError, BrokenPipeError):
            pass
    with server.wire() as w:
        assert len(w.call("LIST")["jobs"]) == 1


def test_a_payload_of_the_default_limit(b):
    id = b.call("SCHEDULE", "large", "x" * MIB)
    assert len(b.call("GET", id)["payload"]) == MIB
    assert len(b.lease("large")[0]["payload"]) == MIB


@pytest.mark.parametrize("data", [
    b"*1\r\n$-5\r\n\r\n", b"*-7\r\n", b"*99999999\r\n", b"*1\r\n$99999999999\r\n", b"*1\r\n:5\r\n",
    b"*x\r\n", b"*1\r\n$4\r\nPINGxx", b"*2\r\n$4\r\nPING\r\n+hi\r\n", b"*1\r\n$99999999999999999999999\r\n",
    b"A" * 100_000,
], ids=lambda d: repr(d[:24]))
def test_a_broken_stream_is_answered_and_closed(shared_server, data):
    with shared_server.wire(2) as w:
        try:
            w.sock.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            pass
        answer = read_all(w.sock)
        assert re.match(rb"-(PROTOCOL|TOOLARGE) [^\r\n]{5,}\r\n$", answer), answer
    with shared_server.wire(2) as w:
        assert w.call("PING") == "PONG"


def test_garbage_harms_nobody(shared_server, b):
    rng = random.Random(7)
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", shared_server.port), timeout=30) as s:
            data = rng.randbytes(rng.randrange(1, 3000))
            if rng.random() < 0.5:
                good = bytearray(encode("SCHEDULE", "garbage", "x" * 50, "IN", "1h") * 3)
                for _ in range(rng.randrange(1, 5)):
                    good[rng.randrange(len(good))] = rng.randrange(256)
                data = bytes(good)
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                read_all(s)
            except (ConnectionResetError, BrokenPipeError):
                pass
            except OSError as error:
                if error.errno != 107:  # it was closed before the shutdown
                    raise
    assert b.call("PING") == "PONG"
    assert shared_server.alive()


def test_bytes_may_come_one_at_a_time(b):
    for byte in encode("SCHEDULE", "slow", "x\r\ny") + encode("PING"):
        b.sock.sendall(bytes([byte]))
    id = b.recv()
    assert b.recv() == "PONG"
    assert b.call("GET", id)["payload"] == "x\r\ny"


def test_inline_commands(b):
    b.sock.sendall(b"PING\r\n")
    assert b.recv() == "PONG"
    b.sock.sendall(b"\r\n\n  PING  \n")
    assert b.recv() == "PONG"
    b.sock.sendall(b'SCHEDULE inline "two words\\x21\\n" IN 1h\r\n')
    assert b.call("GET", b.recv())["payload"] == "two words!\n"
    b.sock.sendall(b"SCHEDULE inline 'it\\'s'\r\n")
    assert b.call("GET", b.recv())["payload"] == "it's"
    b.sock.sendall(b'SCHEDULE inline "open\r\n')
    assert b.recv().code == "PROTOCOL"


def test_half_a_command_then_silence(make_server):
    server = make_server(client_timeout="500ms")
    halves, start = [], time.monotonic()
    for half in (b"*3\r\n$8\r\nSCHED", b"*", b"PIN", b"*2\r\n$4\r\nPING\r\n$1000\r\nabc", b"PING\r\n*1\r\n$4\r\nPI"):
        w = server.wire(2)
        w.sock.sendall(half)
        if half.startswith(b"PING"):  # a whole one before does not change what follows
            assert w.recv() == "PONG"
        halves.append(w)
    with server.wire(2) as w:
        for half in halves:
            while not select.select([half.sock], [], [], 0)[0]:
                assert time.monotonic() - start < 25, "it is still connected"  # client_timeout is 30 s if not told
                assert w.call("PING") == "PONG"
                time.sleep(0.01)
            answer = read_all(half.sock)
            assert answer == b"" or answer.startswith(b"-"), answer
        assert time.monotonic() - start >= 0.4
        # One that is silent between commands, or waits for work, is no offender.
        idle = server.wire(2)
        idle.call("PING")
        assert w.lease("q", "WAIT", "1500ms") == []
        assert idle.call("PING") == "PONG"


def test_a_slow_sender_that_goes_on_is_cut_off_too(make_server):
    """Dribbling a byte now and then does not keep a half command for ever."""
    server = make_server(client_timeout="500ms")
    w = server.wire(2)
    end = time.monotonic() + 25
    try:
        for byte in encode("SCHEDULE", "q", "x" * 1000):
            w.sock.sendall(bytes([byte]))
            time.sleep(0.1)
            assert time.monotonic() < end, "it is still connected after 25 s"
            if select.select([w.sock], [], [], 0)[0] and not w.sock.recv(1000):
                return
    except (ConnectionResetError, BrokenPipeError):
        pass


def test_an_idle_client_is_cut_off_if_asked(make_server):
    server = make_server(idle_timeout="3s")  # who looks whether the server is there may be slow
    with server.wire(2) as w:
        start = time.monotonic()
        w.call("PING")
        assert read_all(w.sock) in (b"",)
        assert 2.9 <= time.monotonic() - start < 25


@pytest.mark.quiet
@pytest.mark.limit(240)
def test_a_client_that_never_reads(make_server):
    best(0.5, lambda: others_wait_for_one_that_never_reads(make_server))


def others_wait_for_one_that_never_reads(make_server):
    """For how long at most."""
    server = make_server(output_limit="4MiB", client_timeout="3s")
    with server.wire() as other:
        ids = other.pipeline([("SCHEDULE", "q", "x" * 1000, "IN", "1h") for _ in range(2000)])
        before = server.memory()["VmRSS"]
        bad = server.wire(2)
        bad.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        bad.sock.setblocking(False)
        data = (encode("LIST", "LIMIT", 1000) + encode("GET", ids[0]) * 100) * 100
        sent, peak, cut, end = 0, 0, False, time.monotonic() + 60
        worst = 0.0
        while time.monotonic() < end and not cut:
            try:
                sent += bad.sock.send(data)
            except BlockingIOError:
                time.sleep(0.01)
            except (ConnectionResetError, BrokenPipeError):
                cut = True
            start = time.monotonic()
            assert other.call("PING") == "PONG"
            worst = max(worst, time.monotonic() - start)
            peak = max(peak, server.memory()["VmRSS"])
        print(f"sent {sent}, grew by {(peak - before) / MIB:.1f} MiB, others waited at most {worst * 1e3:.1f} ms")
        assert cut, "it was never cut off"
        assert peak - before < 32 * MIB, f"grew by {(peak - before) / MIB:.1f} MiB"
        wait_for(lambda: server.memory()["VmRSS"] - before < 16 * MIB, what="memory given back")
    return worst


@pytest.mark.quiet
@pytest.mark.limit(180)
def test_ten_thousand_connections(make_server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = min(10_000, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, want + 200), hard))
    try:
        server = make_server(max_connections=want)
        before = server.memory()["VmRSS"]
        with server.wire() as w:
            crowd = []
            try:
                start = time.monotonic()
                for i in range(want - 1):
                    s = socket.create_connection(("127.0.0.1", server.port), timeout=30)
                    s.sendall(b"PING\r\n")
                    crowd.append(s)
                    if i % 100 == 99:
                        assert w.call("PING") == "PONG"
                for s in crowd:
                    assert s.recv(100) == b"+PONG\r\n"
                took = time.monotonic() - start
                each = (server.memory()["VmRSS"] - before) / len(crowd)
                print(f"{len(crowd)} connections in {took:.1f} s, {each:.0f} bytes each")
                assert each < 4096
                late = socket.create_connection(("127.0.0.1", server.port), timeout=30)
                assert re.match(rb"-BUSY .{5,}\r\n$", read_all(late))
                best(0.2, lambda: elapsed(lambda: w.call("SCHEDULE", "q", "x")))
            finally:
                for s in crowd:
                    s.close()
            wait_for(lambda: w.call("STATS")["connections"] == 1, what="all gone")
        with server.wire() as w:
            assert len(w.lease("q")) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_connections_than_the_limit(make_server):
    server = make_server(max_connections=3)
    held = [server.wire(2) for _ in range(3)]
    late = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    assert re.match(rb"-BUSY .{5,}\r\n$", read_all(late))
    assert held[0].call("PING") == "PONG"
    held.pop().close()

    def served():
        s = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        s.sendall(b"PING\r\n")
        return s.recv(100) == b"+PONG\r\n"

    wait_for(served, what="a place that is free again")


@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1", b"POST /v1/jobs HTTP/1.1", b"GET /healthz HTTP/1.0",
                                          b"get / HTTP/1.1", b"GET http://localhost/ HTTP/1.1"])
def test_the_body_of_an_http_request_is_never_taken_for_requests_in_resp(shared_server, b, request_line):
    with shared_server.wire(2) as w:
        w.sock.sendall(request_line + b"\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 20\r\n\r\n"
                       b"SCHEDULE http evil\r\n")
        answer = read_all(w.sock)
        assert re.match(rb"(-PROTOCOL .*RESP.*|HTTP/1\.[01] 4\d\d .*)", answer), answer
        assert answer.count(b"\r\n-") == 0, "the headers were not taken for commands"
    assert b.call("LIST", "QUEUE", "http")["jobs"] == []


def test_a_payload_that_looks_like_http_is_a_payload(b):
    for payload in ("HTTP/1.1 200 OK", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
        id = b.call("SCHEDULE", "http.like", payload)
        assert b.call("GET", id)["payload"] == payload
    b.sock.sendall(b"SCHEDULE http.like HTTP/1.1\r\n")
    assert b.call("GET", b.recv())["payload"] == "HTTP/1.1"


def test_what_was_sent_before_a_half_close_is_answered(shared_server):
    """As `cat commands | nc` does."""
    with shared_server.wire(2) as w:
        w.sock.sendall(b"SCHEDULE half.closed x IN 1h\r\n" * 5000)
        w.sock.shutdown(socket.SHUT_WR)
        answer = read_all(w.sock)
    assert answer.count(b"$26\r\n") == 5000 and len(answer) == 5000 * 33


# ---- The process ----

def test_a_second_server_on_the_same_directory_is_refused(make_server):
    first = make_server("one")
    second = make_server("two", start=False, data=first.data)
    code, said = second.refused()
    assert code != 0
    assert str(first.data) in said and re.search("in use|another process|locked", said), said
    with first.wire() as w:
        assert w.call("PING") == "PONG"
    first.kill()
    second.start()  # a lock is not left behind


@pytest.mark.parametrize("options, words", [
    ({"colour": "red"}, ["colour"]),
    ({"port": "seventy"}, ["port", "seventy"]),
    ({"port": "70000"}, ["port", "70000"]),
    ({"segment_size": "1KiB"}, ["segment-size|segment_size", "1KiB", "64KiB"]),
    ({"durability": "perhaps"}, ["durability", "perhaps", "sync"]),
    ({"client_timeout": "often"}, ["client-timeout|client_timeout", "often"]),
])
def test_a_bad_option_is_named(make_server, options, words):
    server = make_server(start=False, **options)
    code, said = server.refused()
    assert code != 0
    for word in words:
        assert re.search(word, said), said
    assert not server.data.exists(), "nothing was made"


def test_a_bad_configuration_file_is_named_with_its_line(make_server, tmp_path):
    config = tmp_path / "belfry.ini"
    config.write_text("# a comment\nlog_level = info\nmax_payload = huge\n")
    code, said = make_server("a", start=False, config=config).refused()
    assert code != 0 and f"{config}:3" in said and "huge" in said, said
    config.write_text("log_level = info\ncolour = red\n")
    code, said = make_server("b", start=False, config=config).refused()
    assert code != 0 and f"{config}:2" in said and "colour" in said, said
    code, said = make_server("c", start=False, config=tmp_path / "missing.ini").refused()
    assert code != 0 and "missing.ini" in said, said


def test_sighup_reloads_the_configuration(make_server, tmp_path):
    config = tmp_path / "belfry.ini"
    config.write_text("max_payload = 1KiB\n")
    server = make_server(config=config)
    with server.wire() as w:
        assert answer_of(w, "SCHEDULE", "q", "x" * 2000).code == "TOOLARGE"
        config.write_text("max_payload = 4KiB\nsegment_size = 1MiB\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "configuration reloaded" in server.log(), what="a line in the log")
        server.says("segment_size")
        assert w.call("SCHEDULE", "q", "x" * 2000)
        config.write_text("max_payload = none\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: f"{config}:1" in server.log(), what="the error in the log")
        assert w.call("SCHEDULE", "q", "x" * 2000)


def test_a_port_in_use_is_named(make_server):
    first = make_server("one")
    second = make_server("two", start=False, port=first.port)
    code, said = second.refused()
    assert code != 0 and str(first.port) in said and "in use" in said, said


def test_help_and_version(make_server):
    server = make_server(start=False)
    for flag, word in (("--help", "--segment-size"), ("--version", ".")):
        done = subprocess.run([server.command()[0], flag], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and word in done.stdout, done
