# SPDX-License-Identifier: MIT
"""Sessions of browsers: a token is shown once, and a cookie stands for it."""
import http.client
import json
import re
import ssl
import time

import pytest

from certs import Authority
from conftest import wait_for
from steps import refused
from test_audit import entries
from web import Web

SERVER = "server"
OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}  # as a browser says of our own pages
HOUR = 3_600_000


class Browser:
    """Keeps the cookie, and says what a browser says of pages of this server."""

    def __init__(self, port, token=None):
        self.web, self.cookie = Web(port), None
        if token:
            answer = self.login(token)
            assert answer.status == 200, answer
            self.session = answer.json

    def ask(self, method, path, body=None, headers=None):
        cookie = {"Cookie": f"theme=dark; belfry_session={self.cookie}"} if self.cookie else {}
        return self.web.ask(method, path, body, {**OWN, **cookie, **(headers or {})})

    def login(self, token):
        answer = self.ask("POST", "/v1/session", {"token": token})
        if answer.status == 200:
            self.cookie = re.match(r"belfry_session=([A-Za-z0-9_-]{43});", answer.headers["Set-Cookie"])[1]
        return answer

    def status(self, method, path, body=None, headers=None):
        return self.ask(method, path, body, headers).status


@pytest.fixture
def root(b):
    token = b.call("TOKENCREATE", "root", "admin")["token"]
    b.call("AUTH", token)
    return token


def test_a_cookie_stands_for_a_token(server, b, root):
    browser = Browser(server.port)
    assert browser.status("GET", "/v1/stats") == browser.status("GET", "/v1/session") == 401
    answer = browser.login(root)
    assert answer.status == 200
    now = time.time() * 1000
    session = answer.json
    assert now + 11.9 * HOUR < session.pop("expires_ms") < now + 12.1 * HOUR
    assert session == {"role": "admin", "tenant": "*", "label": "", "version": session["version"], "token_name": "root",
                       "open": False}
    cookie = answer.headers["Set-Cookie"]
    assert cookie.split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=43200"]
    assert browser.status("GET", "/v1/stats") == 200
    assert browser.ask("GET", "/v1/session").json["token_name"] == "root"
    assert browser.status("POST", "/v1/jobs", {"queue": "q", "payload": "x"}) == 201
    assert browser.status("DELETE", "/v1/session") == 204
    assert browser.status("GET", "/v1/stats") == 401
    assert "log in again" in browser.ask("GET", "/v1/session").json["detail"]


def test_the_answer_to_logout_clears_the_cookie(server, root):
    browser = Browser(server.port, root)
    answer = browser.ask("DELETE", "/v1/session")
    assert answer.headers["Set-Cookie"].startswith("belfry_session=;") and "Max-Age=0" in answer.headers["Set-Cookie"]


def test_role_and_tenant_are_those_of_the_token(server, b, root):
    token = b.call("TOKENCREATE", "looker", "read-only", "TENANT", "acme", "EXPIRE", "1h")["token"]
    browser = Browser(server.port, token)
    assert (browser.session["role"], browser.session["tenant"]) == ("read-only", "acme")
    assert browser.session["expires_ms"] < time.time() * 1000 + 1.1 * HOUR, "it ends with its token"
    assert browser.status("GET", "/v1/jobs?tenant=acme") == 200
    assert browser.status("GET", "/v1/jobs?tenant=other") == 403
    assert browser.status("POST", "/v1/jobs", {"queue": "q", "payload": "x"}) == 403


def test_without_tokens_the_session_is_open(server):
    with Web(server.port) as web:
        assert web.get("/v1/session")["open"] is True
        session = web.get("/v1/session")
        assert (session["role"], session["tenant"], session["token_name"], session["expires_ms"]) == ("admin", "*", None, None)
        answer = web.ask("POST", "/v1/session", {"token": "a.b"}, OWN)
        assert answer.status == 400 and "no tokens" in answer.json["detail"]
        assert web.ask("DELETE", "/v1/session", headers=OWN).status == 204


def test_a_token_in_the_header_needs_no_session(server, root):
    with Web(server.port, token=root) as web:
        assert web.get("/v1/session")["token_name"] == "root"
        assert web.get("/v1/session")["expires_ms"] is None


def test_the_label_is_shown(make_server):
    server = make_server(ui_label="staging «2»")
    with Web(server.port) as web:
        assert web.get("/v1/session")["label"] == "staging «2»"


@pytest.mark.parametrize("body", [{}, {"token": 1}, {"token": ""}, {"token": "x" * 5000}, {"token": "a.b", "more": 1}, [], b"{"])
def test_a_request_that_is_no_login_is_refused(server, root, body):
    browser = Browser(server.port)
    answer = browser.ask("POST", "/v1/session", body, {"Content-Type": "application/json"})
    assert answer.status in (400, 401, 413) and "Set-Cookie" not in answer.headers
    assert browser.status("GET", "/v1/stats") == 401


def test_wrong_tokens_are_rationed_and_a_right_one_is_not(server, root):
    browser = Browser(server.port)
    for _ in range(10):
        answer = browser.login("root.wrong")
        assert answer.status == 401 and answer.json["code"] == "WRONGPASS"
    answer = browser.login("root.wrong")
    assert answer.status == 429 and answer.json["code"] == "BUSY" and "try again" in answer.json["detail"]
    assert browser.login(root).status == 200


def test_a_revoked_token_ends_its_sessions_at_once(server, b, root):
    token = b.call("TOKENCREATE", "gone", "read-only", "TENANT", "*")["token"]
    browser = Browser(server.port, token)
    assert browser.status("GET", "/v1/stats") == 200
    b.call("TOKENREVOKE", "gone")
    answer = browser.ask("GET", "/v1/stats")
    assert answer.status == 401 and "revoked" in answer.json["detail"]
    b.call("TOKENCREATE", "gone", "admin")
    assert browser.status("GET", "/v1/stats") == 401, "a token of the same name is another one"


def test_a_session_ends_with_its_token(server, b, root):
    token = b.call("TOKENCREATE", "brief", "read-only", "TENANT", "*", "EXPIRE", "1s")["token"]
    browser = Browser(server.port, token)
    assert browser.status("GET", "/v1/session") == 200
    time.sleep(1.1)
    assert browser.status("GET", "/v1/session") == browser.status("GET", "/v1/stats") == 401


def test_a_session_ends_after_its_time(make_server):
    server = make_server(ui_session="1s")
    with server.wire(3) as b:
        token = b.call("TOKENCREATE", "root", "admin")["token"]
    browser = Browser(server.port, token)
    assert "Max-Age=1;" in browser.login(token).headers["Set-Cookie"] + ";"
    assert browser.status("GET", "/v1/stats") == 200
    time.sleep(1.1)
    assert browser.status("GET", "/v1/stats") == 401


def test_a_restart_ends_sessions(server, root):
    browser = Browser(server.port, root)
    server.restart()
    assert Browser(server.port).status("GET", "/v1/stats") == 401
    again = Browser(server.port)
    again.cookie = browser.cookie
    assert again.status("GET", "/v1/stats") == 401


def stream_of(port, cookie):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    c.request("GET", "/v1/events?tenant=*", headers={**OWN, "Cookie": "belfry_session=" + cookie})
    r = c.getresponse()
    assert r.status == 200 and r.readline().startswith(b"retry")
    return c, r


def test_streams_end_with_the_session(server, b, root):
    token = b.call("TOKENCREATE", "watcher", "read-only", "TENANT", "*")["token"]
    one, two = Browser(server.port, token), Browser(server.port, token)
    streams = [stream_of(server.port, x.cookie) for x in (one, two)]
    start = time.monotonic()
    assert one.status("DELETE", "/v1/session") == 204
    streams[0][1].read()
    assert time.monotonic() - start < 5
    assert two.status("GET", "/v1/stats") == 200, "each browser has a session of its own"
    b.call("TOKENREVOKE", "watcher")
    streams[1][1].read()
    assert time.monotonic() - start < 10


def test_a_wait_for_work_ends_with_the_session(server, b, root):
    token = b.call("TOKENCREATE", "hand", "worker", "TENANT", "default")["token"]
    browser = Browser(server.port, token)
    waits = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    waits.request("POST", "/v1/leases", json.dumps({"queues": ["q"], "wait": "20s"}),
                  {**OWN, "Cookie": "belfry_session=" + browser.cookie, "Content-Type": "application/json"})
    wait_for(lambda: b.call("STATS")["waiting_workers"] == 1, 10, "the LEASE waits")
    assert browser.status("DELETE", "/v1/session") == 204
    answer = waits.getresponse()
    assert answer.status == 200 and json.loads(answer.read())["jobs"] == []


def test_a_token_has_twenty_sessions(server, root):
    browsers = [Browser(server.port, root) for _ in range(21)]
    assert [x.status("GET", "/v1/session") for x in browsers] == [401] + [200] * 20


def test_connections_that_are_shared_keep_clients_apart(server, b, root):
    """A proxy sends requests of many clients over one connection."""
    low = b.call("TOKENCREATE", "low", "read-only", "TENANT", "acme")["token"]
    browser = Browser(server.port, low)
    cookie = {**OWN, "Cookie": "belfry_session=" + browser.cookie}
    bearer = {"Authorization": "Bearer " + root}
    with Web(server.port) as web:
        for _ in range(2):
            assert web.ask("GET", "/v1/session", headers=bearer).json["token_name"] == "root"
            assert web.ask("GET", "/v1/session", headers=cookie).json["token_name"] == "low"
            assert web.ask("GET", "/v1/tokens", headers=cookie).status == 403
            assert web.ask("GET", "/v1/session", headers=bearer).json["token_name"] == "root"
            assert web.ask("GET", "/v1/session").status == 401
            assert web.ask("GET", "/v1/session", headers=cookie).json["token_name"] == "low"
            assert web.ask("POST", "/v1/session", {"token": root}, OWN).status == 200
            assert web.ask("GET", "/v1/session").status == 401
            assert web.ask("GET", "/v1/session", headers={**bearer, **cookie}).json["token_name"] == "root"


def test_the_audit_log_has_logins_without_secrets(server, b, root):
    browser = Browser(server.port, root)
    assert browser.status("DELETE", "/v1/session") == 204
    found = [e for e in entries(b) if e["verb"] in ("LOGIN", "LOGOUT")]
    assert [(e["verb"], e["user"], e["tenant"], e["outcome"]) for e in found] == [
        ("LOGIN", "root", "*", "OK"), ("LOGOUT", "root", "*", "OK")]
    assert all(e["address"].startswith("127.0.0.1:") for e in found)
    server.says('"verb":"LOGOUT"')
    secret = root.split(".")[1]
    assert browser.cookie not in server.log() and secret not in server.log()
    for path in server.data.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert browser.cookie.encode() not in data and secret.encode() not in data, path


def test_a_flood_of_logins_is_refused_by_the_audit_log(make_server):
    server = make_server(audit_rate=1, audit_burst=3)
    with server.wire(3) as b:
        root = b.call("TOKENCREATE", "root", "admin")["token"]
        b.call("AUTH", root)
        low = b.call("TOKENCREATE", "low", "read-only", "TENANT", "acme")["token"]
    browser = Browser(server.port)
    answers = [browser.login(low) for _ in range(8)]
    assert {a.status for a in answers} == {200, 429} and "audit_rate" in answers[-1].json["detail"]
    assert browser.login(root).status == 200


def test_a_cookie_is_no_token(server, b, root):
    """Neither RESP nor the header Authorization takes it."""
    browser = Browser(server.port, root)
    with server.wire(3) as w:
        for words in ([browser.cookie], ["root", browser.cookie], ["root." + browser.cookie], ["belfry_session", browser.cookie]):
            refused("WRONGPASS", w.call, "AUTH", *words)
        refused("NOAUTH", w.call, "STATS")
    with Web(server.port) as web:
        for text in (browser.cookie, "root." + browser.cookie):
            assert web.ask("GET", "/v1/stats", headers={"Authorization": "Bearer " + text}).status == 401
    with Web(server.port) as web:
        token = {**OWN, "Cookie": "belfry_session=" + root}
        assert web.ask("GET", "/v1/stats", headers=token).status == 401, "and a token is no cookie"


def test_over_tls_the_cookie_is_secure(make_server, tmp_path):
    pki = Authority(tmp_path / "pki")
    cert = pki.issue("server")
    server = make_server(tls="on", tls_cert=cert[0], tls_key=cert[1])
    with server.wire(3) as b:
        root = b.call("TOKENCREATE", "root", "admin")["token"]
    c = http.client.HTTPSConnection("127.0.0.1", server.port, context=ssl.create_default_context(cafile=str(pki.ca)), timeout=30)
    c.request("POST", "/v1/session", json.dumps({"token": root}), {**OWN, "Content-Type": "application/json"})
    answer = c.getresponse()
    assert answer.status == 200 and answer.headers["Set-Cookie"].endswith("; Secure")
    proxied = Browser(server.port).ask("POST", "/v1/session", {"token": root},
                                       {"Host": "belfry.example", "Origin": "https://belfry.example"})
    assert proxied.status == 200 and proxied.headers["Set-Cookie"].endswith("; Secure")
