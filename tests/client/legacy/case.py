"""A SimpleConsumer of two brokers in memory, for the tests of this package."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.legacy.simple_consumer import SimpleConsumer
from kafkatx.records.builder import BatchBuilder
from kafkatx.wire.messages.fetch import FetchRequest as Fetch
from tests.blocking.fakes import FakeCluster, Log
from tests.client.fakes import Network

PATIENT_S = 3.0


def log(leader: int, *values: bytes) -> Log:
    """Return a partition with one record per batch."""
    made = Log(leader=leader)
    for value in values:
        builder = BatchBuilder()
        builder.append_values([value], 1000)
        made.append(builder.build())
    return made


class SimpleConsumerTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two brokers, a topic with a partition at each, and another topic."""
        self.fake = FakeCluster(
            {"t": [log(1, b"a", b"b", b"c"), log(2, b"x", b"y")], "u": [log(2, b"z")]}, brokers=2
        )
        self.network = Network(self.fake.answer)
        self.consumer = self.made()
        self.assertIs(self.result(self.consumer.start()), self.consumer)
        self.addCleanup(self.close)

    def made(self, **settings: Any) -> SimpleConsumer:
        """Return a consumer of these brokers."""
        values = {"bootstrap_servers": "broker1:9092", "kafkatx_endpoint": self.network.endpoint, **settings}
        return SimpleConsumer(values, reactor=self.network.clock)

    def close(self) -> None:
        """Close the consumer, and check that nothing is left."""
        self.result(self.consumer.close())
        self.assertEqual(self.network.clock.getDelayedCalls(), [])
        self.assertEqual(self.network.live(), [])

    def result(self, waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Return the result of a call, or raise its error."""
        return self.network.result(waiting, seconds)

    def error(self, kind: type[Exception], waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Return the error that a call fails with."""
        with self.assertRaises(kind) as caught:
            self.result(waiting, seconds)
        return caught.exception

    def fetches(self) -> list[tuple[int, Fetch]]:
        """Return the fetch requests, and their destinations."""
        return [(node, message) for node, message in self.network.requests if isinstance(message, Fetch)]
