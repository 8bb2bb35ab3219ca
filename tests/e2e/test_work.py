# SPDX-License-Identifier: MIT
"""`belfry work`, which runs a command for each job."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import BUILD, ENV, best, wait_for
from shell import answer, get, ok, run, schedule


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


def test_work_cuts_no_value_and_takes_no_metadata_for_other(shared_server, work, q):
    with shared_server.wire() as w:
        w.call("SCHEDULE", q, "x", "KEY", b"a\0b", "ORDER", b"\0", "META", "a-b", "1", "META", "a.b", "2", "META", "c",
               b"x\0y", "META", "d", "plain")
    code, out, err = work(q, "--once", "--", "sh", "-c", "env | grep -E '^BELFRY_(KEY|ORDER|META)' | sort").wait()
    assert code == 0, err
    assert out.splitlines() == ["BELFRY_KEY_BASE64=YQBi", "BELFRY_META_C_BASE64=eAB5", "BELFRY_META_D=plain",
                                "BELFRY_ORDER_BASE64=AA=="]


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
    ids = [schedule(cli, q, "-", input="x" * 900000) for _ in range(2)]
    assert work(q, "--drain", "-j", "2", "--", "true").wait()[0] == 0
    assert all(get(cli, id)["state"] == "done" for id in ids)
    id = schedule(cli, q, "-", input="x" * 900000)
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


# ---- What it says ----

def test_work_says_what_it_does_and_what_happens_next(cli, work, q):
    schedule(cli, q, "x", "--attempts", "2", "--backoff", "fixed:100ms")
    w = work(q, "--", "sh", "-c", "exit 3")
    wait_for(lambda: ", dead" in w.said(), what="both attempts have failed")
    w.signal()
    code, _, err = w.wait()
    lines = err.splitlines()
    assert code == 0 and f"working on {q} at" in lines[0]
    assert "exit status 3; attempt 1 of 2, retry in" in lines[1]
    assert lines[2].endswith("exit status 3; attempt 2 of 2, dead")
    assert lines[-1].endswith("0 done, 2 failed, 1 dead")


def test_a_command_that_runs_for_too_long_is_ended_and_its_attempt_fails(cli, work, q):
    id = schedule(cli, q, "x", "--attempts", "1")
    code, _, err = work(q, "--once", "--timeout", "300ms", "--shell", "echo begun >&2; sleep 300; true").wait()
    assert code == 1 and "timed out after 300ms; attempt 1 of 1, dead" in err
    job = get(cli, id)
    assert job["state"] == "dead" and job["error"] == "timed out after 300ms: begun"


def test_work_speaks_json(cli, work, q):
    good, bad = schedule(cli, q, "good"), schedule(cli, q, "bad", "--attempts", "1")
    code, out, err = work(q, "--drain", "--json", "--shell", "read word; echo $word; echo to stderr >&2; test $word = good").wait()
    assert (code, out) == (0, "good\nbad\n")
    events = [json.loads(line) for line in err.splitlines()]
    assert [e["event"] for e in events] == ["started", "output", "done", "output", "failed", "stopped"]
    assert events[2]["id"] == good and events[1]["text"] == "to stderr"
    failed = events[4]
    assert (failed["id"], failed["state"], failed["attempt"], failed["attempts"]) == (bad, "dead", 1, 1)
    assert failed["error"] == "exit status 1: to stderr"
    assert (events[-1]["done"], events[-1]["failed"], events[-1]["dead"]) == (1, 1, 1)


def test_lines_of_several_commands_have_the_id_of_their_job(cli, work, q):
    ids = [schedule(cli, q, str(i)) for i in range(2)]
    code, out, err = work(q, "--drain", "-j", "2", "--shell", "cat; echo; printf unended; echo e >&2").wait()
    assert code == 0
    assert sorted(out.splitlines()) == sorted(line for i, id in enumerate(ids) for line in (f"{id} | {i}", f"{id} | unended"))
    assert all(f"{id} | e" in err for id in ids)
    schedule(cli, q, "x")
    assert work(q, "--drain", "-j", "2", "--no-prefix", "--", "cat").wait()[1] == "x"


def screen(said, columns):
    """The lines that a terminal shows, which goes on in the next line when a character follows a full one."""
    lines, column = [""], 0
    for part in re.findall(r"\x1b\[K|.", said, re.S):
        if part == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif part == "\r":
            column = 0
        elif part == "\n":
            lines.append("")
        else:
            if column == columns:
                lines.append("")
                column = 0
            lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + 1:]
            column += 1
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("command", [["cat"], ["sh", "-c", "cat; echo"], ["true"]], ids=["part", "whole", "none"])
def test_what_work_says_begins_a_line_of_a_terminal(shared_server, cli, q, command):
    ids = [schedule(cli, q, "hi"), schedule(cli, q, "x" * 300)]
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 300, 0, 0))
    process = subprocess.Popen([str(BUILD / "belfry"), "--port", str(shared_server.port), "work", q, "--drain", "--",
                                *command], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                               env={**ENV, "TERM": "xterm"})
    os.close(terminal)
    said = b""
    try:
        while data := os.read(reader, 4096):
            said += data
    except OSError: # its other end is closed
        pass
    os.close(reader)
    assert process.wait(60) == 0
    lines = screen(said.decode(), 300)
    assert lines[0].startswith("belfry: working on"), said
    assert [next(line for line in lines if id in line).split(":")[:2] for id in ids] == [["belfry", " " + id] for id in ids]
    assert [line for line in lines[1:] if not line.startswith("belfry: ")] == \
        ([""] if command[0] == "true" else ["hi", "x" * 300, ""])


def test_what_work_says_begins_a_line_of_a_file(shared_server, cli, q, tmp_path):
    ids = [schedule(cli, q, "hi"), schedule(cli, q, "there\n")]
    with open(tmp_path / "log", "w") as log:
        subprocess.run([str(BUILD / "belfry"), "--port", str(shared_server.port), "work", q, "--drain", "--", "cat"],
                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=ENV, check=True, timeout=60)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if not line.startswith("belfry: ")] == ["hi", "there"]
    assert all(any(line.startswith(f"belfry: {id}: done") for line in lines) for id in ids)
