# SPDX-License-Identifier: MIT
"""The command line as tests use it; the fixtures `cli` and `work` of conftest.py run it."""
import json
import os
import re
import signal
import subprocess
import tempfile

from conftest import BUILD, ENV, belfry

ID = r"[0-9A-HJKMNP-TV-Z]{26}"


def run(server, *args, stdin=subprocess.DEVNULL, **kw):
    if "input" not in kw:
        kw["stdin"] = stdin
    return belfry("--port", server.port, *args, **kw)


def ok(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def answer(result):
    return json.loads(ok(result))


def schedule(cli, *args, **kw):
    id = ok(cli("schedule", *args, **kw)).strip()
    assert re.fullmatch(ID, id)
    return id


def get(cli, id):
    return answer(cli("get", id, "--json"))


class Worker:
    """A `belfry work` in the background."""

    def __init__(self, server, *args, **env):
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [str(BUILD / "belfry"), "--port", str(server.port), "work", *map(str, args)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.err, text=True, env={**ENV, **env})

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def said(self):
        """On standard error, so far."""
        return os.pread(self.err.fileno(), 1 << 20, 0).decode("utf-8", "replace")

    def wait(self, timeout=60):
        out, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, self.said()
