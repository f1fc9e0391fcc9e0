"""A cluster of one broker answers the questions of replication."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.types import BrokerNode, ElectionKind, IsrChange, TopicPartition
from tests.metadata.embedded.test_store import at_once

ONE, NONE = TopicPartition("t", 0), TopicPartition("t", 1)


def codes(answers: dict[TopicPartition, RequestError | None]) -> dict[TopicPartition, ErrorCode | None]:
    """Return the codes of answers."""
    return {one: None if error is None else error.code for one, error in answers.items()}


class LoneBrokerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a store with a topic of one partition."""
        config = BrokerConfig.load(None, {"log.dirs": self.mktemp()})
        self.store = EmbeddedMetadataStore(config, at_once, durable=False)
        self.successResultOf(self.store.start(BrokerNode(3, "h", 9092)))
        self.addCleanup(lambda: self.successResultOf(self.store.stop()))
        self.successResultOf(self.store.create_topic("t", [[3]], {}))

    def test_alter_isr(self) -> None:
        """The in-sync replicas can only be what they are."""
        topic = self.store.state.topics["t"]
        state = topic.partitions[0]
        same = IsrChange(topic.topic_id, ONE, state, (3,), {}, 1)
        other = IsrChange(topic.topic_id, ONE, state, (), {}, 1)
        self.assertEqual(
            self.successResultOf(self.store.alter_isr([same, other])),
            [state, ErrorCode.INVALID_UPDATE_VERSION],
        )
        self.successResultOf(self.store.delete_topic("t"))
        self.assertEqual(self.successResultOf(self.store.alter_isr([same])), [ErrorCode.UNKNOWN_TOPIC_ID])

    def test_leader_epoch(self) -> None:
        """The leader epoch can be raised, and only raised; it is in the database."""
        topic = self.store.state.topics["t"]
        state = topic.partitions[0]
        raising = IsrChange(topic.topic_id, ONE, state, (3,), {}, 1, 7)
        (after,) = self.successResultOf(self.store.alter_isr([raising]))
        self.assertEqual(after, attrs.evolve(state, leader_epoch=7))
        self.assertEqual(self.store.state.topics["t"].partitions[0], after)
        database = self.store._opened()
        self.assertEqual(database.topics()["t"].partitions[0].leader_epoch, 7)
        lower = IsrChange(topic.topic_id, ONE, self.store.state.topics["t"].partitions[0], (3,), {}, 1, 5)
        self.assertEqual(self.successResultOf(self.store.alter_isr([lower])), [after])
        self.assertEqual(
            self.successResultOf(self.store.alter_isr([raising])), [ErrorCode.INVALID_UPDATE_VERSION]
        )
        database.raise_leader_epochs({ONE: 3, NONE: 9})
        self.assertEqual(database.topics()["t"].partitions[0].leader_epoch, 7)

    def test_leader_epoch_of_a_deleted_topic(self) -> None:
        """An epoch that is to be raised while the topic is deleted changes nothing."""
        topic = self.store.state.topics["t"]
        deleting = self.store.delete_topic("t")
        raising = IsrChange(topic.topic_id, ONE, topic.partitions[0], (3,), {}, 1, 7)
        self.successResultOf(deleting)
        self.assertEqual(self.successResultOf(self.store.alter_isr([raising])), [ErrorCode.UNKNOWN_TOPIC_ID])

    def test_elect_leaders(self) -> None:
        """No partition needs an election."""
        for kind in ElectionKind:
            self.assertEqual(self.successResultOf(self.store.elect_leaders(kind, None)), {})
            answers = self.successResultOf(self.store.elect_leaders(kind, [ONE, NONE]))
            self.assertEqual(
                codes(answers),
                {ONE: ErrorCode.ELECTION_NOT_NEEDED, NONE: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
            )

    def test_reassign(self) -> None:
        """Only the replicas that a partition has can be asked for, and there is nothing to cancel."""
        answers = [
            codes(self.successResultOf(self.store.reassign({ONE: replicas, NONE: [3]})))
            for replicas in ([3], [4], [3, 4], None)
        ]
        self.assertEqual(
            [answer[ONE] for answer in answers],
            [
                None,
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
            ],
        )
        self.assertEqual({answer[NONE] for answer in answers}, {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})

    def test_own_broker(self) -> None:
        """Offline replicas are shown, and added to those before; stopping needs no telling."""
        shown = []
        self.store.subscribe(lambda delta: shown.append(delta.after.offline))
        for one in (ONE, NONE, ONE):
            self.successResultOf(self.store.report_offline([one]))
        self.assertEqual(shown, [{3: {ONE}}, {3: {ONE, NONE}}])
        self.successResultOf(self.store.begin_stopping())
