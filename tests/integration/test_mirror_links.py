"""A link between two brokers, commanded by ``kafkatx mirror``: from the first record to the promotion."""

from __future__ import annotations

import json

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.configs import Configs
from kafkatx.blocking.admin.topics import Admin
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.testing.messages import create_topic
from tests.integration.links import LinkCase
from tests.until import until


class OneBrokerTests(LinkCase):
    def setUp(self) -> None:
        """Start a target of one broker."""
        super().setUp()
        self.target = self.broker().bootstrap

    def test_whole_way(self) -> None:
        """Topics, records, configs and groups follow; after the promotion producers and groups go on."""
        self.set_offsets("g", 60, self.source.bootstrap)
        self.add()
        until(self.status, "there are mirrors")
        self.caught_up(2, 100)
        self.assertEqual(self.configs("orders")["retention.ms"], "7200000")
        until(lambda: self.group("g") == ["60", "60"], "the group is copied")
        self.kafkatx("mirror", "verify", "dc1")
        self.kafkatx("produce", "orders", "--help")

        with Cluster(self.source.bootstrap) as cluster:
            Admin(cluster).create_partitions("orders", 3)
            Configs(cluster).alter(Resource(ResourceType.TOPIC, "orders"), {"segment.ms": "3600000"})
        self.source.produce("orders", b"new", partition=2)
        self.caught_up(3)
        until(lambda: self.configs("orders")["segment.ms"] == "3600000", "the config is followed")

        self.kafkatx("mirror", "pause", "dc1", "-t", "orders")
        self.until_state("paused")
        self.source.produce("orders", b"late", partition=2)
        self.kafkatx("mirror", "resume", "dc1", "-t", "orders")
        self.until_state("mirroring")
        self.caught_up(3)
        self.assertEqual(self.read("orders", "-p", "2", "--exit"), ["2:0:new", "2:1:late"])

        self.kafkatx("mirror", "promote", "dc1", "-t", "orders", "--yes", "--wait", "30")
        record = self.record()
        self.assertEqual((record.state.value, record.ends), ("promoted", (100, 100, 2)))
        self.source.produce("orders", b"unseen", partition=2)
        self.write(2, b"own")
        self.assertEqual(self.read("orders", "-p", "2", "--exit"), ["2:0:new", "2:1:late", "2:2:own"])
        rest = self.read("--group", "g", "orders", "--exit")
        offsets = [line.split(":")[:2] for line in rest if not line.startswith("2:")]
        self.assertEqual(sorted(offsets), sorted([p, str(n)] for p in "01" for n in range(60, 100)))
        line = json.loads(self.kafkatx("mirror", "status", "dc1", "--json").splitlines()[1])
        self.assertGreater(line["leader_epoch"], line["source_epoch"])

    def test_groups_that_are_used(self) -> None:
        """A group that a client of the target has used is left alone, also after a restart."""
        self.set_offsets("g", 60, self.source.bootstrap)
        self.add()
        until(lambda: self.group("g") == ["60", "60"], "the group is copied")
        self.read("--group", "g", "orders", "-c", "50", "--idle", "5")
        before = self.group("g")
        self.set_offsets("g", 99, self.source.bootstrap)
        self.source.produce("orders", b"more", partition=0)
        self.caught_up(2, 101)
        skipped = lambda: json.loads(  # noqa: E731
            self.kafkatx("mirror", "status", "dc1", "--json").splitlines()[0]
        )["skipped_groups"]
        until(lambda: skipped() == 1, "the group is skipped")
        self.assertEqual(self.group("g"), before)

    def test_other_topics(self) -> None:
        """A topic that others own is refused; one that is made anew at the source stops, and says why."""
        create_topic(self.target, "mine", 1, {})
        create_topic(self.source.bootstrap, "mine", 5, {})
        self.add("orders|mine")
        until(self.status, "there are mirrors")
        self.caught_up(2)
        until(lambda: "mine: a topic of that name is here already" in self.link().error, "it is told")
        self.kafkatx("mirror", "status", exit_code=1)
        self.assertEqual({one.topic for one in self.status()}, {"orders"})
        with Cluster(self.source.bootstrap) as cluster:
            Admin(cluster).delete_topic("orders")
            until(lambda: "orders" not in cluster.metadata(None).topics, "the topic is gone")
        self.until_state("failed")
        create_topic(self.source.bootstrap, "orders", 2, {})
        until(lambda: "made anew" in self.record().reason, "the reason is told")
        self.assertEqual(len(self.read("orders", "-p", "0", "--exit")), 100)
        self.kafkatx("mirror", "remove", "dc1", "--yes")
        self.source.close()
        self.kafkatx("mirror", "promote", "dc1", "--yes", "--wait", "30")
        self.write(0, b"own")
        self.assertEqual(self.read("orders", "-p", "0", "--exit")[-1], "0:100:own")
