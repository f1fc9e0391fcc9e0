"""Topics: made, found and deleted, also by several at once and by clients that go."""

from __future__ import annotations

import errno
import uuid
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.state import Broker
from kafkatx.broker.topics import MOST_PARTITIONS
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import Topic, TopicPartition
from tests.broker.running import BrokerTestCase, Held


class TopicsTestCase(BrokerTestCase):
    def create(self, name: str = "t", partitions: int = 1) -> Deferred[Topic]:
        """Begin to create a topic."""
        topics = self.broker.topics
        return Deferred.fromCoroutine(topics.create(name, topics.plan(partitions, 1)))

    def ensure(self, name: str = "t") -> Deferred[None]:
        """Begin to see to it that a topic is there."""
        return Deferred.fromCoroutine(self.broker.topics.ensure(name))

    def delete(self, name: str = "t") -> Deferred[None]:
        """Begin to delete a topic."""
        return Deferred.fromCoroutine(self.broker.topics.delete(name))

    def refused(self, doing: Deferred[Any]) -> ErrorCode:
        """The code of the RequestError with which something failed."""
        error = self.failureResultOf(doing, RequestError).value
        assert isinstance(error, RequestError)
        return error.code


class TopicsTests(TopicsTestCase):
    def test_create(self) -> None:
        """A created topic has its partitions, each with an empty log of its topic id, led in epoch 0."""
        topic = self.successResultOf(self.create("t", 3))
        partitions = self.broker.topics.partitions["t"]
        self.assertEqual([str(p.topic_partition) for p in partitions], ["t-0", "t-1", "t-2"])
        self.assertEqual(
            {self.broker.store.topic_id(p.topic_partition) for p in partitions}, {topic.topic_id}
        )
        states = {(p.leader, p.leader_epoch, p.replicas, p.isr, p.high_watermark) for p in partitions}
        self.assertEqual(states, {(0, 0, (0,), (0,), 0)})

    def test_find(self) -> None:
        """What is not there is not found; a negative number is no partition."""
        self.make_topic("t", 2)
        found = [self.broker.topics.find(*name) for name in (("t", -1), ("t", 2), ("u", 0))]
        self.assertEqual(found, [None, None, None])
        self.assertIs(self.broker.topics.find("t", 1), self.broker.topics.partitions["t"][1])

    def test_exists(self) -> None:
        """A name is taken until its topic is deleted."""
        self.make_topic()
        self.assertEqual(self.refused(self.create()), ErrorCode.TOPIC_ALREADY_EXISTS)

    def test_names(self) -> None:
        """Names that could be paths, or are too long, are refused, and nothing is made of them."""
        for name in ("../x", "a/b", "", ".", "..", "x" * 250, "a b", "\u00fc", "a\0"):
            self.assertEqual(self.refused(self.create(name)), ErrorCode.INVALID_TOPIC_EXCEPTION, name)
            self.assertEqual(self.refused(self.ensure(name)), ErrorCode.INVALID_TOPIC_EXCEPTION, name)
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))
        self.assertEqual(dict(self.broker.coordinator.state.topics), {})

    def test_plan(self) -> None:
        """Numbers of partitions and replicas are bounded; -1 is the broker's default."""
        plan = self.broker.topics.plan
        self.assertEqual(plan(-1, -1), [(0,)])
        self.assertEqual(plan(3, 1), [(0,)] * 3)
        for partitions, replicas, code in (
            (0, 1, ErrorCode.INVALID_PARTITIONS),
            (-2, 1, ErrorCode.INVALID_PARTITIONS),
            (MOST_PARTITIONS + 1, 1, ErrorCode.POLICY_VIOLATION),
            (2**31 - 1, 1, ErrorCode.POLICY_VIOLATION),
            (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
            (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
        ):
            with self.assertRaises(RequestError) as caught:
                plan(partitions, replicas)
            self.assertEqual(caught.exception.code, code, (partitions, replicas))

    def test_delete(self) -> None:
        """A deleted topic is gone, with its logs."""
        self.make_topic("t", 2)
        self.successResultOf(self.delete())
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))
        self.assertEqual(self.refused(self.delete()), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_created_again(self) -> None:
        """A topic that is created again has a new id and no records of the old one."""
        old = self.successResultOf(self.create())
        self.fill(b"old")
        self.successResultOf(self.delete())
        new = self.successResultOf(self.create())
        self.assertNotEqual(old.topic_id, new.topic_id)
        self.assertEqual(self.stored(), [])

    def test_storage_error(self) -> None:
        """Where a log cannot be made, the topic is not there at all, and can be created later."""
        create = self.broker.store.create

        def failing(name: TopicPartition, topic_id: uuid.UUID, config: object) -> Any:
            if name.partition == 1:
                return fail(OSError(errno.EMFILE, "Too many open files"))
            return create(name, topic_id, config)

        patched = self.patch(self.broker.store, "create", failing)
        self.assertEqual(self.refused(self.create("t", 3)), ErrorCode.KAFKA_STORAGE_ERROR)
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))
        self.assertEqual(dict(self.broker.coordinator.state.topics), {})
        patched.restore()
        self.successResultOf(self.create("t", 3))


class OpenTests(TopicsTestCase):
    def test_missing_logs_are_made(self) -> None:
        """A topic that the coordinator knows, but whose logs a crash left unmade, is served after open()."""
        self.successResultOf(self.broker.coordinator.create_topic("t", [(0,), (0,)], {}))
        self.assertIsNone(self.broker.topics.find("t", 1))
        self.successResultOf(Deferred.fromCoroutine(self.broker.topics.open()))
        self.assertIsNotNone(self.broker.topics.find("t", 1))

    def test_logs_of_no_topic(self) -> None:
        """Logs that belong to no topic are left alone and told of; so are those beyond its partitions."""
        self.make_topic("t", 1)
        config = self.broker.topics.partitions["t"][0].log.config
        for name in (TopicPartition("t", 1), TopicPartition("stray", 0)):
            self.broker.store.create(name, uuid.uuid4(), config)
        with capturedLogs() as events:
            self.successResultOf(Deferred.fromCoroutine(self.broker.topics.open()))
        warned = {str(e["partition"]) for e in events if e["log_level"] == LogLevel.warn}
        self.assertEqual(warned, {"t-1", "stray-0"})
        self.assertEqual(len(self.broker.store.logs), 3)


class ConcurrencyTests(TopicsTestCase):
    """The coordinator takes its time; what others ask meanwhile must come out right."""

    def make_broker(self, workers: Any = None, **settings: str) -> Broker:
        """A broker whose coordinator works when the test says so."""
        self.held = Held()
        return super().make_broker(self.held, **settings)

    def forsake(self, doing: Deferred[Any]) -> None:
        """Cancel it, as is done when its client goes."""
        doing.cancel()
        self.failureResultOf(doing, CancelledError)

    def test_ensure_at_once(self) -> None:
        """Several that need the same topic get one; all of them wait until it can be written to."""
        waiting = [self.ensure() for _ in range(3)]
        for deferred in waiting:
            self.assertNoResult(deferred)
        self.held.work()
        for deferred in waiting:
            self.successResultOf(deferred)
        self.assertIsNotNone(self.broker.topics.find("t", 0))
        self.assertEqual(len(self.broker.store.logs), 1)

    def test_create_at_once(self) -> None:
        """Of two that create the same topic one does, and the other is told that it exists."""
        first, second = self.create(), self.create()
        self.held.work()
        self.successResultOf(first)
        self.assertEqual(self.refused(second), ErrorCode.TOPIC_ALREADY_EXISTS)

    def test_cancelled_creation(self) -> None:
        """A client that goes while its topic is made leaves a topic that works, not half of one."""
        creating, ensuring = self.create(), self.ensure()
        self.forsake(creating)
        self.held.work()
        self.successResultOf(ensuring)
        self.assertIsNotNone(self.broker.topics.find("t", 0))

    def test_cancelled_waiting(self) -> None:
        """A client that goes while it waits for another's creation disturbs nothing."""
        creating, ensuring = self.create(), self.ensure()
        self.forsake(ensuring)
        self.held.work()
        self.successResultOf(creating)

    def test_cancelled_deletion(self) -> None:
        """A client that goes while its topic is deleted leaves nothing of it."""
        self.held.holding = False
        self.make_topic("t", 2)
        self.held.holding = True
        self.forsake(self.delete())
        self.held.work()
        self.assertEqual((dict(self.broker.store.logs), self.broker.topics.partitions), ({}, {}))

    def test_bug_after_the_client_has_gone(self) -> None:
        """What fails with nobody left to be told is in the log."""
        self.patch(self.broker.store, "create", lambda *_: fail(ZeroDivisionError()))
        self.forsake(self.create())
        self.held.work()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_settled(self) -> None:
        """settled() waits for the changes that are under way, also those that nobody waits for."""
        self.successResultOf(self.broker.topics.settled())
        self.forsake(self.create())
        settled = self.broker.topics.settled()
        self.assertNoResult(settled)
        self.held.work()
        self.successResultOf(settled)

    def test_created_while_logs_are_deleted(self) -> None:
        """A topic that is created again while the old one's files go keeps all of its new logs."""
        self.held.holding = False
        self.make_topic("t", 3)
        delete = self.broker.store.delete
        going: list[Deferred[None]] = []

        def slowly(name: TopicPartition) -> Deferred[None]:
            delete(name)
            going.append(Deferred())
            return going[-1]

        self.patch(self.broker.store, "delete", slowly)
        deleting = self.delete()
        self.successResultOf(self.create("t", 3))
        while going:
            going.pop(0).callback(None)
        self.successResultOf(deleting)
        self.assertEqual(len(self.broker.store.logs), 3)
