"""Consumers of a broker in memory: the broker's own code behind the client's endpoint, and a clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.find_coordinator import FindCoordinatorResponse
from kafkatx.wire.messages.metadata import MetadataResponse
from kafkatx.wire.schema import Message
from tests.broker.running import BrokerTestCase
from tests.client.fakes import Network

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
HOST = "broker0"


class ConsumerTestCase(BrokerTestCase):
    """Test case whose ``consumer()`` returns a started one; ``network`` takes its requests to the broker."""

    settings: ClassVar[Mapping[str, str]] = {
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        "auto.create.topics.enable": "false",
    }

    def setUp(self) -> None:
        """Make a broker and a network."""
        super().setUp()
        self.network = Network(self.serve, self.clock)
        self.addCleanup(lambda: self.assertEqual(self.network.live(), []))

    def serve(self, node: int, request: Message, version: int) -> Any:
        """Return the broker's answer, with the broker's address in the network."""
        key = type(request).API_KEY
        answer = self.answer(key, version, request)
        if isinstance(answer, Deferred):
            return answer.addCallback(lambda reply: self.found(self.response(key, version, reply)))
        return self.found(self.response(key, version, answer))

    def found(self, response: Any) -> Any:
        """Replace the broker's address by its name in the network."""
        if isinstance(response, MetadataResponse):
            for broker in response.brokers:
                broker.host = HOST
        elif isinstance(response, FindCoordinatorResponse):
            response.host = HOST
            for coordinator in response.coordinators:
                coordinator.host = HOST
        return response

    def unstarted(self, **settings: Any) -> Consumer:
        """Return a consumer that begins at the start of a log, unless settings say otherwise."""
        values = {
            "bootstrap_servers": f"{HOST}:9092",
            "kafkatx_endpoint": self.network.endpoint,
            "auto_offset_reset": "earliest",
            **settings,
        }
        consumer = Consumer(values, reactor=self.clock)
        self.addCleanup(lambda: self.wait(consumer.close(), 60))
        return consumer

    def consumer(self, *partitions: TopicPartition, **settings: Any) -> Consumer:
        """Return a started consumer of partitions."""
        consumer = self.unstarted(**settings)
        self.wait(consumer.start())
        consumer.assign(partitions)
        self.network.pump()
        return consumer

    def member(self, *topics: str, listener: Any = None, **settings: Any) -> Consumer:
        """Return a started consumer of topics in group g that has polled, and commits on request."""
        consumer = self.unstarted(**{"group_id": "g", "enable_auto_commit": False, **settings})
        consumer.subscribe(topics, listener=listener)
        self.wait(consumer.start())
        self.network.run(1)
        return consumer

    def wait(self, waiting: Deferred[Any], seconds: float = 1.0) -> Any:
        """Return the result of a Deferred that fires within some time, or raise its error."""
        return self.network.result(waiting, seconds)

    def values(self, consumer: Consumer, limit: int | None = None, seconds: float = 1.0) -> list[Any]:
        """Return the values of the next getmany."""
        found = self.wait(consumer.getmany(limit, int(seconds * 1000)), 2 * seconds)
        return [record.value for records in found.values() for record in records]
