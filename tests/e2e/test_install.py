# SPDX-License-Identifier: MIT
"""make install and make uninstall, and what scripts/setup does to a machine."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ENV, ROOT

FILES = [
    "bin/belfry", "bin/belfryd", "lib/systemd/system/belfryd.service",
    "share/man/man1/belfry.1", "share/man/man5/belfry.ini.5", "share/man/man8/belfryd.8",
    "share/bash-completion/completions/belfry", "share/zsh/site-functions/_belfry",
    "share/fish/vendor_completions.d/belfry.fish",
    "share/doc/belfry/README.md", "share/doc/belfry/LICENSE", "share/doc/belfry/docs/deploy.md",
    "share/doc/belfry/examples/belfry.ini", "share/doc/belfry/examples/alerts.yml",
    "share/doc/belfry/examples/alerts_test.yml", "share/doc/belfry/examples/grafana.json",
]
PAGES = [name for name in FILES if "/man/" in name]


def run(*command, **kw):
    return subprocess.run([str(x) for x in command], capture_output=True, text=True, timeout=100, env={**ENV, **kw})


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    if not (BUILD / "share/belfry.1").exists():
        pytest.skip(f"scripts/build makes it: ninja -C {BUILD} share")
    prefix = tmp_path_factory.mktemp("install") / "opt/belfry"
    done = run("cmake", "--install", BUILD, "--prefix", prefix)
    assert done.returncode == 0, done.stderr
    yield prefix
    shutil.rmtree(prefix.parents[1])


def test_everything_is_there(prefix):
    there = {str(p.relative_to(prefix)) for p in prefix.rglob("*") if p.is_file()}
    assert set(FILES) <= there
    others = {name for name in there - set(FILES) if not name.startswith("share/doc/belfry/docs/")}
    assert others == set(), "what else is installed belongs into this list"


def test_the_unit_has_the_prefix(prefix):
    unit = prefix / "lib/systemd/system/belfryd.service"
    text = unit.read_text()
    assert f"ExecStart={prefix}/bin/belfryd --config -/etc" in text and "/usr/local/" not in text
    document, = re.findall(r"file:(\S+)", text)
    assert os.path.exists(document)
    if shutil.which("systemd-analyze"):
        done = run("systemd-analyze", "verify", "--man=no", unit)
        assert done.returncode == 0 and "belfryd.service" not in done.stderr, done


def test_the_sample_is_accepted_and_changes_nothing(prefix):
    sample = prefix / "share/doc/belfry/examples/belfry.ini"
    with_it = run(prefix / "bin/belfryd", "--check-config", "--config", sample)
    assert with_it.returncode == 0 and with_it.stdout == run(prefix / "bin/belfryd", "--check-config").stdout
    bare = sample.with_name("bare.ini")
    bare.write_text(re.sub(r"^;", "", sample.read_text(), flags=re.M))
    same = run(prefix / "bin/belfryd", "--check-config", "--config", bare)
    bare.unlink()
    values = [[line.split(" ; ")[0] for line in x.stdout.splitlines()] for x in (with_it, same)]
    assert same.returncode == 0 and values[0] == values[1], same.stderr


@pytest.mark.parametrize("page", PAGES)
def test_manual_pages_are_well_formed(prefix, page):
    looked = False
    if shutil.which("mandoc"):
        done = run("mandoc", "-Tlint", prefix / page)
        looked = True
        assert done.returncode == 0 and done.stdout == "", done.stdout
    if shutil.which("man"):
        done = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", prefix / page, MANWIDTH="80", MANROFFOPT="")
        looked = True
        text = re.sub(".\x08", "", done.stdout)  # bold is struck twice
        assert done.returncode == 0 and done.stderr == "" and "SEE ALSO" in text, done.stderr
    if not looked:
        pytest.skip("neither mandoc nor man is installed")


def test_manual_pages_have_every_option_and_command(prefix):
    shown = run(prefix / "bin/belfryd", "--check-config").stdout
    names = re.findall(r"^(\w+) = ", shown, re.M)
    ini, server, tool = ((prefix / page).read_text().replace("\\-", "-")
                         for page in ("share/man/man5/belfry.ini.5", "share/man/man8/belfryd.8", "share/man/man1/belfry.1"))
    assert len(names) > 40
    for name in names:
        assert f".B {name}\n" in ini and f"--{name.replace('_', '-')}\\fR" in server
    for name in ("schedule", "work", "top", "tokencreate"):
        assert f".SS {name}\n" in tool


def test_the_completions_are_read_by_their_shells(prefix):
    for shell, name in (("bash", FILES[6]), ("zsh", FILES[7]), ("fish", FILES[8])):
        assert "belfry" in (prefix / name).read_text()
        if shutil.which(shell):
            done = run(shell, "-n", prefix / name)
            assert done.returncode == 0, done.stderr


def test_uninstall_leaves_nothing_but_what_others_put_there(tmp_path):
    prefix = tmp_path / "p"
    stage = tmp_path / "stage"
    if not (BUILD / "share/belfry.1").exists():
        pytest.skip(f"scripts/build makes it: ninja -C {BUILD} share")
    listed = BUILD / "install_manifest.txt"
    for destdir in ("", str(stage)):
        assert run("cmake", "--install", BUILD, "--prefix", prefix, DESTDIR=destdir).returncode == 0
        mine = tmp_path / "manifest"
        mine.write_text(listed.read_text())
        root = stage / str(prefix)[1:] if destdir else prefix
        (root / "share/doc/other").mkdir()
        (root / "bin/other").write_text("")
        wrong = run(ROOT / "scripts/uninstall", mine, "/usr", DESTDIR=destdir)
        assert wrong.returncode == 1 and "was not to /usr" in wrong.stderr and (root / "bin/belfry").exists()
        done = run(ROOT / "scripts/uninstall", mine, prefix, DESTDIR=destdir)
        assert done.returncode == 0, done.stderr
        assert [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()] == ["bin/other"]
        assert not (root / "share/doc/belfry").exists() and (root / "share/doc/other").exists()
    none = run(ROOT / "scripts/uninstall", tmp_path / "none", prefix)
    assert none.returncode == 1 and "make install" in none.stderr


# ---- scripts/setup, on machines made of stubs ----


class Machine:
    """A PATH with the programs that are named. pkg-config knows the modules; apt-get and sudo only write down."""

    def __init__(self, directory, programs, modules=True, clang="19"):
        self.dir, self.calls = directory, directory / "calls"
        directory.mkdir()
        for name in ("bash", "env", "id", "mktemp", "rm", "sed", "tail", "cat"):
            (directory / name).symlink_to(shutil.which(name))
        for name in programs:
            self.stub(name, "exit 0")
        self.stub("pkg-config", "exit 0" if modules else "exit 1")
        if "apt-get" in programs:
            self.stub("apt-get", f'echo "apt-get $*" >>{self.calls}')
            self.stub("apt-cache", f'echo "  Depends: clang-{clang}"')
        if "clang" in programs:
            self.stub("clang", f'[ "$1" != -dumpversion ] || {{ echo {clang}.1.7; exit 0; }}; exit 1')
        if "sudo" in programs:
            self.stub("sudo", '"$@"')

    def stub(self, name, text):
        path = self.dir / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def setup(self, *args, **env):
        done = subprocess.run(["bash", ROOT / "scripts/setup", *args], capture_output=True, text=True, timeout=60,
                              env={"PATH": str(self.dir), "TZDIR": str(self.dir), **env})
        return done, self.calls.read_text() if self.calls.exists() else ""

    def zones(self):
        (self.dir / "Europe").mkdir()
        (self.dir / "Europe/Berlin").write_text("")
        return self


TOOLS = ["cc", "make", "cmake", "ninja"]


def test_a_machine_that_has_all_is_left_alone(tmp_path):
    debian = Machine(tmp_path / "debian", [*TOOLS, "apt-get"]).zones()
    done, calls = debian.setup()
    assert (done.returncode, done.stdout, done.stderr, calls) == (0, "", "", "")
    done, calls = Machine(tmp_path / "other", TOOLS).zones().setup()
    assert (done.returncode, done.stdout, done.stderr, calls) == (0, "", "", "")


def test_what_is_missing_is_named_first_and_then_installed(tmp_path):
    debian = Machine(tmp_path / "debian", ["cc", "make", "cmake", "sudo", "apt-get"])
    done, calls = debian.setup()
    assert done.returncode == 0, done.stderr
    assert re.search(r"missing, and installed now with .*apt-get: ninja-build tzdata$", done.stdout.strip())
    assert calls.splitlines() == ["apt-get update -q", "apt-get install -q -y --no-install-recommends ninja-build tzdata"]


def test_without_apt_or_when_asked_it_only_tells(tmp_path):
    other = Machine(tmp_path / "other", ["cc", "make", "cmake"], modules=False).zones()
    done, calls = other.setup()
    assert done.returncode == 1 and calls == ""
    assert "ninja-build libuv1-dev libxxhash-dev" in done.stderr and "tzdata" not in done.stderr
    debian = Machine(tmp_path / "debian", ["cc", "apt-get"]).zones()
    done, calls = debian.setup(BELFRY_SETUP="no")
    assert done.returncode == 1 and "make cmake ninja-build" in done.stderr and calls == ""


@pytest.mark.parametrize("there", [False, True])
def test_the_sanitizers_are_those_of_the_clang_that_is_there_or_will_be(tmp_path, there):
    clang = ["clang"] if there else []
    debian = Machine(tmp_path / "debian", [*TOOLS, *clang, "sudo", "apt-get"], clang="17" if there else "19").zones()
    done, calls = debian.setup("test")
    assert done.returncode == 0, done.stderr
    words = calls.splitlines()[-1].split()
    assert ("libclang-rt-17-dev" if there else "libclang-rt-19-dev") in words and "libclang-rt-dev" not in words
    assert ("clang" in words) == (not there)
