# SPDX-License-Identifier: MIT
"""The dashboard as files: how they are served, with which headers, and how large they are."""
import gzip
import re

import pytest

from conftest import ROOT
from web import Web

FILES = sorted(path.name for path in (ROOT / "src/ui").iterdir())
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
LIMIT = 150_000  # bytes of all files, packed


def path_of(name):
    return "/" if name == "index.html" else "/ui/" + name


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_served_as_it_is_and_packed(web, name):
    content = (ROOT / "src/ui" / name).read_bytes()
    plain = web.ask("GET", path_of(name), headers=HTML)
    packed = web.ask("GET", path_of(name), headers={**HTML, "Accept-Encoding": "gzip, br"})
    assert plain.status == packed.status == 200
    assert plain.body == content == gzip.decompress(packed.body)
    assert packed.headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain.headers
    for answer in (plain, packed):
        h = answer.headers
        assert h["Cache-Control"] == "no-cache" and "Accept-Encoding" in h["Vary"]
        assert h["X-Content-Type-Options"] == "nosniff" and h["Referrer-Policy"] == "no-referrer"
        assert h["Cross-Origin-Opener-Policy"] == h["Cross-Origin-Resource-Policy"] == "same-origin"
        policy = dict(part.strip().split(" ", 1) for part in h["Content-Security-Policy"].split(";"))
        assert policy == {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
                          "connect-src": "'self'", "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'"}
    kinds = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
    assert plain.headers["Content-Type"].startswith(kinds[name.rsplit(".", 1)[1]])


def test_a_browser_that_has_a_file_gets_no_second_copy(web):
    for encoding in ("gzip", "identity"):
        ask = {**HTML, "Accept-Encoding": encoding}
        first = web.ask("GET", "/", headers=ask)
        tag = first.headers["ETag"]
        again = web.ask("GET", "/", headers={**ask, "If-None-Match": tag})
        assert again.status == 304 and again.body == b"" and again.headers["ETag"] == tag
        assert web.ask("GET", "/", headers={**ask, "If-None-Match": '"other"'}).status == 200
    assert web.ask("GET", "/", headers={**HTML, "Accept-Encoding": "gzip", "If-None-Match": tag}).status == 200


def test_head_has_the_headers_of_get(web):
    for path in ("/", "/ui/app.js"):
        get = web.ask("GET", path, headers={**HTML, "Accept-Encoding": "gzip"})
        head = web.ask("HEAD", path, headers={**HTML, "Accept-Encoding": "gzip"})
        assert head.status == 200 and head.body == b""
        for name in ("Content-Length", "ETag", "Content-Type", "Content-Security-Policy", "Content-Encoding"):
            assert head.headers[name] == get.headers[name]


def test_other_names_are_not_found(web):
    for path in ("/ui/nope.js", "/ui/", "/ui", "/ui/..%2ffront%2fui.c", "/ui/../CMakeLists.txt", "/ui/app.js/", "/UI/app.js"):
        assert web.ask("GET", path).status == 404, path
    assert web.ask("POST", "/ui/app.js").status == 405


def test_nothing_is_loaded_from_elsewhere():
    """Each address in the files is relative, or only names a namespace or a text."""
    for name in FILES:
        text = (ROOT / "src/ui" / name).read_text(errors="replace")
        for found in re.findall(r"""(?:src|href|from|import|url)\s*[=(]?\s*["'(]\s*((?:https?:)?//[^"')\s]+)""", text):
            assert found.startswith("http://www.w3.org/"), f"{name}: {found}"


def test_the_page_asks_for_all_modules_at_once():
    """Otherwise a browser would find a module only when the one that imports it is there."""
    found = re.findall(r'<link rel="modulepreload" href="ui/([^"]+)">', (ROOT / "src/ui/index.html").read_text())
    assert found == [name for name in FILES if name.endswith(".js") and name != "app.js"]


def test_everything_packed_is_small(web, record_property):
    sizes = {name: len(web.ask("GET", path_of(name), headers={**HTML, "Accept-Encoding": "gzip"}).body) for name in FILES}
    total = sum(sizes.values())
    print(f"the dashboard has {len(sizes)} files and {total} bytes packed, of {LIMIT}")
    record_property("bytes", total)
    assert 0 < total <= LIMIT, sizes


def test_without_ui_there_is_the_short_page(make_server):
    server = make_server(ui="no")
    with Web(server.port) as web:
        page = web.ask("GET", "/", headers=HTML)
        assert page.status == 200 and b"NONCE" not in page.body and b"ui/app.js" not in page.body
        for link in ("/docs", "/openapi.json", "/metrics", "/readyz", "redis-cli", "curl"):
            assert link.encode() in page.body
        assert web.ask("GET", "/ui/app.js").status == 404
        assert web.ask("GET", "/", headers={"Accept": "application/json"}).json["server"] == "belfry"


def test_everything_is_there_below_the_prefix(make_server):
    server = make_server(ui_prefix="/tools/belfry")
    with Web(server.port) as web:
        to = web.ask("GET", "/tools/belfry?x=1", headers=HTML)
        assert to.status == 308 and to.headers["Location"] == "/tools/belfry/"
        for prefix in ("", "/tools/belfry"):
            assert b"ui/app.js" in web.ask("GET", prefix + "/", headers=HTML).body
            assert web.ask("GET", prefix + "/ui/app.js").status == 200
            id = web.post(prefix + "/v1/jobs", {"queue": "q", "payload": "x"})["id"]
            assert web.get(f"{prefix}/v1/jobs/{id}")["queue"] == "q"
            assert web.get(prefix + "/v1/queues?limit=1")["queues"]
        for path in ("/tools", "/tools/", "/tools/belfryx", "/tools/belfry/nope", "/tools/belfry//"):
            assert web.ask("GET", path).status == 404, path


@pytest.mark.parametrize("prefix", ["belfry", "/belfry/", "/", "//a", "/a b", "/a?b", "/%61", "/" + "x" * 40])
def test_a_prefix_that_is_no_path_is_refused(tmp_path, prefix):
    from conftest import Server
    code, said = Server(tmp_path).refused(ui_prefix=prefix)
    assert code != 0 and ("ui_prefix" in said or "ui-prefix" in said)
