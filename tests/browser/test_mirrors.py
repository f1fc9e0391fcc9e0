"""Mirrors in the console: a link and its topics, and their promotion once its name is typed."""

from __future__ import annotations

from kafkatx.testing import EmbeddedBroker
from tests.browser.case import BrowserCase
from tests.until import until

TOPIC = "orders"


class MirrorTests(BrowserCase):
    def setUp(self) -> None:
        """Start a source with a topic, and a broker that mirrors it."""
        super().setUp()
        self.source = EmbeddedBroker(run_in="process")
        self.addCleanup(self.source.close)
        self.source.start()
        self.topic = self.source.topic(TOPIC)
        self.source.produce(self.topic, *map(str, range(10)))
        self.target = self.start(
            {
                "mirror.links": "dc1",
                "mirror.dc1.bootstrap.servers": self.source.bootstrap,
                "mirror.dc1.topics": f"{TOPIC}.*",
                "mirror.dc1.refresh.interval.ms": 200,
            }
        )
        self.page = self.page_of(self.target)

    def state(self) -> str:
        """Return the state of the mirrored topic, as the page says."""
        rows = self.page.rows("Topics of dc1")
        return rows[0][1] if rows else ""

    def test_promote(self) -> None:
        """A mirrored topic refuses writes until it is promoted, which needs the name of its link."""
        page = self.page
        page.open("mirrors")
        until(lambda: self.state() == "mirroring", "the topic is mirrored")
        self.assertEqual(len(self.target.messages(self.topic, 10)), 10)
        page.click("Promote")
        page.fill("Type dc1 to confirm", "dc1")
        page.click("Promote")
        page.sees("1 topic of dc1 can be written to now.")
        until(lambda: self.state() == "promoted", "the topic is promoted")
        self.target.produce(self.topic, "own")
        self.assertEqual(len(self.target.messages(self.topic, 11)), 11)
