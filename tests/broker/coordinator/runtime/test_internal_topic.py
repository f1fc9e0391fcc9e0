"""The topic ``__consumer_offsets``: its creation, also by two brokers at once, and the leaders of groups."""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import CONSUMER_OFFSETS
from tests.broker.coordinated import partition_of, partitions_of
from tests.broker.coordinator.runtime.topic_case import TopicTestCase
from tests.broker.running import Held


class MakingTests(TopicTestCase):
    def test_made_when_needed(self) -> None:
        """The topic is created on demand: compacted, with the set partitions, one replica for one broker."""
        self.assertFalse(self.topic.exists)
        self.make()
        self.assertTrue(self.topic.exists)
        made = self.broker.metadata.state.topics[CONSUMER_OFFSETS]
        self.assertTrue(made.internal)
        self.assertEqual([p.replicas for p in made.partitions], [(0,)] * 50)
        self.assertEqual(
            dict(made.configs),
            {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
        )
        self.assertTrue(partition_of(self.broker).log.config.compacted)

    def test_settings(self) -> None:
        """The settings offsets.topic.num.partitions and offsets.topic.segment.bytes are used."""
        names = {"offsets.topic.num.partitions": "3", "offsets.topic.segment.bytes": "5000"}
        self.broker = self.make_broker(**names)
        self.make()
        self.assertEqual(len(partitions_of(self.broker)), 3)
        self.assertEqual(partition_of(self.broker).log.config.segment_bytes, 5000)
        self.assertEqual(partition_of(self.broker, "hello"), partitions_of(self.broker)[99162322 % 3])
        self.assertEqual(self.topic.partition_of("hello"), 99162322 % 3)

    def test_by_metadata(self) -> None:
        """A Metadata request may create the topic, with the configs of an offsets topic."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.ensure(CONSUMER_OFFSETS)))
        self.assertEqual(len(partitions_of(self.broker)), 50)
        self.assertTrue(partitions_of(self.broker)[0].log.config.compacted)

    def test_led(self) -> None:
        """Partitions that are here, but that this broker does not lead, are not its own."""
        self.make()
        partition = partition_of(self.broker)
        partition.resign()
        self.assertNotIn(partition, list(self.topic.led()))
        self.assertEqual(len(list(self.topic.led())), 49)

    def test_order(self) -> None:
        """Requests that wait for the topic are answered in order; later ones are answered at once."""
        held = Held()
        self.broker = self.make_broker(held)
        told: list[int] = []

        def tell(_: None, number: int) -> None:
            told.append(number)

        for number in range(3):
            self.topic.ensure().addCallback(tell, number)
        self.assertEqual(told, [])
        held.work()
        self.assertEqual(told, [0, 1, 2])
        self.topic.ensure().addCallback(tell, 3)
        self.assertEqual(told, [0, 1, 2, 3])

    def test_who_does_not_wait_any_more(self) -> None:
        """A cancelled request delays neither the topic nor the other requests."""
        held = Held()
        self.broker = self.make_broker(held)
        first, second = self.topic.ensure(), self.topic.ensure()
        first.addErrback(lambda failure: None)
        first.cancel()
        held.work()
        self.successResultOf(second)

    def test_failed(self) -> None:
        """Waiting requests fail with COORDINATOR_NOT_AVAILABLE if the logs fail; the next try may succeed."""

        def create(*args: Any) -> Any:
            raise OSError(errno.ENOSPC, "No space left on device")

        patched = self.patch(self.broker.store, "create", create)
        error = self.failureResultOf(self.topic.ensure(), RequestError).value
        self.assertEqual(error.code, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.assertIn("No space left", str(error))
        patched.restore()
        self.make()
        self.assertTrue(self.topic.exists)

    def test_bug(self) -> None:
        """A bug is logged with its traceback, and the waiting requests fail."""

        def create(*args: Any) -> Any:
            raise ZeroDivisionError

        self.patch(self.broker.store, "create", create)
        self.failureResultOf(self.topic.ensure(), RequestError)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_not_there(self) -> None:
        """A missing topic cannot be searched, and has no partition."""
        for find in (self.topic.partition_of, self.topic.leader_of):
            error = self.assertRaises(RequestError, find, "g")
            self.assertEqual(error.code, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.assertEqual(list(self.topic.led()), [])
