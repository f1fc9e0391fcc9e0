"""A producer on brokers in memory that check sequences as the real broker does."""

from __future__ import annotations

import gc
from collections import deque
from itertools import count
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import ErrorCode
from kafkatx.records.batch import Record, iter_records
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkatx.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST, FakeCluster, Log
from tests.client.fakes import NOTHING, Network
from tests.clientcore.partition import Partition

STEP_S = 0.01


class ProducerTestCase(SynchronousTestCase):
    """A topic ``t`` with three partitions, led by brokers 1, 2 and 1, and ``one`` with one.

    :ivar faults: a queue; each produce request takes one: None for no fault, LOSE_REQUEST, LOSE_REPLY,
        NOTHING, a Deferred that the reply waits for, or an ErrorCode for all its partitions.
    :ivar logs: the logs by partition.
    """

    def setUp(self) -> None:
        """Make two brokers, and no producer yet."""
        self.metadata = FakeCluster({"t": [Log(), Log(leader=2), Log()], "one": [Log()]}, brokers=2)
        self.network = Network(self.metadata.answer)
        self.network.clock.advance(1000)
        self.network.answers[ProduceRequest] = self.answer
        self.network.answers[InitProducerIdRequest] = self.give_producer_id
        self.producer_ids = count(7)
        self.faults: deque[Any] = deque()
        self.logs: dict[tuple[str, int], Partition] = {}
        self.throttle_ms = 0
        self.addCleanup(self.nothing_left)

    def nothing_left(self) -> None:
        """Check that no timer is left once all producers are closed; ignore unhandled ClientClosed errors."""
        gc.collect()
        self.flushLoggedErrors(ClientClosed)
        self.assertEqual(self.network.clock.getDelayedCalls(), [])

    def log(self, topic: str = "one", partition: int = 0) -> Partition:
        """Return the log of a partition."""
        return self.logs.setdefault((topic, partition), Partition())

    def records(self, topic: str = "one", partition: int = 0) -> list[Record]:
        """Return all records of a partition."""
        batches = self.log(topic, partition).batches
        return [record for data in batches for record in iter_records(memoryview(data))]

    def answer(self, node: int, request: Any, version: int) -> Any:
        """Answer a produce request as a broker does."""
        fault = self.faults.popleft() if self.faults else None
        if fault in (LOSE_REQUEST, NOTHING):
            return fault
        topics = [
            TopicProduceResponse(
                topic.name, [self.append(node, topic.name, part, fault) for part in topic.partition_data]
            )
            for topic in request.topic_data
        ]
        response = ProduceResponse(topics, self.throttle_ms)
        if fault == LOSE_REPLY or request.acks == 0:
            return LOSE_REPLY if fault == LOSE_REPLY else NOTHING
        if isinstance(fault, Deferred):
            return fault.addCallback(lambda _: response)
        return response

    def give_producer_id(self, node: int, request: Any, version: int) -> Any:
        """Return another producer id for each request."""
        return InitProducerIdResponse(producer_id=next(self.producer_ids), producer_epoch=0)

    def append(self, node: int, topic: str, part: Any, fault: Any) -> PartitionProduceResponse:
        """Append one partition's part of a request."""
        known = self.metadata.topics.get(topic)
        if isinstance(fault, ErrorCode):
            return PartitionProduceResponse(part.index, fault, -1)
        if known is None or known[part.index].leader != node:
            return PartitionProduceResponse(part.index, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        code, base = self.log(topic, part.index).append(bytes(part.records))
        return PartitionProduceResponse(part.index, code, base)

    def producer(self, start: bool = True, **settings: Any) -> Producer:
        """Return a started producer of these brokers, which is closed after the test; linger.ms is 0."""
        settings = {
            "bootstrap_servers": "broker1:9092",
            "kafkatx_endpoint": self.network.endpoint,
            "linger_ms": 0,
            **settings,
        }
        made = Producer(settings, reactor=self.network.clock)
        if start:
            self.network.result(made.start())
        self.addCleanup(self.close, made)
        return made

    def close(self, producer: Producer) -> None:
        """Close the producer at once."""
        self.network.result(producer.close(timeout_s=0))

    def result(self, waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Pump until the Deferred fires; return its result."""
        return self.network.result(waiting, seconds)

    def error(self, waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Pump until the Deferred fails; return its error."""
        outcome: list[Any] = []
        waiting.addErrback(outcome.append)
        waiting.addCallback(lambda value: value if outcome else self.fail(f"it fired with {value!r}"))
        self.network.result(waiting, seconds)
        return outcome[0].value

    def requests(self) -> list[Any]:
        """Return all produce requests so far."""
        return self.network.sent(ProduceRequest)

    def sizes(self) -> list[list[int]]:
        """Return the number of records of each partition in each produce request."""
        return [
            [len(list(iter_records(memoryview(p.records)))) for t in r.topic_data for p in t.partition_data]
            for r in self.requests()
        ]

    def producer_ids_asked(self) -> int:
        """Return the number of requests for a producer id."""
        return len(self.network.sent(InitProducerIdRequest))
