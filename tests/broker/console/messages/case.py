"""A console whose messages are looked at in this process, and streams that are read as a page reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from twisted.internet.defer import Deferred

from kafkatx.broker.console import factory
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.net.requests import Session
from kafkatx.records.builder import BatchBuilder
from kafkatx.views.requests import encode_json
from kafkatx.views.worker_process import Performer
from kafkatx.web.calls import Answer, Call
from kafkatx.web.event_stream import EventStream
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.authorization.authorized import ADMIN
from tests.broker.console.case import ConsoleCase
from tests.web.test_event_stream import events
from tests.web.test_pieces import FakeResponse

Event = tuple[str, Any]
Headers = Iterable[tuple[str, bytes | None]]


class InThisProcess:
    """Looks at messages at once; :attr:`asked` counts the requests."""

    def __init__(self, workers: object = None, clock: object = None) -> None:
        self.performer = Performer(lambda: 0.0)
        self.asked = 0

    async def ask(
        self, share: str, head: object, body: Callable[[], bytes]
    ) -> tuple[Mapping[str, Any], bytes]:
        """Return the answer."""
        self.asked += 1
        start, found = self.performer.answer(json.loads(encode_json(head)), body())
        answer = json.loads(start[8:])
        if "error" in answer:
            raise ConsoleError(400, "INVALID_REQUEST", answer["error"])
        return answer, bytes(found)

    def stop(self) -> None:
        """Do nothing."""


class Reader:
    """A page that reads a stream."""

    def __init__(self, stream: EventStream) -> None:
        self.stream = stream
        self.response = FakeResponse()
        stream.start(self.response)

    @property
    def events(self) -> list[Event]:
        """All events that have come."""
        return events(b"".join(data for data in self.response.done if isinstance(data, bytes)))

    def of(self, name: str) -> list[Any]:
        """Return the data of the events of one name."""
        return [data for event, data in self.events if event == name]

    @property
    def texts(self) -> list[str]:
        """The values of the records that have come."""
        return [record["value"]["text"] for record in self.of("record")]


class MessagesCase(ConsoleCase):
    """A topic ``t`` of two partitions; ``write`` adds records, ``search`` and ``tail`` read them."""

    partitions = 2

    def setUp(self) -> None:
        """Make the topic."""
        self.patch(factory, "ViewProcesses", InThisProcess)
        super().setUp()
        self.make_topic("t", self.partitions)

    def delete_topic(self, name: str = "t") -> None:
        """Delete a topic."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete(name)))

    def write(
        self, partition: int, *values: bytes | None, key: bytes | None = None, headers: Headers = ()
    ) -> None:
        """Produce records in one batch, each a millisecond after the one before."""
        batch = BatchBuilder()
        for value in values:
            self.now_ms += 1
            batch.append(key, value, self.now_ms, headers)
        data = TopicProduceData("t", [PartitionProduceData(partition, batch.build())])
        request = ProduceRequest(transactional_id=None, acks=1, timeout_ms=1000, topic_data=[data])
        call = Call("POST", "", (), {}, session=Session(ADMIN))
        asked = Deferred.fromCoroutine(self.console.parts.kafka.ask(call, request))
        result = self.successResultOf(asked).responses[0].partition_responses[0]
        self.assertEqual(result.error_code, 0)

    def open(self, path: str, **parameters: object) -> Answer:
        """Ask for a stream."""
        query = urlencode({"topic": "t", **parameters})
        return self.request("GET", f"/console/api/v1{path}?{query}")

    def refusal(self, path: str = "/messages", **parameters: object) -> tuple[int, str, str]:
        """Ask for a stream that is refused; return status, code and message."""
        answer = self.open(path, **parameters)
        error = self.value(answer, answer.status)["error"]
        return answer.status, error["code"], error["message"]

    def reader(self, path: str, **parameters: object) -> Reader:
        """Open a stream."""
        answer = self.open(path, **parameters)
        self.assertEqual((answer.status, answer.content_type), (200, "text/event-stream"), answer.body)
        assert isinstance(answer.stream, EventStream)
        return Reader(answer.stream)

    def search(self, **parameters: object) -> Reader:
        """Search to the end."""
        reader = self.reader("/messages", **parameters)
        for _ in range(5000):
            if reader.stream.ended:
                break
            self.clock.advance(0.01)
        self.assertTrue(reader.stream.ended)
        return reader

    def tail(self, **parameters: object) -> Reader:
        """Begin a tail."""
        return self.reader("/messages/tail", **parameters)

    def pass_time(self, seconds: float) -> None:
        """Move the clock in small steps."""
        for _ in range(round(seconds / 0.05)):
            self.clock.advance(0.05)
