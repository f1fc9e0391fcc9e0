"""Tests of the settings of links as the commands read and edit them."""

from __future__ import annotations

from kafkatx.cli.mirror.settings import alter, of_link, report_of
from kafkatx.errors import KafkaTXError
from tests.cli.mirror.link_case import LinkCase


class SettingsTests(LinkCase):
    def test_of_link(self) -> None:
        """Settings of a link have no prefix; another link's whose name begins the same are not its own."""
        self.settings["mirror.dc10.topics"] = "x"
        client = self.cluster.client()
        self.assertEqual(of_link(client, "dc1"), {"bootstrap.servers": "source:1", "topics": ".*"})
        self.assertEqual(of_link(client, "dc2"), {})

    def test_alter(self) -> None:
        """Settings are set and deleted, and the list of links is edited."""
        alter(self.cluster.client(), "dc1", {"paused": "x"}, ["topics"], removed=["dc1"])
        self.assertEqual(
            self.settings,
            {"mirror.links": "", "mirror.dc1.bootstrap.servers": "source:1", "mirror.dc1.paused": "x"},
        )

    def test_report(self) -> None:
        """A removed link with mirrors is known; one without is not, nor a topic that is no mirror."""
        client = self.cluster.client()
        self.cluster.links = {}
        self.assertEqual(len(report_of(client, "dc1", ["t"]).partitions), 3)
        for link, topics in (("dc9", []), ("dc1", ["t", "x"])):
            with self.assertRaises(KafkaTXError):
                report_of(client, link, topics)
