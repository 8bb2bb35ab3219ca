# SPDX-License-Identifier: MIT
"""Worker processes: begun, begun again if they break, and stopped together.

Each is a whole worker with connections of its own. A process learns from the end of its standard input that this one is
gone."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Sequence

_RETRY_MIN_S = 0.5
_RETRY_MAX_S = 30.0
_WELL_S = 60.0  # a process that lived so long begins again at once
_LOOK_S = 0.1
WRONG_USE = 2  # a code of a process that would end so again

log = logging.getLogger("belfry")


class Processes:
    def __init__(self, command: Sequence[str], count: int) -> None:
        self._command = list(command)
        self._running: Dict[subprocess.Popen[bytes], float] = {}  # since when
        self._count = count
        self._stops: List[int] = []  # signals that came
        self._pause = _RETRY_MIN_S

    def run(self) -> int:
        """Until SIGTERM or SIGINT, which go on to the processes. Answers the code to exit with."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: self._stops.append(number))
        told = 0
        code = 0
        begin_at = 0.0
        while True:
            while told < len(self._stops):
                told += 1
                for process in self._running:
                    process.send_signal(signal.SIGTERM)
            now = time.monotonic()
            while not self._stops and len(self._running) < self._count and now >= begin_at:
                self._begin()
            for process in [one for one in self._running if one.poll() is not None]:
                lived = now - self._running.pop(process)
                if process.returncode == WRONG_USE and not self._stops:
                    code = WRONG_USE
                    self._stops.append(signal.SIGTERM)
                elif not self._stops:
                    log.error("worker process %d ended with %d; another one begins", process.pid, process.returncode)
                    self._pause = _RETRY_MIN_S if lived >= _WELL_S else min(_RETRY_MAX_S, self._pause * 2)
                    begin_at = now + self._pause
            if self._stops and not self._running and told == len(self._stops):
                return code
            time.sleep(_LOOK_S)

    def _begin(self) -> None:
        # A session of its own, so that ^C comes here only.
        process = subprocess.Popen(self._command, stdin=subprocess.PIPE, start_new_session=True)
        self._running[process] = time.monotonic()


def when_parent_ends(stop: Any) -> None:
    """Calls stop() when the standard input ends."""

    def watch() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        stop()

    threading.Thread(target=watch, name="belfry-parent", daemon=True).start()
