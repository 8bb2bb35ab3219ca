# SPDX-License-Identifier: MIT
"""TLS on the port of everything else: real clients, certificates that are wrong, those that stop halfway."""
import json
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest
import redis

from certs import Authority
from conftest import belfry, wait_for
from web import Web, read_all, request
from wire import encode


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def cert(pki):
    return pki.issue("server")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Somebody whom nobody here believes."""
    return Authority(tmp_path_factory.mktemp("other"), "other")


def options(cert, **more):
    return {"tls": "on", "tls_cert": cert[0], "tls_key": cert[1], **more}


@pytest.fixture
def server(make_server, cert):
    return make_server(**options(cert))


def context(pki, mine=None):
    c = ssl.create_default_context(cafile=str(pki.ca))
    if mine:
        c.load_cert_chain(*map(str, mine))
    return c


def connect(server, pki, mine=None, timeout=60):
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=timeout)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context(pki, mine).wrap_socket(raw, server_hostname="localhost")


def curl(server, pki, path, *args, host="localhost"):
    return subprocess.run(["curl", "-sS", "-m", "60", "--cacert", str(pki.ca), *map(str, args),
                           f"https://{host}:{server.port}{path}"], capture_output=True, text=True, timeout=100)


def redis_client(server, pki, **kw):
    return redis.Redis(host="localhost", port=server.port, ssl=True, ssl_ca_certs=str(pki.ca), ssl_check_hostname=True,
                       decode_responses=True, socket_timeout=30, **kw)


def cli(server, *args, **kw):
    return belfry("--host", "localhost", "--port", server.port, *args, **kw)


# ---- Real clients ----

def test_redis_py(server, pki):
    r = redis_client(server, pki)
    id = r.execute_command("SCHEDULE", "q", "hi")
    job = r.execute_command("LEASE", "q", "WAIT", "5s")
    assert job and id in str(job)
    big = "x" * 900_000
    id = r.execute_command("SCHEDULE", "q", big, "IN", "1h")
    assert big in r.execute_command("GET", id)
    with r.pipeline(transaction=False) as pipe:
        for n in range(3000):
            pipe.execute_command("SCHEDULE", "many", str(n), "IN", "1h")
        assert len(set(pipe.execute())) == 3000


def test_curl_and_the_address_in_the_audit_log(server, pki):
    made = curl(server, pki, "/v1/jobs", "--json", '{"queue":"q","payload":"hi"}')
    id = json.loads(made.stdout)["id"]
    assert json.loads(curl(server, pki, f"/v1/jobs/{id}", host="127.0.0.1").stdout)["payload"] == "hi"
    assert curl(server, pki, "/v1/queues/q/pause", "-X", "POST", "-w", "%{http_code}").stdout == "204"
    redis_client(server, pki).execute_command("RESUME", "q")
    with server.wire() as w:
        entries = w.call("AUDIT")["entries"]
    assert {e["verb"] for e in entries} == {"PAUSE", "RESUME"}
    for e in entries:
        assert e["address"].startswith("127.0.0.1:"), e
    big = "y" * 1_000_000
    done = curl(server, pki, "/v1/jobs", "--json", "@-", "-w", "%{http_version}")
    assert "INVALID" in done.stdout, "an empty body"
    done = subprocess.run(["curl", "-sS", "--cacert", str(pki.ca), "--tls-max", "1.2", "--json", "@-",
                           f"https://localhost:{server.port}/v1/jobs"], timeout=100, capture_output=True, text=True,
                          input=json.dumps({"queue": "big", "payload": big}))
    id = json.loads(done.stdout)["id"]
    assert json.loads(curl(server, pki, f"/v1/jobs/{id}").stdout)["payload"] == big


def test_a_name_of_ones_own_is_served_by_tls(make_server, pki):
    server = make_server(**options(pki.issue("named", "DNS:belfry.example")))
    done = curl(server, pki, "/healthz", "--resolve", f"belfry.example:{server.port}:127.0.0.1", host="belfry.example")
    assert json.loads(done.stdout) == {"status": "ok"}, done
    done = curl(server, pki, "/healthz")
    assert done.returncode == 60 and "localhost" in done.stderr, "it is not for that name"


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_openssl_s_client(server, pki, version):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", str(pki.ca),
                           "-verify_return_error", "-verify_hostname", "localhost", "-quiet", version],
                          input=b"PING\r\nECHO hello\r\nQUIT\r\n", capture_output=True, timeout=60)
    assert done.stdout == b"+PONG\r\n$5\r\nhello\r\n+OK\r\n", done


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
def test_old_versions_are_refused(server, version):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", version, "-cipher",
                           "ALL@SECLEVEL=0"], input=b"PING\r\n", capture_output=True, timeout=60)
    assert done.returncode != 0 and b"PONG" not in done.stdout


def test_the_command_line(server, pki, other, tmp_path):
    said = cli(server, "--tls", "--ca", pki.ca, "schedule", "q", "hi")
    assert said.returncode == 0, said
    said = cli(server, "work", "q", "--ca", pki.ca, "--once", "--", "cat")
    assert said.returncode == 0 and said.stdout == "hi", said
    said = cli(server, "stats", "--tls", "--ca", pki.ca, "--json")
    assert json.loads(said.stdout)["total_scheduled"] == 1
    said = cli(server, "bench", "--ca", pki.ca, "--op", "schedule", "--jobs", 2000)
    assert said.returncode == 0, said
    assert cli(server, "stats").returncode == 0, "plain from this machine"

    said = cli(server, "--tls", "--ca", other.ca, "stats")
    assert said.returncode == 3 and "certificate of localhost is not accepted" in said.stderr and "start one" not in said.stderr, said
    said = cli(server, "--tls", "stats")
    assert said.returncode == 3 and "is not accepted" in said.stderr, "nobody believes it by default"
    said = belfry("--host", "ip6-localhost", "--port", server.port, "--ca", pki.ca, "stats")
    assert said.returncode == 3, said
    said = cli(server, "--ca", tmp_path / "missing.pem", "stats")
    assert said.returncode == 3 and "--ca" in said.stderr and "No such file" in said.stderr, said


def test_the_command_line_checks_the_name(make_server, pki):
    server = make_server(**options(pki.issue("elsewhere", "DNS:elsewhere.example,IP:127.0.0.9")))
    for host, words in (("localhost", "hostname mismatch"), ("127.0.0.1", "IP address mismatch")):
        said = belfry("--host", host, "--port", server.port, "--ca", pki.ca, "stats")
        assert said.returncode == 3 and words in said.stderr, said


def test_the_command_line_against_what_speaks_no_tls(make_server, pki):
    server = make_server()
    said = cli(server, "--ca", pki.ca, "stats")
    assert said.returncode == 3 and "does not speak TLS" in said.stderr, said


# ---- What it is like ----

def test_plain_connections(make_server, cert, pki):
    server = make_server(**options(cert))
    with server.wire() as w, Web(server.port) as web:
        assert w.call("PING") == "PONG" and web.get("/healthz")
    only = make_server("only", start=False, **options(cert, tls="only"))
    only.launch()
    only.port = int(wait_for(lambda: only.port_file.exists() and only.port_file.read_text()))
    assert redis_client(only, pki).ping()
    with socket.create_connection(("127.0.0.1", only.port), timeout=30) as s:
        s.sendall(b"PING\r\n")
        assert read_all(s) == b"-PROTOCOL this server is spoken to by TLS only\r\n"
    with socket.create_connection(("127.0.0.1", only.port), timeout=30) as s:
        s.sendall(request("GET", "/healthz"))
        answer = read_all(s)
        assert answer.startswith(b"HTTP/1.1 403 ") and b"https" in answer, answer
    said = cli(only, "stats")
    assert said.returncode == 3 and "TLS only" in said.stderr, said


def test_tls_within_tls_is_no_way_around(server, pki):
    with connect(server, pki) as s:
        s.sendall(b"\x16\x03\x01\x00\x05hello\r\nQUIT\r\n")
        assert read_all(s).startswith(b"-"), "it is a request like any other"


@pytest.mark.parametrize("data, start", [
    (request("GET", "/healthz", b"", "Connection: close"), b"HTTP/1.1 200"),
    (encode("PING") + b"QUIT\r\n", b"+PONG\r\n+OK"),
    (b"GE\r\nQUIT\r\n", b"-UNKNOWN"),
])
def test_bytes_that_come_one_at_a_time(server, pki, data, start):
    with connect(server, pki) as s:
        for i in range(len(data)):
            s.sendall(data[i:i + 1])
            time.sleep(0.001)
        assert read_all(s).startswith(start)


def test_half_close(server, pki):
    """What was sent before close_notify is answered, then the other side ends as well."""
    with ByHand(server, pki) as s:
        s.send(b"SCHEDULE half.closed x IN 1h\r\n" * 5000)
        s.half_close()
        got = s.read_all()
    assert got.count(b"$26\r\n") == 5000 and len(got) == 5000 * 33


class ByHand:
    """A client whose TLS reads nothing until it is told to. A socket's unwrap() reads at once, and it fails for good if
    an answer came before close_notify was sent."""

    def __init__(self, server, pki):
        self.raw = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.come, self.go = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context(pki, None).wrap_bio(self.come, self.go, server_hostname="localhost")
        self.until_done(self.tls.do_handshake)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw.close()

    def flush(self):
        self.raw.sendall(self.go.read())

    def until_done(self, call, *args):
        while True:
            try:
                value = call(*args)
                self.flush()
                return value
            except ssl.SSLWantReadError:
                self.flush()
                piece = self.raw.recv(65536)
                self.come.write(piece) if piece else self.come.write_eof()

    def send(self, data):
        self.until_done(self.tls.write, data)

    def half_close(self):
        with pytest.raises(ssl.SSLWantReadError):  # close_notify is on its way, that of the other side is not here
            self.tls.unwrap()
        self.flush()

    def read_all(self):
        got = bytearray()
        try:
            while piece := self.until_done(self.tls.read, 65536):
                got += piece
        except ssl.SSLZeroReturnError:
            pass
        return got


def ssl_half_close(s):
    """Python's unwrap() waits for the other side; so: a non-blocking one that sends close_notify and goes on."""
    s.setblocking(False)
    try:
        s.unwrap()
    except (ssl.SSLWantReadError, ssl.SSLError, OSError):
        pass


def test_the_end_is_told_with_close_notify(server, pki):
    with connect(server, pki) as s:
        s.sendall(b"QUIT\r\n")
        assert s.recv(100) == b"+OK\r\n"
        s.suppress_ragged_eofs = False
        assert s.recv(100) == b"", "an end without close_notify would raise"


LEASE = encode("LEASE", "gone", "WAIT", "60s")


@pytest.mark.parametrize("data, byes", [
    (LEASE, ("close_notify", "reset")),
    (LEASE + encode("ECHO", "y" * 100_000) * 12, ("reset",)),
    (request("POST", "/v1/leases", b'{"queues":"gone","wait":"60s"}'), ("close_notify", "reset")),
], ids=["resp", "much behind it", "http"])
def test_a_wait_ends_when_its_client_goes_away(server, pki, data, byes):
    for bye in byes:
        s = connect(server, pki)
        s.sendall(data)
        with server.wire() as w:
            wait_for(lambda: (w.call("QUEUE", "gone") or {}).get("waiting_workers") == 1, what="it waits")
            if bye == "close_notify":
                ssl_half_close(s)
            else:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            s.close()
            wait_for(lambda: w.call("QUEUE", "gone")["waiting_workers"] == 0, what="the wait ended")


def test_a_client_that_never_reads_is_cut_off_and_costs_little(make_server, cert, pki):
    server = make_server(**options(cert, output_limit="4MiB", client_timeout="2s"))
    with server.wire() as other:
        ids = other.pipeline([("SCHEDULE", "q", "x" * 1000, "IN", "1h") for _ in range(1000)])
        bad = connect(server, pki)
        before = server.memory()["VmRSS"]
        bad.setblocking(False)
        data, cut, peak, end = (encode("LIST", "LIMIT", 1000) + encode("GET", ids[0]) * 100) * 20, False, 0, time.monotonic() + 40
        while time.monotonic() < end and not cut:
            try:
                bad.send(data)
            except ssl.SSLWantWriteError:
                time.sleep(0.01)
            except OSError:
                cut = True
            assert other.call("PING") == "PONG"
            peak = max(peak, server.memory()["VmRSS"])
        assert cut and peak - before < 32 << 20, (cut, peak - before)
        wait_for(lambda: other.call("STATS")["connections"] == 1, 30, "it is gone")


def test_many_at_once_each_get_their_own(server, pki):
    failed = []

    def one(n):
        try:
            with connect(server, pki) as s:
                for i in range(20):
                    payload = f"{n}-{i}-" + "z" * (n * 997 % 40000)
                    s.sendall(encode("ECHO", payload))
                    want, got = f"${len(payload)}\r\n{payload}\r\n".encode(), b""
                    while len(got) < len(want):
                        piece = s.recv(65536)
                        assert piece, "it ended"
                        got += piece
                    assert got == want
        except Exception as e:  # pylint: disable=broad-except
            failed.append((n, repr(e)))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed[:3]


def test_an_idle_connection_costs_little(server, pki):
    with server.wire() as w:
        crowd = [connect(server, pki) for _ in range(20)]
        before = server.memory()["VmRSS"]
        crowd += [connect(server, pki) for _ in range(200)]
        for s in crowd:
            s.sendall(b"PING\r\n")
        for s in crowd:
            assert s.recv(100) == b"+PONG\r\n"
        each = (server.memory()["VmRSS"] - before) / 200
        print(f"{each:.0f} bytes each")
        assert each < 64 << 10
        for s in crowd:
            s.close()
        wait_for(lambda: w.call("STATS")["connections"] == 1, 30, "all gone")


def test_a_stop_sends_what_is_under_way(make_server, cert, pki):
    server = make_server(**options(cert, sync_delay="300ms", drain_timeout="45s"))
    waiting, writing = connect(server, pki), connect(server, pki)
    waiting.sendall(request("POST", "/v1/leases", b'{"queues":"q","wait":"60s"}'))
    with server.wire() as w:
        wait_for(lambda: (w.call("QUEUE", "q") or {}).get("waiting_workers") == 1, what="it waits")
    writing.sendall(encode("SCHEDULE", "other", "under way"))
    wait_for(lambda: server.has_written(b"under way"), what="it is written, and being synced")
    server.running = False
    server.process.send_signal(signal.SIGTERM)
    assert read_all(waiting).endswith(b'{"jobs":[]}\n')
    assert read_all(writing).startswith(b"$26\r\n")
    assert server.process.wait(60) == 0


# ---- Those who stop halfway ----

def test_garbage_after_the_first_byte(server, pki):
    for data in (b"\x16", b"\x16\x03", b"\x16\x03\x01", b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"\x16" * 1000,
                 b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", b"\x16PING\r\nPING\r\n", b"\x16\x03\x03" + bytes(4000)):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                answer = read_all(s)
            except OSError:
                answer = b""
            assert answer[:1] in (b"", b"\x15"), answer
    assert redis_client(server, pki).ping()
    wait_for(lambda: "connections ended by TLS" in server.log(), what="a line in the log")
    with server.wire() as w:
        wait_for(lambda: w.call("STATS")["connections"] <= 2, what="they are not counted any more")


def test_two_hundred_half_open_handshakes(make_server, cert, pki):
    server = make_server(**options(cert, tls_handshake_timeout="5s"))
    hello = client_hello(pki)
    half = []
    for n in range(200):
        s = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        s.sendall(hello[:1 + n % (len(hello) - 1)] if n % 4 else hello)
        half.append(s)
    with server.wire() as w:
        for _ in range(5):
            assert w.call("PING") == "PONG"
            assert redis_client(server, pki).ping()
            assert json.loads(curl(server, pki, "/healthz").stdout) == {"status": "ok"}
        wait_for(lambda: w.call("STATS")["connections"] == 1, 30, "they were cut off")
        for s in half:
            read_all(s)
            s.close()
    wait_for(lambda: "its handshake took too long" in server.log(), what="a line in the log")
    # One that has shaken hands may be silent for as long as it likes.
    with connect(server, pki) as idle, connect(server, pki) as part:
        part.sendall(b"GET ")
        time.sleep(6)
        idle.sendall(b"PING\r\n")
        assert idle.recv(10) == b"+PONG\r\n"
        part.settimeout(20)
        assert part.recv(100) == b"", "but not within its first request"


def client_hello(pki):
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context(pki).wrap_bio(into, out, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def test_a_slow_request_is_cut_off_as_without_tls(make_server, cert, pki):
    server = make_server(**options(cert, client_timeout="700ms"))
    for data in (b"*2\r\n$4\r\nECHO\r\n$100\r\nabc", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"):
        with connect(server, pki) as s:
            start = time.monotonic()
            s.sendall(data)
            assert not read_all(s).startswith(b"HTTP/1.1 2")
            assert 0.5 < time.monotonic() - start < 25


def test_connections_by_tls_count_like_others(make_server, cert, pki):
    server = make_server(**options(cert, max_connections_per_address=4))
    held = [connect(server, pki) for _ in range(4)]
    for s in held:
        s.sendall(b"PING\r\n")
        assert s.recv(10) == b"+PONG\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as late:
        assert b"max_connections_per_address" in read_all(late)
    held.pop().close()
    wait_for(lambda: can_connect(server, pki), what="a place that is free again")


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_per_address"])
def test_what_is_still_to_be_sent_counts_when_its_client_is_over(make_server, cert, pki, limit):
    server = make_server(**options(cert, client_timeout="60s", **{limit: 4}))
    held = []
    with server.wire() as w:
        for _ in range(3):
            raw = socket.socket()
            # So that the network takes little, and the pair of sockets within the server the rest.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            raw.settimeout(60)
            raw.connect(("127.0.0.1", server.port))
            s = context(pki).wrap_socket(raw, server_hostname="localhost")
            s.sendall(encode("PING", "x" * 60_000) * 3 + b"QUIT\r\n")
            held.append(s)
        wait_for(lambda: w.call("STATS")["connections"] == 1, 30, "the clients are over")
        end = time.monotonic() + 4
        while time.monotonic() < end:
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as late:
                assert limit.encode() + b" is reached" in read_all(late)
            time.sleep(0.5)
        for s in held:
            s.close()
        wait_for(lambda: can_connect(server, pki), 30, "a place that is free again")


def can_connect(server, pki):
    try:
        with connect(server, pki) as s:
            s.sendall(b"PING\r\n")
            return s.recv(10) == b"+PONG\r\n"
    except OSError:
        return False


# ---- Certificates ----

@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_mutual_tls(make_server, cert, pki, other, version):
    server = make_server(**options(cert, tls_client_ca=pki.ca))
    mine, foreign = pki.issue("client", None), other.issue("client", None)

    def ask(certificate):
        c = context(pki, certificate)
        c.minimum_version = c.maximum_version = version
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
            with c.wrap_socket(raw, server_hostname="localhost") as s:
                s.sendall(b"PING\r\n")
                return s.recv(100)

    assert ask(mine) == b"+PONG\r\n"
    for bad, why in ((None, "did not return a certificate"), (foreign, "its certificate is not accepted")):
        with pytest.raises(ssl.SSLError) as e:
            ask(bad)
        assert "ALERT" in str(e.value).upper(), "it is told what is wrong"
        wait_for(lambda w=why: w in server.log(), what=why)
    with server.wire() as w:
        assert w.call("PING") == "PONG"


def test_mutual_tls_with_curl_redis_py_and_the_command_line(make_server, cert, pki, other):
    server = make_server(**options(cert, tls_client_ca=pki.ca))
    mine, foreign = pki.issue("me", None), other.issue("them", None)
    assert json.loads(curl(server, pki, "/healthz", "--cert", mine[0], "--key", mine[1]).stdout) == {"status": "ok"}
    for bad in ((), ("--cert", foreign[0], "--key", foreign[1])):
        done = curl(server, pki, "/healthz", *bad)
        assert done.returncode != 0 and "alert" in done.stderr, done
    assert redis_client(server, pki, ssl_certfile=str(mine[0]), ssl_keyfile=str(mine[1])).ping()
    with pytest.raises(redis.ConnectionError):
        redis_client(server, pki).ping()
    flags = ("--tls", "--ca", pki.ca)
    assert cli(server, *flags, "--cert", mine[0], "--cert-key", mine[1], "stats").returncode == 0
    said = cli(server, *flags, "stats")
    assert said.returncode == 3 and "certificate required" in said.stderr, said
    said = cli(server, *flags, "--cert", foreign[0], "--cert-key", foreign[1], "stats")
    assert said.returncode == 3 and "alert" in said.stderr, said
    said = cli(server, *flags, "--cert", mine[0], "--cert-key", foreign[1], "stats")
    assert said.returncode == 3 and "does not belong to the certificate" in said.stderr, said
    said = cli(server, *flags, "--cert", mine[0], "stats")
    assert said.returncode == 3 and "--cert-key is missing" in said.stderr, said


def serial(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        c = ssl._create_unverified_context()  # pylint: disable=protected-access
        with c.wrap_socket(raw) as s:
            return ssl.DER_cert_to_PEM_cert(s.getpeercert(True))


def test_sighup_loads_the_certificate_again(make_server, pki, other, tmp_path):
    first, second = pki.issue("first"), pki.issue("second")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    shutil.copy(first[0], cert)
    shutil.copy(first[1], key)
    server = make_server(**options((cert, key)))
    before = serial(server)
    open_ones = [connect(server, pki) for _ in range(10)]

    def reload(words):
        seen = server.log().count(words)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: server.log().count(words) > seen, what=words)

    def check_open():
        for s in open_ones:
            s.sendall(b"PING\r\n")
            assert s.recv(10) == b"+PONG\r\n"

    check_open()
    shutil.copy(second[0], cert)  # without its key
    reload("certificate not loaded")
    assert serial(server) == before
    check_open()
    cert.write_text("no certificate\n")
    reload("certificate not loaded")
    assert serial(server) == before
    shutil.copy(second[0], cert)
    shutil.copy(second[1], key)
    reload("configuration reloaded")
    assert serial(server) != before
    check_open()
    assert redis_client(server, pki).ping()


@pytest.mark.parametrize("change, words", [
    ({"tls_cert": "/nowhere/cert.pem"}, ["tls_cert /nowhere/cert.pem", "No such file"]),
    ({"tls_key": "/nowhere/key.pem"}, ["tls_key /nowhere/key.pem", "No such file"]),
    ({"tls_client_ca": "/nowhere/ca.pem"}, ["tls_client_ca /nowhere/ca.pem", "No such file"]),
    ({"tls_cert": "/etc/hostname"}, ["tls_cert /etc/hostname", "expected a certificate in PEM"]),
    ({"tls_key": "/etc/hostname"}, ["tls_key /etc/hostname", "expected a private key in PEM"]),
    ({"tls_client_ca": "/etc/hostname"}, ["tls_client_ca /etc/hostname", "expected certificates in PEM"]),
    ({"tls_key": None}, ["tls_key is missing"]),
    ({"tls_cert": None}, ["tls_cert is missing"]),
    ({"tls": "off"}, ["tls is off"]),
    ({"tls": "only", "insecure_plaintext": "yes"}, ["insecure_plaintext", "contradict"]),
    ({"tls": "perhaps"}, ["tls", "off or on or only"]),
])
def test_what_is_wrong_is_said_at_the_start(make_server, cert, change, words):
    code, said = make_server(start=False, **{**options(cert), **change}).refused()
    assert code != 0
    for word in words:
        assert word in said, said


def test_a_key_of_another_certificate_or_with_a_passphrase(make_server, cert, pki, tmp_path):
    code, said = make_server("a", start=False, **options((cert[0], pki.issue("another")[1]))).refused()
    assert code != 0 and "does not belong to the certificate" in said, said
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "pkey", "-in", cert[1], "-aes256", "-passout", "pass:secret", "-out", locked], check=True)
    code, said = make_server("b", start=False, **options((cert[0], locked))).refused()
    assert code != 0 and "without a passphrase" in said, said


def test_other_machines_are_not_served_yet(make_server, cert):
    code, said = make_server(start=False, **options(cert, bind="0.0.0.0")).refused()
    assert code != 0 and "there are no tokens" in said, said
