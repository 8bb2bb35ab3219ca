# SPDX-License-Identifier: MIT
"""The command line, as a person or a script uses it, against the real server."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
import redis

from conftest import BUILD, ENV, belfry, best, wait_for

ID = r"[0-9A-HJKMNP-TV-Z]{26}"


@pytest.fixture
def q(request):
    """A queue that no other test uses."""
    return re.sub(r"[^A-Za-z0-9._:/-]", "-", request.node.name)[:120]


@pytest.fixture
def cli(shared_server):
    return lambda *args, **kw: run(shared_server, *args, **kw)


def run(server, *args, stdin=subprocess.DEVNULL, **kw):
    if "input" not in kw:
        kw["stdin"] = stdin
    return belfry("--port", server.port, *args, **kw)


def ok(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def answer(result):
    return json.loads(ok(result))


def schedule(cli, *args, **kw):
    id = ok(cli("schedule", *args, **kw)).strip()
    assert re.fullmatch(ID, id)
    return id


def get(cli, id):
    return answer(cli("get", id, "--json"))


class Worker:
    """A `belfry work` in the background."""

    def __init__(self, server, *args, **env):
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [str(BUILD / "belfry"), "--port", str(server.port), "work", *map(str, args)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.err, text=True, env={**ENV, **env})

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def said(self):
        """On standard error, so far."""
        return os.pread(self.err.fileno(), 1 << 20, 0).decode("utf-8", "replace")

    def wait(self, timeout=60):
        out, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, self.said()


@pytest.fixture
def work(shared_server):
    workers = []

    def start(*args, server=shared_server, **env):
        workers.append(Worker(server, *args, **env))
        return workers[-1]

    yield start
    for w in workers:
        if w.process.poll() is None:
            w.process.kill()
        w.process.wait()


# ---- Help and usage ----

def test_help_names_every_verb_and_tool():
    text = ok(belfry("help"))
    for name in ["schedule", "lease", "complete", "cancel", "list", "work", "top", "bench", "check"]:
        assert re.search(rf"^  {name} ", text, re.M), name


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
    (("schedule", "q", "x", "--prio", "1"), "did you mean --priority?"),
    (("schedule", "q", "x", "--zzzzzz", "1"), "unknown option --zzzzzz"),
    (("schedule",), "no queue given"),
    (("schedule", "q", "x", "y"), "unexpected argument 'y'"),
    (("schedule", "q", "x", "--in"), "--in needs a value"),
    (("schedule", "q", "x", "--in", "soon"), "in: expected a duration"),
    (("schedule", "q!", "x"), "queue: expected"),
    (("lease", "q", "--count", "0"), "count: expected 1 to 1000"),
    (("complete", "zzz", "1"), "id: expected"),
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
    assert complete("belfry", "tena") == ["tenant", "tenants"]
    assert complete("belfry", "work", "--ten") == complete("belfry", "lease", "--ten") == ["--tenant"]
    assert complete("belfry", "tenant", "acme", "--maintenance", "") == ["no", "yes"]


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
    assert get(cli, schedule(cli, q, "--in", "1h", input="from stdin\n"))["payload"] == "from stdin\n"
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
    result = cli("lease", q, "--json")
    assert result.returncode == 4 and json.loads(result.stdout) == []
    result = cli("get", "0" * 26, "--json")
    assert result.returncode == 4 and json.loads(result.stdout) is None


def test_an_error_of_the_server_is_told_with_what_to_do_next(cli, q):
    schedule(cli, q, "x", "--key", "k", "--in", "1h")
    result = cli("schedule", q, "y", "--key", "k", "--ifexists", "reject", "--json")
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("belfry: KEYEXISTS: ")
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


# ---- belfry work ----

def test_work_runs_a_command_for_each_job(cli, work, q):
    ids = [schedule(cli, q, f"payload {i}", "--key", f"k{i}", "--priority", i) for i in (1, 2)]
    code, out, err = work(q, "--drain", "--worker", "me", "--", "sh", "-c",
                          'cat; echo ":$BELFRY_ID:$BELFRY_QUEUE:$BELFRY_ATTEMPT:$BELFRY_KEY:'
                          '$BELFRY_PRIORITY"; test "$BELFRY_TOKEN" -gt 0 -a "$BELFRY_DUE_MS" -gt 0').wait()
    assert code == 0
    assert out == f"payload 1:{ids[0]}:{q}:1:k1:1\npayload 2:{ids[1]}:{q}:1:k2:2\n"
    for id in ids:
        job = get(cli, id)
        assert job["state"] == "done" and job["history"][0]["worker"] == "me", err
        assert job["result"] is None


def test_work_hands_metadata_and_trace_to_the_command(cli, work, q):
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    schedule(cli, q, "with", "--meta", "user.id=a b=c", "--meta", "Plan-2=x", "--meta", f"traceparent={trace}",
             "--meta", "tracestate=vendor=1")
    schedule(cli, q, "without")
    # Those of another job, if the worker runs for one itself, are not this job's.
    code, out, err = work(q, "--drain", "--", "sh", "-c", "cat; echo; env | grep -E '^(BELFRY_META|TRACE)' | sort",
                          BELFRY_META_OLD="1", TRACEPARENT="old", TRACESTATE="old").wait()
    assert code == 0, err
    assert out.splitlines() == ["with", "BELFRY_META_PLAN_2=x", f"BELFRY_META_TRACEPARENT={trace}",
                                "BELFRY_META_TRACESTATE=vendor=1", "BELFRY_META_USER_ID=a b=c",
                                f"TRACEPARENT={trace}", "TRACESTATE=vendor=1", "without"]


def test_work_keeps_output_as_the_result_if_asked(cli, work, q):
    id = schedule(cli, q, "shout")
    code, out, _ = work(q, "--once", "--result", "--", "tr", "a-z", "A-Z").wait()
    assert code == 0 and out == ""
    assert get(cli, id)["result"] == "SHOUT"


def test_work_reports_a_failure_with_the_end_of_standard_error(cli, work, q):
    id = schedule(cli, q, "x", "--attempts", "1")
    code, _, err = work(q, "--once", "--", "sh", "-c", "yes start | head -1000 >&2; echo the end >&2; exit 3").wait()
    assert code == 1 and "the end" in err
    job = get(cli, id)
    assert job["state"] == "dead"
    assert job["error"].startswith("exit status 3: ") and job["error"].endswith("the end")
    assert len(job["error"]) <= 1024


def test_work_reports_a_signal(cli, work, q):
    id = schedule(cli, q, "x")
    assert work(q, "--once", "--", "sh", "-c", "kill -9 $$").wait()[0] == 1
    job = get(cli, id)
    assert job["state"] == "scheduled" and job["error"] == "killed by signal 9"


def test_exit_status_75_gives_the_job_back_for_ten_seconds(cli, work, q):
    id = schedule(cli, q, "x")
    work(q, "--once", "--", "sh", "-c", "exit 75").wait()
    job = get(cli, id)
    assert job["state"] == "scheduled" and job["attempt"] == 0
    assert 9999 <= job["at_ms"] - job["history"][-1]["end_ms"] <= 10001


def test_a_large_payload_that_is_not_read_does_no_harm(cli, work, q):
    ids = [schedule(cli, q, input="x" * 900000) for _ in range(2)]
    assert work(q, "--drain", "-j", "2", "--", "true").wait()[0] == 0
    assert all(get(cli, id)["state"] == "done" for id in ids)
    id = schedule(cli, q, input="x" * 900000)
    assert work(q, "--once", "--result", "--", "wc", "-c").wait()[0] == 0
    assert get(cli, id)["result"].strip() == "900000"


def test_work_runs_as_many_at_a_time_as_asked(cli, work, q, tmp_path):
    for i in range(6):
        schedule(cli, q, str(i))
    w = work(q, "-j", "3", "--", "sh", "-c", f"touch {tmp_path}/$BELFRY_ID; sleep 60")
    wait_for(lambda: len(os.listdir(tmp_path)) == 3, what="three commands run")
    time.sleep(0.3)
    counts = answer(cli("queue", q, "--json"))
    assert counts["leased"] == 3 and counts["ready"] == 3
    w.signal()
    w.signal(signal.SIGINT)
    w.wait()


def test_the_lease_is_extended_while_the_command_runs(cli, work, q):
    for _ in range(3):  # a machine that stalls for as long as the lease is asked again
        id = schedule(cli, q, "x", "--attempts", "1")
        code = work(q, "--once", "--for", "1s", "--", "sleep", "2.5").wait()[0]
        job = get(cli, id)
        if job["state"] == "done":
            break
    assert code == 0 and job["state"] == "done" and job["attempt"] == 1 and job["stalls"] == 0


def test_a_cancelled_job_ends_its_command_and_the_commands_children(cli, work, q, tmp_path):
    id = schedule(cli, q, "x", "--lease", "6s")
    mark = tmp_path / "pid"
    w = work(q, "--once", "--", "sh", "-c", f"sleep 300 & echo $! > {mark}.new; mv {mark}.new {mark}; wait")
    wait_for(mark.exists, what="the command runs")
    assert ok(cli("cancel", id)) == "running\n"
    code, _, err = w.wait()
    assert code == 1 and "cancelled" in err
    assert get(cli, id)["state"] == "cancelled"
    wait_for(lambda: gone(int(mark.read_text())), what="the command's child is gone")


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_command_that_ignores_sigterm_is_killed(cli, work, q, tmp_path):
    id = schedule(cli, q, "x", "--lease", "6s")
    mark = tmp_path / "mark"
    w = work(q, "--once", "--", "sh", "-c", f"trap '' TERM; touch {mark}; while :; do sleep 0.1; done")
    wait_for(mark.exists, what="the command runs")
    began = time.monotonic()
    cli("cancel", id)
    w.wait()
    assert 4 < time.monotonic() - began < 30
    assert get(cli, id)["state"] == "cancelled"


def test_a_lost_lease_ends_the_command(cli, shared_server, work, q, tmp_path):
    id = schedule(cli, q, "x", "--lease", "6s")
    mark = tmp_path / "mark"
    w = work(q, "--once", "--", "sh", "-c", f"touch {mark}; exec sleep 300")
    wait_for(mark.exists, what="the command runs")
    job = get(cli, id)
    ok(cli("release", id, job["token"], "--in", "1h"))  # somebody else speaks with its token
    code, _, err = w.wait()
    assert "lease was lost" in err
    assert get(cli, id)["state"] == "scheduled"  # and nothing was told about it


def test_the_first_sigterm_waits_for_running_commands(cli, work, q, tmp_path):
    first, second = schedule(cli, q, "1"), schedule(cli, q, "2")
    mark, go = tmp_path / "mark", tmp_path / "go"
    w = work(q, "--", "sh", "-c", f"touch {mark}; while [ ! -e {go} ]; do sleep 0.02; done")
    wait_for(mark.exists, what="the command runs")
    w.signal()
    wait_for(lambda: "waiting for 1 running" in w.said(), what="it was told")
    time.sleep(0.2)
    assert w.process.poll() is None
    go.touch()
    code, _, err = w.wait()
    assert code == 0 and "waiting for 1 running" in err
    assert get(cli, first)["state"] == "done"
    assert get(cli, second)["state"] == "ready"


@pytest.mark.quiet
def test_an_idle_worker_stops_at_once_and_takes_nothing_with_it(cli, shared_server, work, q):
    def stop():
        w = work(q, "--", "true")
        wait_for(lambda: exists(cli, q) and answer(cli("queue", q, "--json"))["waiting_workers"], what="the worker waits")
        began = time.monotonic()
        w.signal(signal.SIGINT)
        assert w.wait()[0] == 0
        return time.monotonic() - began

    best(2, stop)
    id = schedule(cli, q, "x")
    time.sleep(0.2)
    assert get(cli, id)["state"] == "ready"


def exists(cli, q):
    return cli("queue", q).returncode == 0


def test_the_second_sigterm_ends_commands_and_gives_their_jobs_back(cli, work, q, tmp_path):
    id = schedule(cli, q, "x")
    mark = tmp_path / "mark"
    w = work(q, "--", "sh", "-c", f"touch {mark}; exec sleep 300")
    wait_for(mark.exists, what="the command runs")
    w.signal()
    wait_for(lambda: "waiting for 1 running" in w.said(), what="it was told")
    w.signal()
    code, _, err = w.wait()
    assert code == 0 and "given back" in err
    job = get(cli, id)
    assert job["state"] == "ready" and job["attempt"] == 0


def test_work_outlives_the_server(make_server, work, q, tmp_path):
    server = make_server()
    port = server.port
    id = schedule(lambda *a: run(server, *a), q, "x")
    mark, go, over = (tmp_path / name for name in ("mark", "go", "over"))
    w = work(q, "--", "sh", "-c", f"touch {mark}; while [ ! -e {go} ]; do sleep 0.02; done; touch {over}", server=server)
    wait_for(mark.exists, what="the command runs")
    server.kill()
    go.touch()
    wait_for(over.exists, what="the command ends meanwhile")
    wait_for(lambda: "the server is away" in w.said(), what="it has noticed")
    server.start(port=port)
    wait_for(lambda: get(lambda *a: run(server, *a), id)["state"] == "done", what="the end of the job is told")
    later = schedule(lambda *a: run(server, *a), q, "y")
    wait_for(lambda: get(lambda *a: run(server, *a), later)["state"] == "done", what="it goes on")
    w.signal()
    code, _, err = w.wait()
    assert code == 0 and "the server is away" in err and "the server is back" in err


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
