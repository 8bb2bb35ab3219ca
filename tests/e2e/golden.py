# SPDX-License-Identifier: MIT
"""Data directories of tests/golden: all that a server says of one, and the manifest that holds it.

A manifest has one job in a line. A line has only the fields in which the job differs from `common`. A long text is
there as its hash. `varies` names fields that differ from one opening to the next."""
import hashlib
import json
import pathlib
import subprocess
import tarfile

import conftest

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "golden"
LONG_TEXT = 80


def preload_clock(env, directory):
    """The programs that get this environment have the wall clock of tests/e2e/clock.c."""
    path = pathlib.Path(directory) / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", path, HERE / "clock.c"], check=True)
    env["LD_PRELOAD"] = str(path)


def set_clock(env, at_ms):
    """From their start on, programs of this environment count from here."""
    env["CLOCK_AT_MS"] = str(at_ms)


# ---- What a server says of its directory ----


def pages(w, verb, field, *options):
    """All that a verb with a cursor shows."""
    rows, cursor = [], None
    while True:
        page = w.call(verb, "LIMIT", 1000, *options, *(("CURSOR", cursor) if cursor else ()))
        rows += page[field]
        cursor = page["cursor"]
        if cursor is None:
            return rows


def shorten(value):
    """Long texts become their hash."""
    if isinstance(value, str) and len(value) > LONG_TEXT:
        data = value.encode("utf-8", "surrogateescape")
        return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"
    return value


def show(w, id):
    """A job as GET answers it."""
    job = w.call("GET", id, "TENANT", "*")
    assert job is not None, f"{id} is gone"
    return {name: shorten(value) for name, value in job.items()}


def job_ids(w):
    return sorted({job["id"] for job in pages(w, "LIST", "jobs", "TENANT", "*")})


def jobs(w):
    return {id: show(w, id) for id in job_ids(w)}


def lasting(row):
    """Without figures of the moment, and of the process. In a directory of an older version, kept_bytes of jobs on
    disk is a guess, which becomes exact as they come to memory."""
    fleeting = ("total_", "lateness_", "runtime_", "wait_", "waiting_workers", "held_by", "quiet_until_ms",
                "leased_bytes", "kept_bytes", "queue_bytes", "oldest_ms", "asked_ms")
    return {name: value for name, value in row.items() if not name.startswith(fleeting)}


def recurrences(w, tenant):
    return sorted({r["name"] for r in pages(w, "RECURRENCES", "recurrences", "TENANT", tenant)})


def settings(w):
    """All that a server says besides jobs."""
    tenants = w.call("TENANTS")
    names = [tenant["tenant"] for tenant in tenants]
    return {
        "queues": [lasting(queue) for queue in w.call("QUEUES", "TENANT", "*")],
        "tenants": [lasting(tenant) for tenant in tenants],
        "tokens": w.call("TOKENS"),
        "recurrences": [w.call("RECURRENCE", recurrence, "TENANT", name) for name in names
                        for recurrence in recurrences(w, name)],
        "bulks": [bulk for name in names for bulk in w.call("BULKS", "TENANT", name)],
        "audit": pages(w, "AUDIT", "entries", "TENANT", "*"),
    }


# ---- Manifests ----


def write_manifest(path, head, jobs, rest):
    """`head` and `rest` are maps; each of `jobs` is as show() answers it, perhaps with "varies"."""
    fields = {name for job in jobs for name in job}
    common = {}
    for name in sorted(fields):
        seen = [json.dumps(job.get(name)) for job in jobs]
        most = max(set(seen), key=seen.count)
        if seen.count(most) > len(jobs) // 4:
            common[name] = json.loads(most)
    lines = [json.dumps({k: v for k, v in job.items() if k not in common or v != common[k]}) for job in jobs]
    rows = {name: "[\n" + ",\n".join(map(json.dumps, row)) + "\n]" for name, row in rest.items()}
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in {**head, "common": common}.items()]
    parts += [f"{json.dumps(name)}: {text}" for name, text in rows.items()]
    parts.append('"jobs": [\n' + ",\n".join(lines) + "\n]")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def read_manifest(path):
    """The manifest with whole jobs, by id."""
    manifest = json.loads(path.read_text())
    whole = [{**manifest["common"], **job} for job in manifest["jobs"]]
    for job in whole:
        for name in job.pop("varies", None) or ():
            del job[name]
    manifest["jobs"] = {job["id"]: job for job in whole}
    return manifest


# ---- Directories ----


def pack(data, path):
    with tarfile.open(path, "w:xz", preset=9) as tar:
        tar.add(data, arcname="data", filter=_anonymous)


def _anonymous(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def unpack(path, directory):
    with tarfile.open(path) as tar:
        tar.extractall(directory)


def check(data):
    """What `belfry check` says, as JSON; the directory is whole."""
    done = conftest.belfry("check", "--json", data)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
