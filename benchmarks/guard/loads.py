"""The loads: one recorded request each, sent again and again, so that both trees get the same bytes."""

from __future__ import annotations

import struct
import time
from typing import Any, NamedTuple

from kafkatx.records.builder import build_values
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import decode_response_header, encode_request_header
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message

PRODUCED, FETCHED = "produced", "fetched"
VALUE = b"x" * 200
PRODUCE_VERSION, FETCH_VERSION, API_VERSIONS_VERSION = 9, 12, 0


class Load(NamedTuple):
    """A request, and how often it is sent.

    :ivar request: with its size, as it is on the wire.
    :ivar a_send: how many at once.
    :ivar sends: how many sends are a round.
    :ivar answered: whether it is; produce requests with acks=0 are not.
    """

    name: str
    request: bytes
    a_send: int
    sends: int
    answered: bool = True

    @property
    def requests(self) -> int:
        """Return the number of requests in a round."""
        return self.a_send * self.sends


def framed(key: int, version: int, body: bytes) -> bytes:
    """A request as it is on the wire."""
    header = encode_request_header(key, version, 0, "guard")
    return struct.pack(">i", len(header) + len(body)) + header + body


def _request(version: int, request: Message) -> bytes:
    return framed(request.API_KEY, version, codec.encode(request, version))


def produce(topic: str, messages: int, acks: int) -> bytes:
    """A produce request with one batch, of now: retention is to leave it alone."""
    records = build_values([VALUE] * messages, int(time.time() * 1000))
    data = [TopicProduceData(topic, [PartitionProduceData(0, records)])]
    return _request(PRODUCE_VERSION, ProduceRequest(None, acks, 30_000, data))


def fetch(most_bytes: int) -> bytes:
    """A fetch request for the beginning of the topic that is filled."""
    partition = FetchPartition(0, fetch_offset=0, partition_max_bytes=most_bytes)
    topics = [FetchTopic(FETCHED, partitions=[partition])]
    return _request(FETCH_VERSION, FetchRequest(None, max_wait_ms=500, min_bytes=1, topics=topics))


API_VERSIONS = framed(18, API_VERSIONS_VERSION, b"")
"""What is always answered: the end of a round whose requests are not."""


def filling() -> Load:
    """Store the messages for fetches: 2,000 batches of one message, more than they take."""
    return Load("fill", produce(FETCHED, 1, 1), 50, 40)


def cpu_loads() -> list[Load]:
    """For brokers that run: rounds of a tenth of a second at most.

    Large requests and fetches are not among them: the kernel, which copies the bytes, takes most of their
    time, and twice as much or half of it from one moment to the next.
    """
    return [
        Load("produce, 1 message, acks=1", produce(PRODUCED, 1, 1), 500, 25),
        Load("produce, 1 message, acks=0", produce(PRODUCED, 1, 0), 500, 25, answered=False),
        Load("produce, 100 messages, acks=1", produce(PRODUCED, 100, 1), 20, 40),
        Load("fetch, 1 kB", fetch(1_000), 200, 20),
    ]


def instruction_loads() -> list[Load]:
    """For a broker whose instructions are counted: what a socket's buffers hold is sent at once."""
    return [
        Load("produce, 1 message, acks=1", produce(PRODUCED, 1, 1), 50, 40),
        Load("produce, 100 messages, acks=1", produce(PRODUCED, 100, 1), 1, 500),
        Load("fetch, 1 kB", fetch(1_000), 20, 50),
        Load("fetch, 200 kB", fetch(200_000), 1, 500),
    ]


def is_success(request: bytes, reply: bytes) -> bool:
    """Return True if a request was answered without an error, and a fetch with records.

    :param reply: without its size.
    """
    key, version = struct.unpack_from(">hh", request, 4)
    _, at = decode_response_header(key, version, memoryview(reply))
    response: Any = codec.decode(APIS[key].response, version, memoryview(reply)[at:])
    (topic,) = response.responses
    (partition,) = topic.partition_responses if key == 0 else topic.partitions
    return partition.error_code == 0 and (key == 0 or bool(partition.records))
