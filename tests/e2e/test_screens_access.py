# SPDX-License-Identifier: MIT
"""The dashboard for everybody: axe-core finds nothing serious on any screen, and the keyboard alone is enough."""
import shutil
import subprocess

import pytest

from screens import SCREENS, browser, full, pages, wide  # noqa: F401
from browser import Keys
from conftest import BUILD
from web import Web

# Answers the findings that matter: the rule, what it says, and the first places.
LOOK = """
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ["violations"] }).then(
        ({ violations }) => done(violations.filter((v) => ["serious", "critical"].includes(v.impact))
            .map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.html + " " + (n.any[0]?.message ?? ""))])),
        (error) => done([["axe", String(error), []]]));
"""


@pytest.fixture(scope="module")
def axe():
    """The text of axe-core, which npm puts beside the build."""
    if not shutil.which("npm"):
        pytest.fail("npm is needed: scripts/setup test")
    home = BUILD / "node-axe"
    path = home / "node_modules/axe-core/axe.min.js"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(home), "axe-core@4"],
                              capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, f"npm install axe-core failed:\n{done.stderr[-2000:]}"
    return path.read_text()


def findings(one, axe):
    if not one.js("return 'axe' in window"):
        one.js(axe)
    return one.driver.execute_async_script(LOOK)


def test_axe_sees_what_is_wrong(wide, axe):
    """The tool works here: a picture without words, and grey text on grey."""
    wide.go("#/now")
    wide.js("const i = document.createElement('img'); i.src = 'ui/bell.svg'; document.querySelector('main').append(i)")
    assert [rule for rule, *_ in findings(wide, axe)] == ["image-alt"]
    wide.open()


@pytest.mark.limit(400)
@pytest.mark.parametrize("width", [1400, 360])
def test_no_screen_has_a_serious_finding(full, pages, axe, width):
    pages.size(width, 900)
    found = {}
    for name, (path, words) in SCREENS.items():
        pages.go(path.format(**full.ids))
        for theme in ("light", "dark"):
            pages.theme(theme)
            if bad := findings(pages, axe):
                found[name, theme] = bad
    assert found == {}


def test_no_dialog_has_a_serious_finding(full, wide, axe):
    def looks(what):
        assert findings(wide, axe) == [], what

    wide.go("#/now")
    wide.press("?")
    wide.shows("this help")
    looks("help")
    wide.press(Keys.ESCAPE)
    wide.driver.switch_to.active_element.send_keys(Keys.CONTROL, "k")
    wide.find(".palette li")
    looks("palette")
    wide.press(Keys.ESCAPE)
    wide.go("#/jobs?q=state:dead&tenant=default")
    wide.click("New job")
    wide.find("dialog form")
    looks("new job")
    wide.click("Leave it", "dialog")
    wide.click("Redrive …", ".doing")
    wide.shows("match")
    looks("bulk")
    wide.click("Leave it", "dialog")
    wide.go("#/recurrences/default/nightly-report")
    wide.click("Edit", ".head")
    wide.shows("As it will be")
    looks("editor")
    wide.go("#/operations?tab=tokens")
    wide.click("New token …")
    looks("new token")
    wide.click("Leave it", "dialog")
    wide.go("#/queues/default/mail.send")
    wide.find('[data-key="setting-rate"] button').click()
    looks("setting")
    wide.press(Keys.ESCAPE)


def test_the_login_has_no_serious_finding(make_server, browser, axe):
    server = make_server()
    with Web(server.port) as web:
        web.post("/v1/tokens", {"name": "root", "role": "admin"})
    browser.base = f"http://127.0.0.1:{server.port}/"
    browser.open()
    browser.find("#token")
    assert findings(browser, axe) == []
    browser.complaints()  # the answer 401


# ---- The keyboard alone: these tests send keys and look, and never click ----


def focus(one):
    """What has the focus, as a screen reader would say it."""
    return one.js("const e = document.activeElement; return e.getAttribute('aria-label') || e.innerText || e.value || e.tagName")


def tab_to(one, words, most=80):
    """Goes to the control with these words by Tab."""
    for _ in range(most):
        one.driver.switch_to.active_element.send_keys(Keys.TAB)
        if focus(one).strip().startswith(words):
            assert one.js("return document.activeElement.matches(':focus-visible')"), f"{words}: the focus is not seen"
            return
    raise AssertionError(f"Tab never came to {words!r}; at the end it was at {focus(one)!r}")


def test_a_job_is_found_opened_and_cancelled_by_keys(full, wide):
    with Web(full.port) as web:
        id = web.post("/v1/jobs", {"queue": "by.keys", "payload": {"n": 1}, "in": "1h"})["id"]
        wide.go("#/now")
        wide.press("/")
        wide.until(lambda: wide.js("return document.activeElement.id") == "search", "the search bar has the focus")
        wide.press("queue:by.keys state:scheduled", Keys.ENTER)
        wide.until(lambda: len(wide.all("tr[data-row]")) == 1, "the job is found")
        wide.js("document.activeElement.blur()")
        wide.press("j")
        wide.press(Keys.ENTER)
        wide.shows("Its time has not come")
        tab_to(wide, "Cancel …")
        wide.press(Keys.ENTER)
        wide.shows("Cancel this job?")
        assert web.get(f"/v1/jobs/{id}")["state"] == "scheduled", "it asks first"
        wide.press(Keys.ESCAPE)
        wide.until(lambda: not wide.all("dialog"), "the question is gone")
        assert focus(wide).startswith("Cancel"), "the focus is back where it was"
        wide.press(Keys.ENTER)
        wide.shows("Cancel this job?")
        wide.press(Keys.ENTER)  # the verb has the focus
        wide.until(lambda: web.get(f"/v1/jobs/{id}")["state"] == "cancelled", "the job is cancelled")


def test_a_setting_is_changed_by_keys(full, wide):
    with Web(full.port) as web:
        web.call("PATCH", "/v1/queues/keys.queue", {"attempts": 4})
        wide.go("#/now")
        wide.driver.switch_to.active_element.send_keys(Keys.CONTROL, "k")
        wide.press("keys.que")
        wide.until(lambda: "keys.queue" in wide.js("return document.querySelector('#places [aria-selected=true]')?.innerText ?? ''"), "the queue is offered")
        wide.press(Keys.ENTER)
        wide.until(lambda: wide.js("return document.querySelector('main h1')?.innerText") == "keys.queue", "the queue's page")
        tab_to(wide, "Change Attempts")
        wide.press(Keys.ENTER)
        wide.until(lambda: wide.all(".setting-form"), "the form")
        wide.driver.switch_to.active_element.send_keys(Keys.CONTROL, "a")
        wide.press("9", Keys.ENTER)
        wide.until(lambda: web.get("/v1/queues/keys.queue")["attempts"] == 9, "the setting is saved")
        wide.until(lambda: focus(wide).startswith("Change Attempts"), "the focus is back at the value")


def test_a_group_of_errors_is_redriven_by_keys(full, wide):
    with Web(full.port) as web:
        web.call("PATCH", "/v1/queues/keys.dead", {"attempts": 1})
        for n in range(3):
            web.post("/v1/jobs", {"queue": "keys.dead", "payload": n})
        for job in web.post("/v1/leases", {"queues": ["keys.dead"], "count": 3})["jobs"]:
            web.post(f"/v1/jobs/{job['id']}/fail", {"token": job["token"], "error": f"no route to 10.0.0.{job['token'][-1]}"})
        wide.go("#/dead?queue=keys.dead")
        wide.shows("no route to")
        tab_to(wide, "Redrive …")
        wide.press(Keys.ENTER)
        wide.shows("3 jobs")
        wide.press(Keys.ENTER)
        wide.until(lambda: web.get("/v1/queues/keys.dead")["ready"] == 3, "they are put back")
        wide.until(lambda: focus(wide) == "Close", "the way out has the focus")
        wide.press(Keys.ENTER)
        wide.shows("No job is dead")


def test_every_screen_is_reached_by_two_keys(wide):
    wide.go("#/operations")
    for key, title in (("n", "Now"), ("q", "Queues"), ("j", "Jobs"), ("f", "Future"), ("c", "Recurrences"), ("w", "Workers"), ("d", "Dead letters"),
                       ("t", "Tenants"), ("o", "Operations")):
        wide.js("document.activeElement.blur()")
        wide.press("g", key)
        wide.until(lambda: wide.js("return document.querySelector('main h1')?.innerText") == title, title)
