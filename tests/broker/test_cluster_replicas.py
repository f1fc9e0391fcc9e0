"""The fake metadata store of tests changes in-sync replicas as a cluster would."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ElectionKind, IsrChange, PartitionState, TopicPartition
from tests.broker.cluster import BROKER_ID, ClusterTestCase

ONE = TopicPartition("t", 0)


class FakeReplicasTests(ClusterTestCase):
    def setUp(self) -> None:
        """Make a topic with three replicas."""
        super().setUp()
        self.metadata.put(self.metadata.make_topic("t", [[1, 2, 3]]))

    def known(self) -> PartitionState:
        """Return the state of the partition."""
        return self.metadata.state.topics["t"].partitions[0]

    def isr_change(
        self, *isr: int, epochs: Mapping[int, int] | None = None, min_insync: int = 1
    ) -> IsrChange:
        """Return a change of the in-sync replicas, with the epochs that brokers have now."""
        brokers = self.metadata.state.brokers
        known = {one: brokers[one].epoch for one in isr if one in brokers}
        topic_id = self.metadata.state.topics["t"].topic_id
        return IsrChange(topic_id, ONE, self.known(), isr, known if epochs is None else epochs, min_insync)

    def altered(self, change: IsrChange) -> PartitionState | ErrorCode:
        """Return the outcome of a change."""
        (outcome,) = self.successResultOf(self.metadata.alter_isr([change]))
        return outcome

    def test_new_topic(self) -> None:
        """All live replicas of a new partition are in sync."""
        self.assertEqual(self.known().isr, (1, 2, 3))

    def test_altered(self) -> None:
        """A change keeps the leader epoch; brokers that leave a small ISR stay eligible."""
        before = self.known()
        after = self.altered(self.isr_change(1, min_insync=2))
        self.assertEqual(after, self.known())
        self.assertEqual((self.known().isr, self.known().eligible), ((1,), (2, 3)))
        self.assertEqual(self.known().leader_epoch, before.leader_epoch)
        self.assertEqual(self.known().partition_epoch, before.partition_epoch + 1)
        self.altered(self.isr_change(1, 2, min_insync=2))
        self.assertEqual((self.known().isr, self.known().eligible), ((1, 2), ()))

    def test_refused(self) -> None:
        """A change of an old state, with an old life of a member, or with a stopping one is refused."""
        first = self.isr_change(1)
        self.altered(first)
        self.assertEqual(self.altered(first), ErrorCode.INVALID_UPDATE_VERSION)
        joins = self.isr_change(1, 2)
        self.metadata.join(2)
        self.assertEqual(self.altered(joins), ErrorCode.INELIGIBLE_REPLICA)
        self.metadata.begin_to_stop(3)
        self.assertEqual(self.altered(self.isr_change(1, 3)), ErrorCode.INELIGIBLE_REPLICA)
        self.metadata.fail_replicas(2, ONE)
        self.assertEqual(self.altered(self.isr_change(1, 2)), ErrorCode.INELIGIBLE_REPLICA)
        self.metadata.remove("t")
        self.assertEqual(self.altered(first), ErrorCode.UNKNOWN_TOPIC_ID)

    def test_held(self) -> None:
        """A change waits while the test holds it."""
        self.metadata.holding = True
        asked = self.metadata.alter_isr([self.isr_change(1)])
        self.assertNoResult(asked)
        self.assertEqual(self.known().isr, (1, 2, 3))
        self.metadata.commands[-1].carry_out()
        self.assertEqual(self.successResultOf(asked), [self.known()])

    def test_replicate(self) -> None:
        """A test writes the states of the controller."""
        shown = self.metadata.replicate("t", isr=[2, 3], leader=2, eligible=[1])
        self.assertEqual(shown, self.known())
        self.assertEqual((shown.leader, shown.leader_epoch, shown.isr), (2, 1, (2, 3)))

    def test_own_broker(self) -> None:
        """The state shows that this broker stops, and its offline replicas."""
        self.successResultOf(self.metadata.begin_stopping())
        self.successResultOf(self.metadata.report_offline([ONE]))
        self.assertTrue(self.metadata.state.brokers[BROKER_ID].stopping)
        self.assertFalse(self.metadata.state.has_live(BROKER_ID, ONE))

    def test_not_controller(self) -> None:
        """Elections and reassignments are for the controller."""
        for asked in (
            self.metadata.elect_leaders(ElectionKind.PREFERRED, [ONE]),
            self.metadata.reassign({ONE: [2]}),
        ):
            error = self.failureResultOf(asked, RequestError).value
            self.assertEqual(error.code, ErrorCode.NOT_CONTROLLER)
