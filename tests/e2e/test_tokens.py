# SPDX-License-Identifier: MIT
"""Tokens: how they are made, shown, kept, revoked; what a stranger gets; and that secrets are nowhere else."""
import json
import pathlib
import re
import socket
import subprocess
import threading
import time

import pytest
import redis

from conftest import BUILD, ENV, wait_for
from sse import Stream
from steps import refused
from web import Web
from wire import Closed, Refused, Wire

SERVER = "server"  # each test has its own


def make_root(w, name="root"):
    token = w.call("TOKENCREATE", name, "admin")["token"]
    w.call("AUTH", token)
    return token


def with_auth(token, *args, **env):
    return subprocess.run([str(BUILD / "belfry"), *map(str, args)], capture_output=True, text=True, timeout=60,
                          env={**ENV, **({"BELFRY_AUTH": token} if token else {}), **env})


def addresses():
    """Of this machine, beside loopback."""
    out = subprocess.run(["hostname", "-I"], capture_output=True, text=True)
    return [a for a in out.stdout.split() if "." in a and not a.startswith("127.")]


# ---- Making and revoking ----


def test_the_first_is_an_admin_of_all_and_stays_while_there_are_others(b):
    for words in (["p", "producer"], ["p", "admin", "TENANT", "acme"], ["p", "admin", "EXPIRE", "1h"]):
        assert "first token" in refused("INVALID", b.call, "TOKENCREATE", *words)
    assert b.call("TOKENS") == [] and "server" in b.call("HELLO", "3")
    root = b.call("TOKENCREATE", "root", "admin")
    assert root["tenant"] == "*" and re.fullmatch(r"root\.[A-Za-z0-9_-]{43}", root["token"])
    assert "from now on every client needs a token" in root["note"] and "shown once" in root["note"]
    refused("NOAUTH", b.call, "TOKENS")
    b.call("AUTH", root["token"])
    made = b.call("TOKENCREATE", "a.b", "producer", "TENANT", "acme", "EXPIRE", "1h")
    assert made["expires_ms"] - made["created_ms"] == 3600_000
    assert b.call("TOKENCREATE", "w", "worker")["tenant"] == "default"
    assert "there is a token w" in refused("KEYEXISTS", b.call, "TOKENCREATE", "w", "worker")
    refused("INVALID", b.call, "TOKENCREATE", "x", "king")
    refused("INVALID", b.call, "TOKENCREATE", "no blank", "worker")
    refused("INVALID", b.call, "TOKENCREATE", "~key", "worker")
    shown = b.call("TOKENS")
    assert [t["name"] for t in shown] == ["a.b", "root", "w"]
    assert all(set(t) == {"name", "role", "tenant", "created_ms", "expires_ms", "expired"} for t in shown)
    assert [t["name"] for t in b.call("TOKENS", "AFTER", "a.b", "LIMIT", "1")] == ["root"]
    assert [t["name"] for t in b.call("TOKENS", "TENANT", "acme")] == ["a.b"]
    assert "last admin" in refused("STATE", b.call, "TOKENREVOKE", "root")
    refused("NOTFOUND", b.call, "TOKENREVOKE", "nobody")
    refused("INVALID", b.call, "TOKENREVOKE", "~key")
    b.call("TOKENCREATE", "soon", "admin", "EXPIRE", "1h")
    refused("STATE", b.call, "TOKENREVOKE", "root")  # one that expires does not count
    b.call("TOKENCREATE", "second", "admin")
    assert b.call("TOKENREVOKE", "root") == "OK"
    refused("NOAUTH", b.call, "TOKENS")


def test_after_the_last_one_is_gone_loopback_is_as_at_first(b):
    make_root(b)
    assert b.call("TOKENREVOKE", "root") == "OK"
    assert b.call("TOKENS") == []
    make_root(b, "again")
    assert len(b.call("TOKENS")) == 1


def test_what_was_made_and_revoked_is_so_after_kill_9(server):
    with server.wire(3) as w:
        root = make_root(w)
        kept = w.call("TOKENCREATE", "kept", "producer", "TENANT", "acme")["token"]
        gone = w.call("TOKENCREATE", "gone", "producer", "TENANT", "acme")["token"]
        w.call("TOKENREVOKE", "gone")
        server.kill()
    server.start()
    with server.wire(3) as w:
        refused("NOAUTH", w.call, "STATS")
        refused("WRONGPASS", w.call, "AUTH", gone)
        w.call("AUTH", kept)
        w.call("SCHEDULE", "q", "x")
        w.call("AUTH", root)
        last = w.call("TOKENCREATE", "last", "worker")["token"]
        server.kill()  # right after the answer
    server.start()
    with server.wire(3) as w:
        assert w.call("AUTH", last) == "OK" and w.call("LEASE", "q") == []


@pytest.mark.limit(120)
def test_tokens_are_kept_when_the_journal_is_reclaimed(make_server):
    server = make_server(segment_size="1MiB")
    with server.wire(3) as w:
        root = make_root(w)
        one = w.call("TOKENCREATE", "one", "producer")["token"]
        gone = w.call("TOKENCREATE", "gone", "producer")["token"]
        w.call("TOKENREVOKE", "gone")
        first = server.segments()[0]
        payload = "x" * 100_000
        while first in server.segments():
            ids = [w.call("SCHEDULE", "q", payload) for _ in range(20)]
            for id in ids:
                w.call("CANCEL", id)
    server.kill()
    server.start()
    with server.wire(3) as w:
        refused("WRONGPASS", w.call, "AUTH", gone)
        assert w.call("AUTH", one) == "OK" and w.call("AUTH", root) == "OK"
        assert [t["name"] for t in w.call("TOKENS")] == ["one", "root"]


def test_revoking_cuts_open_connections_at_their_next_request(server, b):
    make_root(b)
    token = b.call("TOKENCREATE", "w", "worker")["token"]
    with server.wire(3) as w, Web(server.port, token=token) as web:
        w.call("AUTH", token)
        assert w.call("LEASE", "q") == [] and web.post("/v1/leases", {"queues": "q"}) == {"jobs": []}
        b.call("TOKENREVOKE", "w")
        assert "revoked" in refused("NOAUTH", w.call, "LEASE", "q")
        assert web.ask("POST", "/v1/leases", {"queues": "q"}).status == 401
        # One of the same name is another one.
        again = b.call("TOKENCREATE", "w", "worker")["token"]
        refused("NOAUTH", w.call, "LEASE", "q")
        assert w.call("AUTH", again) == "OK" and w.call("LEASE", "q") == []


def test_who_waits_for_work_does_not_get_it_after_his_token_is_revoked(server, b):
    make_root(b)
    token = b.call("TOKENCREATE", "w", "worker")["token"]
    with server.wire(3) as w, server.wire(3) as other:
        other.call("AUTH", b.call("TOKENCREATE", "v", "worker")["token"])
        w.call("AUTH", token)
        w.send("LEASE", "q", "WAIT", "10m")
        wait_for(lambda: b.call("STATS")["waiting_workers"] == 1, what="it waits")
        b.call("TOKENREVOKE", "w")
        assert w.recv() == []
        b.call("SCHEDULE", "q", "x")
        refused("NOAUTH", w.call, "LEASE", "q")
        assert len(other.call("LEASE", "q")) == 1


def test_who_waits_goes_on_when_tokens_of_others_change(server, b):
    root = make_root(b)
    one, gone = (b.call("TOKENCREATE", name, "worker")["token"] for name in ("one", "gone"))
    with server.wire(3) as stays, server.wire(3) as ends, Web(server.port, token=one) as web, \
            Stream(server.port, token=root) as events:
        events.ready()
        stays.call("AUTH", one)
        ends.call("AUTH", gone)
        stays.send("LEASE", "q", "WAIT", "10m")
        ends.send("LEASE", "q", "WAIT", "10m")
        asked = threading.Thread(target=lambda: answers.append(web.post("/v1/leases", {"queues": "h", "wait": "10m"})))
        answers = []
        asked.start()
        wait_for(lambda: b.call("STATS")["waiting_workers"] == 3, what="they wait")
        b.call("TOKENCREATE", "more", "producer")
        b.call("TOKENREVOKE", "gone")
        assert ends.recv() == []
        b.call("TOKENREVOKE", "more")
        assert b.call("STATS")["waiting_workers"] == 2
        id, other = b.call("SCHEDULE", "q", "x"), b.call("SCHEDULE", "h", "x")
        assert [j["id"] for j in stays.recv()] == [id]
        asked.join(60)
        assert [j["id"] for j in answers[0]["jobs"]] == [other]
        assert {e.data["id"] for e in events.take(4)} == {id, other}


def test_a_token_expires(b, server):
    make_root(b)
    refused("INVALID", b.call, "TOKENCREATE", "brief", "worker", "EXPIRE", "1ms")
    token = b.call("TOKENCREATE", "brief", "worker", "EXPIRE", "3s")["token"]
    with server.wire(3) as w:
        w.call("AUTH", token)
        begun = time.monotonic()
        said = ""
        while not said and time.monotonic() < begun + 60:
            try:
                assert w.call("LEASE", "q", "WAIT", "10m") == []  # it ends with the token, to the millisecond
            except Refused as e:
                said = str(e)
        assert said.startswith("NOAUTH") and "expired" in said
        refused("WRONGPASS", w.call, "AUTH", token)
        assert [t["expired"] for t in b.call("TOKENS")] == [True, False]


def test_there_are_not_more_than_so_many(b):
    make_root(b)
    replies = b.pipeline((["TOKENCREATE", f"t{i}", "worker"] for i in range(9999)), timeout=100)
    assert not [r for r in replies if isinstance(r, Refused)]
    assert "10000 tokens" in refused("LIMIT", b.call, "TOKENCREATE", "more", "worker")
    b.call("TOKENREVOKE", "t77")
    b.call("TOKENCREATE", "more", "worker")
    assert len(b.call("TOKENS")) == 1000


def test_the_audit_log_of_a_tenant_has_the_whole_life_of_its_tokens(b, server):
    make_root(b)
    b.call("TOKENCREATE", "hook", "producer", "TENANT", "acme")
    b.call("TOKENCREATE", "second", "admin")
    reader = b.call("TOKENCREATE", "reader", "admin", "TENANT", "acme")["token"]
    refused("NOTFOUND", b.call, "TOKENREVOKE", "nobody")
    b.call("TOKENREVOKE", "hook")
    b.call("TOKENREVOKE", "second")

    def seen(w, *words):
        return [(e["tenant"], e["request"]) for e in w.call("AUDIT", *words)["entries"]]

    with server.wire(3) as w:
        w.call("AUTH", reader)
        assert seen(w) == [("acme", "TOKENCREATE hook producer TENANT acme"),
                           ("acme", "TOKENCREATE reader admin TENANT acme"), ("acme", "TOKENREVOKE hook")]
    assert seen(b, "TENANT", "*")[-2:] == [("acme", "TOKENREVOKE hook"), ("*", "TOKENREVOKE second")]


# ---- Showing them ----


def test_all_the_ways_to_show_one(server, b):
    root = make_root(b, "the.root")
    name, secret = root.rsplit(".", 1)
    for words in (["AUTH", root], ["AUTH", name, secret], ["AUTH", "default", root], ["AUTH", "", root],
                  ["HELLO", "3", "AUTH", "default", root], ["HELLO", "2", "AUTH", name, secret, "SETNAME", "me"]):
        with server.wire(2) as w:
            w.call(*words)
            w.call("STATS")
            w.call("RESET")
            refused("NOAUTH", w.call, "STATS")
    with server.wire(2) as w:
        answers = {refused("WRONGPASS", w.call, *words) for words in (
            ["AUTH", "x"], ["AUTH", name], ["AUTH", name, "x" * 43], ["AUTH", "nobody", secret], ["AUTH", name + "." + secret[:-1]],
            ["AUTH", "nobody." + secret], ["AUTH", name, "x" * 3000], ["HELLO", "3", "AUTH", name, "x"])}
        assert len(answers) == 1  # a name that is there and one that is not: no difference
        refused("INVALID", w.call, "AUTH", "a", "b", "c")
        refused("NOAUTH", w.call, "STATS")
        w.call("AUTH", root)
        refused("WRONGPASS", w.call, "AUTH", "x")
        refused("NOAUTH", w.call, "STATS")  # who shows a wrong one is nobody


def test_a_stranger_may_not_send_much(server, b):
    root = make_root(b)
    with server.wire(2) as w:
        refused("PROTOCOL", w.call, "SCHEDULE", "q", "x" * 100_000)
        with pytest.raises((Closed, OSError)):
            w.call("PING")
    with server.wire(2) as w:
        with pytest.raises((Refused, Closed, OSError)):
            w.sock.sendall(b"*1000\r\n")
            for _ in range(20):
                w.sock.sendall(b"$4000\r\n" + b"x" * 4000 + b"\r\n")
            reply = w.recv()
            assert isinstance(reply, Refused)
            raise reply
    with server.wire(3) as w:  # in one go: once it is known who it is, there is no such limit
        assert w.pipeline([["AUTH", root], ["SCHEDULE", "q", "x" * 100_000]])[0] == "OK"


def test_nor_may_one_whose_token_was_revoked_within_a_request(server, b):
    make_root(b)
    begun = b"*3\r\n$8\r\nSCHEDULE\r\n$1\r\nq\r\n$1000000\r\n"
    for name, revoked in (("kept", False), ("gone", True)):
        token = b.call("TOKENCREATE", name, "producer")["token"]
        with server.wire(2) as w:
            w.call("AUTH", token)
            w.sock.sendall(begun + b"x" * 50_000)
            if revoked:
                b.call("TOKENREVOKE", name)
            w.sock.sendall(b"x" * 150_000)
            if revoked:
                reply = w.recv()
                assert isinstance(reply, Refused) and reply.code == "PROTOCOL", reply
            else:
                w.sock.sendall(b"x" * 800_000 + b"\r\n")
                assert len(w.recv()) == 26


def test_redis_py_connects_with_a_password(server, b):
    token = make_root(b)
    name, secret = token.split(".")
    for proto in (2, 3):
        for kw in ({"password": token}, {"username": "default", "password": token}, {"username": name, "password": secret}):
            try:
                r = redis.Redis(port=server.port, decode_responses=True, protocol=proto, **kw)
            except TypeError:  # an old one, which speaks RESP2 only
                r = redis.Redis(port=server.port, decode_responses=True, **kw)
            assert r.ping() and r.execute_command("SCHEDULE", "q", "x")
            r.close()
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis(port=server.port).execute_command("STATS")
    with pytest.raises(redis.exceptions.RedisError, match="WRONGPASS|invalid"):
        redis.Redis(port=server.port, password="root.wrong").ping()
    worker = b.call("TOKENCREATE", "w", "worker")["token"]
    with pytest.raises(redis.exceptions.NoPermissionError):
        redis.Redis(port=server.port, password=worker).execute_command("STATS")


def test_http_takes_a_bearer_and_nothing_else(server, b):
    root = make_root(b)
    with Web(server.port) as w:
        for value in (None, "", "Bearer", "Basic " + root, root, "Bearer " + root[:-1], "Bearer x"):
            headers = {} if value is None else {"Authorization": value}
            answer = w.ask("GET", "/v1/stats", headers=headers)
            assert answer.status == 401 and answer.headers["WWW-Authenticate"], value
        assert w.ask("GET", "/v1/stats?token=" + root).status == 401
        assert w.ask("GET", "/v1/stats", headers={"Authorization": "bearer  " + root}).status == 200
        assert w.ask("GET", "/v1/stats").status == 401  # each request shows its own
        assert w.ask("GET", "/nowhere").status == 401
        assert w.ask("GET", "/healthz").status == w.ask("GET", "/readyz").status == 200
        # With tokens a page of another origin can ask nothing by itself, and names are free.
        auth = {"Authorization": "Bearer " + root}
        assert w.ask("GET", "/v1/stats", headers={**auth, "Host": "belfry.example"}).status == 200
        assert w.ask("GET", "/v1/stats", headers={**auth, "Origin": "https://elsewhere.example"}).status == 200


def test_without_tokens_other_names_and_origins_are_refused_as_before(server):
    with Web(server.port) as w:
        assert w.ask("GET", "/v1/stats", headers={"Host": "belfry.example"}).status == 421
        assert w.ask("GET", "/v1/stats", headers={"Origin": "https://elsewhere.example"}).status == 403


def test_after_many_wrong_ones_only_wrong_ones_are_refused(server, b):
    root = make_root(b)
    web = Web(server.port, token=root)
    assert web.get("/v1/stats")
    with server.wire(3) as w:
        for _ in range(10):
            refused("WRONGPASS", w.call, "AUTH", "wrong.one")
        assert "try again" in refused("BUSY", w.call, "AUTH", "wrong.one")
        assert w.call("AUTH", root) == "OK"
        assert w.call("STATS")
    with Web(server.port, token="wrong.one") as w:
        answer = w.ask("GET", "/v1/stats")
        assert answer.status == 429 and answer.json["code"] == "BUSY" and answer.headers["Retry-After"]
    with Web(server.port, token=root) as w:
        assert w.get("/v1/stats"), "a right one of the same address"
    # Those who were right before, on their connections, go on.
    assert b.call("STATS") and web.get("/v1/stats")
    web.close()
    text = b.call("METRICS")
    assert "belfry_auth_failures_total 10\n" in text and "belfry_auth_refused_total 2\n" in text
    server.says("many wrong tokens were shown")
    log = server.log()
    assert log.count("a wrong token was shown") == 1 and log.count("many wrong tokens were shown") == 1


# ---- Secrets ----


def test_secrets_are_in_no_file_no_log_and_no_answer_but_one(server):
    with server.wire(3) as w:
        root = make_root(w)
        token = w.call("TOKENCREATE", "shop", "producer", "TENANT", "acme")["token"]
        with server.wire(3) as other:
            other.call("HELLO", "3", "AUTH", "default", token)
            other.call("RECUR", "r", "q", "x", "EVERY", "1h")
            refused("WRONGPASS", other.call, "AUTH", "shop", root.split(".")[1])
        with Web(server.port, token=token) as web:
            web.post("/v1/jobs", {"queue": "q", "payload": "x"})
        audit = w.call("AUDIT", "TENANT", "*")["entries"]
        assert [(e["user"], e["verb"]) for e in audit] == \
            [(None, "TOKENCREATE"), ("root", "TOKENCREATE"), ("shop", "RECUR")]
        texts = [json.dumps(audit), json.dumps(w.call("TOKENS")), w.call("METRICS"), json.dumps(w.call("CLIENT", "GETNAME"))]
    server.stop()
    secrets = [t.split(".")[1].encode() for t in (root, token)]
    files = [p for p in server.dir.rglob("*") if p.is_file()]
    assert len(files) > 4
    for secret in secrets:
        assert not any(secret.decode() in t for t in texts)
        for path in files:
            assert secret not in path.read_bytes(), path
    server.says('"user":"shop"')


# ---- Where it may listen ----


def test_a_wide_bind_needs_a_token_first(make_server):
    server = make_server(start=False)
    code, log = server.refused(bind="0.0.0.0")
    assert code != 0 and "no tokens" in log and "belfryd token create root admin" in log
    server.start()
    with server.wire(3) as w:
        make_root(w)
    server.stop()
    code, log = server.refused(bind="0.0.0.0")
    assert code != 0 and "insecure_plaintext" in log and "tls_cert" in log
    server.start(bind="0.0.0.0", insecure_plaintext="yes")


def test_other_machines_need_a_token_whatever_happens(make_server):
    there = addresses()
    if not there:
        pytest.skip("this machine has no address but loopback")
    server = make_server()
    with server.wire(3) as w:
        root = make_root(w)
    server.restart(bind="0.0.0.0", insecure_plaintext="yes")
    with Wire(server.port) as near:
        near.call("AUTH", root)
        far = Wire(server.port)
        far.sock.close()
        far.sock = socket.create_connection((there[0], server.port), timeout=30)
        assert far.call("PING") == "PONG"
        refused("NOAUTH", far.call, "STATS")
        assert far.call("AUTH", root) == "OK" and far.call("STATS")
        near.call("TOKENREVOKE", "root")
        assert "only loopback" in refused("NOAUTH", far.call, "STATS")
        assert near.call("STATS")
        far.close()


def test_what_is_stored_is_for_nobody_else_on_the_machine(server):
    with server.wire(3) as w:
        w.call("QUEUE", "q", "PUSH_URL", "https://example.org/", "PUSH_HEADERS", "Authorization: Bearer x")
    data = pathlib.Path(server.data)
    for path in (data, *data.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


# ---- The command line ----


def test_command_line(server, tmp_path):
    port = ("--port", server.port)
    out = with_auth(None, *port, "token", "list")
    assert out.returncode == 0
    out = with_auth(None, *port, "--json", "token", "create", "root", "admin")
    root = json.loads(out.stdout)["token"]
    out = with_auth(None, *port, "stats")
    assert out.returncode == 1 and "NOAUTH" in out.stderr and "BELFRY_AUTH" in out.stderr, out
    assert with_auth(root, *port, "stats").returncode == 0
    file = tmp_path / "token"
    file.write_text(root + "\n")
    assert with_auth(None, *port, "stats", BELFRY_AUTH_FILE=str(file)).returncode == 0
    assert with_auth("wrong.one", *port, "--auth-file", file, "stats").returncode == 0
    out = with_auth(None, *port, "--auth-file", tmp_path / "nowhere", "stats")
    assert out.returncode == 1 and "nowhere" in out.stderr
    out = with_auth("root.wrong", *port, "stats")
    assert out.returncode == 1 and "WRONGPASS" in out.stderr, out
    out = with_auth(root, *port, "token", "create", "w", "worker", "--tenant", "acme", "--expire", "1d")
    assert out.returncode == 0 and "w." in out.stdout
    out = with_auth(root, *port, "token", "list")
    assert "worker" in out.stdout and "acme" in out.stdout
    assert with_auth(root, *port, "token", "revoke", "w").returncode == 0
    out = with_auth(root, *port, "token", "revoke", "w")
    assert out.returncode == 4 and "there is no token w" in out.stderr
    assert with_auth(root, *port, "token", "burn").returncode == 2
    for driver in ("belfry", "belfry-full"):
        out = with_auth(root, *port, "--json", "bench", "--driver", driver, "--op", "schedule", "--jobs", "200")
        assert out.returncode == 0, out
