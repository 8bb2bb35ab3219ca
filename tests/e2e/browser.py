# SPDX-License-Identifier: MIT
"""A browser that opens the dashboard, without a window. It remembers what pages asked for and what they complained about."""
import json
import os
import pathlib
import shutil
import time
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--no-first-run"]
SHOTS = os.environ.get("BELFRY_SHOTS")  # a folder for pictures of the screens; without it none are taken


class Browser:
    def __init__(self, base=""):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.base = base
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def size(self, width, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def theme(self, name):
        self.js("localStorage.setItem('belfry-theme', arguments[0]); document.documentElement.dataset.theme = arguments[0]", name)

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def open(self, path="#/now"):
        """Loads the page anew."""
        self.driver.get("about:blank")
        self.driver.get(self.base + path)

    def go(self, path):
        """Changes the address without loading anew, and waits until its screen is drawn."""
        self.js("location.hash = arguments[0]", path)
        key = path[2:].split("?")[0]
        self.until(lambda: self.js("const s = document.querySelector('main > .screen');"
                                   "return s && !s.parentNode.hasAttribute('aria-busy') && decodeURIComponent(s.dataset.key) === decodeURIComponent(arguments[0])", key), f"{path} is drawn")

    def until(self, condition, what="", timeout=20):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                value = condition()
                if value:
                    return value
            except (StaleElementReferenceException, JavascriptException):
                pass
            time.sleep(0.03)
        raise AssertionError(f"after {timeout} s still not: {what}\n{self.text()[:3000]}")

    def text(self):
        return self.js("return document.body.innerText")

    def shows(self, *words):
        for word in words:
            self.until(lambda: word.lower() in self.text().lower(), f"the page shows {word!r}")

    def find(self, css):
        return self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, css), css)[0]

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def click(self, words, within="body"):
        """Clicks a button or link by its words."""
        script = ("const e = [...document.querySelectorAll(arguments[0] + ' button, ' + arguments[0] + ' a')]"
                  ".find(e => e.innerText.trim() === arguments[1] && !e.disabled); e?.click(); return Boolean(e)")
        self.until(lambda: self.js(script, within, words), f"a button {words!r}")

    def fill(self, css, text):
        """Types over what an input has."""
        self.find(css)
        self.js("const e = document.querySelector(arguments[0]); e.focus(); e.select()", css)
        self.driver.switch_to.active_element.send_keys(text)

    def press(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def shot(self, name):
        """Keeps a picture, if a folder for them is named."""
        if SHOTS:
            pathlib.Path(SHOTS).mkdir(parents=True, exist_ok=True)
            pathlib.Path(SHOTS, f"{name}.png").write_bytes(self.driver.get_screenshot_as_png())

    def complaints(self):
        """Lines of the console since the last call: errors, warnings, refusals of the content policy."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def hosts(self):
        """The hosts that requests went to since the last call."""
        found = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = urlsplit(message["params"]["request"]["url"])
                if url.scheme in ("http", "https", "ws", "wss"):
                    found.add(url.netloc)
        return found

    def nameless(self):
        """Controls that a screen reader has no name for."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "listbox", "image", "meter", "progressbar", "dialog"}
        return [node["role"]["value"] for node in tree if not node.get("ignored") and node.get("role", {}).get("value") in roles and not node.get("name", {}).get("value", "").strip()]


__all__ = ["Browser", "Keys"]
