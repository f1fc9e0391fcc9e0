"""Whole names of settings of links, as a start and a running broker check them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.alter import (
    Alteration,
    Operation,
    altered,
    broker_row,
    check_broker_configs,
    usable_broker_configs,
)
from kafkatx.config.table.mirror.names import link_row, link_rows
from kafkatx.errors import RequestError, SettingError

LINK = {"mirror.links": "dc1", "mirror.dc1.topics": "a", "mirror.dc1.client.id": "b"}


class NamesTests(SynchronousTestCase):
    def refused(self, name: str, value: str = "1") -> str:
        """The message for a setting that a start refuses, which must be that for a dynamic one, too."""
        with self.assertRaises(SettingError) as start:
            BrokerConfig.load(None, {name: value})
        with self.assertRaises(RequestError) as running:
            check_broker_configs({name: value})
        self.assertEqual(str(start.exception), str(running.exception))
        return str(start.exception)

    def test_nearest(self) -> None:
        """The nearest name is suggested, whatever the link is called."""
        self.assertIn("did you mean mirror.dc1.topics?", self.refused("mirror.dc1.topic"))
        self.assertIn("mirror.links names the links", self.refused("mirror.link"))
        self.assertIn("see `kafkatx docs settings`", self.refused("mirror.dc1.zzz"))
        self.assertIn("'a b' cannot be the name of a link", self.refused("mirror.a b.topics"))

    def test_values(self) -> None:
        """A bad value is named with the whole name of its setting."""
        self.assertEqual(
            self.refused("mirror.dc1.rate.bytes", "0"),
            "mirror.dc1.rate.bytes=0: the value must be a whole number of 64 bits, 1 or more",
        )

    def test_rows(self) -> None:
        """Only whole names of links' settings have rows of theirs."""
        row = link_row("mirror.links.topics")
        self.assertEqual(row and row.name, "mirror.links.topics")
        for name in ("mirror.links", "topics", "mirror.topics", "mirror..topics", "x.a.topics"):
            self.assertIsNone(link_row(name))
        rows = link_rows(["mirror.b.topics", "x", "mirror.a.groups", "mirror.a.topics"])
        self.assertEqual(
            [row.name for row in rows], ["mirror.a.topics", "mirror.a.groups", "mirror.b.topics"]
        )

    def test_all_brokers(self) -> None:
        """A single broker has no links of its own."""
        for name, value in LINK.items():
            check_broker_configs({name: value})
            with self.assertRaisesRegex(RequestError, "all brokers need the same links"):
                check_broker_configs({name: value}, "1")

    def test_lists(self) -> None:
        """Items are added to lists of links as to others."""
        for name in ("mirror.links", "mirror.dc1.bootstrap.servers"):
            add = [Alteration(name, Operation.APPEND, "b")]
            config = BrokerConfig.load()
            self.assertEqual(altered({name: "a"}, add, broker_row, config.__getitem__), {name: "a,b"})
            self.assertEqual(altered({}, add, broker_row, config.__getitem__), {name: "b"})

    def test_stored(self) -> None:
        """Stored settings of links are used, but for those that this version does not know."""
        usable, complaints = usable_broker_configs({**LINK, "mirror.dc1.new": "1"})
        self.assertEqual(usable, LINK)
        self.assertEqual(len(complaints), 1)
