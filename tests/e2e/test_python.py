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

from certs import Authority
from conftest import BUILD, ENV, ROOT, wait_for

HOME = ROOT / "clients/python"
TESTS = sorted(path.name for path in (HOME / "tests").glob("test_*.py"))
LONG_S = 600

RIGHT = """
import datetime as dt
from typing import List
import belfry
from belfry import aio

app = belfry.App("belfry://localhost", tenant="acme", timeout="5s")

@app.task(queue="mail", attempts=3, timeout=dt.timedelta(seconds=5))
def mail(to: str) -> int:
    belfry.current().progress(40, "half")
    return len(to)

@app.task
def plain() -> str:
    return "a"

sent: int = mail("ann")
said: str = plain()
handle = mail.schedule("ann", in_="5m", key="k")
made: belfry.Scheduled = app.client.schedule("mail", {"to": "ann"}, at=dt.datetime.now(), tags=["a"], after=handle)
created: bool = made.created
states: List[str] = [job.state for job in app.client.list(queue="mail", state=["dead"])]
job = app.client.get(made)
due = job.due.isoformat() if job else ""

async def main() -> None:
    async with aio.Client() as b:
        one: belfry.Scheduled = await b.schedule("mail", b"raw", in_=5)
        print([job.id async for job in b.list()], one.id)
"""

WRONG = {
    "an option of another library": 'b.schedule("mail", 1, countdown=5)',
    "a priority that is a text": 'b.schedule("mail", 1, priority="high")',
    "an id that is a number": 'number: int = b.schedule("mail", 1).id',
    "a job that may be missing": 'print(b.get("x").state)',
    "an option of a task with a typo": '@app.task(queue="q", attemps=3)\ndef f() -> None: ...',
    "a value of another type": '@app.task(queue="q")\ndef f() -> int: return 1\ntext: str = f()',
    "a call that is not awaited": 'made: belfry.Scheduled = belfry.aio.Client().schedule("q")',
}
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


def test_tls(make_server, tmp_path):
    """With a context of the caller, and without trust, which is an error that says why."""
    authority = Authority(tmp_path / "pki")
    cert, key = authority.issue("server")
    server = make_server(tls="on", tls_cert=cert, tls_key=key)
    program = f"""
import ssl, belfry
context = ssl.create_default_context(cafile={str(authority.ca)!r})
b = belfry.Client(host="localhost", port={server.port}, tls=context)
assert b.get(b.schedule("q", b"\\xff" * 100000)).payload == b"\\xff" * 100000
try:
    belfry.Client("belfry://localhost:{server.port}?tls", connect_timeout=1).ping()
except belfry.UnreachableError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], env={**ENV, **SEEN}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "CERTIFICATE_VERIFY_FAILED" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def checker():
    """Where the type checker is. npm puts it beside the build."""
    place = BUILD / "python-client"
    program = place / "node_modules/.bin/pyright"
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(place), "pyright@1.1"],
                              capture_output=True, text=True, timeout=200, cwd=place)
        assert done.returncode == 0, done.stderr[-2000:]
    return program


def checked(checker, *paths):
    """What the checker says, and in which files it found errors."""
    done = subprocess.run([str(checker), "--pythonversion", "3.9", "--pythonpath", sys.executable, *map(str, paths)],
                          capture_output=True, text=True, timeout=200, env={**os.environ, **SEEN})
    assert "No source files found" not in done.stdout and re.search(r"\d+ errors?,", done.stdout), done.stdout + done.stderr
    return done.stdout, set(re.findall(r"(\w+)\.py:\d+:\d+ - error", done.stdout))


@pytest.mark.limit(400)
def test_types_let_right_programs_pass_and_wrong_ones_not(checker, tmp_path):
    said, errors = checked(checker, HOME / "belfry")
    assert errors == set(), said
    begin = "import belfry\nb = belfry.Client()\napp = belfry.App()\n"
    for i, text in enumerate([RIGHT, *(begin + text + "\n" for text in WRONG.values())]):
        (tmp_path / f"p{i}.py").write_text(text)
    (tmp_path / "belfry").symlink_to(HOME / "belfry")
    said, errors = checked(checker, *sorted(tmp_path.glob("p*.py")))
    assert errors == {f"p{i + 1}" for i in range(len(WRONG))}, said
