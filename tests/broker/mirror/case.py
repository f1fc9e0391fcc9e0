"""A broker with a link to a source in memory."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.replica.partition import Partition
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState
from kafkatx.net.server import KafkaServerFactory, Limits
from tests.broker.mirror.source import PORT, FakeSource
from tests.broker.mirror.source_log import SourceLog
from tests.broker.network import MemoryNetwork
from tests.broker.replica.fetcher.case import stored
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import BrokerTestCase

LIMITS = Limits(1 << 27, -1, -1)
STEP_S = 0.01
OWN_ID, FIRST_SOURCE_ID = 1000, 0
"""The ids of the broker under test and of the source's machines in the network."""


class MirrorMixin(BrokerTestCase):
    """A broker, the target, and a source with a topic t of one partition, which is linked as dc1."""

    def setUp(self) -> None:
        """Make the source, and the broker, which has started."""
        self.clock = self.make_clock()
        self.network = MemoryNetwork(self.clock)
        self.make_endpoint = self.network.endpoints_of(OWN_ID)
        self.source = FakeSource(self.clock)
        self.source.add_topic()
        self.clock = super_clock = self.clock
        super().setUp()
        self.assertIs(self.clock, super_clock)
        for node_id in self.source.node_ids:
            self.listen(node_id)
        self.broker.mirrors.start()
        self.addCleanup(self.stop_mirrors)

    def stop_mirrors(self) -> None:
        """Stop, and see that nothing is left behind."""
        stopping = self.broker.mirrors.stop()
        self.pump(0.2)
        self.successResultOf(stopping)
        self.assertEqual([link for link in self.network.links if OWN_ID in link.brokers], [])

    def make_clock(self) -> Any:
        """Return the one clock of the test."""
        return self.__dict__.get("clock") or super().make_clock()

    def listen(self, node_id: int) -> None:
        """Make a broker of the source accept connections."""
        factory = KafkaServerFactory(self.source.broker(node_id), LIMITS, self.clock)
        self.network.listen(node_id, (self.source.host(node_id), PORT), factory)

    def lose_source(self, node_id: int = 1) -> None:
        """End the process of a broker of the source."""
        self.network.close(node_id)

    # --- the target

    def alter(self, **settings: str) -> None:
        """Change settings of the link ``dc1``; ``_`` stands for a dot."""
        named = {f"mirror.dc1.{name.replace('_', '.')}": value for name, value in settings.items()}
        self.successResultOf(
            self.broker.metadata.alter_broker_configs("", lambda old: {**old, "mirror.links": "dc1", **named})
        )

    def link(self, **settings: str) -> None:
        """Make the link."""
        self.alter(bootstrap_servers=self.source.bootstrap, **settings)

    def record(self, **changes: Any) -> MirrorRecord:
        """Return the record of topic t."""
        return MirrorRecord("dc1", self.source.topics["t"].topic_id, **changes)

    def make_mirror(self, partitions: int = 1, **changes: Any) -> list[Partition]:
        """Make topic t as a mirror; return its partitions."""
        raise NotImplementedError

    def change_record(self, **changes: Any) -> None:
        """Change the record of topic t."""

        def change(old: Any) -> Any:
            record = attrs.evolve(MirrorRecord.parse(old[KAFKATX_MIRROR]), **changes)
            return {**old, KAFKATX_MIRROR: record.text()}

        self.successResultOf(self.broker.metadata.alter_topic_configs("t", change))

    # --- what happens

    def pump(self, seconds: float = 0.5) -> None:
        """Advance the clock in small steps."""
        for _ in range(max(1, round(seconds / STEP_S))):
            self.clock.advance(STEP_S)

    @property
    def log(self) -> SourceLog:
        """The log of the first partition at the source."""
        return self.source.topics["t"].logs[0]

    @property
    def partition(self) -> Partition:
        """The first partition at the target."""
        found = self.broker.topics.find("t", 0)
        assert found is not None
        return found

    def status(self, partition: int = 0) -> Any:
        """Return the status of a partition of topic t."""
        (found,) = [one for one in self.broker.mirrors.status() if one.partition == partition]
        return found

    def check_equal(self, log: SourceLog | None = None, partition: Partition | None = None) -> None:
        """Check that the target has the bytes that the source has committed, and no others."""
        log, partition = log or self.log, partition or self.partition
        self.assertEqual(stored(partition.log), log.committed)
        self.assertEqual(partition.log.log_start_offset, log.start)


class MirrorCase(MirrorMixin):
    """The target is the only broker of its cluster."""

    def make_mirror(self, partitions: int = 1, **changes: Any) -> list[Partition]:
        """Make topic t as a mirror; return its partitions."""
        create = self.broker.topic_commands.create
        plan = [(self.broker.node_id,)] * partitions
        creating = Deferred.fromCoroutine(create("t", plan, {KAFKATX_MIRROR: self.record(**changes).text()}))
        self.successResultOf(creating)
        return self.broker.topics.of("t")


class ReplicatedMirrorCase(MirrorMixin, ReplicatedTestCase):
    """The target is broker 1 of three, and leads topic t, which the others follow."""

    def make_mirror(self, partitions: int = 1, **changes: Any) -> list[Partition]:
        """Make topic t as a mirror; return its partitions."""
        configs = {KAFKATX_MIRROR: self.record(**changes).text()}
        return self.make_replicated("t", [(1, 2, 3)] * partitions, configs)

    def following(self, *brokers: int) -> None:
        """Note that followers have fetched all that the leader has."""
        self.replicate(self.partition, self.partition.log.log_end_offset, *brokers)


PROMOTED = MirrorState.PROMOTED
