# SPDX-License-Identifier: MIT
"""`belfryd token create`: a token of a data directory that no server uses."""
import os
import subprocess

import pytest

from conftest import BUILD, ENV
from steps import refused

USAGE = "belfryd token create NAME ROLE"


def create(*args, **kw):
    return subprocess.run([str(BUILD / "belfryd"), "token", "create", *map(str, args)], capture_output=True, text=True,
                          timeout=60, env=ENV, **kw)


def token_of(done):
    assert done.returncode == 0, done.stderr
    line, end = done.stdout.split("\n")
    assert end == ""
    return line


@pytest.fixture
def stopped(make_server):
    """A server with the port and the directory of the next one, which does not run."""
    server = make_server(start=False)
    server.dir.mkdir()
    return server


def data_of(server):
    return server.dir / "data"


def test_the_first_token_needs_no_server(stopped):
    done = create("--data", data_of(stopped), "root", "admin")
    token = token_of(done)
    assert token.startswith("root.") and len(token) == len("root.") + 43
    assert "shown once" in done.stderr and "every client needs a token" in done.stderr
    assert token not in done.stderr
    stopped.start(bind="0.0.0.0", insecure_plaintext="yes")
    assert token not in stopped.log()
    with stopped.wire() as w:
        refused("NOAUTH", w.call, "STATS")
        assert w.call("AUTH", token) == "OK"
        assert [(t["name"], t["role"], t["tenant"]) for t in w.call("TOKENS")] == [("root", "admin", "*")]
        entry, = w.call("AUDIT", "TENANT", "*")["entries"]
        assert (entry["verb"], entry["request"], entry["client"], entry["outcome"]) == (
            "TOKENCREATE", "TOKENCREATE root admin", "belfryd", "OK")


def test_jobs_and_older_tokens_stay(stopped):
    root = token_of(create("root", "admin", "--data", data_of(stopped)))
    stopped.start()
    with stopped.wire() as w:
        w.call("AUTH", root)
        ids = [w.call("SCHEDULE", "q", str(i), "IN", "1h") for i in range(200)]
    stopped.kill()  # so that the command replays a journal without an end
    shop = create("--tenant", "acme", f"--data={data_of(stopped)}", "shop", "--expire", "90d", "producer")
    assert "every client" not in shop.stderr
    stopped.start()
    with stopped.wire() as w:
        assert w.call("AUTH", token_of(shop)) == "OK"
        refused("NOPERM", w.call, "STATS")
        w.call("AUTH", root)
        assert all(w.call("GET", id)["state"] == "scheduled" for id in ids)
        shop, = [t for t in w.call("TOKENS") if t["name"] == "shop"]
        assert (shop["role"], shop["tenant"]) == ("producer", "acme")
        assert shop["expires_ms"] - shop["created_ms"] == 90 * 86400 * 1000
        assert [e["tenant"] for e in w.call("AUDIT", "TENANT", "*")["entries"]] == ["*", "acme"]


def test_an_admin_whose_token_is_lost_makes_another(stopped):
    for name in ("root", "rescue"):
        token = token_of(create("--data", data_of(stopped), name, "admin"))
    stopped.start()
    with stopped.wire() as w:
        assert w.call("AUTH", token) == "OK" and w.call("TOKENREVOKE", "root") == "OK"


@pytest.mark.parametrize("args, code, why", [
    (("root",), 2, USAGE),
    ((), 2, USAGE),
    (("root", "boss"), 2, "role: expected one of"),
    (("ro ot", "admin"), 2, "name: expected"),
    (("root", "admin", "more", "words"), 2, "unknown option 'more'"),
    (("root", "admin", "--expire"), 2, "has no value"),
    (("root", "admin", "--expire", "soon"), 2, "expire: "),
    (("root", "admin", "--dta", "x"), 2, "unknown flag --dta: did you mean --data?"),
    (("root", "admin", "--memory", "1"), 2, "flag --memory: expected a size"),
    (("shop", "producer"), 1, "the first token is to be an admin"),
    (("root", "admin", "--tenant", "acme"), 1, "the first token is to be an admin"),
])
def test_what_is_wrong_is_said_and_changes_nothing(stopped, args, code, why):
    done = create("--data", data_of(stopped), *args)
    assert done.returncode == code and done.stdout == "" and why in done.stderr, done
    stopped.start()
    with stopped.wire() as w:
        assert w.call("TOKENS") == []


def test_other_words_behind_token_are_refused():
    done = subprocess.run([str(BUILD / "belfryd"), "token", "list"], capture_output=True, text=True, timeout=60, env=ENV)
    assert done.returncode == 2 and USAGE in done.stderr


def test_a_name_is_given_once(stopped):
    first = token_of(create("--data", data_of(stopped), "root", "admin"))
    done = create("--data", data_of(stopped), "root", "admin")
    assert done.returncode == 1 and done.stdout == "" and "there is a token root" in done.stderr
    stopped.start()
    with stopped.wire() as w:
        assert w.call("AUTH", first) == "OK"


def test_a_directory_that_a_server_uses_is_left_alone(make_server):
    server = make_server()
    done = create("--data", data_of(server), "root", "admin")
    assert done.returncode == 1 and done.stdout == ""
    assert f"in use by process {server.process.pid}" in done.stderr and "belfry token create" in done.stderr
    with server.wire() as w:
        assert w.call("TOKENS") == []


def test_a_token_that_cannot_be_written_is_told(stopped):
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(BUILD / "belfryd"), "token", "create", "--data", str(data_of(stopped)), "root", "admin"],
                              stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=ENV)
    assert done.returncode == 1 and "cannot be written here" in done.stderr and "revoke it" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_root_acts_as_the_owner_of_the_directory(stopped, tmp_path):
    other = 65534
    closed = tmp_path / "closed"  # only root may enter, as with the directories that systemd makes
    closed.mkdir(mode=0o700)
    data = closed / "data"
    data.mkdir()
    os.chown(data, other, other)
    token_of(create("--data", data, "root", "admin"))
    paths = [data, *data.rglob("*")]
    assert len(paths) > 5 and {p.stat().st_uid for p in paths} == {other}
    done = create("--data", data, "more", "admin", user=other - 1, group=other - 1)
    assert done.returncode == 1 and done.stdout == ""
