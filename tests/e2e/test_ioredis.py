# SPDX-License-Identifier: MIT
"""Drives ioredis.js with the real ioredis, which npm puts beside the build."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT

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


def test_the_program_of_the_readme(server, modules, tmp_path):
    program = re.search(r"```js\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    (tmp_path / "first.js").write_text(program.replace("2355", str(server.port)))
    done = subprocess.run(["node", str(tmp_path / "first.js")], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "NODE_PATH": str(modules)})
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\w{26} \{ to: 'ann' \}\n", done.stdout)
    with server.wire(3) as w:
        assert w.call("QUEUE", "hello")["done"] == 1
