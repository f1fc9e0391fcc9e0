"""Tests of kafkatx.cli.pipeline.way: the options of the command, against clusters in memory."""

from __future__ import annotations

import json

import attrs

from kafkatx.cli.pipeline import audit
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.records.builder import build_values
from tests.blocking.fakes import FakeCluster, Log
from tests.cli.command_case import CommandCase

COUNTED = RangeAnnouncement(
    "broker", "dc1", "broker-1", "t", "i", 0, 0, 3, 1000, ((0, 2), (1000, 1)), 0, 5000
)


class WayTests(CommandCase):
    def setUp(self) -> None:
        """Three records in two windows of a second; producers announced one more than the broker."""
        super().setUp()
        self.clusters = {name: FakeCluster({"t": [Log()], "kafkatx-audit": [Log()]}) for name in ("a", "b")}
        self.patch(audit, "connect", lambda bootstrap, timeout: self.clusters[bootstrap].client())
        self.clusters["a"].topics["t"][0].append(build_values([b"a", b"b"], 500))
        self.clusters["a"].topics["t"][0].append(build_values([b"c"], 1500))
        self.announce("a", Announcement("p", 0, "t", 0, 1000, 2, 5000))
        self.announce("a", Announcement("p", 1, "t", 1000, 1000, 2, 5000))
        self.announce("a", COUNTED)

    def announce(self, cluster: str, event: Announcement | RangeAnnouncement) -> None:
        """Announce something to a cluster."""
        log = self.clusters[cluster].topics["kafkatx-audit"][0]
        log.append(build_values([event.encode()], 5000))

    def audit(self, *arguments: str) -> int:
        """Return the exit code of ``kafkatx audit``."""
        self.use_streams()
        return self.run_command("audit", "-b", "a", *arguments)

    def rows(self) -> list[list[str]]:
        """Return the lines that were printed."""
        return [line.split("\t") for line in self.out.text().splitlines()]

    def test_way(self) -> None:
        """The tier, window and number of what is missing are in the lines, and in a sentence."""
        self.assertEqual(self.audit("--way"), 1)
        window = "1970-01-01T00:00:01Z"
        expected = [
            ["t", window, "producer", "2", "-", "0", "0", "wrong"],
            ["t", window, "broker:dc1", "1", "2", "1", "0", "wrong"],
        ]
        self.assertEqual(self.rows(), expected)
        self.assertIn(
            f"t: broker:dc1 lacks 1 of the 2 records of producer in the window from {window}", self.err.text()
        )

    def test_all(self) -> None:
        """All windows on request, with a header; a time limits them."""
        self.assertEqual(self.audit("--way", "--all", "--header", "--until", "1970-01-01T00:00:01Z"), 0)
        self.assertEqual([row[2] for row in self.rows()], ["tier", "producer", "broker:dc1"])

    def test_compare(self) -> None:
        """Two tiers are compared in the order in which they are named; the topic is counted now."""
        self.assertEqual(self.audit("--compare", "broker,topic", "--json", "--all"), 0)
        found = [json.loads(line)["tiers"] for line in self.out.text().splitlines()]
        self.assertEqual(found, [{"broker:dc1": 2, "topic": 2}, {"broker:dc1": 1, "topic": 1}])
        self.assertEqual(self.audit("--compare", "broker:dc1,producer", "--json"), 1)
        (fault,) = json.loads(self.out.text())["faults"]
        self.assertEqual((fault["tier"], fault["more"]), ("producer", 1))

    def test_other_cluster(self) -> None:
        """The way goes on in another cluster: its brokers should have what the first ones had."""
        copied = RangeAnnouncement("broker", "dc2", "x", "t", "j", 0, 0, 3, 1000, ((0, 2),), 0, 5000)
        self.announce("b", copied)
        self.assertEqual(self.audit("--way", "--also", "b"), 1)
        self.assertIn("broker:dc2 lacks 1 of the 1 record of broker:dc1", self.err.text())

    def test_topics_of_mirrors(self) -> None:
        """A mirror's own topics, which brokers count, are left out, unless they are named or produced to."""
        for name in ("dc1.heartbeats", "mm2-offset-syncs.dc1.internal", "t.internal"):
            self.announce("a", attrs.evolve(COUNTED, topic=name))
        self.announce("a", Announcement("p", 2, "t.internal", 0, 1000, 2, 5000))
        self.assertEqual(self.audit("--way", "--all"), 1)
        self.assertEqual({row[0] for row in self.rows()}, {"t", "t.internal"})
        self.assertEqual(self.audit("--way", "--all", "-t", "dc1.heartbeats"), 0)
        self.assertEqual({row[0] for row in self.rows()}, {"dc1.heartbeats"})

    def test_terminal(self) -> None:
        """At a terminal the way is drawn."""
        self.use_streams(tty=True)
        self.assertEqual(self.run_command("audit", "-b", "a", "--way"), 1)
        self.assertIn("producer --> broker:dc1", self.out.text())
        self.assertIn("1 (-1)", self.out.text())

    def test_unknown_tier(self) -> None:
        """An unknown tier is an error that names those that there are."""
        self.assertEqual(self.audit("--compare", "producer,mirror"), 1)
        self.assertIn("no tier is called mirror; announced are broker:dc1, producer", self.err.text())
        self.announce("a", Announcement("c", 0, "t", 0, 1000, 2, 5000, group="g"))
        self.announce("a", Announcement("c", 0, "t", 0, 1000, 2, 5000, group="h"))
        self.assertEqual(self.audit("--compare", "producer,consumer"), 1)
        self.assertIn("more than one tier is called consumer", self.err.text())

    def test_usage(self) -> None:
        """Options that do not go together are refused, and so is one tier."""
        for wrong in (
            ("--compare", "producer"),
            ("--compare", "producer,producer"),
            ("--also", "b"),
            ("--way", "--group", "g"),
            ("--way", "--ingested", "d"),
        ):
            self.assertEqual(self.audit(*wrong), 2, wrong)

    def test_nothing(self) -> None:
        """A topic that no tier has announced is an error."""
        self.assertEqual(self.audit("--way", "-t", "u"), 1)
        self.assertIn("nothing about u was announced in kafkatx-audit", self.err.text())
