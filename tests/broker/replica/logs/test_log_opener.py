"""The logs of new partitions: made in slices, one after the other; what fails is offline."""

from __future__ import annotations

import errno
import uuid
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.task import Clock

from kafkatx.broker.replica.logs.log_opener import SLICE_S
from kafkatx.config import LogConfig
from kafkatx.types import TopicPartition
from tests.broker.cluster import ClusterTestCase


class LogOpenerTests(ClusterTestCase):
    def take_time(self, seconds: float) -> None:
        """Slow the making of each log down."""
        create, clock = self.broker.store.create, self.clock

        def slow(*args: Any) -> Deferred[Any]:
            clock.rightNow += seconds
            done: Deferred[Any] = create(*args)
            return done

        self.patch(self.broker.store, "create", slow)

    def make_clock(self) -> Any:
        """Return a clock that only the test moves."""
        return Clock()

    def here(self, topic: str) -> int:
        """Return the number of partitions that are found."""
        return len(self.broker.topics.of(topic))

    def test_slices(self) -> None:
        """Other work has its turn while many logs are made."""
        self.take_time(SLICE_S / 4)
        self.metadata.put(self.metadata.make_topic("t", [[1]] * 10))
        opened = self.broker.topics.opened("t")
        self.assertEqual(self.here("t"), 4)
        self.assertNoResult(opened)
        seen: list[int] = []
        self.clock.callLater(0, lambda: seen.append(self.here("t")))
        self.clock.advance(0)
        self.successResultOf(opened)
        self.assertEqual(seen, [8])
        self.assertEqual(self.here("t"), 10)

    def test_failed(self) -> None:
        """A log that cannot be made is offline; the others are served, and who waits is told."""
        create = self.broker.store.create

        def failing(name: TopicPartition, topic_id: uuid.UUID, config: LogConfig) -> Any:
            if name.partition == 1:
                return fail(OSError(errno.EMFILE, "Too many open files"))
            return create(name, topic_id, config)

        self.patch(self.broker.store, "create", failing)
        self.metadata.put(self.metadata.make_topic("t", [[1]] * 3))
        self.assertEqual([one.offline for one in self.broker.topics.of("t")], [False, True, False])
        self.failureResultOf(self.broker.topics.opened("t"), OSError)
        self.metadata.remove("t")
        self.metadata.put(self.metadata.make_topic("t", [[1]]))
        self.successResultOf(self.broker.topics.opened("t"))

    def test_deleted_meanwhile(self) -> None:
        """The log of a topic that is deleted while it is made is removed; that of its successor stays."""
        making: list[tuple[Any, Deferred[Any]]] = []
        create = self.broker.store.create

        def held(*args: Any) -> Deferred[Any]:
            making.append((args, Deferred()))
            return making[-1][1]

        self.patch(self.broker.store, "create", held)
        self.metadata.put(self.metadata.make_topic("t", [[1]] * 2))
        self.metadata.remove("t")
        new = self.metadata.make_topic("t", [[1]])
        self.metadata.put(new)
        while making:
            args, done = making.pop(0)
            create(*args).chainDeferred(done)
        self.assertEqual(list(self.broker.store.logs), [TopicPartition("t", 0)])
        self.assertEqual(self.broker.store.topic_id(TopicPartition("t", 0)), new.topic_id)
        self.assertEqual(self.here("t"), 1)

    def test_stopped(self) -> None:
        """No log is begun after the stop."""
        self.take_time(SLICE_S)
        self.metadata.put(self.metadata.make_topic("t", [[1]] * 3))
        settled = self.broker.topics.settled()
        self.clock.advance(0)
        self.successResultOf(settled)
        self.assertEqual(self.here("t"), 1)
        self.metadata.put(self.metadata.make_topic("u", [[1]]))
        self.assertEqual(self.here("u"), 0)

    def test_bug(self) -> None:
        """A bug is logged, and does not keep the logs of other topics from being made."""
        create = self.broker.store.create

        def failing(name: TopicPartition, topic_id: uuid.UUID, config: LogConfig) -> Any:
            return fail(ZeroDivisionError()) if name.topic == "t" else create(name, topic_id, config)

        self.patch(self.broker.store, "create", failing)
        self.metadata.put(self.metadata.make_topic("t", [[1]]), self.metadata.make_topic("u", [[1]]))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual([self.broker.topics.of(topic)[0].error for topic in "tu"], [56, 0])
