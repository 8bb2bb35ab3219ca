# SPDX-License-Identifier: MIT
"""The command line, as a person or a script uses it, against the real server."""
import json
import re
import shutil
import socket
import subprocess

import pytest
import redis

from conftest import BUILD, ENV, belfry, wait_for
from shell import answer, get, ok, run, schedule


# ---- Help and usage ----

def test_help_leads_with_everyday_commands_and_names_all():
    text = ok(belfry("help"))
    everyday, rest = text.split("All commands")
    assert re.findall(r"^  (\w+) ", everyday, re.M)[:3] == ["schedule", "work", "list"]
    assert len(everyday.splitlines()) < 16
    every = ok(belfry("help", "all"))
    for name in ["schedule", "lease", "complete", "cancel", "list", "work", "top", "bench", "check", "events"]:
        assert re.search(rf"\b{name}\b", rest), name
        assert re.search(rf"^  {name} ", every, re.M), name
    alone = belfry()
    assert alone.returncode == 2 and alone.stdout == text


def test_help_fits_eighty_columns_and_speaks_of_flags():
    for args in ([], ["all"], ["options"], ["exit-codes"], ["schedule"], ["tenant"], ["work"], ["bench"], ["token"]):
        text = ok(belfry("help", *args))
        assert max(map(len, text.splitlines())) <= 80, args
    text = ok(belfry("help", "schedule"))
    assert "Without --in and --at it is due at once" in text
    assert "shown by lease and get" in " ".join(text.split())
    assert "answers LIMIT" in " ".join(ok(belfry("help", "tenant")).split())  # an error, not --limit
    assert "by id or by --key and --queue" in ok(belfry("help", "cancel"))
    for command in ("schedule", "work"):
        assert "--auth-file" in ok(belfry("help", command))


@pytest.mark.parametrize("args", [("help", "schedule"), ("schedule", "--help"), ("schedule", "-h")])
def test_help_for_a_verb_is_made_from_its_row(args):
    text = ok(belfry(*args))
    assert "--ifexists keep|replace|reject" in text
    assert "belfry schedule reminder.send hello --in 10m --key user-7" in text


@pytest.mark.parametrize("name", ["work", "top", "bench", "completion"])
def test_help_for_a_tool(name):
    assert ok(belfry("help", name)) == ok(belfry(name, "--help"))


def test_exit_codes_are_documented():
    text = ok(belfry("help", "exit-codes"))
    assert all(re.search(rf"^  {code}  ", text, re.M) for code in range(5))


@pytest.mark.parametrize("args,message", [
    (("shedule", "q"), "did you mean 'schedule'?"),
    (("retry", "x"), "here that is: belfry redrive"),
    (("enqueue", "q", "x"), "here that is: belfry schedule"),
    (("remove", "x"), "here that is: belfry delete"),
    (("cron",), "here that is: belfry recur"),
    (("schedule", "help"), "`belfry help schedule`"),
    (("pause", "help"), "`belfry help pause`"),
    (("stats", "--port", "abc"), "'abc' is not a port"),
    (("stats", "--host", "h:x"), "expected a port from 1 to 65535 behind the host"),
    (("stats", "--url", "ftp://h"), "expected belfry://HOST:PORT"),
    (("list", "--fields", "id,nonsense"), "no field 'nonsense'"),
    (("work", "q", "--shell", "true", "--", "true"), "two commands"),
    (("work", "q", "--timeout", "0", "--", "true"), "no time at all"),
    (("top", "--sort", "nonsense"), "is no column"),
    (("schedule", "q", "x", "--prio", "1"), "did you mean --priority?"),
    (("schedule", "q", "x", "--zzzzzz", "1"), "unknown option --zzzzzz"),
    (("schedule",), "no queue given"),
    (("get",), "expected an id, or --key and --queue"),
    (("cancel", "--queue", "q"), "expected an id, or --key and --queue"),
    (("redrive",), "expected an id, or --queue"),
    (("schedule", "q", "x", "y"), "unexpected argument 'y'"),
    (("schedule", "q", "x", "--in"), "--in needs a value"),
    (("schedule", "q", "x", "--in", "soon"), "in: expected a duration"),
    (("schedule", "q!", "x"), "queue: expected"),
    (("lease", "q", "--count", "0"), "count: expected 1 to 1000"),
    (("complete", "zz", "1"), "id: expected"),
    (("list", "--limit", "0"), "--limit"),
    (("work", "q"), "no command given"),
    (("work", "q", "--", "/no/such/command"), "command not found"),
    (("work", "q", "-j", "0", "--", "true"), "not a number from 1"),
    (("bench", "--op", "nonsense"), "unknown operation"),
    (("completion", "csh"), "which shell"),
])
def test_a_wrong_command_line_is_told_and_nothing_is_sent(args, message):
    result = belfry("--port", 1, *args, stdin=subprocess.DEVNULL)  # nobody listens on port 1
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_without_a_server_it_says_where_it_looked_and_how_to_start_one():
    result = belfry("--port", 1, "stats")
    assert result.returncode == 3
    assert "127.0.0.1:1" in result.stderr and "belfryd" in result.stderr


def test_host_and_port_come_from_the_environment(shared_server):
    env = {**ENV, "BELFRY_HOST": "localhost", "BELFRY_PORT": str(shared_server.port)}
    result = subprocess.run([str(BUILD / "belfry"), "stats", "--json"], env=env, capture_output=True)
    assert result.returncode == 0 and json.loads(result.stdout)["version"]


@pytest.mark.parametrize("shell,check", [("bash", ["bash", "-n"]), ("zsh", None), ("fish", None)])
def test_completion_is_made_for_each_shell(shell, check):
    text = ok(belfry("completion", shell))
    assert "reschedule" in text and "ifexists" in text
    if check:
        subprocess.run(check, input=text, text=True, check=True)


def test_completion_in_bash_completes_commands_options_and_values():
    def complete(*words):
        script = ok(belfry("completion", "bash")) + (
            f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}\n"
            "_belfry; printf '%s\\n' \"${COMPREPLY[@]}\"")
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.split()

    assert complete("belfry", "resc") == ["reschedule"]
    assert complete("belfry", "--port", "7", "schedule", "--pri") == ["--priority"]
    assert complete("belfry", "schedule", "q", "--ifexists", "re") == ["replace", "reject"]
    assert complete("belfry", "tena") == ["tenant", "tenantdelete", "tenants"]
    assert complete("belfry", "work", "--ten") == complete("belfry", "lease", "--ten") == ["--tenant"]
    assert complete("belfry", "tenant", "acme", "--maintenance", "") == ["no", "yes"]


def test_completion_completes_the_names_of_queues(cli, shared_server, q):
    schedule(cli, q, "x", "--in", "1h")
    for words in (("schedule",), ("work",), ("list", "--queue")):
        line = f"belfry --port {shared_server.port} {' '.join(words)} {q[:-1]}"
        script = ok(belfry("completion", "bash")) + (
            f"COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}\n"
            "_belfry; printf '%s\\n' \"${COMPREPLY[@]}\"")
        env = {**ENV, "PATH": f"{BUILD}:{ENV['PATH']}"}
        assert q in subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env).stdout.split()


# ---- Verbs ----

def test_a_job_is_scheduled_shown_and_cancelled(cli, q):
    id = schedule(cli, q, "--in", "1h", "--payload", "hi", "--key", "k", "--priority=2")
    job = get(cli, id)
    assert job["payload"] == "hi" and job["key"] == "k" and job["priority"] == 2
    assert job["state"] == "scheduled"
    text = ok(cli("get", id))
    assert re.search(r"^state +scheduled$", text, re.M)
    assert re.search(r"^due +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?[+-]\d\d:\d\d \(in 59m\)$", text, re.M)
    assert ok(cli("reschedule", id, "--at", "2040-01-01T00:00:00Z")) == "OK\n"
    assert get(cli, id)["due_ms"] == 2208988800000
    assert ok(cli("cancel", "--key", "k", "--queue", q)) == "cancelled\n"
    assert get(cli, id)["state"] == "cancelled"


def test_options_may_come_first_and_positional_arguments_by_name(cli, q):
    id = schedule(cli, "--in", "1h", "--payload", "p", "--queue", q)
    assert get(cli, id)["queue"] == q
    id = schedule(cli, "--queue", q, "by position")
    assert get(cli, id)["payload"] == "by position"


def test_a_payload_comes_from_standard_input_or_a_file(cli, q, tmp_path):
    path = tmp_path / "payload"
    path.write_bytes(b"from a file\n")
    assert get(cli, schedule(cli, q, "--in", "1h", input="from stdin\n"))["payload"] == ""
    assert get(cli, schedule(cli, q, "-", "--in", "1h", input="dash"))["payload"] == "dash"
    assert get(cli, schedule(cli, q, "--payload", f"@{path}", "--in", "1h"))["payload"] == "from a file\n"
    assert get(cli, schedule(cli, q, "@home", "--in", "1h"))["payload"] == "@home"
    result = cli("schedule", q, "--payload", "@/no/such/file")
    assert result.returncode == 2 and "/no/such/file" in result.stderr


def test_bytes_that_are_not_text_are_base64_in_json_and_escaped_for_people(cli, shared_server, q):
    with shared_server.wire(3) as w:
        id = w.call("SCHEDULE", q, b"\xff\x00\x1b[31m", "IN", "1h")
    assert get(cli, id)["payload"] == {"base64": "/wAbWzMxbQ=="}
    text = ok(cli("get", id))
    assert r"\xff\x00\x1b[31m" in text and "\x1b" not in text


def test_work_is_leased_and_finished_by_hand(cli, q):
    for payload in "abc":
        schedule(cli, q, payload)
    jobs = answer(cli("lease", q, "--count", "2", "--json"))
    assert [job["payload"] for job in jobs] == ["a", "b"]
    a, b = jobs
    assert ok(cli("complete", a["id"], a["token"], "--result", "fine")) == "OK\n"
    assert get(cli, a["id"])["result"] == "fine"
    assert ok(cli("release", b["id"], b["token"])) == "OK\n"
    late = cli("complete", b["id"], b["token"])
    assert late.returncode == 1
    assert late.stderr.startswith("belfry: STALE: lease no longer held")
    table = ok(cli("lease", q))
    assert table.split("\n")[0].split()[:4] == ["id", "token", "queue", "payload"]


def test_nothing_found_has_its_own_exit_code(cli, q):
    assert cli("lease", q).returncode == 4
    assert cli("get", "0" * 26).returncode == 4
    assert cli("cancel", "0" * 26).returncode == 4
    assert cli("complete", "0" * 26, "1").returncode == 4
    assert cli("recurrun", q).returncode == 4
    assert cli("token", "revoke", q).returncode == 4
    result = cli("lease", q, "--json")
    assert result.returncode == 4 and json.loads(result.stdout) == []
    result = cli("get", "0" * 26, "--json")
    assert result.returncode == 4 and json.loads(result.stdout) is None


def test_an_error_of_the_server_is_told_with_what_to_do_next(cli, q):
    schedule(cli, q, "x", "--key", "k", "--in", "1h")
    result = cli("schedule", q, "y", "--key", "k", "--ifexists", "reject", "--json")
    assert result.returncode == 1 and result.stdout == ""
    problem = json.loads(result.stderr)
    assert (problem["code"], problem["status"], problem["exit"]) == ("KEYEXISTS", 409, 1)
    assert "--ifexists replace" in problem["hint"]
    result = cli("schedule", q, "y", "--key", "k", "--ifexists", "reject")
    assert result.returncode == 1 and result.stderr.startswith("belfry: KEYEXISTS: ")
    assert "--ifexists replace" in result.stderr


def test_lists_follow_cursors(cli, shared_server, q):
    with shared_server.wire(3) as w:
        ids = {w.call("SCHEDULE", q, "x", "IN", "1h") for _ in range(1203)}
    first = answer(cli("list", "--queue", q, "--json"))
    assert len(first["jobs"]) == 100 and first["cursor"]
    some = answer(cli("list", "--queue", q, "--limit", "1100", "--json"))
    assert len(some["jobs"]) == 1100 and some["cursor"]
    rest = answer(cli("list", "--queue", q, "--all", "--cursor", some["cursor"], "--json"))
    assert rest["cursor"] is None
    assert {job["id"] for job in some["jobs"] + rest["jobs"]} == ids
    lines = ok(cli("list", "--queue", q, "--all")).splitlines()
    assert lines[0].startswith("id ") and {line[:26] for line in lines[1:]} == ids
    part = cli("list", "--queue", q, "--limit", "5")
    assert len(ok(part).splitlines()) == 6 and "--cursor" in part.stderr
    empty = cli("list", "--queue", q, "--state", "dead", "--json")
    assert json.loads(ok(empty)) == {"jobs": [], "cursor": None}


def test_queues_and_stats_and_top_show_figures(cli, q):
    schedule(cli, q, "x", "--in", "1h")
    assert answer(cli("queue", q, "--attempts", "9", "--retain-dead", "1h", "--json"))["attempts"] == 9
    assert answer(cli("queue", q, "--retain_dead=2h", "--json"))["retain_dead_ms"] == 7200000
    assert q in ok(cli("queues"))
    assert answer(cli("stats", "--json"))["scheduled"] >= 1
    assert re.search(r"^uptime +\S+$", ok(cli("stats")), re.M)
    top = ok(cli("top"))
    assert re.search(rf"^{re.escape(q)} +1 ", top, re.M) and "\x1b" not in top
    assert ok(cli("pause", q)) == "OK\n"
    assert f"{q} (paused)" in ok(cli("top", "--once"))
    assert ok(cli("resume", q)) == "OK\n"


# ---- Tenants ----

def columns(text):
    return text.split("\n")[0].split()


def test_whose_things_are_is_shown_only_if_there_is_more_than_the_default_tenant(cli, q):
    id, other = schedule(cli, q, "x"), schedule(cli, q, "y", "--tenant", "acme")
    assert columns(ok(cli("list", "--queue", q)))[:3] == ["id", "state", "queue"]
    assert columns(ok(cli("list", "--queue", q, "--tenant", "acme")))[:4] == ["id", "state", "tenant", "queue"]
    everybody = ok(cli("list", "--all", "--tenant", "*"))
    assert "tenant" in columns(everybody)
    assert re.search(rf"^{id} +ready +default +{q} ", everybody, re.M)
    assert re.search(rf"^{other} +ready +acme +{q} ", everybody, re.M)
    assert "tenant" not in columns(ok(cli("queues")))
    assert "tenant" in columns(ok(cli("queues", "--tenant", "acme")))
    assert not re.search(r"^tenant ", ok(cli("get", id)) + ok(cli("queue", q)), re.M)
    for shown in (cli("get", other, "--tenant", "acme"), cli("queue", q, "--tenant", "acme")):
        assert re.search(r"^tenant +acme$", ok(shown), re.M)
    assert get(cli, id)["tenant"] == "default"  # a program is always told
    assert cli("get", other).returncode == 4
    assert columns(ok(cli("lease", q)))[:4] == ["id", "token", "queue", "payload"]
    assert columns(ok(cli("lease", q, "--tenant", "*")))[:4] == ["id", "token", "tenant", "queue"]


def test_a_tenant_is_set_and_shown(cli, q):
    name = "t." + q
    missing = cli("tenant", name)
    assert missing.returncode == 4 and "no such tenant" in missing.stderr
    text = ok(cli("tenant", name, "--weight", "3", "--max-running", "5", "--max_pending=1", "--rate", "100/1m",
                  "--maintenance", "no"))
    for line in (rf"tenant +{name}", "weight +3", "maintenance +no", "max_running +5", "max_pending +1", "rate +100/1m"):
        assert re.search(rf"^{line}$", text, re.M), line
    assert re.search(r"^tenant +default$", ok(cli("tenant", "default", "--weight", "1")), re.M)
    table = ok(cli("tenants"))
    assert columns(table)[0] == "tenant" and re.search(rf"^{name} ", table, re.M)
    assert [t["weight"] for t in answer(cli("tenants", "--json")) if t["tenant"] == name] == [3]
    schedule(cli, q, "x", "--tenant", name)
    full = cli("schedule", q, "x", "--tenant", name)
    assert full.returncode == 1 and full.stderr.startswith("belfry: LIMIT: ") and "--max-pending" in full.stderr
    assert re.search(r"^rate +7/1h$", ok(cli("queue", q, "--rate", "7/1h", "--tenant", name)), re.M)


def test_top_shows_all_tenants(make_server):
    server = make_server()
    schedule(lambda *a: run(server, *a), "mail", "x")
    assert "tenant" not in ok(run(server, "top"))
    schedule(lambda *a: run(server, *a), "mail", "x", "--tenant", "acme")
    top = ok(run(server, "top"))
    assert re.search(r"^tenant +queue ", top, re.M)
    assert re.search(r"^default +mail +0 +1 ", top, re.M) and re.search(r"^acme +mail +0 +1 ", top, re.M)


def test_a_bad_tenant_is_told_before_anything_is_sent():
    for args, message in ((("schedule", "q", "x", "--tenant", "a b"), "tenant: expected 1-128 characters"),
                          (("tenant", "a", "--weight", "0"), "weight: expected 1 to 1000"),
                          (("tenant", "a", "--rate", "1"), "rate: expected a number up to 1000000 and a period"),
                          (("work", "q", "--tenant", "a b", "--", "true"), "tenant: expected 1-128 characters")):
        result = belfry("--port", 1, *args, stdin=subprocess.DEVNULL)
        assert result.returncode == 2 and message in result.stderr, args


def test_work_serves_a_tenant_or_all(cli, work, q):
    for tenant in ("b", "a", "default"):
        for i in range(2):
            schedule(cli, q, str(i), "--tenant", tenant)
    code, out, _ = work(q, "--drain", "--tenant", "a", "--", "sh", "-c", 'echo "$BELFRY_TENANT $BELFRY_QUEUE"').wait()
    assert (code, out) == (0, f"a {q}\n" * 2)
    code, out, _ = work(q, "--drain", "--tenant", "*", "--", "sh", "-c", 'echo "$BELFRY_TENANT"').wait()
    assert (code, out.split()) == (0, ["b", "default"] * 2)
    schedule(cli, q, "x", "--tenant", "a")
    schedule(cli, q, "x")
    code, out, _ = work(q, "--drain", "--", "sh", "-c", 'echo "$BELFRY_TENANT"').wait()
    assert (code, out) == (0, "default\n")


def test_work_names_the_occurrence(cli, work, q):
    ok(cli("recur", q, q, "x", "--every", "1h", "--start", "2020-01-01T00:00:00Z"))
    run = ok(cli("recurrun", q)).strip()
    nominal = get(cli, run)["nominal_ms"]
    show = 'echo "${BELFRY_RECURRENCE-none} ${BELFRY_NOMINAL_MS-none}"'
    code, out, _ = work(q, "--drain", "--", "sh", "-c", show).wait()
    assert (code, out) == (0, f"{q} {nominal}\n")
    schedule(cli, q, "x")
    code, out, _ = work(q, "--drain", "--", "sh", "-c", show).wait()
    assert (code, out) == (0, "none none\n")


# ---- belfry bench ----

def test_bench_measures_and_leaves_nothing(cli):
    results = answer(cli("bench", "--op", "schedule,lease,lone", "--jobs", "500", "--json"))
    assert [r["op"] for r in results] == ["schedule", "lease", "lone"]
    for r in results:
        assert r["jobs"] == 500 and r["rate"] > 0 and r["latency_us"]["p50"] <= r["latency_us"]["max"]
    left = [x for x in answer(cli("queues", "--json")) if x["queue"].startswith("bench.")]
    assert left and all(x[s] == 0 for x in left for s in ("scheduled", "ready", "leased", "done", "cancelled"))


def test_bench_of_jobs_that_use_everything_leaves_nothing(cli):
    results = answer(cli("bench", "--driver", "belfry-full", "--op", "schedule,lease", "--jobs", "500", "--json"))
    assert [(r["driver"], r["op"], r["jobs"]) for r in results] == [("belfry-full", op, 500) for op in ("schedule", "lease")]
    left = [x for x in answer(cli("queues", "--tenant", "*", "--json")) if x["queue"].startswith("bench.")]
    assert len({x["tenant"] for x in left}) >= 10
    assert all(x[s] == 0 for x in left for s in ("scheduled", "ready", "leased", "done", "cancelled"))


def test_bench_is_for_belfry_alone(cli):
    done = cli("bench", "--driver", "redis", "--jobs", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no driver 'redis'; it is one of belfry|belfry-full\n" in done.stderr


@pytest.mark.parametrize("driver,command", [
    ("redis", ["redis-server", "--save", "", "--appendonly", "no", "--port"]),
    ("redis-full", ["redis-server", "--save", "", "--appendonly", "no", "--port"]),
    ("beanstalkd", ["beanstalkd", "-l", "127.0.0.1", "-p"]),
])
def test_bench_measures_peers_with_the_same_generator(driver, command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    peer = subprocess.Popen([*command, str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        def bench():
            command = [BUILD / "loadgen", "--driver", driver, "--port", port, "--op", ",".join(ops), "--jobs", jobs, "--json"]
            return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60, env=ENV)
        # Enough for several with each ordering key, of which there are 10,000.
        ops, jobs = (("schedule", "lease"), 25_000) if driver == "redis-full" else (("lone", "schedule", "lease"), 300)
        results = answer(wait_for(lambda: (r := bench()).returncode != 3 and r, what="the peer runs"))
        assert [(r["driver"], r["op"], r["jobs"]) for r in results] == [(driver, op, jobs) for op in ops]
        if driver != "beanstalkd":
            assert redis.Redis(port=port).keys() == [], "it leaves nothing behind"
    finally:
        peer.kill()
        peer.wait()


@pytest.mark.limit(180)
def test_bench_of_lateness_finds_no_early_job(cli):
    (result,) = answer(cli("bench", "--op", "late", "--jobs", "200", "--json"))
    assert result["jobs"] == 200 and result["early"] == 0 and result["earliest_us"] >= 0
    assert result["late_us"]["p50"] > 0 and result["timer_us"]["max"] > 0
