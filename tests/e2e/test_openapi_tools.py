# SPDX-License-Identifier: MIT
"""The description in the hands of others: a linter finds no error in it, and the types that are made of it let right
programs compile and wrong ones not. npm puts the tools beside the build."""
import shutil
import subprocess

import pytest

from conftest import BUILD
from web import Web

TOOLS = {"@redocly/cli": "2", "openapi-typescript": "7", "typescript": "5"}

RIGHT = """
import type { paths, components, operations } from "./api";
type Job = components["schemas"]["Job"];
type Request = components["schemas"]["ScheduleJobRequest"];
const request: Request = { queue: "q", payload: { to: "ann" }, in: "10m", tag: ["a", "b"] };
const bytes: Request = { queue: "q", payload_base64: "aGk=", in: 1000 };
const isDone = (job: Job): boolean => job.state === "done";
const body: operations["scheduleJob"]["requestBody"]["content"]["application/json"] = request;
type Made = paths["/v1/jobs"]["post"]["responses"]["201"]["content"]["application/json"];
const idOf = (made: Made): string => made.created ? made.id : "";
const failed: components["schemas"]["Attempt"]["outcome"] = "failed";
const to = (job: Job): unknown => job.payload_json;
export { bytes, isDone, body, idOf, failed, to };
"""

WRONG = {
    "a state that there is none": """
        import type { components } from "./api";
        export const is = (job: components["schemas"]["Job"]): boolean => job.state === "doen";""",
    "a request without its body": """
        import type { operations } from "./api";
        type Needs<T> = T extends { requestBody: infer B } ? B : never;
        export const none: Needs<operations["scheduleJob"]> = undefined;""",
    "a job without a queue": """
        import type { components } from "./api";
        export const job: components["schemas"]["ScheduleJobRequest"] = { payload: 1 };""",
    "a job without a payload": """
        import type { components } from "./api";
        export const job: components["schemas"]["ScheduleJobRequest"] = { queue: "q" };""",
    "an id that is a number": """
        import type { components } from "./api";
        export const id = (made: components["schemas"]["Scheduled"]): number => made.id;""",
}


@pytest.fixture(scope="module")
def home():
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.fail("node and npm are needed: scripts/setup test")
    place = BUILD / "node-openapi"
    if not all((place / "node_modules" / tool / "package.json").exists() for tool in TOOLS):
        place.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(place),
                               *[f"{tool}@{version}" for tool, version in TOOLS.items()]],
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"npm install {' '.join(TOOLS)} failed:\n{done.stderr[-2000:]}"
    return place


def run(home, where, tool, *args):
    return subprocess.run([str(home / "node_modules/.bin" / tool), *args], capture_output=True, text=True, timeout=200, cwd=where)


@pytest.fixture(scope="module")
def description(shared_server, tmp_path_factory):
    path = tmp_path_factory.mktemp("openapi") / "openapi.json"
    with Web(shared_server.port) as w:
        path.write_bytes(w.ask("GET", "/openapi.json").body)
    return path


@pytest.mark.limit(600)
def test_a_linter_finds_no_error(home, description):
    done = run(home, description.parent, "redocly", "lint", "--extends", "recommended", "--format", "summary", str(description))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.limit(600)
def test_types_let_right_programs_compile_and_wrong_ones_not(home, description):
    where = description.parent
    made = run(home, where, "openapi-typescript", str(description), "-o", "api.d.ts")
    assert made.returncode == 0, made.stdout + made.stderr
    text = (where / "api.d.ts").read_text()
    assert "unknown | unknown" not in text and "string | number" not in text.split("Scheduled: {")[1].split("};")[0]
    programs = {"right": RIGHT, **WRONG}
    for i, program in enumerate(programs.values()):
        (where / f"p{i}.ts").write_text(program)
    done = run(home, where, "tsc", "--strict", "--noEmit", "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022",
               *[f"p{i}.ts" for i in range(len(programs))])
    for i, name in enumerate(programs):
        assert (f"p{i}.ts(" in done.stdout) == (name != "right"), f"{name}:\n{done.stdout}"
