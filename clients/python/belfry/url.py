# SPDX-License-Identifier: MIT
"""Where the server is, and how to speak to it: a URL, options, or the environment."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from typing import Any, Dict, Optional, Union
from urllib.parse import parse_qs, unquote, urlsplit

from .times import Duration, seconds

FORM = "belfry://[token@]host[:port][?tls]"
_ON = ("", "on", "yes", "true", "1")


@dataclass(frozen=True)
class Config:
    """All that a connection must know."""

    host: str = "127.0.0.1"
    port: int = 2355
    token: Optional[str] = None
    tls: Union[bool, ssl.SSLContext] = False
    tenant: Optional[str] = None
    timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    name: str = ""

    @property
    def where(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _parse(text: str) -> Dict[str, Any]:
    try:
        url = urlsplit(text)
        port = url.port
        words = parse_qs(url.query, keep_blank_values=True)
    except ValueError as error:
        raise ValueError(f"url: expected {FORM}, not {text!r}: {error}") from None
    if url.scheme != "belfry" or not url.netloc:
        raise ValueError(f"url: expected {FORM}, not {text!r}")
    for name in words:
        if name not in ("tls", "tenant"):
            raise ValueError(f"url: unknown parameter {name}; there are tls and tenant")
    found: Dict[str, Any] = {"host": unquote(url.hostname or "") or None, "port": port}
    # A token is name.secret. Redis libraries write it as user and password: both forms are understood.
    user, password = unquote(url.username or ""), unquote(url.password or "")
    found["token"] = (password if not password or "." in password else f"{user}.{password}") or user or None
    if "tls" in words:
        found["tls"] = words["tls"][-1] in _ON
    if "tenant" in words:
        found["tenant"] = words["tenant"][-1]
    return {name: value for name, value in found.items() if value is not None}


def _token_of_environment() -> Optional[str]:
    if os.environ.get("BELFRY_AUTH"):
        return os.environ["BELFRY_AUTH"]
    path = os.environ.get("BELFRY_AUTH_FILE")
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def config_of(
    url: Optional[str] = None,
    *,
    host: Optional[str] = None,
    port: Optional[int] = None,
    token: Optional[str] = None,
    tls: Union[bool, ssl.SSLContext, None] = None,
    tenant: Optional[str] = None,
    timeout: Duration = 30,
    connect_timeout: Duration = 10,
    name: Optional[str] = None,
) -> Config:
    """The whole configuration. Options stand over the URL, and the URL over the environment."""
    if url is None and host is None and port is None:
        url = os.environ.get("BELFRY_URL") or None
    fields = _parse(url) if url else {}
    own = {"host": host, "port": port, "token": token, "tls": tls, "tenant": tenant, "name": name}
    fields.update((field, value) for field, value in own.items() if value is not None)
    fields.setdefault("token", _token_of_environment())
    config = Config(
        timeout_s=seconds(timeout, "timeout"), connect_timeout_s=seconds(connect_timeout, "connect_timeout"), **fields
    )
    if not isinstance(config.port, int) or not 1 <= config.port <= 65535:
        raise ValueError(f"port: expected a whole number from 1 to 65535, not {config.port!r}")
    return config
