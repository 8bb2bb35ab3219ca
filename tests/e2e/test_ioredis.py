# SPDX-License-Identifier: MIT
"""Drives ioredis.js with the real ioredis, which npm puts beside the build."""
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import BUILD

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def modules():
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.fail("node and npm are needed: scripts/setup test")
    home = BUILD / "node"
    if not (home / "node_modules/ioredis/package.json").exists():
        home.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix",
                               str(home), "ioredis@5"], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, f"npm install ioredis failed:\n{done.stderr[-2000:]}"
    return home / "node_modules"


def test_ioredis(server, modules):
    done = subprocess.run(["node", str(HERE / "ioredis.js"), str(server.port)], capture_output=True,
                          text=True, timeout=100, env={**os.environ, "NODE_PATH": str(modules)})
    assert done.returncode == 0, done.stdout + done.stderr
