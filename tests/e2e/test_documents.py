# SPDX-License-Identifier: MIT
"""Documents name files, pages and tests that are there."""
import os
import re

import pytest

from conftest import ROOT

PAGES = sorted(path.relative_to(ROOT) for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "contrib/**/*.md")
               for path in ROOT.glob(pattern))
PATH = re.compile(r"`((?:src|tests|scripts|docs|bench|contrib|include)/[\w./*-]+)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
WHOLE = re.compile(r"`(tests/[\w/]+\.(?:c|py))::(\w+)`")
TEST = re.compile(r"`(\w+)`\s+in\s+`(tests/[\w/]+\.(?:c|py))`")


@pytest.mark.parametrize("page", PAGES, ids=map(str, PAGES))
def test_files_and_pages_that_are_named_exist(page):
    text = (ROOT / page).read_text()
    missing = [path for path in PATH.findall(text) if not list(ROOT.glob(path.rstrip("/")))]
    missing += [link for link in LINK.findall(text) if not os.path.exists(ROOT / page.parent / link)]
    assert missing == []


def is_test(path, name):
    text = (ROOT / path).read_text() if (ROOT / path).exists() else ""
    begins = r"def " if path.endswith(".py") else r"static void "
    return re.search(rf"^{begins}{name}\(", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=map(str, PAGES))
def test_tests_that_are_named_are_in_their_files(page):
    text = (ROOT / page).read_text()
    for name, path in TEST.findall(text):
        assert re.search(rf"\b{name}\(", (ROOT / path).read_text()), f"{name} is not in {path}"
    for path, name in WHOLE.findall(text):
        assert is_test(path, name), f"there is no test {name} in {path}"


def test_each_promise_of_security_has_a_test():
    section = (ROOT / "docs/security.md").read_text().split("\n## Promises\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 12
    for promise, _, tests in rows:
        assert WHOLE.sub("", tests).strip(" ,") == "" and WHOLE.search(tests), f"{promise.strip()} has no test"


def test_a_test_that_is_missing_is_seen():
    assert is_test("tests/e2e/test_documents.py", "test_a_test_that_is_missing_is_seen")
    assert is_test("tests/unit/front/test_resp.c", "a_request_in_pieces_is_looked_at_once")
    assert not is_test("tests/e2e/test_documents.py", "test_a_test_that_is") and not is_test("tests/none.c", "a")
