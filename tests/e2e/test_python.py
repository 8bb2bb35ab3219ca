# SPDX-License-Identifier: MIT
"""The Python client: its own tests against the real server, its package, and the programs of its pages."""
import ast
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import time

import pytest

from conftest import BUILD, ENV, ROOT, wait_for

HOME = ROOT / "clients/python"
TESTS = sorted(path.name for path in (HOME / "tests").glob("test_*.py"))
LONG_S = 600
SEEN = {"PYTHONPATH": str(HOME), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.limit(LONG_S)
@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_the_client(name):
    env = {**os.environ, **SEEN, "BELFRYD": str(BUILD / "belfryd")}
    done = subprocess.run([sys.executable, "-W", "error", "-m", "unittest", name], cwd=HOME / "tests", env=env,
                          capture_output=True, text=True, timeout=LONG_S)
    print(done.stdout[-4000:])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    assert re.search(r"^Ran [1-9]\d* tests?", done.stderr, re.M) and "Exception" not in done.stderr, done.stderr[-8000:]


def test_each_file_is_python_3_9_and_annotated():
    paths = sorted((HOME / "belfry").glob("*.py"))
    assert len(paths) > 20
    for path in paths:
        tree = ast.parse(path.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                args = [*node.args.args, *node.args.kwonlyargs, *filter(None, [node.args.vararg, node.args.kwarg])]
                bare = [arg.arg for arg in args if arg.annotation is None and arg.arg not in ("self", "cls")]
                assert not bare and node.returns is not None, f"{path.name}:{node.lineno} {node.name} {bare}"


def test_both_clients_have_the_same_calls():
    methods = {}
    for name in ("client", "aio"):
        tree = ast.parse((HOME / "belfry" / f"{name}.py").read_text())
        found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Client")
        methods[name] = {node.name: ast.unparse(node.args) for node in found.body
                         if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_")}
    methods["client"].pop("config")
    methods["aio"].pop("connect")
    assert methods["client"] == methods["aio"] and len(methods["aio"]) > 25


def test_the_package(tmp_path):
    """As setuptools packs it, in a folder of a user."""
    program = f"import os; os.chdir({str(tmp_path / 'copy')!r}); from setuptools import build_meta as b; print(b.build_sdist('..'))"
    subprocess.run(["cp", "-r", str(HOME), str(tmp_path / "copy")], check=True)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    packed = tmp_path / done.stdout.split()[-1]
    with tarfile.open(packed) as tar:
        names = {name.split("/", 1)[1] for name in tar.getnames() if "/" in name}
    sources = {f"belfry/{path.name}" for path in (HOME / "belfry").glob("*.py")}
    assert sources | {"belfry/py.typed", "LICENSE", "README.md", "pyproject.toml"} <= names
    assert packed.stat().st_size < 60_000
    about = (HOME / "pyproject.toml").read_text()
    version = re.search(r"project\(\w+ VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert f'version = "{version}"' in about and 'license = { text = "MIT" }' in about and "dependencies = []" in about
    assert f'__version__ = "{version}"' in (HOME / "belfry/__init__.py").read_text()
