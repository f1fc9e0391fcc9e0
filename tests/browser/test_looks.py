"""Each view fits narrow and wide windows, light and dark, and axe-core finds nothing grave in it."""

from __future__ import annotations

import json

from confluent_kafka import Consumer, TopicPartition

from tests.browser.axe import grave_faults
from tests.browser.case import SharedCase

WIDTHS = (400, 1024, 1600)
VIEWS: tuple[tuple[str, ...], ...] = (
    (),
    ("topics",),
    ("groups",),
    ("schemas",),
    ("brokers",),
    ("brokers", "0"),
    ("mirrors",),
    ("transactions",),
    ("acls",),
    ("users",),
    ("quotas",),
    ("actions",),
)
TABS = ("messages", "partitions", "groups", "settings", "producers", "access")
WAITING = "return document.querySelector('[role=status] .bar') === null"


class LooksTests(SharedCase):
    def setUp(self) -> None:
        """Make a topic with long values, and a group."""
        super().setUp()
        self.topic = self.broker.topic("looks." + "long-name." * 8, partitions=3)
        value = json.dumps({"text": "x" * 400, "more": {"a": [1, 2, None, True]}})
        self.broker.produce(self.topic, value, key="k" * 80, partition=0)
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": self.topic + "-group"})
        self.addCleanup(consumer.close)
        consumer.commit(offsets=[TopicPartition(self.topic, 0, 0)], asynchronous=False)

    def views(self) -> list[tuple[str, ...]]:
        """Return the addresses of all views."""
        return [*VIEWS, *(("topics", self.topic, tab) for tab in TABS), ("groups", self.topic + "-group")]

    def check(self, view: tuple[str, ...]) -> list[str]:
        """Open a view in each width and theme; return what is wrong."""
        self.page.open(*view)
        self.page.sees_not("Loading")
        if view[-1:] == ("messages",):
            self.page.click("Record at partition and offset 0 : 0")
        found = []
        for width in WIDTHS:
            self.browser.resize(width)
            if self.page.overflow():
                found.append(f"{view} at {width} px: {self.page.overflow()} px wider than the window")
        for scheme, width in (("light", 1600), ("dark", 400)):
            self.browser.resize(width)
            self.browser.prefer(scheme)
            found += [f"{view}, {scheme}: {fault}" for fault in grave_faults(self.browser)]
        self.browser.prefer("light")
        return found

    def test_views(self) -> None:
        """No view scrolls sideways, and none has a grave fault of accessibility."""
        self.assertEqual([fault for view in self.views() for fault in self.check(view)], [])

    def test_dialogs(self) -> None:
        """The same for dialogs."""
        found = []
        for view, control in (
            (("topics",), "Create topic"),
            (("topics", self.topic), "Produce"),
            (("topics", self.topic), "Delete"),
            (("groups", self.topic + "-group"), "Reset offsets"),
            (("schemas",), "Register a schema"),
            (("acls",), "Add an ACL"),
        ):
            self.browser.resize(400)
            self.page.open(*view)
            self.page.click(control)
            found += [f"{control}: {fault}" for fault in grave_faults(self.browser)]
            if self.page.overflow():
                found.append(f"{control}: the page is wider than the window")
        self.assertEqual(found, [])
