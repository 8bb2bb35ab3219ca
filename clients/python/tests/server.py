# SPDX-License-Identifier: MIT
"""A real belfryd for tests: on a free port, in a folder of its own, ended with the process."""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("BELFRYD") or str(ROOT / os.environ.get("BELFRY_BUILD", "build") / "belfryd")
OURS = {name: value for name, value in os.environ.items() if not name.startswith("BELFRY")}
_libc = ctypes.CDLL(None)


def _die_with_parent():
    _libc.prctl(1, signal.SIGKILL)


class Server:
    def __init__(self, *flags):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="belfry-python-"))
        self._flags = flags
        self._process = None
        self.port = 0

    def start(self):
        port_file = self._folder / "port"
        port_file.unlink(missing_ok=True)
        flags = ["--data", self._folder / "data", "--bind", "127.0.0.1", "--port", self.port,
                 "--port-file", port_file, "--min-every", "1ms", *self._flags]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen([PROGRAM, *map(str, flags)], stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, env=OURS, preexec_fn=_die_with_parent)
        for _ in range(6000):
            if self._process.poll() is not None:
                raise AssertionError(f"{PROGRAM} ended with {self._process.returncode}:\n{self.log()}")
            text = port_file.read_text() if port_file.exists() else ""
            if text.strip():
                self.port = int(text)
                return self
            time.sleep(0.005)
        raise AssertionError(f"{PROGRAM} does not start:\n{self.log()}")

    @property
    def url(self):
        return f"belfry://127.0.0.1:{self.port}"

    def log(self):
        return (self._folder / "log").read_text(errors="replace")[-4000:]

    def kill(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def stop(self):
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def until(condition, what="it holds", seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"after {seconds} s still not: {what}")
