# SPDX-License-Identifier: MIT
"""Under a service manager: what it is told, and the unit that comes with Belfry."""
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import BUILD, ENV, ROOT, wait_for

UNIT = ROOT / "contrib/systemd/belfryd.service"
analyze = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")


@pytest.mark.parametrize("abstract", [False, True])
def test_it_tells_when_it_is_ready_and_when_it_ends(make_server, tmp_path, monkeypatch, abstract):
    name = f"\0belfry-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(name)
        s.settimeout(60)
        monkeypatch.setitem(ENV, "NOTIFY_SOCKET", name.replace("\0", "@"))
        server = make_server(start=False)
        server.launch()
        assert s.recv(100) == b"READY=1"
        server.port = int(wait_for(lambda: server.port_file.exists() and server.port_file.read_text()))
        with server.wire() as w:
            assert w.call("PING") == "PONG", "it was true"
        server.process.send_signal(signal.SIGHUP)
        assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+", s.recv(100))
        assert s.recv(100) == b"READY=1"
        server.process.send_signal(signal.SIGTERM)
        assert s.recv(100) == b"STOPPING=1"
        assert server.process.wait(60) == 0


@pytest.mark.parametrize("name", ["/nowhere/notify", "@", "relative", "x" * 300, "/" + "x" * 107])
def test_a_manager_that_is_not_there_does_not_matter(make_server, monkeypatch, name):
    monkeypatch.setitem(ENV, "NOTIFY_SOCKET", name)
    make_server().stop()


@analyze
def test_the_unit_is_well_formed(tmp_path):
    unit = tmp_path / "belfryd.service"
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/belfryd", str(BUILD / "belfryd")))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "belfryd.service" not in done.stderr, done


@analyze
def test_the_unit_leaves_little_open():
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)],
                          capture_output=True, text=True, timeout=60)
    if "offline" in done.stderr:
        pytest.skip("this systemd cannot look at a unit that does not run")
    level = re.search(r"exposure level for belfryd.service: ([\d.]+)", done.stdout)
    assert level and float(level[1]) < 2.0, done.stdout[-2000:]


def test_the_units_options_are_accepted(make_server, tmp_path):
    """The command of the unit, but for its places. The file of options may be missing."""
    line = re.search(r"^ExecStart=(.*)$", UNIT.read_text(), re.M)[1].split()
    assert line[1:] == ["--config", "-/etc/belfry/belfry.ini", "--data", "/var/lib/belfry"]
    config = tmp_path / "belfry.ini"
    server = make_server(config=f"-{config}")
    config.write_text("log_level = debug\n")
    server.process.send_signal(signal.SIGHUP)
    server.says("configuration reloaded")
    config.write_text("log_level = loud\n")
    server.stop()
    code, said = server.refused()
    assert code == 2 and f"{config}:1" in said, said
