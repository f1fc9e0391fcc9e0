"""The C program ``replay.c``: requests of librdkafka's batches, made beforehand and sent again and again.

A client that makes messages is slower than a broker that takes them: as soon as its core is busy, brokers
look alike. This one costs next to nothing, and what it sends is what librdkafka sends at full speed: the
batches are its own, taken out of the log of a broker to which it produced.
"""

from __future__ import annotations

import glob
import json
import os
import struct
import subprocess
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from benchmarks.compare.loads import librdkafka
from benchmarks.compare.loads.build import BUILT, HERE, built
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire import codec
from kafkatx.wire.headers import encode_request_header
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message

PRODUCE_VERSION, FETCH_VERSION = 8, 11
"""The last ones in which all numbers have a place: a program in C finds them without decoding."""

RECORDED_BYTES, RECORDED_MESSAGES = 20_000_000, 100_000
"""How much librdkafka produces, at most, for one of its batches."""

WINDOW_BYTES, WINDOW_REQUESTS = 1 << 20, 5
"""How much may be unanswered, and at least how many requests: as many as Kafka's Java producer allows."""

CLIENT = "replay"
_BATCH = struct.Struct(">qi11xi")  # base_offset, length, ..., last_offset_delta
_SENTINEL = 0x0102030405060708


class Batch(NamedTuple):
    """A record batch as librdkafka has made it, and how many messages it has."""

    data: bytes
    messages: int


@lru_cache(maxsize=1)
def program() -> str:
    """The path of the program, built if it is not newer than its source.

    :raises NotBuilt: there is no compiler.
    """
    source, target = os.path.join(HERE, "replay.c"), os.path.join(BUILT, "replay")
    return built(source, target, ["cc", "-O2", "-o", target, source], "gcc libc6-dev")


@lru_cache
def recorded(size: int, properties: tuple[tuple[str, object], ...]) -> Batch:
    """The batch that librdkafka makes at full speed: of those that it has made, the one of median size.

    :param size: bytes of a message.
    :raises NotBuilt: librdkafka is not there.
    :raises RuntimeError: it failed.
    """
    count = max(1, min(RECORDED_MESSAGES, RECORDED_BYTES // size))
    with EmbeddedBroker(run_in="process") as broker:
        port = int(broker.bootstrap.rpartition(":")[2])
        command = librdkafka.command(port, ["produce", "recorded", count, size], dict(properties))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or json.loads(done.stdout)["errors"]:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        paths = sorted(glob.glob(os.path.join(str(broker.data_dir), "recorded-0", "*.log")))
        made = sorted(
            (batch for path in paths for batch in _batches(path)), key=lambda batch: len(batch.data)
        )
    return made[len(made) // 2]


def _batches(path: str) -> Iterator[Batch]:
    """The batches of a segment, as their producer sent them: without offset and leader epoch."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at + _BATCH.size <= len(data):
        _, length, last = _BATCH.unpack_from(data, at)
        if not length:
            return  # room that was taken beforehand
        body = data[at + 16 : at + 12 + length]
        yield Batch(struct.pack(">qii", 0, length, -1) + body, last + 1)
        at += 12 + length


def produce_request(topic: str, acks: int, records: bytes, partition: int = 0) -> bytes:
    """A produce request as it is on the wire."""
    data = [TopicProduceData(topic, [PartitionProduceData(partition, records)])]
    return _framed(PRODUCE_VERSION, ProduceRequest(None, acks, 30_000, data))


def produce_command(
    port: int, path: str, topic: str, acks: int, batch: Batch, size: int, count: int, seconds: int
) -> list[str]:
    """The command of a load that sends the produce request of a file.

    :param size: bytes of a message.
    :param count: how often, at most.
    :param seconds: for how long, at most.
    """
    numbers = {"seconds": seconds, "records": batch.messages, "bytes": batch.messages * size}
    if acks:
        numbers["window"] = max(WINDOW_REQUESTS, WINDOW_BYTES // os.path.getsize(path))
        # size, correlation_id, responses, [name, partitions, [index, error_code
        numbers["error-at"] = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    return _command("produce" if acks else "send", port, path, count, numbers)


def fetch_request(topic: str, most_bytes: int, partition: int = 0) -> tuple[bytes, int]:
    """A fetch request as it is on the wire, and where it has its offset."""
    asked = FetchPartition(partition, fetch_offset=_SENTINEL, partition_max_bytes=most_bytes)
    topics = [FetchTopic(topic, partitions=[asked])]
    request = _framed(FETCH_VERSION, FetchRequest(None, max_wait_ms=500, min_bytes=1, topics=topics))
    return request, request.index(_SENTINEL.to_bytes(8, "big"))


def fetch_command(port: int, path: str, offset_at: int, topic: str, size: int, count: int) -> list[str]:
    """The command of a load that fetches so many messages by the request of a file."""
    # size, correlation_id, throttle_time_ms, error_code, session_id, responses, [topic, partitions, [
    before = 4 + 4 + 4 + 2 + 4 + 4 + 2 + len(topic) + 4
    # index, error_code, high_watermark, last_stable_offset, log_start_offset, aborted, preferred_read_replica
    records_at = before + 4 + 2 + 8 + 8 + 8 + 4 + 4
    return _command(
        "fetch", port, path, count, {"bytes": size, "offset-at": offset_at, "records-at": records_at}
    )


def _framed(version: int, request: Message) -> bytes:
    body = encode_request_header(request.API_KEY, version, 0, CLIENT) + codec.encode(request, version)
    return struct.pack(">i", len(body)) + body


def _command(mode: str, port: int, path: str, count: int, numbers: Mapping[str, int]) -> list[str]:
    given = [f"{name}={value}" for name, value in numbers.items()]
    return [program(), mode, str(port), path, str(count), *given]
