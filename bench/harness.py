# SPDX-License-Identifier: MIT
"""What the benchmarks share: servers of each kind, the generator, the machine."""
import contextlib
import ctypes
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENV = {k: v for k, v in os.environ.items() if not k.startswith("BELFRY_")}  # those are options, too
PAYLOAD = "x" * 100
MIB = 1 << 20
LIBC = ctypes.CDLL(None)


class Peer:
    def __init__(self, title, driver, *flags, slow=False):
        self.title, self.driver, self.flags, self.slow = title, driver, flags, slow

    def command(self, build, port, directory):
        raise NotImplementedError


class Redis(Peer):
    def __init__(self, title, *flags, driver="redis"):
        super().__init__(title, driver, *flags)

    def command(self, build, port, directory):
        return ["redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", directory, "--save", "",
                *self.flags]


class Beanstalkd(Peer):
    def __init__(self, title, binlog):
        super().__init__(title, "beanstalkd", slow=binlog)

    def command(self, build, port, directory):
        binlog = ["-b", directory, "-f", "0"] if self.slow else []
        return ["beanstalkd", "-l", "127.0.0.1", "-p", port, *binlog]


class Belfry(Peer):
    def __init__(self, title, *flags, driver="belfry"):
        super().__init__(title, driver, *flags)

    def command(self, build, port, directory):
        return [str(build / "belfryd"), "--bind", "127.0.0.1", "--port", port, "--data",
                directory + "/data", "--log-level", "warn", *self.flags]


PEERS = {
    "belfry": Belfry("Belfry, sync", "--durability", "sync"),
    "belfry-slow": Belfry("Belfry, sync, each sync 1 ms longer", "--durability", "sync", "--sync-delay", "1ms"),
    "redis": Redis("Redis sorted set, nothing on disk", "--appendonly", "no"),
    "redis-aof": Redis("Redis sorted set, AOF always", "--appendonly", "yes", "--appendfsync", "always"),
    "beanstalkd": Beanstalkd("beanstalkd, nothing on disk", False),
    "beanstalkd-sync": Beanstalkd("beanstalkd, fsync always", True),
    # Jobs of ten tenants with a key, an ordering key, a priority, a tag and metadata.
    "belfry-full": Belfry("Belfry, sync, jobs that use everything", "--durability", "sync", driver="belfry-full"),
    "redis-full": Redis("Redis, the same by scripts, nothing on disk", "--appendonly", "no", "--hash-max-listpack-value",
                        "1024", driver="redis-full"),  # so that a job's hash is in one piece of memory
}

COLOURS = {"belfry": "#b5651d", "belfry-full": "#8a4a10", "belfry-slow": "#d9a066", "redis": "#a33", "redis-aof": "#d77",
           "beanstalkd": "#376", "beanstalkd-sync": "#7b9", "redis-full": "#711"}


def say(text):
    print(text, file=sys.stderr, flush=True)


def figure(value):
    return f"{value:,.0f}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def end_with_us():
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server:
    """A server of a peer's kind. Its directory outlives its process: start() again after kill()."""

    def __init__(self, peer, build, directory):
        self.peer, self.build, self.directory = peer, build, directory
        self.port = free_port()
        self.command = peer.command(build, self.port, directory)
        self.process = None

    def launch(self):
        """Starts the process without waiting for anything."""
        with open(self.directory + "/log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=ENV,
                                            preexec_fn=end_with_us)

    def start(self, timeout=20):
        self.launch()
        end = time.monotonic() + timeout
        while True:
            if time.monotonic() > end:
                raise RuntimeError(f"{shlex.join(self.command)} does not serve:\n{self.log()}")
            self.check()
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", int(self.port)), timeout=1).close()
                return self
            time.sleep(0.01)

    def check(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{shlex.join(self.command)} ended with {self.process.poll()}:\n{self.log()}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def log(self):
        with open(self.directory + "/log", errors="replace") as log:
            return log.read()[-6000:]

    def memory(self):
        """VmRSS, RssAnon, … in bytes; empty while there is no process."""
        with contextlib.suppress(OSError), open(f"/proc/{self.process.pid}/status") as status:
            pairs = (line.split(":", 1) for line in status if line.endswith(" kB\n"))
            return {name: int(value.split()[0]) * 1024 for name, value in pairs}
        return {}

    def files(self):
        for path in pathlib.Path(self.directory).rglob("*"):
            if path.is_file() and path.name != "log":
                yield path

    def disk_bytes(self):
        total = 0
        for path in self.files():
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_blocks * 512
        return total


@contextlib.contextmanager
def running(peer, build, scratch):
    """A fresh server of that kind."""
    directory = tempfile.mkdtemp(dir=scratch)
    server = Server(peer, build, directory)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def generator(build, peer, port, *args):
    return [str(build / "loadgen"), "--driver", peer.driver, "--host", "127.0.0.1", "--port", port,
            *map(str, args), "--payload-bytes", str(len(PAYLOAD)), "--keep", "--json"]


class Load:
    """The generator in the background. Its rows are taken as they come: those of parts by `part`,
    which runs on a thread of its own."""

    def __init__(self, server, *args, part=None, token=""):
        self.command = generator(server.build, server.peer, server.port, *args)
        self.rows, self.part, self.stopped = [], part, False
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, preexec_fn=end_with_us,
                                        env={**ENV, "BELFRY_AUTH": token} if token else ENV)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            row = line.strip().lstrip("[,").rstrip("]")
            if row:
                row = json.loads(row)
                if "so_far" not in row:
                    self.rows.append(row)
                elif self.part:
                    self.part(row)

    def stop(self):
        """Lets it end in order."""
        self.stopped = True
        self.process.send_signal(signal.SIGINT)
        return self

    def result(self, timeout=1800):
        """Waits for its end; answers the one row that is no part."""
        try:
            self.process.wait(timeout)
            self.reader.join()
        finally:
            self.end()
        if not self.rows:
            raise RuntimeError(f"{shlex.join(self.command)} ended with {self.process.returncode}:\n"
                               f"{self.process.stderr.read()}")
        return self.rows[0]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Watch:
    """Samples a server's memory and disk until it is left."""

    def __init__(self, server, step=0.05):
        self.server, self.step, self.now = server, step, {}
        self.peak = {"RssAnon": 0, "VmRSS": 0}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._stop.wait(self.step):
            if now := self.server.memory():
                self.now = now
                for name in self.peak:
                    self.peak[name] = max(self.peak[name], now.get(name, 0))

    def __enter__(self):
        self.now = self.server.memory()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def shown(command, build):
    """As somebody else would type it."""
    words = [PAYLOAD if w == PAYLOAD else w.replace(PAYLOAD[12:], "$TAIL") for w in command]
    text = shlex.join(words).replace(str(build), "build").replace(PAYLOAD, "$PAYLOAD").replace("'__", "__")
    text = re.sub(r"/\S*belfry-bench-\w+/\w+", "$DIR", text)
    return re.sub(r"(--port|-p) \d+", r"\1 $PORT", text)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    memory = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemTotal"))) >> 20
    return f"{os.cpu_count()} × {model}, {memory} GiB, Linux {platform.release()}"


def versions(build):
    for command in (["redis-server", "--version"], ["beanstalkd", "-v"], [str(build / "belfryd"), "--version"]):
        yield subprocess.run(command, capture_output=True, text=True, env=ENV).stdout.strip().splitlines()[0]


def need(build, *programs):
    """Ends with a message if something is not there."""
    missing = [p for p in programs if not shutil.which(p)]
    missing += [str(build / p) for p in ("belfryd", "loadgen") if not (build / p).exists()]
    if missing:
        raise SystemExit(f"bench: not found: {', '.join(missing)}; scripts/setup bench, make and scripts/build release loadgen first")


def svg(width, height, shapes):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
            f'font-size="12"><rect width="100%" height="100%" fill="white"/>' + "\n".join(shapes) + "</svg>\n")
