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


def programs(page):
    """The programs of a page, with the name of the file that stands before each."""
    return re.findall(r"`(\w+\.py)`[^`]*?:\n\n```python\n(.*?)```", (ROOT / page).read_text(), re.S)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/coming-from.md", "clients/python/README.md"])
def test_the_programs_of_the_page(page, tmp_path, server):
    """A worker runs the tasks of each app, as its page says, while the programs run beside it."""
    found = {name: text for name, text in programs(page) if "from celery" not in text}
    apps = [name for name, text in found.items() if "belfry.App(" in text]
    runs = [name for name, text in found.items() if ".schedule(" in text]
    assert apps and runs
    env = {**ENV, **SEEN, "BELFRY_URL": f"belfry://127.0.0.1:{server.port}"}
    for name, text in found.items():
        (tmp_path / name).write_text(text.replace("2355", str(server.port)))
    workers = []
    try:
        for name in apps:
            command = [sys.executable, "-m", "belfry", "work", f"{pathlib.Path(name).stem}:app", "-j", "8"]
            assert f"python -m belfry work {pathlib.Path(name).stem}:app -j 8" in (ROOT / page).read_text()
            workers.append(subprocess.Popen(command, cwd=tmp_path, env=env, text=True, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        for name in runs:
            done = subprocess.run([sys.executable, "-W", "error", name], cwd=tmp_path, env=env, capture_output=True,
                                  text=True, timeout=60)
            assert done.returncode == 0, f"{name} of {page}:\n{done.stdout}{done.stderr}"
            assert done.stdout.strip() or "unittest" in found[name], f"{name} of {page} says nothing"
        with server.wire(3) as w:
            counts = lambda: [sum(q[name] for q in w.call("QUEUES")) for name in ("scheduled", "ready", "leased", "dead")]
            wait_for(lambda: counts() == [0, 0, 0, 0], 30, "the jobs have ended")
    finally:
        for process in workers:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=30)[0]
            assert process.returncode == 0 and "Traceback" not in said, f"the worker of {page}:\n{said}"


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/coming-from.md"])
def test_each_python_text_of_the_page_parses(page):
    found = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert found
    for text in found:
        compile(text, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_django_recipe(tmp_path, server):
    """With a Django of a few lines, which counts."""
    text = (ROOT / "docs/python.md").read_text()
    files = dict(re.findall(r"This is `(shop/\w+\.py)`[^`]*(?:`[^`]*`)?[^`]*?:\n\n```python\n(.*?)```", text, re.S))
    assert set(files) == {"shop/jobs.py", "shop/worker.py"}
    said = tmp_path / "said"
    say = f"open({str(said)!r}, 'a').write"
    for name, content in {
        **files,
        "shop/models.py": f"class Order:\n    def confirm(self):\n        {say}('confirm ')\n"
                          "class Objects:\n    def get(self, pk):\n        return Order()\nOrder.objects = Objects()\n",
        "django/__init__.py": f"def setup():\n    {say}('setup ')\n",
        "django/db.py": f"def close_old_connections():\n    {say}('close ')\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    env = {**ENV, **SEEN, "BELFRY_URL": f"belfry://127.0.0.1:{server.port}"}
    worker = subprocess.Popen([sys.executable, "-m", "belfry", "work", "shop.worker:app", "-j", "8"], cwd=tmp_path, env=env)
    try:
        with server.wire(3) as w:
            w.call("SCHEDULE", "order.confirm", '{"order_id": 7}')
            wait_for(lambda: sum(q["done"] for q in w.call("QUEUES")) == 1, 30, "the order is confirmed")
    finally:
        worker.terminate()
        assert worker.wait(30) == 0
    assert said.read_text() == "setup close confirm close "
