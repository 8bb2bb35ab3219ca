# SPDX-License-Identifier: MIT
"""A reader of server-sent events (WHATWG's rules), that counts what a browser would."""
import http.client
import json
import time


class Event:
    def __init__(self, id, name, data):
        self.id, self.name, self.data = id, name, json.loads(data)

    def __repr__(self):
        return f"{self.id} {self.name} {self.data}"


class Stream:
    def __init__(self, port, query="", last_id=None, timeout=60, token=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        headers = {"Last-Event-ID": last_id} if last_id else {}
        if token:
            headers["Authorization"] = "Bearer " + token
        self.connection.request("GET", "/v1/events" + query, headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, (self.response.status, self.response.read())
        assert self.response.headers["Content-Type"] == "text/event-stream"
        self.last_id, self.comments = None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.response.close()
        self.connection.close()

    def block(self):
        """The next block of lines; None at the end."""
        lines = []
        while True:
            line = self.response.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if not line:
                return lines
            lines.append(line)

    def next(self):
        """The next event; None at the end of the stream."""
        while (lines := self.block()) is not None:
            fields = {}
            for line in lines:
                name, _, value = line.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if not name:
                    self.comments.append(value)
                elif name == "id":
                    self.last_id = value
                else:
                    assert name not in fields and name in ("event", "data", "retry"), lines
                    fields[name] = value
            if "data" in fields:
                return Event(self.last_id, fields["event"], fields["data"])
        return None

    def ready(self):
        """Waits for what stands first: everything that happens from now on is told."""
        lines = self.block()
        assert lines and lines[0] == "retry: 1000", lines
        for line in lines:
            if line.startswith("id: "):
                self.last_id = line[4:]
        return self

    def take(self, n, timeout=60):
        end, out = time.monotonic() + timeout, []
        while len(out) < n and time.monotonic() < end:
            event = self.next()
            assert event is not None, f"the stream ended after {out}"
            out.append(event)
        assert len(out) == n, out
        return out
