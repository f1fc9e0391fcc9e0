"""A link to three brokers, whose controller dies in the middle of a promotion."""

from __future__ import annotations

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.mirrors import Mirrors
from kafkatx.errors import KafkaTXError
from kafkatx.testing import EmbeddedCluster
from tests.integration.links import LinkCase
from tests.until import until


class ThreeBrokersTests(LinkCase):
    def setUp(self) -> None:
        """Start a target of three brokers."""
        super().setUp()
        self.brokers = EmbeddedCluster(
            3,
            {"default.replication.factor": 3, "min.insync.replicas": 2, "offsets.topic.num.partitions": 5},
            run_in="process",
        )
        self.addCleanup(self.brokers.close)
        self.brokers.start()
        self.target = self.brokers.bootstrap

    def test_controller_killed(self) -> None:
        """The controller is killed in a promotion: another completes it, and nothing is lost or doubled."""
        self.set_offsets("g", 60, self.source.bootstrap)
        self.add()
        until(self.status, "there are mirrors")
        self.caught_up(2, 100)
        until(lambda: self.group("g") == ["60", "60"], "the group is copied")
        with Cluster(self.target) as cluster:
            controller = cluster.metadata([]).controller_id
            Mirrors(cluster).alter({"mirror.dc1.promoted": ".*"})
        self.brokers.brokers[controller].kill()

        def is_promoted() -> bool:
            try:
                return self.record().state.value == "promoted"
            except KafkaTXError:
                return False

        until(is_promoted, "the topic is promoted")
        self.assertEqual(self.record().ends, (100, 100))
        for partition in range(2):
            self.brokers.produce("orders", b"own", partition=partition)
        rest = self.read("--group", "g", "orders", "--exit")
        wanted = [f"{partition}:{offset}" for partition in range(2) for offset in range(60, 101)]
        self.assertEqual(sorted(line.rsplit(":", 1)[0] for line in rest), sorted(wanted))
