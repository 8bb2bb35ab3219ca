# SPDX-License-Identifier: MIT
"""The server's log, the files that it writes beside its data, and the rights of its directory."""
import json
import os
import signal
import socket
import stat
import subprocess
import time

import conftest
from conftest import wait_for
from web import Web
from wire import encode


def test_a_log_that_nobody_reads_holds_nobody_up(make_server):
    server = make_server()
    server.kill()
    server.port_file.unlink()
    process = subprocess.Popen(server.command(), stderr=subprocess.PIPE, env=conftest.ENV,
                               preexec_fn=conftest._die_with_parent)
    try:
        wait_for(lambda: server.port_file.exists() and server.port_file.read_text(), 30, "it listens")
        server.port = int(server.port_file.read_text())
        with server.wire() as w:
            for _ in range(10):
                w.pipeline([(verb, "q") for _ in range(500) for verb in ("PAUSE", "RESUME")])
            assert w.call("PING") == "PONG"
            lost = [line for line in w.call("METRICS").splitlines() if line.startswith("belfry_log_lines_lost_total")]
            assert int(lost[0].split()[-1]) > 100
            got = 0
            while got < 500000:  # half of what waits
                got += len(os.read(process.stderr.fileno(), 65536))
            w.call("PAUSE", "last")
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read().decode()
        assert process.wait(30) == 0 and time.monotonic() - start < 20
        assert '"message":"log lines were lost: nobody read them in time","lines":' in rest and "PAUSE last" in rest
        assert '"message":"stopped"' in rest
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_a_server_whose_log_nobody_reads_ends(make_server):
    server = make_server()
    server.kill()
    server.port_file.unlink()
    reader, writer = os.pipe()
    process = subprocess.Popen(server.command(), stderr=writer, env=conftest.ENV,
                               preexec_fn=conftest._die_with_parent)
    try:
        wait_for(lambda: server.port_file.exists() and server.port_file.read_text(), 30, "it listens")
        server.port = int(server.port_file.read_text())
        with server.wire() as w:
            for _ in range(6):
                w.pipeline([(verb, "q") for _ in range(500) for verb in ("PAUSE", "RESUME")])
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(reader)
        os.close(writer)


def test_a_field_of_a_text_line_cannot_look_like_others(make_server):
    server = make_server(log_format="text")
    with server.wire() as w:
        w.call("CLIENT", "SETNAME", "x user=root address=10.0.0.9:1")
        w.call("PAUSE", "q")
    wait_for(lambda: "PAUSE q" in server.log(), 10, "the line")
    server.says('client="x user=root address=10.0.0.9:1"')


def wrong_tokens(server, addresses):
    """Each address shows one, of which the log has a line."""
    for i in range(addresses):
        with socket.create_connection(("127.0.0.1", server.port), source_address=(f"127.1.{i // 250}.{1 + i % 250}", 0)) as s:
            s.sendall(encode("AUTH", "wrong"))
            assert s.recv(100).startswith(b"-WRONGPASS")


def lines_of(server, message):
    return [x for x in map(json.loads, server.log().splitlines()) if x["message"] == message]


def test_a_flood_of_lines_is_cut_and_counted(make_server):
    server = make_server(log_rate=1)
    with server.wire(3) as w:
        w.call("AUTH", w.call("TOKENCREATE", "root", "admin")["token"])
        wrong_tokens(server, 150)
        w.call("PAUSE", "q")  # lines of other kinds are not left out
        wait_for(lambda: lines_of(server, "audit")[-1]["request"] == "PAUSE q")
        shown = lines_of(server, "a wrong token was shown")
        assert 10 <= len(shown) < 100
        left = [x for x in w.call("METRICS").splitlines() if x.startswith("belfry_log_lines_left_out_total ")]
        assert int(left[0].split()[-1]) == 150 - len(shown)
        wait_for(lambda: lines_of(server, "lines were left out: more than log_rate"), 30, "the line about it")
    server.stop()
    told = lines_of(server, "lines were left out: more than log_rate")
    assert {x["like"] for x in told} == {"a wrong token was shown"}
    assert sum(x["lines"] for x in told) == 150 - len(shown)


def test_slow_work_is_named_be_it_a_request_a_page_or_the_servers_own(make_server):
    server = make_server(slow_work="0ms", log_rate=0, memory="16MiB")  # all work is slow
    with server.wire(3) as w:
        ids = w.pipeline([("SCHEDULE", "jobs", "x" * 700, "IN", "9h") for _ in range(30000)], timeout=60)
        wait_for(lambda: w.call("STATS")["fed_batches"] > 0)
        w.call("GET", ids[0])
        w.call("SCHEDULE", "soon", "x", "IN", "1ms")
        assert w.lease("soon", "WAIT", "10s")
        with Web(server.port) as web:
            assert web.ask("GET", "/metrics").status == 200
            assert web.ask("GET", f"/v1/jobs/{ids[1]}").status == 200
    wait_for(lambda: {("/metrics", "as the request came"), ("LEASE", "as the request came"),
                      ("the clock: jobs that are due, leases that end", "for no request"),
                      ("giving out jobs", "for no request"), ("own work", "for no request"),
                      ("a commit that settled: replies, events, pushes", "for no request"),
                      ("a look at all clients", "for no request")} <=
             {(x["what"], x["when"]) for x in lines_of(server, "a piece of work was slow")}, 30, "the names")

    def after_a_fetch():
        return [x for x in lines_of(server, "a piece of work was slow") if x["when"] == "as the request went on after a fetch"]

    wait_for(lambda: len(after_a_fetch()) >= 2, 30, "both lines about a fetch")
    again = after_a_fetch()
    assert [x["what"] for x in again] == ["GET", "GET"] and again[0]["client"] != again[1]["client"]


def test_the_port_file_is_not_written_through_a_link(make_server, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    server = make_server()
    server.stop()
    beside = server.port_file.with_name(server.port_file.name + ".tmp")
    beside.symlink_to(victim)
    before = os.umask(0)
    try:
        server.start()
    finally:
        os.umask(before)
    assert victim.read_text() == "precious" and not beside.exists()
    assert stat.S_IMODE(server.port_file.stat().st_mode) == 0o644


def test_a_data_directory_that_everybody_may_change_is_told_of(make_server):
    server = make_server()
    assert "every user of this machine" not in server.log()
    server.stop()
    server.data.chmod(0o777)
    server.start()
    assert "every user of this machine may change the data directory" in server.log(this_run=True)
