"""Test cases with a browser, and the broker that most of them share."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.embedded import SettingValue
from tests.browser.chromium import shared_browser
from tests.browser.page import Page

CONSOLE: Mapping[str, SettingValue] = {"http.listeners": "HTTP://127.0.0.1:0", "kafkatx.console.enable": True}
EVERYBODY = {"authorizer.class.name": "acl", "super.users": "User:ANONYMOUS"}
"""Settings of a broker that has ACLs, and lets anonymous users do everything."""


@lru_cache(maxsize=1)
def shared_broker() -> EmbeddedBroker:
    """The broker with a console, in a process, started by the first test that asks."""
    broker = EmbeddedBroker({**CONSOLE, **EVERYBODY}, run_in="process")
    broker.start()
    atexit.register(broker.__exit__, None, None, None)
    return broker


class BrowserCase(SynchronousTestCase):
    """A test in the browser. It fails if a page logs an error or breaks the content security policy.

    :cvar refusals: statuses of HTTP that the test provokes; Chromium logs each as an error.
    :cvar kills: True if brokers go away under open pages.
    """

    refusals: ClassVar[tuple[int, ...]] = ()
    kills: ClassVar[bool] = False

    def setUp(self) -> None:
        """Begin without cookies, at a usual width."""
        self.browser = shared_browser()
        self.browser.clear()
        self.browser.resize(1280)
        self.browser.prefer("light")
        self.addCleanup(self.check_log)

    def page_of(self, broker: EmbeddedBroker) -> Page:
        """The page of a broker's console; what it breaks is found at the end."""
        page = Page(self.browser, broker.http)
        self.addCleanup(self.leave, page)
        return page

    def leave(self, page: Page) -> None:
        """Find what a page has broken, and leave it before its broker stops."""
        violations = page.violations()
        page.driver.get("about:blank")
        self.assertEqual(violations, [])

    def start(self, settings: Mapping[str, SettingValue]) -> EmbeddedBroker:
        """Start a broker of the test's own with a console and further settings."""
        broker = EmbeddedBroker({**CONSOLE, **settings}, run_in="process")
        self.addCleanup(broker.close)
        return broker.start()

    def check_log(self) -> None:
        """Find errors in the log of the browser."""
        self.assertEqual(list(self.unexpected()), [])

    def unexpected(self) -> Iterator[str]:
        """Yield the errors that no test provokes."""
        for error in self.browser.errors():
            lost = self.kills and "net::ERR_" in error
            if not lost and not any(f"status of {status} " in error for status in self.refusals):
                yield error


class SharedCase(BrowserCase):
    """A test with the broker that tests share: names of topics are its own."""

    def setUp(self) -> None:
        """Take the broker."""
        super().setUp()
        self.broker = shared_broker()
        self.page = self.page_of(self.broker)
