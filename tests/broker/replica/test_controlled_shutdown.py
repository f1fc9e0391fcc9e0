"""The controlled shutdown of a broker that is number 1 of three."""

from __future__ import annotations

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.controlled_shutdown import ControlledShutdown, count_movable
from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode
from tests.broker.cluster import FakeMetadataStore

SETTINGS = {
    "broker.id": "1",
    "controlled.shutdown.max.retries": "2",
    "controlled.shutdown.retry.backoff.ms": "1000",
}


class ControlledShutdownTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Broker 1 leads one partition that 2 could lead, and one that it has alone."""
        self.metadata = FakeMetadataStore()
        self.metadata.start(BrokerNode(1, "b1", 9101))
        self.metadata.register(["d"])
        topic = self.metadata.make_topic("t", [[1, 2], [1]])
        shared = attrs.evolve(topic.partitions[0], isr=(1, 2))
        self.metadata.put(attrs.evolve(topic, partitions=(shared, topic.partitions[1])))
        self.clock = Clock()

    def run_shutdown(self, **settings: str) -> Deferred[None]:
        """Begin to hand over."""
        config = BrokerConfig.load(None, {**SETTINGS, **settings})
        return Deferred.fromCoroutine(ControlledShutdown(config, self.metadata, self.clock).run())

    def test_handed_over(self) -> None:
        """The broker says that it stops, and waits until the other one leads the shared partition."""
        running = self.run_shutdown()
        self.assertTrue(self.metadata.state.brokers[1].stopping)
        self.assertNoResult(running)
        self.metadata.lead("t", 0, 2)
        self.successResultOf(running)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_too_late(self) -> None:
        """After the retries it stops nevertheless, and says what it still leads."""
        running = self.run_shutdown()
        self.clock.advance(1.9)
        self.assertNoResult(running)
        with capturedLogs() as events:
            self.clock.advance(0.2)
        self.successResultOf(running)
        self.assertIn("still leads 1 of 1 partitions", str(formatEvent(events[0])))
        self.metadata.lead("t", 0, 2)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_not_told(self) -> None:
        """A broker whose cluster cannot be told does not wait for it."""
        self.metadata.holding = True
        running = self.run_shutdown()
        self.metadata.commands[-1].done.errback(RequestError(ErrorCode.REQUEST_TIMED_OUT, "away"))
        self.successResultOf(running)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_fenced(self) -> None:
        """A broker that loses the cluster while it waits leads nothing any more, and goes on at once."""
        running = self.run_shutdown()
        self.metadata.fence()
        self.successResultOf(running)

    def test_nothing_to_do(self) -> None:
        """Without a partition that others could lead, or when it is switched off, the cluster is not told."""
        self.successResultOf(self.run_shutdown(**{"controlled.shutdown.enable": "false"}))
        self.metadata.lead("t", 0, 2)
        self.successResultOf(self.run_shutdown())
        self.assertNotIn("begin_stopping", [command.name for command in self.metadata.commands])

    def test_movable(self) -> None:
        """A partition can go to a live in-sync replica that is not stopping."""
        self.assertEqual(count_movable(self.metadata.state, 1), 1)
        self.metadata.leave(2)
        self.assertEqual(count_movable(self.metadata.state, 1), 0)
