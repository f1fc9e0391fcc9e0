"""A broker in one process that is asked to fetch."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from tests.broker.running import BrokerTestCase


def asking(*offsets: int, max_bytes: int = 1 << 20, epoch: int = -1, topic: str = "t") -> list[FetchTopic]:
    """Return a request topic with partitions 0, 1, ..., each from the given offset on."""
    return [
        FetchTopic(
            topic,
            partitions=[
                FetchPartition(number, epoch, offset, partition_max_bytes=max_bytes)
                for number, offset in enumerate(offsets)
            ],
        )
    ]


def raw(part: PartitionData) -> memoryview:
    """Return the records of a decoded response, a slice of the received bytes."""
    assert isinstance(part.records, memoryview)
    return part.records


class FetchTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """Make a topic."""
        super().setUp()
        self.make_topic("t", 2)

    def fetch(
        self, topics: list[FetchTopic] | None = None, version: int = 12, **fields: Any
    ) -> FetchResponse:
        """Return the response to a fetch that does not wait."""
        request = FetchRequest(topics=asking(0) if topics is None else topics, **{"max_wait_ms": 0, **fields})
        response: FetchResponse = self.ask(1, version, request)
        return response

    def parts(self, *args: Any, **fields: Any) -> list[PartitionData]:
        """Return the partitions' parts of such a response."""
        (topic,) = self.fetch(*args, **fields).responses
        return topic.partitions

    def park(
        self, topics: list[FetchTopic] | None = None, min_bytes: int = 1, **fields: Any
    ) -> Deferred[Any]:
        """Send a fetch that waits 500 ms at most."""
        wanted = asking(0) if topics is None else topics
        request = FetchRequest(max_wait_ms=500, min_bytes=min_bytes, topics=wanted, **fields)
        answer = self.answer(1, 12, request)
        return answer if isinstance(answer, Deferred) else self.wrap(answer)

    def wrap(self, answer: Any) -> Deferred[Any]:
        """Return a Deferred that has fired with *answer*."""
        done: Deferred[Any] = Deferred()
        done.callback(answer)
        return done

    def came(self, waiting: Deferred[Any]) -> list[PartitionData]:
        """Return the parts of a reply that has arrived."""
        response = self.response(1, 12, self.successResultOf(waiting))
        parts: list[PartitionData] = response.responses[0].partitions
        return parts
