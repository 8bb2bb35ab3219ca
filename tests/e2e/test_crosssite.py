# SPDX-License-Identifier: MIT
"""A page of another origin can neither read nor change anything, with cookies and without them.

The first tests send what browsers send. The last ones have a real browser show pages of other origins, one of which
takes the address of the server for its own name (DNS rebinding)."""
import http.server
import json
import shutil
import threading

import pytest

from test_session import OWN, Browser
from web import Web

SERVER = "server"
JOB = {"queue": "q", "payload": "x"}


@pytest.fixture
def root(b):
    token = b.call("TOKENCREATE", "root", "admin")["token"]
    b.call("AUTH", token)
    return token


# Each row: headers in place of those of a page of our own, and a word of the refusal.
FOREIGN = [
    ({"Sec-Fetch-Site": "cross-site"}, "other origins"),
    ({"Sec-Fetch-Site": "same-site"}, "other origins"),
    ({"Sec-Fetch-Site": "none"}, "other origins"),
    ({"Sec-Fetch-Site": ""}, "other origins"),
    ({"Sec-Fetch-Site": "same-origin, cross-site"}, "other origins"),
    ({"Sec-Fetch-Site": None}, "is missing"),
    ({"Origin": "http://evil.example"}, "Host"),
    ({"Origin": "http://127.0.0.1:1"}, "Host"),
    ({"Host": "evil.example", "Origin": "http://other.example"}, "Host"),
]


def without_nones(headers):
    return {k: v for k, v in headers.items() if v is not None}


@pytest.mark.parametrize("headers, word", FOREIGN)
def test_the_cookie_does_not_count_for_pages_of_others(server, b, root, headers, word):
    browser = Browser(server.port, root)
    headers = without_nones({**OWN, "Cookie": "belfry_session=" + browser.cookie, **headers})
    before = b.call("STATS")["ready"]
    with Web(server.port) as web:
        for method, path, body in (("GET", "/v1/stats", None), ("GET", "/v1/jobs", None), ("POST", "/v1/jobs", JOB),
                                   ("POST", "/v1/queues/q/pause", None), ("DELETE", "/v1/tokens/root", None),
                                   ("POST", "/v1/tokens", {"name": "mine", "role": "admin"}), ("DELETE", "/v1/session", None),
                                   ("GET", "/nope", None)):
            answer = web.ask(method, path, body, headers)
            assert answer.status == 403 and word in answer.json["detail"], (method, path, answer)
            assert "Set-Cookie" not in answer.headers and "Access-Control-Allow-Origin" not in answer.headers
    assert b.call("STATS")["ready"] == before and [t["name"] for t in b.call("TOKENS")] == ["root"]
    assert browser.status("GET", "/v1/session") == 200, "it could not even end the session"


def test_an_address_that_is_typed_shows_pages_and_changes_nothing(server, root):
    browser = Browser(server.port, root)
    typed = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
    assert browser.status("GET", "/metrics", headers=typed) == 200
    assert browser.status("GET", "/v1/session", headers=typed) == 200
    assert browser.status("GET", "/", headers=typed) == 200
    for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/queues/q/pause"), ("DELETE", "/v1/session")):
        assert browser.status(method, path, headers=typed) == 403


@pytest.mark.parametrize("headers, word", [row for row in FOREIGN if row[0].get("Host") is None])
def test_a_page_of_another_origin_logs_nobody_in(server, root, headers, word):
    with Web(server.port) as web:
        answer = web.ask("POST", "/v1/session", {"token": root}, without_nones({**OWN, **headers}))
        assert answer.status == 403 and word in answer.json["detail"] and "Set-Cookie" not in answer.headers


def test_a_cookie_or_an_origin_that_is_given_twice_is_refused(server, root):
    """A page of a neighbouring host could add a cookie of its own."""
    browser = Browser(server.port, root)
    twice = {**OWN, "Cookie": f"belfry_session={browser.cookie}; belfry_session={'x' * 43}"}
    with Web(server.port) as web:
        assert web.ask("GET", "/v1/stats", headers=twice).status == 401
    for name, value in (("Cookie", "belfry_session=" + browser.cookie), ("Origin", "http://a.example"), ("Sec-Fetch-Site", "none")):
        with Web(server.port) as web:
            web.connection.putrequest("GET", "/v1/stats")
            web.connection.putheader(name, value)
            web.connection.putheader(name, value)
            web.connection.endheaders()
            answer = web.connection.getresponse()
            assert answer.status == 400 and b"twice" in answer.read()


def test_behind_a_proxy_that_hands_host_on_the_session_works(server, root):
    browser = Browser(server.port, root)
    named = {"Host": "belfry.example", "Origin": "https://belfry.example"}
    assert browser.status("POST", "/v1/jobs", JOB, named) == 201
    assert browser.status("POST", "/v1/jobs", JOB, {**named, "Host": "127.0.0.1:2355"}) == 403


# ---- A real browser ----

# What a page tries. Each try answers what it could read; "-" is nothing.
TRIES = """
const base = BASE, tries = {};
async function attempt(name, fn) {
    try { tries[name] = await fn(); } catch (e) { tries[name] = "-"; }
}
const text = async r => r.type === "opaque" ? "-" : (r.ok ? await r.text() : "refused " + r.status);
const json = {"Content-Type": "application/json"};
const job = JSON.stringify({queue: "stolen", payload: "x"});
await attempt("read", async () => text(await fetch(base + "/v1/jobs")));
await attempt("read with cookies", async () => text(await fetch(base + "/v1/stats", {credentials: "include"})));
await attempt("read opaque", async () => text(await fetch(base + "/v1/stats", {mode: "no-cors", credentials: "include"})));
await attempt("session", async () => text(await fetch(base + "/v1/session", {credentials: "include"})));
await attempt("write json", async () => text(await fetch(base + "/v1/jobs", {method: "POST", headers: json, body: job, credentials: "include"})));
await attempt("write plain", async () => text(await fetch(base + "/v1/jobs", {method: "POST", mode: "no-cors", body: job, credentials: "include"})));
await attempt("pause", async () => text(await fetch(base + "/v1/queues/stolen/pause", {method: "POST", mode: "no-cors", credentials: "include"})));
await attempt("events", async () => (await fetch(base + "/v1/events", {credentials: "include"})).ok ? "stream" : "refused");
await attempt("logout", async () => text(await fetch(base + "/v1/session", {method: "DELETE", credentials: "include"})));
await attempt("script", () => new Promise((yes, no) => {
    const s = document.createElement("script");
    s.onload = () => yes("loaded"); s.onerror = () => no();
    s.src = base + "/ui/app.js"; document.head.append(s);
}));
await attempt("frame", () => new Promise(yes => {
    const f = document.createElement("iframe");
    f.onload = () => { try { yes(f.contentDocument ? "seen" : "-"); } catch (e) { yes("-"); } };
    f.src = base + "/"; document.body.append(f);
}));
await attempt("form", () => new Promise(yes => {
    const f = document.createElement("form"), frame = document.createElement("iframe");
    frame.name = "target"; document.body.append(frame);
    f.method = "POST"; f.enctype = "text/plain"; f.target = "target"; f.action = base + "/v1/queues/stolen/pause";
    document.body.append(f); f.submit(); setTimeout(() => yes("-"), 500);
}));
return tries;
"""


class Pages(http.server.BaseHTTPRequestHandler):
    """A site of another origin: an empty page."""

    def do_GET(self):
        body = b"<!doctype html><title>other</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def other_site():
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield site.server_port
    site.shutdown()
    site.server_close()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("there is no chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
                 "--host-resolver-rules=MAP *.example 127.0.0.1"):
        options.add_argument(flag)
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_page_load_timeout(60)
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


def tries_of(driver, page, base):
    """Shows a page, and answers what it could read at the base."""
    driver.get(page)
    script = "const done = arguments[0]; (async () => {" + TRIES.replace("BASE", json.dumps(base)) + "})().then(done);"
    return driver.execute_async_script(script)


def assert_nothing(tries, b):
    assert tries and all(value == "-" for value in tries.values()), tries
    assert b.call("LIST", "QUEUE", "stolen")["jobs"] == []
    assert b.call("QUEUE", "stolen") is None or not b.call("QUEUE", "stolen")["paused"]


def log_in(driver, base, token):
    driver.get(base + "/")
    return driver.execute_async_script(
        "const [token, done] = arguments; fetch('v1/session', {method: 'POST', headers: {'Content-Type': 'application/json'},"
        " body: JSON.stringify({token})}).then(r => done(r.status));", token)


def status_of(driver, path):
    return driver.execute_async_script("const [path, done] = arguments; fetch(path).then(r => done(r.status));", path)


@pytest.mark.limit(240)
def test_a_page_of_another_origin_in_chromium(server, b, other_site, chromium):
    base = f"http://127.0.0.1:{server.port}"
    # Without tokens: another site, and another port of this machine, which shares its cookies.
    assert_nothing(tries_of(chromium, f"http://other.example:{other_site}/", base), b)
    assert_nothing(tries_of(chromium, f"http://127.0.0.1:{other_site}/", base), b)
    # With a session, whose cookie the browser has.
    root = b.call("TOKENCREATE", "root", "admin")["token"]
    b.call("AUTH", root)
    assert log_in(chromium, base, root) == 200 and status_of(chromium, "v1/stats") == 200
    assert_nothing(tries_of(chromium, f"http://other.example:{other_site}/", base), b)
    assert_nothing(tries_of(chromium, f"http://127.0.0.1:{other_site}/", base), b)
    # The session goes on, and a page of the server itself could do all of it.
    own = tries_of(chromium, base + "/", base)
    assert own["read with cookies"].startswith("{") and '"token_name":"root"' in own["session"] and own["events"] == "stream"
    assert '"id"' in own["write json"] and own["script"] == "loaded" and own["logout"] == ""
    assert len(b.call("LIST", "QUEUE", "stolen")["jobs"]) == 1


@pytest.mark.limit(240)
def test_a_name_that_takes_the_address_of_the_server_in_chromium(server, b, chromium):
    """The page of rebound.example is of the server's own origin, as far as the browser sees."""
    base, rebound = f"http://127.0.0.1:{server.port}", f"http://rebound.example:{server.port}"
    chromium.get(rebound + "/")
    assert "expected localhost or an address" in chromium.page_source
    for path in ("v1/stats", "v1/jobs", "ui/app.js", "v1/session", "openapi.json"):
        assert status_of(chromium, path) == 421, path
    # With tokens the name may be that of a proxy; but the session is that of the other name.
    root = b.call("TOKENCREATE", "root", "admin")["token"]
    b.call("AUTH", root)
    assert log_in(chromium, base, root) == 200 and status_of(chromium, "v1/stats") == 200
    chromium.get(rebound + "/")
    for path in ("v1/stats", "v1/jobs", "v1/session", "metrics"):
        assert status_of(chromium, path) == 401, path
