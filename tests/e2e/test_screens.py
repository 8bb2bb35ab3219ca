# SPDX-License-Identifier: MIT
"""The dashboard in a real browser: every screen with data, narrow and wide, light and dark; and what its buttons do."""
import json
import subprocess

import pytest

from screens import SCREENS, browser, full, pages, wide  # noqa: F401
from browser import Keys
from conftest import ROOT
from ui_data import BIG
from web import Web


@pytest.mark.parametrize("width", [1400, 360])
def test_every_screen_shows_its_data_in_both_themes_without_complaints(full, pages, width):
    pages.size(width, 900 if width > 400 else 780)
    for name, (path, words) in SCREENS.items():
        pages.go(path.format(**full.ids))
        pages.shows(*(word for word in words if width > 400 or "Busiest" not in word and "SMTP" not in word and "America" not in word))
        assert pages.js("return document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than {width}"
        assert pages.nameless() == [], name
        assert pages.js("return document.querySelectorAll('main h1').length") == 1, name
        for theme in ("light", "dark"):
            pages.theme(theme)
            pages.shot(f"{name}-{width}-{theme}")
    assert pages.complaints() == []
    assert pages.hosts() == {f"127.0.0.1:{full.port}"}


def test_keys_go_anywhere(wide):
    wide.go("#/now")
    wide.press("g", "q")
    wide.shows("Waiting workers")
    wide.press("?")
    wide.shows("go to Dead letters", "next in the list")
    wide.press(Keys.ESCAPE)
    wide.press("/")
    wide.until(lambda: wide.js("return document.activeElement.id") == "search", "the search bar has the focus")
    wide.press("state:expired", Keys.ENTER)
    wide.until(lambda: len(wide.all("tr[data-row]")) == 3, "three expired jobs")
    wide.js("document.activeElement.blur()")
    wide.press("j", "j", "x")
    wide.shows("1 selected")
    wide.driver.switch_to.active_element.send_keys(Keys.CONTROL, "k")
    wide.find(".palette input").send_keys("weekday")
    wide.shows("weekday-standup")
    wide.find(".palette input").send_keys(Keys.ENTER)
    wide.shows("on weekdays at 09:30")


def test_a_setting_is_edited_in_place_and_a_wrong_one_is_refused_in_the_servers_words(full, wide):
    wide.go("#/queues/default/report.build")
    wide.find('[data-key="setting-attempts"] button').click()
    wide.fill(".setting-form input", "many" + Keys.ENTER)
    wide.shows("attempts:")
    wide.fill(".setting-form input", "7" + Keys.ENTER)
    wide.until(lambda: not wide.all(".setting-form"), "the form is closed")
    with Web(full.port) as web:
        assert web.get("/v1/queues/report.build")["attempts"] == 7
    wide.complaints()  # the refused request is one: the browser notes the answer 400


def test_a_bulk_counts_first_and_then_acts(full, wide):
    with Web(full.port) as web:
        for n in range(30):
            web.post("/v1/jobs", {"queue": "spring.clean", "payload": n, "in": "1h"})
        wide.go("#/jobs?q=queue:spring.clean+state:scheduled&tenant=default")
        wide.click("Cancel …", ".doing")
        wide.shows("30 jobs match")
        assert web.get("/v1/queues/spring.clean")["scheduled"] == 30
        wide.click("Cancel 30 jobs", "dialog")
        wide.shows("30 cancelled")
        assert web.get("/v1/queues/spring.clean")["cancelled"] == 30
        wide.click("Close", "dialog .actions")
        wide.shows("No job matches")


def test_a_list_holds_still_and_says_how_much_is_new(full, wide):
    with Web(full.port) as web:
        web.post("/v1/jobs", {"queue": "news", "payload": 0, "in": "1h"})
        wide.go("#/jobs?q=queue:news&tenant=default")
        wide.until(lambda: len(wide.all("tr[data-row]")) == 1, "the job")

        def told():
            web.post("/v1/jobs", {"queue": "news", "payload": 1, "in": "2h"})
            return wide.js("return !document.querySelector('button.fresh').classList.contains('hidden')")

        wide.until(told, "a change is told")  # the stream may begin after the first of them
        assert len(wide.all("tr[data-row]")) == 1
        wide.js("document.querySelector('button.fresh').click()")
        wide.until(lambda: len(wide.all("tr[data-row]")) > 1, "the new jobs")


def test_selected_jobs_are_redriven_one_by_one(full, wide):
    with Web(full.port) as web:
        web.call("PATCH", "/v1/queues/sick", {"attempts": 1})
        for n in range(3):
            web.post("/v1/jobs", {"queue": "sick", "payload": n})
        for job in web.post("/v1/leases", {"queues": ["sick"], "count": 3})["jobs"]:
            web.post(f"/v1/jobs/{job['id']}/fail", {"token": job["token"], "error": f"code {job['id']} {job['token']}"})
        wide.go("#/dead?queue=sick")
        wide.shows("3 dead jobs in 1 group")
        wide.click("Redrive …", ".group")
        wide.click("Redrive 3 jobs", "dialog")
        wide.shows("3 of 3 put back")
        wide.click("Close", "dialog .actions")
        wide.shows("No job is dead")
        assert web.get("/v1/queues/sick")["ready"] == 3


def test_an_edit_of_a_recurrence_is_previewed_before_it_is_saved(full, wide):
    wide.go("#/recurrences/default/paused-sync")
    wide.click("Resume", ".head")
    wide.click("Edit", ".head")
    wide.fill("#field-rule", "0 6 * *")
    wide.shows("cron:")
    wide.fill("#field-rule", "0 6 * * 1")
    wide.shows("Every Monday at 06:00", "06:00 +00:00")
    with Web(full.port) as web:
        assert web.get("/v1/recurrences/paused-sync")["rule"] == "*/15 * * * *"
        wide.click("Save", ".form")
        wide.until(lambda: web.get("/v1/recurrences/paused-sync")["rule"] == "0 6 * * 1", "the rule is saved")
    wide.complaints()  # the refused rule


def test_a_payload_keeps_every_byte(full, wide):
    wide.go(f"#/jobs/default/{full.ids['big']}")
    wide.shows("12345678901234567890")
    shown = wide.js("return document.querySelector('pre.code').textContent")
    assert "".join(shown.split()) == "".join(BIG.decode().split())


def test_texts_are_laid_out_and_searched_as_written():
    """The modules without a page, in Node."""
    script = """
        import { pretty } from "%(ui)s/json_text.js";
        import { parse } from "%(ui)s/search.js";
        import { inWords } from "%(ui)s/rule.js";
        import { duration, span } from "%(ui)s/format.js";
        console.log(JSON.stringify([pretty('{"a":[1e400,-0.10,{}],"b":"x\\\\"}"}'), pretty("not {json"),
            parse("queue:a state:dead,ready error:~x due:<2h", 1000), parse("colour:red").problem.slice(0, 7), inWords("rrule", "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=23;BYMINUTE=0"),
            inWords("cron", "*/15 9-17 * * 1-5"), duration(5430000), span(93784000)]));
    """ % {"ui": (ROOT / "src/ui").as_uri()}
    out = json.loads(subprocess.run(["node", "--no-warnings", "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60, check=True).stdout)
    assert out == ['{\n  "a": [\n    1e400,\n    -0.10,\n    {}\n  ],\n  "b": "x\\"}"\n}', "not {json",
                   {"query": {"queue": "a", "state": ["dead", "ready"], "error": "x", "to": 7201000}, "problem": None}, "colour:",
                   "every month on the last day at 23:00", "*/15 9-17 * * 1-5", "1h30m30s", "1d 2h"]


def test_a_token_opens_a_session_and_buttons_follow_its_role(make_server, browser):
    server = make_server()
    with Web(server.port) as web:
        root = web.post("/v1/tokens", {"name": "root", "role": "admin"})["token"]
    browser.base = f"http://127.0.0.1:{server.port}/"
    with Web(server.port, token=root) as web:
        web.post("/v1/jobs", {"queue": "q", "payload": 1, "in": "1h"})
        look = web.post("/v1/tokens", {"name": "look", "role": "read-only", "tenant": "default"})["token"]
        browser.open("#/queues/default/q")
        browser.fill("#token", "look.wrong" + Keys.ENTER)
        browser.shows("no such token")
        browser.fill("#token", look + Keys.ENTER)
        browser.shows("Settings", "Tenant default")
        assert browser.js("return document.querySelectorAll('.head button, .settings button').length") == 0
        web.call("DELETE", "/v1/tokens/look")
        browser.find("#token")  # the next request is refused, so the page asks for another one
        browser.fill("#token", root + Keys.ENTER)
        browser.until(lambda: browser.js("return document.querySelectorAll('.head button').length") == 2, "the buttons of an admin")


def test_the_page_says_that_the_server_is_gone_and_comes_back_by_itself(make_server, browser):
    server = make_server()
    with Web(server.port) as web:
        web.post("/v1/jobs", {"queue": "q", "payload": 1, "in": "1h"})
    browser.base = f"http://127.0.0.1:{server.port}/"
    browser.open("#/queues")
    browser.shows("1 queue")
    port = server.port
    server.stop()
    browser.shows("does not answer")
    server.start(port=port)
    browser.until(lambda: "does not answer" not in browser.text(), "the banner is gone")
    browser.shows("1 queue")


def test_saving_a_recurrence_loses_nothing(full, wide):
    options = {"attempts": 7, "backoff": "1m,5m", "lease": "90s", "retain": "2d", "expire": "1h", "tag": ["night", "slow"], "meta": {"by": "ann"},
               "notify": True, "gates": "pass", "order": "lane-1"}
    with Web(full.port) as web:
        web.call("PUT", "/v1/recurrences/whole", {"queue": "report.build", "payload": "p", "cron": "5 4 * * *", "tz": "Europe/Berlin", **options})
        before = web.get("/v1/recurrences/whole")
        wide.go("#/recurrences/default/whole")
        wide.click("Edit", ".head")
        wide.fill("#field-rule", "6 4 * * *")
        wide.shows("Every day at 04:06")
        wide.click("Save", ".form")
        wide.until(lambda: web.get("/v1/recurrences/whole")["rule"] == "6 4 * * *", "the rule is saved")
        after = web.get("/v1/recurrences/whole")
        changed = {name for name in before if before[name] != after[name]}
        assert changed <= {"rule", "next_ms", "edited_ms", "revision"}, changed


def test_a_job_is_edited_copied_and_put_back_with_a_change(full, wide):
    with Web(full.port) as web:
        web.call("PATCH", "/v1/queues/edits", {"attempts": 1})
        first = web.post("/v1/jobs", {"queue": "edits", "payload": '{"n":12345678901234567890}', "in": "1h", "tag": ["a"], "meta": {"by": "ann"},
                                      "order": "o"})["id"]
        wide.go(f"#/jobs/default/{first}")
        wide.click("Edit …", ".head")
        wide.fill("#field-tag", "b c")
        wide.click("Save", "dialog")
        wide.until(lambda: web.get(f"/v1/jobs/{first}")["tags"] == ["b", "c"], "the tags are saved")
        job = web.get(f"/v1/jobs/{first}")
        assert job["payload"] == '{"n":12345678901234567890}' and job["meta"] == {"by": "ann"}, "what was not changed has every byte"
        wide.click("Clone …", ".head")
        wide.fill("#field-queue", "edits.copy")
        wide.fill("#field-in", "2h")
        wide.click("Schedule", "dialog")
        wide.shows("edits.copy", "in 1h 59m")
        (copy,) = web.get("/v1/jobs?queue=edits.copy")["jobs"]
        copy = web.get(f"/v1/jobs/{copy['id']}")
        assert (copy["payload"], copy["meta"], copy["order"], copy["tags"]) == (job["payload"], job["meta"], "o", ["b", "c"])
        web.post("/v1/jobs", {"queue": "edits", "payload": {"bad": True}})
        (dead,) = web.post("/v1/leases", {"queues": ["edits"]})["jobs"]
        web.post(f"/v1/jobs/{dead['id']}/fail", {"token": dead["token"], "error": "it is bad"})
        wide.go("#/dead?queue=edits")
        wide.click("Show jobs", ".group")
        wide.click("Edit and redrive …", ".group")
        wide.fill("#field-payload", '{"bad": false}')
        wide.click("Redrive", "dialog")
        wide.until(lambda: web.get(f"/v1/jobs/{dead['id']}")["state"] == "ready", "the job is put back")
        assert web.get(f"/v1/jobs/{dead['id']}")["payload"] == '{"bad": false}'
