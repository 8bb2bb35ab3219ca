# SPDX-License-Identifier: MIT
"""Payloads and results: values to bytes and back."""

from __future__ import annotations

import json
from typing import Any, Optional


def to_bytes(value: Any, name: str = "data") -> bytes:
    """Bytes are taken as they are, None is an empty payload, and anything else becomes JSON."""
    if value is None:
        return b""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name}: {error}") from None


def from_bytes(data: Optional[bytes]) -> Any:
    """The value of a JSON text; None for no bytes; and bytes that are not JSON as they are."""
    if not data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data
