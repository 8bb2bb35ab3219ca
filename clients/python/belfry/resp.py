# SPDX-License-Identifier: MIT
"""RESP3, the protocol of Redis: requests to bytes, bytes to replies. Knows no socket."""

from __future__ import annotations

from typing import Any, Callable, List, Sequence, Union

from .errors import reply_error

Word = Union[str, bytes, bytearray, memoryview, int]

_RAW = frozenset(("payload", "result", "preview"))  # their values come as bytes
_LINE_MAX = 65536
_MORE = object()  # the bytes end within a value
_OPENED = object()  # a frame was pushed


class ProtocolError(Exception):
    """A reply that no server of Belfry sends. The connection is of no use after it."""


def encode(words: Sequence[Word]) -> bytes:
    """The bytes of a request."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        if isinstance(word, str):
            word = word.encode()
        elif isinstance(word, int) and not isinstance(word, bool):
            word = b"%d" % word
        elif not isinstance(word, (bytes, bytearray, memoryview)):
            raise TypeError(f"a word of a request is a str, an int or bytes, not {type(word).__name__}")
        parts.append(b"$%d\r\n%b\r\n" % (len(bytes(word)), word))
    return b"".join(parts)


class _Frame:
    """A map or an array whose members are still coming."""

    __slots__ = ("into", "left", "is_map", "name")

    def __init__(self, is_map: bool, left: int) -> None:
        self.into: Any = {} if is_map else []
        self.is_map = is_map
        self.left = left
        self.name: Any = None


class Parser:
    """Takes bytes as they come and tells of each whole reply. A long text is looked at again only when it is whole."""

    def __init__(self, on_reply: Callable[[Any], None]) -> None:
        self._on_reply = on_reply  # gets an error for a reply that is one
        self._buffer = bytearray()
        self._at = 0
        self._need = 0  # bytes that the buffer must have before it is worth a look
        self._frames: List[_Frame] = []

    def push(self, chunk: bytes) -> None:
        self._buffer += chunk
        if len(self._buffer) < self._need:
            return
        self._need = 0
        while True:
            value = self._one()
            if value is _MORE:
                break
            if value is not _OPENED:
                self._close(value)
        del self._buffer[: self._at]
        self._need = max(0, self._need - self._at)
        self._at = 0

    def _close(self, value: Any) -> None:
        """Puts a value where it belongs, and closes the frames that are full by it."""
        while self._frames:
            frame = self._frames[-1]
            if not frame.is_map:
                frame.into.append(value)
            elif frame.name is None:
                frame.name = value if isinstance(value, str) else str(value)
                return
            else:
                frame.into[frame.name] = value
                frame.name = None
            frame.left -= 1
            if frame.left > 0:
                return
            self._frames.pop()
            value = frame.into
        self._on_reply(value)

    def _number(self, text: bytes) -> int:
        try:
            return int(text)
        except ValueError:
            raise ProtocolError(f"not a number: {text!r}") from None

    def _open(self, is_map: bool, left: int) -> Any:
        if left < 0:
            return None
        if left == 0:
            return {} if is_map else []
        self._frames.append(_Frame(is_map, left))
        return _OPENED

    def _bulk(self, kind: int, length: int, start: int) -> Any:
        if length < 0:
            self._at = start
            return None
        end = start + length
        if end + 2 > len(self._buffer):
            self._need = end + 2
            return _MORE
        value = bytes(self._buffer[start:end])
        self._at = end + 2
        if kind == 0x21:  # !
            return reply_error(value.decode("utf-8", "replace"))
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.is_map and frame.name in _RAW:
            return value
        try:
            return (value[4:] if kind == 0x3D else value).decode()  # =
        except UnicodeDecodeError:
            return value

    def _one(self) -> Any:
        """One value, or the beginning of a map or an array."""
        end = self._buffer.find(b"\r\n", self._at)
        if end < 0:
            if len(self._buffer) - self._at > _LINE_MAX:
                raise ProtocolError("a line without an end")
            return _MORE
        kind = self._buffer[self._at]
        line = bytes(self._buffer[self._at + 1 : end])
        if kind in b"$!=":
            return self._bulk(kind, self._number(line), end + 2)
        self._at = end + 2
        if kind == 0x25:  # %
            return self._open(True, self._number(line))
        if kind in b"*~>":
            return self._open(False, self._number(line))
        if kind in b":(":
            return self._number(line)
        if kind == 0x5F:  # _
            return None
        if kind == 0x23:  # #
            return line == b"t"
        if kind == 0x2B:  # +
            return line.decode("utf-8", "replace")
        if kind == 0x2D:  # -
            return reply_error(line.decode("utf-8", "replace"))
        if kind == 0x2C:  # ,
            return float(line)
        raise ProtocolError(f"no reply begins with byte {kind}: is this a Belfry server?")
