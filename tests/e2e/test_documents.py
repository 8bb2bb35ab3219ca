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
TEST = re.compile(r"`(\w+)`\s+in\s+`(tests/[\w/]+\.(?:c|py))`")


@pytest.mark.parametrize("page", PAGES, ids=map(str, PAGES))
def test_files_and_pages_that_are_named_exist(page):
    text = (ROOT / page).read_text()
    missing = [path for path in PATH.findall(text) if not list(ROOT.glob(path.rstrip("/")))]
    missing += [link for link in LINK.findall(text) if not os.path.exists(ROOT / page.parent / link)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=map(str, PAGES))
def test_tests_that_are_named_are_in_their_files(page):
    for name, path in TEST.findall((ROOT / page).read_text()):
        assert re.search(rf"\b{name}\(", (ROOT / path).read_text()), f"{name} is not in {path}"
