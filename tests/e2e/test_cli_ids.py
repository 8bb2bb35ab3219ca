# SPDX-License-Identifier: MIT
"""Ids that are given in part on the command line."""
import json
import os
import pty
import re
import subprocess

from conftest import BUILD, ENV
from shell import answer, get, ok, run, schedule


def on(server):
    return lambda *args, **kw: run(server, *args, **kw)


def state(cli, id):
    return get(cli, id)["state"]


def test_the_last_or_first_characters_are_enough(server):
    cli = on(server)
    ids = [schedule(cli, "mail", "x", "--in", f"{i}h") for i in range(1, 4)]
    for id in ids:
        assert get(cli, id[-4:])["id"] == id
        assert get(cli, id[-3:].lower())["id"] == id
        assert get(cli, id[:9])["id"] == id  # the due time
        assert get(cli, id[1:])["id"] == id
    assert answer(cli("explain", ids[0][-3:], "--json"))["id"] == ids[0]
    assert ok(cli("cancel", ids[0][-3:])).strip() == "cancelled"
    ok(cli("reschedule", ids[1][-3:], "--in", "5h"))
    ok(cli("delete", ids[2][-3:]))
    assert state(cli, ids[0]) == "cancelled" and state(cli, ids[1]) == "scheduled"
    assert cli("get", ids[2]).returncode == 4
    child = schedule(cli, "mail", "x", "--after", ids[1][-3:])
    assert get(cli, child)["after"] == [ids[1]]
    assert state(cli, child) == "waiting"


def test_a_lease_is_completed_by_a_part_of_its_id(server):
    cli = on(server)
    id = schedule(cli, "mail", "x")
    lease = answer(cli("lease", "mail", "--json"))[0]
    ok(cli("complete", id[-4:], str(lease["token"])))
    assert state(cli, id) == "done"


def test_several_are_listed_and_nothing_changes(server):
    cli = on(server)
    ids = [schedule(cli, f"mail{i}", "x", "--at", "2030-01-01T00:00:00Z") for i in range(7)]
    part = ids[0][:20]
    done = cli("cancel", part)
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == ""
    assert lines[0] == f"belfry: the ids of several jobs begin or end with {part}:"
    shown = [re.fullmatch(r"  (\w{26}) \(queue (mail\d), scheduled\)", line) for line in lines[1:6]]
    assert len({m[1] for m in shown}) == 5 and all(m[2] == f"mail{ids.index(m[1])}" for m in shown)
    assert lines[6:] == ["  and more", "belfry: give more characters of the id"]
    assert {state(cli, id) for id in ids} == {"scheduled"}
    error = json.loads(cli("delete", part, "--json").stderr)
    assert error["code"] == "AMBIGUOUS" and error["exit"] == 2 and error["detail"].count("scheduled") == 5
    two = cli("schedule", "mail", "x", "--after", ids[0][-3:], "--after", part)
    assert two.returncode == 2 and "several jobs" in two.stderr
    assert len(answer(cli("list", "--json"))["jobs"]) == 7


def test_a_part_of_no_id_is_not_found(server):
    cli = on(server)
    id = schedule(cli, "mail", "x", "--in", "1h", "--key", "abc")
    done = cli("cancel", "abc")  # a key is not meant
    assert done.returncode == 4
    assert done.stderr.splitlines()[0] == "belfry: no job's id begins or ends with ABC"
    assert "--key" in done.stderr
    assert cli("get", id[-4:-1] + "Z").returncode == 4
    assert answer(cli("get", "--key", "abc", "--queue", "mail", "--json"))["id"] == id
    assert state(cli, id) == "scheduled"
    for odd in ("8k", "user-7", id + "0"):
        done = cli("get", odd)
        assert done.returncode == 2
        assert "expected a job's id of 26 characters" in done.stderr
        assert "3 or more of its first or last characters will do" in done.stderr
    assert "id of 26 characters" in cli("bulkstop", "8k3").stderr


def test_a_part_is_looked_for_in_the_tenant_that_is_asked_for(server):
    cli = on(server)
    here = schedule(cli, "mail", "x", "--in", "1h")
    there = schedule(cli, "mail", "x", "--in", "1h", "--tenant", "acme")
    assert here[-4:] != there[-4:]
    assert cli("get", there[-4:]).returncode == 4
    assert ok(cli("cancel", there[-4:], "--tenant", "acme")).strip() == "cancelled"
    assert cli("cancel", here[-4:], "--tenant", "acme").returncode == 4
    assert state(cli, here) == "scheduled"


def test_the_whole_id_is_named_on_a_terminal_only(server):
    cli = on(server)
    id = schedule(cli, "mail", "x", "--in", "1h")
    assert cli("get", id[-4:]).stderr == ""
    reader, terminal = pty.openpty()
    subprocess.run([str(BUILD / "belfry"), "--port", str(server.port), "cancel", id[-4:]], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=terminal, env=ENV)
    os.close(terminal)
    said = os.read(reader, 4096).decode()
    os.close(reader)
    assert said.strip() == f"belfry: {id[-4:]} is {id} (queue mail, scheduled)"


def test_a_search_without_an_end_is_refused(server):
    cli = on(server)
    id = schedule(cli, "mail", "x", "--in", "1h")
    with server.wire(3) as w:
        for _ in range(101):
            w.call("BATCH", "all", *(["4", "q", "x", "IN", "1h"] * 1000))
    done = cli("cancel", id[-12:])
    assert done.returncode == 2 and "too many jobs" in done.stderr and "give the whole id" in done.stderr
    assert state(cli, id) == "scheduled"


def test_a_token_that_may_not_list_needs_whole_ids(server, tmp_path):
    root, worker = tmp_path / "root", tmp_path / "worker"
    root.write_text(answer(run(server, "token", "create", "root", "admin", "--tenant", "*", "--json"))["token"])
    root.chmod(0o600)
    cli = lambda *args, auth=root: run(server, "--auth-file", auth, *args)
    worker.write_text(answer(cli("token", "create", "w", "worker", "--tenant", "default", "--json"))["token"])
    worker.chmod(0o600)
    id = schedule(cli, "mail", "x")
    done = cli("get", id[-4:], auth=worker)
    assert done.returncode == 1
    assert "NOPERM" in done.stderr and "give the whole id" in done.stderr
    assert answer(cli("get", id, "--json", auth=worker))["id"] == id
