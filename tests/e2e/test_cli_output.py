# SPDX-License-Identifier: MIT
"""What the command line shows: moments and durations, columns, raw bytes, errors; and where it looks for a server."""
import json
import os
import re
import subprocess

import pytest

from conftest import BUILD, ENV, belfry
from shell import answer, ok, schedule

DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?[+-]\d\d:\d\d"


def lines(text):
    return dict(line.split(None, 1) for line in text.splitlines() if len(line.split(None, 1)) == 2)


# ---- Numbers ----

def test_moments_are_dates_wherever_they_come_from(cli, q):
    recurrence = lines(ok(cli("recur", q, q, "{}", "--cron", "30 2 * * *", "--tz", "Europe/Berlin")))
    for name in ("edited", "next", "start", "created"):
        assert re.fullmatch(DATE + r" \(.*\)", recurrence[name]), name
    ok(cli("recurrun", q))
    ledger = ok(cli("recurrence", q)).split("ledger\n")[1].splitlines()
    assert re.search(DATE, ledger[1])
    job = lines(ok(cli("get", schedule(cli, q, "x", "--expire", "5m"))))
    assert re.fullmatch(DATE + r" \(in 4m.*\)", job["expires"])
    tenant = lines(ok(cli("tenant", "t." + q, "--quiet", "00:00-23:59")))
    assert "quiet_until" not in tenant or re.match(DATE, tenant["quiet_until"])


def test_durations_are_short(cli, q):
    queue = lines(ok(cli("queue", q, "--lease", "4m2s118ms", "--retain-dead", "30d", "--key-hold", "1985ms")))
    assert (queue["lease"], queue["retain_dead"], queue["key_hold"]) == ("4m 2s", "30d", "1.99s")


def test_metrics_are_lines(cli):
    text = ok(cli("metrics"))
    assert len(text.splitlines()) > 100 and "\\n" not in text and text.startswith("# ")


# ---- Columns ----

def test_tables_have_few_columns_and_more_if_asked(cli, q):
    id = schedule(cli, q, "x", "--in", "1h", "--key", "k")
    head, row = ok(cli("list", "--queue", q)).splitlines()
    assert head.split() == ["id", "state", "queue", "at", "attempt", "priority", "key", "error"]
    assert row.split()[:3] == [id, "scheduled", q] and re.fullmatch(DATE, row.split()[3])
    assert len(ok(cli("queues")).splitlines()[0]) < 120
    assert "payload_bytes" in ok(cli("list", "--queue", q, "--wide")).splitlines()[0]
    assert len(ok(cli("queues", "--wide")).splitlines()[0].split()) == len(answer(cli("queues", "--json"))[0]) - 1
    assert ok(cli("list", "--queue", q, "--fields", "key,id", "--no-header")) == f"k    {id}\n"
    some = answer(cli("list", "--queue", q, "--fields", "id,due", "--json"))["jobs"]
    assert [set(job) for job in some] == [{"id", "due_ms"}]


def test_a_job_is_shown_without_the_fields_that_say_nothing(cli, q):
    id = schedule(cli, q, "x", "--in", "1h")
    assert not {"stalls", "gates", "cancelling", "meta"} & set(lines(ok(cli("get", id))))
    assert {"stalls", "gates", "cancelling"} <= set(lines(ok(cli("get", id, "--wide"))))
    assert "gates" in lines(ok(cli("get", schedule(cli, q, "x", "--gates", "pass"))))


def test_get_gives_the_bytes_of_payload_and_result(cli, shared_server, work, q):
    data = bytes(range(256))
    with shared_server.wire(3) as w:
        id = w.call("SCHEDULE", q, data)

    def raw(*args):
        return subprocess.run([str(BUILD / "belfry"), "--port", str(shared_server.port), "get", id, "--raw", *args],
                              capture_output=True, env=ENV, check=True).stdout

    assert raw() == data
    assert work(q, "--once", "--result", "--", "echo", "fine").wait()[0] == 0
    assert raw("--fields", "result") == b"fine\n"


# ---- Standard input ----

def test_standard_input_belongs_to_the_shell(cli, shared_server, q):
    loop = f"printf '1\\n2\\n3\\n' | while read x; do {BUILD}/belfry --port {shared_server.port} schedule {q} $x; done"
    done = subprocess.run(["sh", "-c", loop], capture_output=True, text=True, env=ENV)
    assert len(ok(done).split()) == 3
    read, write = os.pipe()  # an input that never ends
    try:
        schedule(cli, q, "--in", "5s", stdin=read, timeout=20)
    finally:
        os.close(read)
        os.close(write)


# ---- Errors ----

@pytest.mark.parametrize("args,noun,hint", [
    (("recurrence", "nope.nope"), "recurrence", "belfry recurrences"),
    (("recurrun", "nope.nope"), "recurrence", "belfry recurrences"),
    (("token", "revoke", "nope.nope"), "token", "belfry token list"),
    (("tenant", "nope.nope"), "tenant", "belfry tenants"),
    (("bulkstop", "0" * 26), "bulk", "belfry bulks"),
    (("get", "0" * 26), "job", "belfry list"),
])
def test_a_missing_thing_is_called_by_its_name(cli, args, noun, hint):
    result = cli(*args)
    assert result.returncode == 4
    assert noun in result.stderr.splitlines()[0] and hint in result.stderr


def test_errors_of_the_command_line_are_json_if_asked():
    for args, code, exit in ((("shedule",), "USAGE", 2), (("schedule", "q", "--in", "x"), "USAGE", 2), (("stats",), "OFFLINE", 3)):
        result = belfry("--port", 1, *args, "--json")
        problem = json.loads(result.stderr)
        assert (problem["code"], problem["exit"], result.returncode) == (code, exit, exit)


# ---- The server's address ----

def test_a_url_names_the_server(shared_server):
    at = f"127.0.0.1:{shared_server.port}"
    for args, env in ((["--host", at], {}), (["--url", f"belfry://{at}"], {}), ([], {"BELFRY_URL": f"http://{at}/"}),
                      ([], {"BELFRY_URL": f"belfry://{at}", "BELFRY_TLS": "only"}), ([], {"BELFRY_HOST": at})):
        result = subprocess.run([str(BUILD / "belfry"), *args, "ping"], env={**ENV, **env}, capture_output=True, text=True)
        assert re.fullmatch(rf"{at} answered in [\d.]+ms\n", ok(result))


def test_variables_are_checked():
    def run(**env):
        return subprocess.run([str(BUILD / "belfry"), "--port", "1", "stats"], env={**ENV, **env}, capture_output=True, text=True)

    assert run(BELFRY_TLS="yes").returncode == 2
    assert "off, on or only" in run(BELFRY_TLS="yes").stderr
    assert "did you mean BELFRY_PORT?" in run(BELFRY_PORTT="1").stderr
    assert run(BELFRY_PORT="abc").returncode == 2
    for name in ("BELFRY_PORT_FILE", "BELFRY_AUTH_RATE", "BELFRY_ID", "BELFRY_KEY"):  # the server's, and a job's
        assert "warning" not in run(**{name: "1"}).stderr


def test_version_tells_both(cli):
    text = ok(cli("version"))
    assert re.fullmatch(r"belfry (\S+)\nserver \1 at 127\.0\.0\.1:\d+\n", text)
    assert answer(belfry("--port", 1, "version", "--json"))["server"] is None


def test_words_of_other_tools_that_only_look_run(cli, q):
    schedule(cli, q, "x", "--in", "1h")
    assert ok(cli("ls", "--queue", q)) == ok(cli("list", "--queue", q))
    assert answer(cli("status", "--json"))["version"]
