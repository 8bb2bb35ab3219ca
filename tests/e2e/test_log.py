# SPDX-License-Identifier: MIT
"""The server's log, the files that it writes beside its data, and the rights of its directory."""
import os
import signal
import stat
import subprocess
import time

import conftest
from conftest import wait_for


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
    assert 'client="x user=root address=10.0.0.9:1"' in server.log()


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
