# SPDX-License-Identifier: MIT
"""HTTP clients of a few lines: one that keeps its connection, and raw bytes."""
import http.client
import json
import socket


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.json = json.loads(body) if body and "json" in headers.get("Content-Type", "") else None

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Problem(Exception):
    def __init__(self, answer):
        super().__init__(f"{answer.status} {answer.json}")
        self.status, self.code, self.detail = answer.status, answer.json["code"], answer.json["detail"]


class Web:
    """Keeps one connection."""

    def __init__(self, port, timeout=60, token=None):
        self.token = token
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def ask(self, method, path, body=None, headers=None):
        """Any answer. A body that is not bytes is sent as JSON."""
        headers = dict(headers or {})
        if self.token:
            headers.setdefault("Authorization", "Bearer " + self.token)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        self.connection.request(method, path, body, headers)
        r = self.connection.getresponse()
        return Answer(r.status, r.headers, r.read())

    def call(self, method, path, body=None, headers=None):
        """The JSON of an answer that went well."""
        answer = self.ask(method, path, body, headers)
        if answer.status >= 400:
            raise Problem(answer)
        return answer.json

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=None, headers=None):
        return self.call("POST", path, body, headers)


def raw(port, data, timeout=30.0):
    """Sends bytes and answers everything that comes until the server closes or is silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        s.sendall(data)
        return read_all(s, timeout)


def read_all(s, timeout=30.0):
    out = b""
    s.settimeout(timeout)
    try:
        while piece := s.recv(65536):
            out += piece
    except (TimeoutError, ConnectionResetError):
        pass
    return out


def request(method, path, body=b"", *headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
