"""Debian's Chromium without a window: one for all tests of a process. It starts processes and sockets."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import attrs
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # Chromium refuses to run as root with it, and tests in a container do
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en-US",
)
VIOLATIONS = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => window.violations.push(
  `${event.violatedDirective}: ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`));
"""
"""Run in each document before its own scripts."""

HEIGHT = 900


NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
"""The error of requests that Chromium gives up when a network interface of the machine comes or goes.

Other tests that run at the same time make interfaces.
"""


@attrs.frozen
class Browser:
    """The browser.

    :ivar driver: selenium's.
    """

    driver: webdriver.Chrome
    _kept: list[str] = attrs.Factory(list)

    def resize(self, width: int, height: int = HEIGHT) -> None:
        """Give the page a width in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """Set the colours that the system prefers: ``light`` or ``dark``."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def clear(self) -> None:
        """Forget cookies, what pages have kept, and the log."""
        self.driver.get("about:blank")
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        list(self.errors())

    def errors(self) -> Iterator[str]:
        """Yield the errors that pages have logged since the last call, as Chromium tells them."""
        self.was_interrupted()
        found = list(self._kept)
        self._kept.clear()
        yield from found

    def was_interrupted(self) -> bool:
        """Return True if the page has lost requests since the last call because the network has changed."""
        entries: list[Mapping[str, Any]] = self.driver.get_log("browser")
        errors = [str(entry["message"]) for entry in entries if entry["level"] == "SEVERE"]
        self._kept.extend(error for error in errors if NETWORK_CHANGED not in error)
        return any(NETWORK_CHANGED in error for error in errors)


@lru_cache(maxsize=1)
def shared_browser() -> Browser:
    """The browser, started by the first test that asks and stopped when the tests end."""
    options = Options()
    options.binary_location = CHROMIUM
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    atexit.register(driver.quit)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": VIOLATIONS})
    browser = Browser(driver)
    browser.resize(1280)
    browser.prefer("light")
    return browser
