# SPDX-License-Identifier: MIT
"""The screens of the dashboard with the words that their data has, and fixtures of a browser that shows them.
A test file imports the fixtures that it names: `from screens import browser, full, pages, wide`."""
import shutil

import pytest

pytest.importorskip("selenium", reason="selenium is missing: scripts/setup test")
if not shutil.which("chromedriver"):
    pytest.skip("chromedriver is missing: scripts/setup test", allow_module_level=True)

from browser import Browser
from conftest import _factory
from ui_data import fill

# A screen, and words that only its data can give.
SCREENS = {
    "now": ("#/now", ["wrong now", "image.resize", "Running", "Busiest queues"]),
    "queues": ("#/queues", ["invoice.charge", "the queue is paused", "3 / 3"]),
    "queue": ("#/queues/default/mail.send", ["exp:5s:10m", "600/1m", "timeout after <n> ms"]),
    "worker": ("#/queues/default/search.index?worker=1", ["curl -s --json"]),
    "jobs": ("#/jobs?q=state:dead", ["mail.send", "SMTP 451"]),
    "job": ("#/jobs/default/{again}", ["done", "18446744073709551615", "deadlock detected", "exporter-2"]),
    "scheduled": ("#/jobs/default/{big}", ["Its time has not come", "12345678901234567890", "10.10", "order-17"]),
    "future": ("#/future", ["become due", "times the usual"]),
    "recurrences": ("#/recurrences", ["every day at 02:30", "on weekdays at 09:30", "America/New_York"]),
    "calendar": ("#/recurrences?as=calendar&month=2027-03", ["March 2027", "01:30 nightly"]),
    "recurrence": ("#/recurrences/default/nightly-report?month=2027-03", ["March 2027", "clocks go forward", "does not exist on this day"]),
    "ledger": ("#/recurrences/default/heartbeat", ["failed", "It is paused"]),
    "workers": ("#/workers", ["gpu-7", "mailer-2", "image.resize"]),
    "dead": ("#/dead", ["template", "greylisted"]),
    "tenants": ("#/tenants", ["hooli", "quiet until", "maintenance"]),
    "tenant": ("#/tenants/hooli", ["Quiet hours", "Etc/UTC"]),
    "audit": ("#/operations", ["QUEUE mail.send", "no token"]),
    "bulks": ("#/operations?tab=bulks", ["redrive", "dry run"]),
    "push": ("#/operations?tab=push", ["http://127.0.0.1:9/in"]),
    "storage": ("#/operations?tab=storage", ["Journal", "Commits"]),
    "tokens": ("#/operations?tab=tokens", ["There are no tokens"]),
}


@pytest.fixture(scope="module")
def full(request, tmp_path_factory):
    """A server with something of everything; `ids` has jobs of interest."""
    make, finish = _factory(request, tmp_path_factory.mktemp("screens"))
    server = make(push_allow="loopback", ui_label="staging")
    server.ids = fill(server.port)
    yield server
    finish()


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


@pytest.fixture
def pages(full, browser):
    """The pages of the server that has everything."""
    base = f"http://127.0.0.1:{full.port}/"
    if browser.base != base:
        browser.base = base
        browser.open()
    browser.until(lambda: browser.all("main > .screen"), "the first screen")
    return browser


@pytest.fixture
def wide(pages):
    """The browser at its usual size, without complaints of the test before."""
    pages.size(1400)
    pages.theme("light")
    pages.complaints()
    yield pages
    assert pages.complaints() == []
