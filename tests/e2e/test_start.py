# SPDX-License-Identifier: MIT
"""The first start: what a person is told, and the first token of a server that nobody has logged into yet."""
import json
import os
import pty
import re
import secrets
import subprocess
import urllib.request

import pytest

from conftest import BUILD, ENV, wait_for
from steps import refused

BELFRYD = str(BUILD / "belfryd")


def belfryd(*args, **env):
    return subprocess.run([BELFRYD, *map(str, args)], capture_output=True, text=True, timeout=60, env={**ENV, **env})


# ---- What a person is told ----


def on_a_terminal(server):
    """Starts it there; answers what it has said once it serves."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(server.command(), stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env=ENV)
    os.close(follower)
    server.process = process
    said = b""
    while b"listening" not in said or b"/docs" not in said:
        said += os.read(leader, 10000)
    return said.decode().replace("\r\n", "\n"), leader


def test_the_greeting_can_be_typed_as_it_stands(make_server):
    server = make_server(start=False)
    server.dir.mkdir()
    said, leader = on_a_terminal(server)
    try:
        port = int(wait_for(lambda: server.port_file.exists() and server.port_file.read_text()))
        assert f"http://127.0.0.1:{port}/docs" in said
        page = re.search(r"dashboard is at (http://\S+)", said)[1]
        assert page == f"http://127.0.0.1:{port}/" and b"Belfry" in urllib.request.urlopen(page, timeout=30).read()
        lines = [line.strip() for line in said.splitlines() if line.startswith("    ")]
        assert [line.split()[0].split("/")[-1] for line in lines] == ["belfry"] * 2 + ["redis-cli"] * 3
        for line in lines:
            assert f"-p {port}" in line or f"--port {port}" in line
        done = subprocess.run(lines[0], shell=True, capture_output=True, text=True, timeout=60, env=ENV, cwd=os.getcwd())
        assert done.returncode == 0, done
        worker = subprocess.run(f"timeout -s INT 5 {lines[1]}", shell=True, capture_output=True, text=True, timeout=60,
                                env=ENV, cwd=os.getcwd())
        assert worker.stdout.strip() == "hi", worker
    finally:
        server.kill()
        os.close(leader)


def test_the_log_is_text_on_a_terminal_and_json_elsewhere(make_server):
    server = make_server("there", start=False)
    server.dir.mkdir()
    said, leader = on_a_terminal(server)
    os.close(leader)
    server.kill()
    assert re.search(r"^\S+Z info  listening bind=127.0.0.1 port=\d+ data=", said, re.M), said
    elsewhere = make_server("elsewhere")
    elsewhere.says("listening")
    line = [json.loads(x) for x in elsewhere.log().splitlines() if "listening" in x][0]
    assert line["port"] == elsewhere.port, "a number is a number"
    as_wished = make_server("wished", log_format="text")
    as_wished.says(f"port={as_wished.port}")


# ---- Options ----


def test_the_configuration_can_be_checked(tmp_path):
    config = tmp_path / "belfry.ini"
    config.write_text("memory = 1G\n\nport = 3000\n")
    done = belfryd("--check-config", "--config", config, "--data", tmp_path / "data", BELFRY_MAX_RUNNING="7", BELFRY_PORTT="1")
    assert done.returncode == 0, done
    shown = dict(re.findall(r"^(\w+) = .*? ; (.*)$", done.stdout, re.M))
    assert shown["memory"] == f"{config}:1" and shown["port"] == f"{config}:3" and shown["bind"] == "the default"
    assert shown["max_running"] == "BELFRY_MAX_RUNNING" and shown["data"] == "flag --data"
    assert "memory = 1GiB " in done.stdout
    assert "BELFRY_PORTT is no option, and is ignored: did you mean BELFRY_PORT?" in done.stderr
    assert not (tmp_path / "data").exists(), "nothing was made"
    again = tmp_path / "again.ini"
    again.write_text(done.stdout)
    values = [line.split(" ; ")[0].split() for line in done.stdout.splitlines()]
    repeated = belfryd("--check-config", "--config", again)
    assert [line.split(" ; ")[0].split() for line in repeated.stdout.splitlines()] == values


@pytest.mark.parametrize("flags, words", [
    (["--port", "x", "--memory", "1TB1"], ["flag --port: expected", "flag --memory: expected"]),
    (["--tls", "on"], ["tls_cert"]),
    (["--push-allow", "all"], ["push_allow"]),
    (["--tls", "on", "--push-ports", "http"], ["tls_cert", "push_ports"]),
])
def test_all_that_is_wrong_is_told_at_once(flags, words):
    done = belfryd("--check-config", *flags)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr, done.stderr


def test_short_flags_and_a_width_of_eighty():
    assert belfryd("-V").stdout == belfryd("--version").stdout
    text = belfryd("-h").stdout
    assert text == belfryd("--help").stdout and max(map(len, text.splitlines())) <= 80


def test_a_variable_that_is_no_option_is_told(make_server, monkeypatch):
    monkeypatch.setitem(ENV, "BELFRY_MEMROY", "1G")
    server = make_server()
    server.says('"name":"BELFRY_MEMROY","nearest":"BELFRY_MEMORY"')


# ---- The first token ----


def new_token(path=None):
    token = f"root.{secrets.token_hex(32)}"
    if path:
        path.write_text(token + "\n")
    return token


@pytest.mark.parametrize("way", ["file", "variable"])
def test_a_server_may_serve_others_from_its_first_start(make_server, tmp_path, monkeypatch, way):
    path = tmp_path / "root"
    token = new_token(path)
    if way == "variable":
        monkeypatch.setitem(ENV, "BELFRY_ROOT_TOKEN", token)
    server = make_server(bind="0.0.0.0", insecure_plaintext="yes", root_token_file=path if way == "file" else None)
    server.says("the first token was made")
    server.says("every client needs a token from now on")
    assert token not in server.log() and token.split(".")[1] not in server.log()
    with server.wire() as w:
        refused("NOAUTH", w.call, "STATS")
        assert w.call("AUTH", token) == "OK"
        assert [(t["name"], t["role"], t["tenant"]) for t in w.call("TOKENS")] == [("root", "admin", "*")]
        entry, = w.call("AUDIT", "TENANT", "*")["entries"]
        assert (entry["verb"], entry["request"], entry["outcome"]) == ("TOKENCREATE", "TOKENCREATE root admin", "OK")
        w.call("TOKENCREATE", "other", "admin")
        w.call("TOKENREVOKE", "root")
    server.kill()
    path.unlink()  # once there is a token, it is not looked at
    server.start()
    server.says("so the first one is not made again")
    with server.wire() as w:
        refused("WRONGPASS", w.call, "AUTH", token)


def test_it_is_there_after_a_kill(make_server, tmp_path):
    path = tmp_path / "root"
    token = new_token(path)
    server = make_server(start=False, root_token_file=path)
    for _ in range(3):
        server.start()
        with server.wire() as w:
            assert w.call("AUTH", token) == "OK"
            w.call("SCHEDULE", "q", "x", "IN", "1h")
        server.kill()
    server.start(root_token_file=None)
    with server.wire() as w:
        refused("NOAUTH", w.call, "STATS")
        assert w.call("AUTH", token) == "OK" and len(w.call("TOKENS")) == 1
    assert token.split(".")[1].encode() not in b"".join(p.read_bytes() for p in server.segments())


@pytest.mark.parametrize("text, why", [
    ("", "expected name.secret"),
    ("root", "expected name.secret"),
    ("root.short", "32 to 512 characters"),
    ("root." + "x" * 600, "32 to 512 characters"),
    ("a b." + "x" * 40, "name"),
    (None, "No such file"),
])
def test_a_bad_one_is_refused(make_server, tmp_path, text, why):
    path = tmp_path / "root"
    if text is not None:
        path.write_text(text)
    server = make_server(start=False, root_token_file=path)
    code, said = server.refused()
    assert code == 1 and why in said and "x" * 20 not in said, said
    server.start(root_token_file=None)
    with server.wire() as w:
        assert w.call("TOKENS") == [], "nothing was made"
