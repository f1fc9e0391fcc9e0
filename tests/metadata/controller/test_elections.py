"""Tests of elections on request, and of the partitions that are given back to their preferred leaders."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.metadata.controller.elections import elect, imbalanced
from kafkatx.metadata.controller.writes import StateWrite
from kafkatx.types import NO_LEADER, BrokerNode, ElectionKind, PartitionState, Topic, TopicPartition
from tests.metadata.controller.cases import ONE, broker, cluster, missing, topic

THREE = tuple(broker(each) for each in (1, 2, 3))


def led(leader: int, isr: Sequence[int] = (1, 2, 3), replicas: Sequence[int] = (1, 2, 3)) -> PartitionState:
    """Return a partition in leader epoch 4."""
    return PartitionState(leader, 4, tuple(replicas), tuple(isr), 7, 50)


class ElectionTests(SynchronousTestCase):
    def elected(
        self, kind: ElectionKind, old: PartitionState, *brokers: BrokerNode, offline: Sequence[int] = ()
    ) -> PartitionState | ErrorCode:
        """Return the new state, or the error."""
        state = cluster(
            [topic("T", old)], *(brokers or THREE), offline={each: frozenset([ONE]) for each in offline}
        )
        writes, answers = elect(state, (), kind, [ONE])
        self.assertEqual(answers.keys(), {ONE})
        error = answers[ONE]
        if error is not None:
            self.assertEqual(writes, [])
            return error.code
        (write,) = writes
        self.assertEqual((write.topic, write.partition), ONE)
        return write.state

    def test_preferred(self) -> None:
        """The first replica leads in the next epoch; the ISR stays."""
        old = attrs.evolve(led(2, [2, 1]), eligible=(3,))
        new = attrs.evolve(old, leader=1, leader_epoch=5, partition_epoch=8, revision=0)
        self.assertEqual(self.elected(ElectionKind.PREFERRED, old), new)

    def test_preferred_refused(self) -> None:
        """A first replica that leads, or cannot, is not elected."""
        kind, refused = ElectionKind.PREFERRED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        self.assertIs(self.elected(kind, led(1)), ErrorCode.ELECTION_NOT_NEEDED)
        self.assertIs(self.elected(kind, led(2, [2, 3])), refused)
        self.assertIs(self.elected(kind, led(2), broker(2)), refused)
        self.assertIs(self.elected(kind, led(2), broker(1, stopping=True), broker(2)), refused)
        self.assertIs(self.elected(kind, led(2), offline=[1]), refused)
        self.assertIs(self.elected(kind, missing(1)), refused)

    def test_stale(self) -> None:
        """A partition whose replicas have the logs of earlier lives is led by an unclean election alone."""
        for leader in (NO_LEADER, 2):
            old = led(leader, [1])
            state = attrs.evolve(cluster([topic("T", old)], broker(1, 60)), stale_epochs={1: 60})
            _, answers = elect(state, (), ElectionKind.PREFERRED, [ONE])
            error = answers[ONE]
            assert error is not None
            self.assertIs(error.code, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
            for partitions in ([ONE], None):
                (write,), _ = elect(state, (), ElectionKind.UNCLEAN, partitions)
                self.assertEqual((write.state.leader, write.state.recovering), (1, True))
            self.assertEqual(imbalanced(state, (), 0), [])

    def test_unclean(self) -> None:
        """A live replica leads though it is not in sync, whatever the topic's configs are."""
        old = attrs.evolve(led(NO_LEADER, [1]), eligible=(4,))
        found = self.elected(ElectionKind.UNCLEAN, old, broker(2), broker(3))
        new = attrs.evolve(
            old, leader=2, leader_epoch=5, partition_epoch=8, revision=0, isr=(2,), eligible=()
        )
        self.assertEqual(found, attrs.evolve(new, recovering=True))

    def test_unclean_refused(self) -> None:
        """A partition with a leader needs no unclean election, and one without a live replica gets none."""
        kind, refused = ElectionKind.UNCLEAN, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        self.assertIs(self.elected(kind, led(1)), ErrorCode.ELECTION_NOT_NEEDED)
        self.assertIs(self.elected(kind, led(NO_LEADER), broker(4)), refused)
        self.assertIs(self.elected(kind, led(NO_LEADER, [1]), broker(2), offline=[2]), refused)
        self.assertIs(self.elected(kind, missing(1), broker(4)), refused)

    def test_unknown(self) -> None:
        """Partitions that do not exist are unknown; those of a topic that is deleted are refused."""
        state = cluster([topic("T", led(2)), topic("U", led(2))], *THREE)
        asked = [TopicPartition("V", 0), TopicPartition("T", 1), TopicPartition("U", 0), ONE]
        writes, answers = elect(state, {"U"}, ElectionKind.PREFERRED, asked)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.assertEqual(
            [error.code if error else None for error in answers.values()],
            [unknown, unknown, ErrorCode.INVALID_TOPIC_EXCEPTION, None],
        )
        self.assertEqual([write.topic for write in writes], ["T"])

    def test_all(self) -> None:
        """A request for all answers for those partitions that need an election."""
        topics = [
            topic("T", led(1), led(2), led(2, [2])),
            topic("U", led(NO_LEADER, [9])),
            topic("V", led(2)),
        ]
        state = cluster(topics, *THREE)
        writes, answers = elect(state, {"V"}, ElectionKind.PREFERRED, None)
        self.assertEqual([(write.topic, write.partition) for write in writes], [("T", 1)])
        self.assertEqual([f"{one}" for one in answers], ["T-1", "T-2", "U-0"])
        writes, answers = elect(state, {"V"}, ElectionKind.UNCLEAN, None)
        self.assertEqual((list(map(str, answers)), [type(each) for each in writes]), (["U-0"], [StateWrite]))


class ImbalanceTests(SynchronousTestCase):
    def given(self, *topics: Topic, percentage: int = 10, brokers: Sequence[BrokerNode] = THREE) -> list[str]:
        """Return the partitions that are given back."""
        return list(map(str, imbalanced(cluster(topics, *brokers), {"D"}, percentage)))

    def test_share(self) -> None:
        """Partitions are given back if a broker lacks more than the allowed share of what prefers it."""
        nine = [led(1)] * 9
        self.assertEqual(self.given(topic("T", *nine, led(2))), [])
        self.assertEqual(self.given(topic("T", *nine, led(2)), percentage=9), ["T-9"])
        self.assertEqual(self.given(topic("T", *nine, led(2), led(3))), ["T-9", "T-10"])
        self.assertEqual(self.given(topic("T", led(1)), percentage=0), [])

    def test_each_broker(self) -> None:
        """The share is counted for each broker alone."""
        other = led(1, replicas=(2, 1))
        self.assertEqual(self.given(topic("T", *[led(1)] * 99, other)), ["T-99"])

    def test_only_possible(self) -> None:
        """Partitions that cannot be given back now are not."""
        moving = attrs.evolve(led(2), adding=(3,))
        found = self.given(topic("T", led(2), led(2, [2, 3]), moving, missing(1)), topic("D", led(2)))
        self.assertEqual(found, ["T-0"])
        self.assertEqual(self.given(topic("T", led(2)), brokers=THREE[1:]), [])
        self.assertEqual(self.given(topic("T", led(2)), brokers=[broker(1, stopping=True), broker(2)]), [])
