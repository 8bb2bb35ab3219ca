# SPDX-License-Identifier: MIT
"""Starts the real server and always ends it. A test that fails shows the server's log."""
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
import redis

from wire import Wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("BELFRY_BUILD", "build")).resolve()
LONG = os.environ.get("BELFRY_LONG", "0") not in ("", "0")
LIMIT_S = 120  # of a test, unless it is marked with limit(seconds)
PR_SET_PDEATHSIG = 1
ENV = {k: v for k, v in os.environ.items() if not k.startswith("BELFRY_")}  # those are options, too
_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def belfry(*args, timeout=60, **kw):
    """Runs the command line; answers the finished process with text output."""
    return subprocess.run([str(BUILD / "belfry"), *map(str, args)], capture_output=True, text=True,
                          errors="replace", timeout=timeout, env=ENV, **kw)


class Server:
    """A belfryd on its directory, which outlives the process: start() again after kill()."""

    def __init__(self, directory, **options):
        self.dir = pathlib.Path(directory)
        self.data = pathlib.Path(options.pop("data", self.dir / "data"))
        self.log_path = self.dir / "belfryd.log"
        self.port_file = self.dir / "port"
        self.options = options
        self.process = None
        self.running = False  # as far as the test knows
        self.port = None
        self._log_start = 0

    def command(self, **options):
        merged = {"data": self.data, "bind": "127.0.0.1", "port": 0, "port_file": self.port_file,
                  "min_every": "1ms",  # so that tests of recurrences are short
                  **self.options, **options}
        flags = [w for name, value in merged.items() if value is not None
                 for w in ("--" + name.replace("_", "-"), str(value))]
        return [str(BUILD / "belfryd"), *flags]

    def launch(self, **options):
        """Starts the process without waiting for anything."""
        assert self.process is None or self.process.poll() is not None, "it runs already"
        self.dir.mkdir(parents=True, exist_ok=True)
        self.port_file.unlink(missing_ok=True)
        self._log_start = self.log_path.stat().st_size if self.log_path.exists() else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(**options), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=ENV, preexec_fn=_die_with_parent)
        return self

    def start(self, timeout=60, **options):
        self.launch(**options)
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            code = self.process.poll()
            assert code is None, f"belfryd ended with {code}:\n{self.log()}"
            try:
                self.port = int(self.port_file.read_text())
                with Wire(self.port) as w:
                    assert w.call("PING") == "PONG"
                self.running = True
                return self
            except (FileNotFoundError, ValueError, ConnectionRefusedError):
                time.sleep(0.005)
        raise AssertionError(f"belfryd does not listen after {timeout} s:\n{self.log()}")

    def refused(self, timeout=60, **options):
        """For a start that must fail: answers the exit code and what it said."""
        self.launch(**options)
        try:
            return self.process.wait(timeout), self.log(this_run=True)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"belfryd started though it should not:\n{self.log()}") from None

    def kill(self):
        self.running = False
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait(60)

    def stop(self, timeout=60):
        self.running = False
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"belfryd runs {timeout} s after SIGTERM:\n{self.log()}") from None
        assert code == 0, f"belfryd ended with {code} after SIGTERM:\n{self.log()}"

    def restart(self, **options):
        self.stop()
        return self.start(**options)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def log(self, this_run=False):
        """Its lines so far. The last one may be half written while the server runs: then it is left out."""
        if not self.log_path.exists():
            return ""
        text = self.log_path.read_bytes()[self._log_start if this_run else 0:].decode("utf-8", "replace")
        return text if text.endswith("\n") or (self.process and self.process.poll() is not None) else text[:text.rfind("\n") + 1]

    def says(self, text, timeout=30):
        """Waits for words in the log: a thread writes it, so they come a moment after what they tell of."""
        wait_for(lambda: text in self.log(), timeout, f"the log says {text!r}")

    def wire(self, proto=3, **kw):
        return Wire(self.port, proto, **kw)

    def client(self, **kw):
        return redis.Redis(port=self.port, decode_responses=True, socket_timeout=30, **kw)

    def waits(self):
        """What each thread waits for, a line each; empty if it does not run."""
        lines = []
        for task in sorted(pathlib.Path(f"/proc/{self.process.pid}/task").glob("*")) if self.process else ():
            try:
                lines.append(" ".join((task / name).read_text().strip() for name in ("comm", "wchan", "syscall")))
            except OSError:
                pass
        return "\n".join(lines)

    def memory(self):
        """VmRSS, RssAnon, … in bytes."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        pairs = (line.split(":", 1) for line in lines if line.endswith(" kB"))
        return {name: int(value.split()[0]) * 1024 for name, value in pairs}

    def segments(self):
        """The journal's files, oldest first."""
        return sorted((self.data / "logs/p0000/journal").glob("*.log"))

    def has_written(self, data):
        """It is in the journal, though perhaps not synced yet."""
        return any(data in path.read_bytes() for path in self.segments())

    def disk_bytes(self):
        total = 0
        for path in self.data.rglob("*"):
            try:
                total += path.stat().st_blocks * 512
            except FileNotFoundError:
                pass
        return total


def wait_for(condition, timeout=30.0, what="", step=0.01):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(step)
    raise AssertionError(f"after {timeout} s still not: {what or condition}")


def elapsed(call):
    """How many seconds it takes."""
    start = time.monotonic()
    call()
    return time.monotonic() - start


def best(limit, measure, tries=3):
    """For a promise about time: the first figure below the limit. A machine that stalled is asked again; what is slow
    by itself is so each time."""
    seen = []
    while len(seen) < tries:
        seen.append(measure())
        if seen[-1] < limit:
            return seen[-1]
    raise AssertionError(f"never below {limit}: {seen}")


def used_end(path):
    """Behind the last byte that is not zero: the end of what was written into a new file."""
    return len(path.read_bytes().rstrip(b"\0"))


def flip(path, offset):
    """Changes a byte of a file; a second time, and the file is as it was."""
    with open(path, "r+b") as f:
        f.seek(offset)
        byte = f.read(1)[0]
        f.seek(offset)
        f.write(bytes([byte ^ 0x41]))


def _factory(request, base):
    servers = []

    def make(name=None, start=True, **options):
        server = Server(base / (name or f"s{len(servers)}"), **options)
        servers.append(server)
        _shown.setdefault(request.node.nodeid, []).append(server)
        return server.start() if start else server

    def finish():
        crashed = []
        for server in servers:
            if server.running and server.process.poll() is not None:
                crashed.append(f"belfryd ended by itself with {server.process.poll()}:\n{server.log()}")
            server.kill()
        if crashed:
            _failed.add(request.node.nodeid)
        assert not crashed, "\n".join(crashed)

    return make, finish


_shown = {}  # node id -> servers whose log a failure shows
_failed = set()  # node ids


def _sweep(request, path):
    """Only what a failure left is kept: all data of all tests fill a disk."""
    if not any(name.startswith(request.node.nodeid) for name in _failed):
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tmp_path(request, tmp_path):
    yield tmp_path
    _sweep(request, tmp_path)


@pytest.fixture
def make_server(request, tmp_path):
    make, finish = _factory(request, tmp_path)
    yield make
    finish()


@pytest.fixture
def server(make_server):
    return make_server()


@pytest.fixture(scope="module")
def shared_server(request, tmp_path_factory):
    """One server for a module whose tests keep to queues of their own."""
    base = tmp_path_factory.mktemp("shared")
    make, finish = _factory(request, base)
    yield make()
    finish()
    _sweep(request, base)


@pytest.fixture
def b(request):
    """A connection to the module's server; where the module says SERVER = "server", to the test's own."""
    server = request.getfixturevalue(getattr(request.module, "SERVER", "shared_server"))
    with server.wire(3) as w:
        yield w


@pytest.fixture
def web(shared_server):
    """The same over HTTP."""
    from web import Web
    with Web(shared_server.port) as w:
        yield w


@pytest.fixture
def q(request):
    """A queue that no other test uses."""
    return re.sub(r"[^A-Za-z0-9._:/-]", "-", request.node.name)[:110]


@pytest.fixture
def cli(shared_server):
    """Runs the command line against the module's server."""
    from shell import run
    return lambda *args, **kw: run(shared_server, *args, **kw)


@pytest.fixture
def work(shared_server):
    """Starts a `belfry work`, which ends with the test."""
    from shell import Worker
    workers = []

    def start(*args, server=shared_server, **env):
        workers.append(Worker(server, *args, **env))
        return workers[-1]

    yield start
    for w in workers:
        if w.process.poll() is None:
            w.process.kill()
        w.process.wait()


def pytest_configure(config):
    config.addinivalue_line("markers", f"limit(seconds): how long the test may take; {LIMIT_S} if not given")
    config.addinivalue_line("markers", "quiet: measures a short time, so no other test runs beside it")


# The files that take longest begin first, so that no worker has one of them left when the others are done.
LONGEST = ("test_cold.py", "test_torture.py", "test_missing.py", "test_golden.py", "test_kill.py", "test_retain.py",
           "test_recur.py", "test_disk.py", "test_push.py", "test_tls.py", "test_damage.py", "test_openapi_tools.py")


def pytest_collection_modifyitems(items):
    rank = {name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """No test hangs: the alarm interrupts whatever it waits for."""
    mark = item.get_closest_marker("limit")
    seconds = mark.args[0] if mark else LIMIT_S

    def ring(*_):
        raise TimeoutError(f"the test took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(int(seconds))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed:
        _failed.add(item.nodeid)
        for key, servers in _shown.items():
            if item.nodeid.startswith(key):
                for server in servers:
                    report.sections.append((f"log of belfryd in {server.dir}", server.log()[-6000:]))
                    report.sections.append(("what its threads wait for", server.waits()))
