# SPDX-License-Identifier: MIT
"""The Node client: its own tests against the real server, its types, its package, and the programs of its pages. npm
puts the compiler beside the build."""
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from conftest import BUILD, ENV, ROOT, wait_for

HOME = ROOT / "clients/node"
TESTS = sorted(path.name for path in (HOME / "test").glob("*.test.js"))
TOOLS = {"typescript": "5", "@types/node": "20"}
LONG_S = 600

RIGHT = """
import { Client, Queue, Worker, Again, KeyExistsError, State, Job, TestBelfry } from "belfry";
interface Mail { to: string; n?: number }
const client = new Client("belfry://localhost", { tenant: "acme", timeout: "5s" });
const mail: Queue<Mail, number> = client.queue<Mail, number>("mail");
export async function all(): Promise<void> {
  const { id, created }: { id: string; created: boolean } = await mail.schedule({ to: "ann" }, { in: "10m", at: undefined });
  await mail.add({ to: "ann", n: 1 }, { backoff: { type: "exponential", delay: 1000 }, tags: ["a"], after: id });
  const result: number = await client.waitFor<number>(id, { timeout: 5000 });
  const job: Job<Mail, number> | null = await mail.byKey("k");
  const state: State | undefined = job?.state;
  for await (const one of client.list({ state: ["done", "dead"], from: new Date() })) console.log(one.due.getTime(), created, result, state);
  for await (const event of client.events({ state: "done" })) { if (event.type === "gap") console.log(event.missed); else console.log(event.id); }
  const made = await client.batch([{ queue: "a", data: 1 }], { mode: "each" });
  if (made[0] instanceof Error) console.log(made[0].code);
  try { await mail.schedule({ to: "x" }, { key: "k", ifExists: "reject" }); } catch (e) { if (e instanceof KeyExistsError) console.log(e.id); }
}
const worker = new Worker<Mail, number>("mail", async (job) => { job.signal.throwIfAborted(); return job.data.n ?? new Again("1s"); }, { concurrency: 5 });
worker.on("completed", (job, result) => console.log(job.data.to, result)).on("failed", (job, error) => console.log(job.next?.at, error.message));
export const double: TestBelfry = new TestBelfry({ now: new Date(0) });
"""

WRONG = {
    "a state that there is none": 'new Client().list({ state: "doen" });',
    "an event of a state that there is none": 'new Client().events({ state: "ready" });',
    "a payload of another type": 'new Client().queue<{ to: string }>("mail").schedule({ too: "ann" });',
    "a name before the payload": 'new Client().queue<{ to: string }>("mail").add("welcome", { to: "ann" });',
    "an option of another library": 'new Client().schedule("mail", 1, { delay: 5 });',
    "an option of a worker with a typo": 'new Worker("mail", async () => 1, { concurency: 5 });',
    "an event of a worker that there is none": 'new Worker("mail", async () => 1).on("complete", () => {});',
    "a result of another type": 'new Worker<string, number>("mail", async (job) => job.data);',
    "an id that is a number": 'export const id: number = (await new Client().schedule("q", 1)).id;',
}


def npm(*args, cwd, timeout=200):
    done = subprocess.run(["npm", *args], capture_output=True, text=True, timeout=timeout, cwd=cwd)
    assert done.returncode == 0, f"npm {' '.join(args)} failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tools():
    """Where the compiler is."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.fail("node and npm are needed: scripts/setup test")
    place = BUILD / "node-client"
    if not all((place / "node_modules" / tool / "package.json").exists() for tool in TOOLS):
        place.mkdir(parents=True, exist_ok=True)
        npm("install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(place),
            *[f"{tool}@{version}" for tool, version in TOOLS.items()], cwd=place)
    return place


@pytest.fixture(scope="module")
def installed(tools, tmp_path_factory):
    """A folder of a user, with the package as npm packs and installs it."""
    folder = tmp_path_factory.mktemp("user")
    packed = json.loads(npm("pack", "--json", "--pack-destination", str(folder), cwd=HOME))[0]
    (folder / "package.json").write_text('{"name": "user", "version": "1.0.0", "private": true}')
    npm("install", "--no-audit", "--no-fund", "--offline", "--install-links", str(folder / packed["filename"]), cwd=folder)
    (folder / "node_modules/@types").symlink_to(tools / "node_modules/@types")
    (folder / "node_modules/undici-types").symlink_to(tools / "node_modules/undici-types")
    return folder, packed


@pytest.mark.limit(LONG_S)
@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_the_client(name):
    done = subprocess.run(["node", "--test", str(HOME / "test" / name)], capture_output=True, text=True, timeout=LONG_S,
                          env={**os.environ, "BELFRYD": str(BUILD / "belfryd")})
    print(done.stdout[-4000:])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert re.search(r"^# pass [1-9]", done.stdout, re.M) and "# fail 0" in done.stdout


def test_each_file_parses():
    """Those that no test loads as well."""
    paths = [str(path) for folder in (HOME, ROOT / "bench/node") for path in folder.rglob("*.js")]
    program = "for (const path of process.argv.slice(1)) new (require('vm').Script)(`(function () {${require('fs').readFileSync(path)}\n})`, path)"
    done = subprocess.run(["node", "-e", program, *paths], capture_output=True, text=True, timeout=60)
    assert len(paths) > 20 and done.returncode == 0, done.stderr


def test_the_package_is_small_and_needs_nothing(installed):
    _, packed = installed
    names = {entry["path"] for entry in packed["files"]}
    assert {"index.js", "index.mjs", "index.d.ts", "index.d.mts", "README.md", "LICENSE", "src/worker.js"} <= names
    assert not [name for name in names if name.startswith("test/")]
    assert packed["size"] < 60_000
    about = json.loads((HOME / "package.json").read_text())
    assert "dependencies" not in about and about["license"] == "MIT"
    assert about["version"] == re.search(r"project\(\w+ VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


@pytest.mark.limit(300)
def test_types_let_right_programs_compile_and_wrong_ones_not(tools, installed):
    folder, _ = installed
    begin = 'import { Client, Worker } from "belfry";\n'
    programs = {"right": RIGHT, **{name: f"{begin}{text}\nexport const used = [Client, Worker];\n" for name, text in WRONG.items()}}
    for i, text in enumerate(programs.values()):
        (folder / f"p{i}.mts").write_text(text)
    (folder / "old.cts").write_text('import belfry = require("belfry");\nexport const c: belfry.Client = new belfry.Client();\n')
    done = subprocess.run([str(tools / "node_modules/.bin/tsc"), "--strict", "--noEmit", "--module", "nodenext", "--target", "es2022",
                           "--lib", "es2022,esnext.disposable", "--types", "node", "old.cts", *[f"p{i}.mts" for i in range(len(programs))]],
                          capture_output=True, text=True, timeout=200, cwd=folder)
    assert "old.cts(" not in done.stdout and "node_modules" not in done.stdout, done.stdout
    for i, name in enumerate(programs):
        assert (f"p{i}.mts(" in done.stdout) == (name != "right"), f"{name}:\n{done.stdout}"


def programs(page):
    """The programs of a page, with the name of the file that stands before each."""
    return re.findall(r"`([\w.-]+\.m?js)`[^`]*?:\n\n```js\n(.*?)```", (ROOT / page).read_text(), re.S)


def run_program(folder, name, text, server, timeout=60):
    (folder / name).write_text(text.replace("2355", str(server.port)))
    return subprocess.Popen(["node", name], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env={**ENV, "BELFRY_URL": f"belfry://127.0.0.1:{server.port}"})


@pytest.mark.parametrize("page", ["README.md", "docs/node.md", "docs/coming-from.md", "clients/node/README.md"])
def test_the_programs_of_the_page(page, installed, server):
    """A worker runs until a producer beside it has ended, and a moment more; then it is stopped as a user stops it."""
    folder, _ = installed
    found = [(name, text) for name, text in programs(page) if "bullmq" not in text]
    assert found
    running = []
    try:
        for name, text in found:
            process = run_program(folder, name, text, server)
            if "new Worker(" in text and "TestBelfry" not in text:
                running.append((name, process))
                with server.wire(3) as w:
                    wait_for(lambda: w.call("WORKERS"), 20, f"{name} works")
            else:
                said = process.communicate(timeout=60)[0]
                assert process.returncode == 0, f"{name} of {page}:\n{said}"
        with server.wire(3) as w:
            left = lambda: sum(q["scheduled"] + q["ready"] + q["leased"] for q in w.call("QUEUES"))
            done = lambda: sum(q["done"] for q in w.call("QUEUES"))
            wait_for(lambda: not running or (done() > 0 and left() == 0), 30, "the jobs have ended")
    finally:
        for name, process in running:
            time.sleep(0.3)  # for its last words
            process.terminate()
            said = process.communicate(timeout=20)[0]
            assert process.returncode in (0, -15), f"{name} of {page}:\n{said}"
            assert "Warning" not in said and said.strip(), said
