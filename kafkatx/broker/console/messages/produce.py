"""Messages that people type: encoded in a process, and produced as a client would, on the user's behalf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.errors import ConsoleError, check_code, invalid
from kafkatx.broker.console.kafka_requests import KafkaRequests
from kafkatx.broker.console.messages.schema_source import SchemaSource
from kafkatx.broker.console.views import ViewProcesses
from kafkatx.clientcore.registry.requests import LATEST
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.partitioners import DefaultPartitioner
from kafkatx.records.builder import BatchBuilder
from kafkatx.schemas.messages.formats import NAMES
from kafkatx.types import BrokerNode, Topic
from kafkatx.views.encoders import FORMATS, BadText, encode
from kafkatx.views.formats.registered import Described
from kafkatx.views.requests import Typed
from kafkatx.web.calls import Call
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

MOST_HEADERS: Final = 100
TIMEOUT_MS: Final = 15_000

BODY: Final[Mapping[str, str]] = {
    "topic": "the topic",
    "partition": "its number; null: by the key, as the Java client chooses it",
    "key": "a text, or null for none",
    "value": "a text, or null for a tombstone",
    "keyFormat": f"{', '.join(FORMATS)}; text if it is left out",
    "valueFormat": "the same",
    "keySchema": "for a format with schemas: {id} or {subject, version}; the latest of TOPIC-key if it is"
    " left out",
    "valueSchema": "the same, with TOPIC-value",
    "headers": "a list of {key, value, format}; values are text unless format says hex or base64",
    "timestampMs": "the time of the record; now if it is left out",
}

Headers = list[tuple[str, bytes | None]]


class Produce:
    """Produces messages of the console's users."""

    def __init__(
        self, broker: Broker, kafka: KafkaRequests, processes: ViewProcesses, schemas: SchemaSource
    ) -> None:
        self._broker = broker
        self._kafka = kafka
        self._processes = processes
        self._schemas = schemas
        self._partitioner = DefaultPartitioner()

    async def produce(self, call: Call, fields: Fields) -> dict[str, object]:
        """Produce a message; return its partition and offset.

        :raises ConsoleError: a field is wrong, or the broker refuses the message.
        :raises RequestError: the user may not write to the topic, or it does not exist.
        """
        topic = self._topic(fields.text("topic"))
        headers = read_headers(fields)
        timestamp_ms = fields.whole("timestampMs", self._broker.now_ms(), 0)
        key, value = await self._encoded(call, topic.name, fields)
        number = self._partition(topic, fields, key)
        batch = BatchBuilder()
        batch.append(key, value, timestamp_ms, headers)
        data = TopicProduceData(topic.name, [PartitionProduceData(number, batch.build())])
        request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data])
        response: Any = await self._kafka.ask(call, request, self._leader(topic, number))
        result = response.responses[0].partition_responses[0]
        check_code(result.error_code, result.error_message, f"produce to {topic.name}-{number}")
        return {"partition": number, "offset": str(result.base_offset)}

    def _topic(self, name: str) -> Topic:
        topic: Topic | None = self._broker.metadata.state.topics.get(name)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name[:249]}")
        return topic

    def _leader(self, topic: Topic, number: int) -> BrokerNode:
        node: BrokerNode | None = self._broker.metadata.state.brokers.get(topic.partitions[number].leader)
        if node is None:
            raise RequestError(
                ErrorCode.LEADER_NOT_AVAILABLE, f"the partition {topic.name}-{number} has no leader now"
            )
        return node

    def _partition(self, topic: Topic, fields: Fields, key: bytes | None) -> int:
        count = len(topic.partitions)
        if fields.has("partition"):
            return fields.whole("partition", low=0, high=count - 1)
        number = self._partitioner.partition(topic.name, key, count)
        self._partitioner.batch_sent(topic.name)
        return number

    async def _encoded(self, call: Call, topic: str, fields: Fields) -> tuple[bytes | None, bytes | None]:
        described: dict[str, Described] = {}
        sides = [await self._typed(topic, side, fields, described) for side in ("key", "value")]
        head = {"encode": [attrs.asdict(side) for side in sides], "schemas": described}
        answer, body = await self._processes.ask(call.share, head, lambda: b"")
        of_key, of_value = answer["sizes"]
        at = of_key or 0
        return None if of_key is None else body[:at], None if of_value is None else body[at:]

    async def _typed(self, topic: str, side: str, fields: Fields, described: dict[str, Described]) -> Typed:
        name = fields.text(f"{side}Format", "text")
        if name not in FORMATS:
            raise invalid(f"{side}Format: there are {', '.join(FORMATS)}")
        text = fields.text(side, "") if fields.has(side) else None
        if name not in NAMES or text is None:
            return Typed(name, text)
        schema = fields.child(f"{side}Schema")
        if schema.has("id"):
            described[side] = await self._schemas.by_id(schema.whole("id", low=0, high=2**31 - 1))
        else:
            version = schema.whole("version", LATEST, LATEST, 2**31 - 1)
            subject = schema.text("subject", f"{topic}-{side}")
            described[side] = await self._schemas.of_subject(subject, version)
        return Typed(name, text, side)


def read_headers(fields: Fields) -> Headers:
    """Return the headers in a body.

    :raises ConsoleError: one is wrong.
    """
    headers: Headers = []
    for one in fields.children("headers", MOST_HEADERS):
        name = one.text("format", "text")
        if name in NAMES or name not in FORMATS:
            raise invalid(f"a header's format {name[:40]!r}: it is text, hex or base64")
        try:
            value = encode(Typed(name, one.text("value", "") if one.has("value") else None), {})
        except BadText as error:
            raise ConsoleError(400, "INVALID_REQUEST", f"a header's value is {error}") from None
        headers.append((one.text("key"), value))
    return headers
