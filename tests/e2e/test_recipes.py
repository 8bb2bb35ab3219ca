# SPDX-License-Identifier: MIT
"""The shell recipes of README.md and docs/*.md work as they stand.

A comment before a block says what is done with it, and readers of the page do not see it:

    <!-- run -->              runs here, in the order of the page, in one shell
    <!-- not run: why -->     does not

Every block that looks like shell needs one of these. Programs in front of the PATH make up for what a reader does by
hand: a second terminal, ^C, copying an id. Ports and folders of the machine are replaced."""
import os
import re
import signal
import shutil
import socket
import subprocess

import pytest

from certs import Authority
from conftest import BUILD, ENV, ROOT

MARK = re.compile(r"<!-- (run|not run: \S.*?)(?:: .*)? -->")
SHELL = re.compile(r"^(?:\w+=\S+ )*(?:build/)?(?:belfryd?|redis-cli|curl|make|sudo|openssl|export|systemctl|journalctl|docker|promtool)\b", re.M)
ELSEWHERE = {"http.md"}  # test_http_docs.py runs it

# What the programs are: a reader's second terminal, and a reader's hands.
PROGRAMS = {
    "belfry": r"""case " $* " in
*" work "*) timeout -s INT 6 "$REAL/belfry" "$@" || [ $? = 124 ] ;;
*" token create "*) "$REAL/belfry" "$@" | tee answer; sed -n 's/.*\(root\.[A-Za-z0-9_-]\{43\}\).*/\1/p' answer >>"$HOME/pasted" ;;
*) exec "$REAL/belfry" "$@" ;;
esac""",
    "belfryd": r"""case " $* " in *" --check-config "* | *" token create "*) exec "$REAL/belfryd" "$@" ;; esac
if [ -e server.pid ]; then
    kill "$(cat server.pid)"
    while kill -0 "$(cat server.pid)" 2>/dev/null; do sleep 0.05; done
fi
"$REAL/belfryd" "$@" </dev/null >>server.log 2>&1 &
echo $! >server.pid
until (exec 3<>"/dev/tcp/127.0.0.1/$BELFRY_PORT") 2>/dev/null; do
    kill -0 $! 2>/dev/null || { cat server.log >&2; exit 1; }
    sleep 0.05
done""",
    "make": r"""[ "$*" = run ] && BELFRY_GREETING=1 exec belfryd""",
    "sudo": r"""exec "$@" """,
    "curl": r"""/usr/bin/curl -sS --fail-with-body -m 60 -w '\n' "$@" | tee answer || exit
case " $* " in
*/leases*) for name in id token; do sed -n "s/.*\"$name\":\"\([^\"]*\)\".*/\1/p" answer >lease.$name; done ;;
esac""",
    "redis-cli": r"""/usr/bin/redis-cli "$@" | tee answer
! grep -qE '^(ERR|[A-Z]+ )' answer || exit 1
case " $* " in *" LEASE "*) awk '/^(id|token)$/ {name=$0; getline; print > "lease." name}' answer ;; esac""",
    "send-mail": "cat",
}


def blocks(path):
    """What each block is marked with, or None, and its text."""
    marker, block, fence, out = None, [], None, []
    for line in path.read_text().splitlines() + [""]:
        if fence is not None:
            if line.startswith("```"):
                out.append((marker, "\n".join(fence)))
                marker = fence = None
            else:
                fence.append(line)
        elif line.startswith("    ") or (block and not line.strip()):
            block.append(line[4:])
        else:
            if block:
                out.append((marker, "\n".join(block).rstrip()))
                marker, block = None, []
            found = MARK.fullmatch(line.strip())
            if found:
                marker = found[1].split(":")[0]
            elif line.startswith("```"):
                fence = []
    if block:
        out.append((marker, "\n".join(block).rstrip()))
    return out


def pages():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if path.name not in ELSEWHERE and "Made by scripts/gendocs.c" not in path.read_text():
            yield path


PAGES = list(pages())


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_every_recipe_is_run_or_says_why_not(path):
    for marker, text in blocks(path):
        assert marker or not SHELL.search(text), f"mark this block of {path.name} with <!-- run --> or <!-- not run: why -->:\n{text}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def shell(tmp_path):
    """Runs recipes in a folder of their own."""
    home, port = tmp_path / "home", free_port()
    for name in ("home", "bin", "etc/belfry", "var/lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "build").symlink_to("bin")
    for name, text in PROGRAMS.items():
        program = tmp_path / ("send-mail" if name == "send-mail" else f"bin/{name}")
        program.write_text(f"#!/bin/bash\nset -uo pipefail\n{text}\n")
        program.chmod(0o755)
    for made, name in zip(Authority(tmp_path / "ca").issue("server"), ("cert.pem", "key.pem")):
        shutil.copy(made, tmp_path / name)

    def run(texts):
        script = "set -euo pipefail\n" + "\n".join(texts)
        for before, after in ((r"\b2355\b", str(port)), (r"/(var/lib|etc)/belfry", rf"{tmp_path}/\1/belfry"),
                              (r"(?m)^(.*'[^'\n]*)<(id|token)>([^'\n]*'.*)$", r"""\1'"$(cat lease.\2)"'\3"""),
                              (r"<(id|token)>", r'"$(cat lease.\1)"'), (r"cat > ~", r'cat < "$HOME/pasted" > ~')):
            script = re.sub(before, after, script)
        return subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100, env={
            **ENV, "PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(home), "REAL": str(BUILD), "BELFRY_PORT": str(port)})

    run.dir = tmp_path
    yield run
    if (tmp_path / "server.pid").exists():
        try:
            os.kill(int((tmp_path / "server.pid").read_text()), signal.SIGKILL)
        except ProcessLookupError:
            pass


def recipes(path):
    return [text for marker, text in blocks(path) if marker == "run"]


RUN = [path for path in PAGES if recipes(path)]


@pytest.mark.skipif(not shutil.which("redis-cli") or not shutil.which("curl"), reason="redis-cli and curl are needed")
@pytest.mark.parametrize("path", RUN, ids=lambda p: p.name)
def test_recipes_work(shell, path):
    texts = recipes(path)
    if not re.search(r"^(belfryd|make run)", "\n".join(texts), re.M):
        texts.insert(0, "belfryd --data data")  # the page takes a server for granted
    done = shell(texts)
    log = shell.dir / "server.log"
    assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")
    if path.name == "README.md":
        assert re.search(r"^hi", done.stdout, re.M) and '"payload":"hi"' in done.stdout, done.stdout


def test_pages_that_have_recipes_run_some():
    assert {"README.md", "security.md", "deploy.md"} <= {path.name for path in RUN}


def test_a_recipe_that_fails_is_seen(shell):
    assert shell(["belfryd --prot 1"]).returncode != 0
    assert shell(["belfryd --data d", "redis-cli -p 2355 SCHEDULE"]).returncode != 0
    assert shell(["belfryd --data d", "belfry get 01"]).returncode != 0


def test_blocks_and_their_marks_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n<!-- run -->\n\n    a\n\n    b\n\ntext\n\n    c\n\n<!-- not run: why -->\n```sh\nd\n```\n"
                    "<!-- run: with a word -->\n\n    e")
    assert blocks(page) == [("run", "a\n\nb"), (None, "c"), ("not run", "d"), ("run", "e")]
