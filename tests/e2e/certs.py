# SPDX-License-Identifier: MIT
"""Certificates for tests, made by the openssl program."""
import pathlib
import subprocess


def _openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, timeout=60)


class Authority:
    """Makes certificates; `ca` is the file that those who believe it need."""

    def __init__(self, directory, name="authority"):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.ca, self._key = self.dir / f"{name}.pem", self.dir / f"{name}.key"
        self._key_file(self._key)
        _openssl("req", "-x509", "-new", "-key", self._key, "-out", self.ca, "-days", 30, "-subj", f"/CN={name}",
                 "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")

    @staticmethod
    def _key_file(path):
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1", days=30):
        """The files of a certificate and its key."""
        cert, key, request, extra = (self.dir / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
        self._key_file(key)
        _openssl("req", "-new", "-key", key, "-out", request, "-subj", f"/CN={name}")
        extra.write_text(f"subjectAltName={names}\n" if names else "")
        _openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._key, "-CAcreateserial",
                 "-out", cert, "-days", days, "-extfile", extra)
        return cert, key
