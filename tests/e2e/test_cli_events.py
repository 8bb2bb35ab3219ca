# SPDX-License-Identifier: MIT
"""`belfry events`, which follows the changes of jobs."""
import json
import signal
import subprocess

import pytest

from conftest import BUILD, ENV, wait_for
from shell import ok, run, schedule


@pytest.fixture
def follow(tmp_path):
    running = []

    def start(server, *args):
        out, err = (open(tmp_path / f"{name}{len(running)}", "w+") for name in ("out", "err"))
        p = subprocess.Popen([str(BUILD / "belfry"), "--port", str(server.port), "events", *map(str, args)],
                             stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENV)
        running.append(p)

        def said(f=out):
            with open(f.name) as again:
                return again.read()
        p.said, p.errors = said, lambda: said(err)
        return p

    yield start
    for p in running:
        p.kill()
        p.wait()


def streams(server):
    with server.wire(3) as w:
        text = w.call("METRICS")
    return int(float(text.split("\nbelfry_event_streams ")[1].split()[0]))


def test_events_are_lines_and_end_after_as_many_as_asked(server, follow):
    p = follow(server, "--queue", "mail", "-n", 2)
    wait_for(lambda: streams(server) == 1, what="it reads")
    cli = lambda *args, **kw: run(server, *args, **kw)
    schedule(cli, "other", "x")
    id = schedule(cli, "mail", "x", "--in", "1h")
    ok(cli("cancel", id))
    assert p.wait(30) == 0
    first, second = p.said().splitlines()
    assert f"{id}  mail  scheduled (created)" in first and "in 1h" in first
    assert f"{id}  mail  scheduled -> cancelled" in second


def test_events_go_on_after_the_server_was_away(make_server, follow):
    server = make_server()
    port, cli = server.port, lambda *args, **kw: run(server, *args, **kw)
    p = follow(server, "--json", "--state", "scheduled,done")
    wait_for(lambda: streams(server) == 1, what="it reads")
    schedule(cli, "mail", "x", "--in", "1h")
    wait_for(lambda: len(p.said().splitlines()) == 1, what="the first event")
    server.stop()
    wait_for(lambda: "is away" in p.errors(), what="it has noticed")
    server.start(port=port)
    wait_for(lambda: streams(server) == 1, what="it reads again")
    schedule(cli, "mail", "y", "--in", "1h")
    wait_for(lambda: [json.loads(line)["event"] for line in p.said().splitlines()].count("scheduled") == 2, what="the second")
    assert "is back" in p.errors()
    p.send_signal(signal.SIGTERM)
    p.wait(30)


def test_a_refusal_is_told(cli):
    result = cli("events", "--state", "nonsense")
    assert result.returncode == 1 and result.stderr.startswith("belfry: INVALID: state: expected one of")
    assert run(type("", (), {"port": 1}), "events").returncode == 3
