"""Experiments (a) to (e): one producer or consumer, and messages and batches of many kinds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from benchmarks.compare.experiments import prepared_requests
from benchmarks.compare.experiments.place import Cell, Experiment, Metrics, Place, consume, produce

ALONE = {"linger.ms": 0, "batch.num.messages": 1}
GATHERED = {"linger.ms": 5}
METRICS = (
    "throughput_mb_per_s",
    "records_per_s",
    "broker_cpu_s_per_gb",
    "client_busy_percent",
    *prepared_requests.METRICS,
)
BY_RECORDS = (METRICS[1], METRICS[0], *METRICS[2:])
KAFKA = ("kafkatx", "kafka-4", "kafka-3.9", "sink")
ALL = (*KAFKA, "rabbitmq", "activemq", "floor")


def _produced(
    place: Place,
    count: int,
    size: int,
    properties: Mapping[str, object],
    messages_a_request: int | None = None,
) -> Metrics:
    """By librdkafka, and then without what librdkafka costs."""
    made = produce(place, place.topic(), count, size, properties, messages_a_request)
    if not prepared_requests.wanted(place):
        return made
    return {**made, **prepared_requests.produced(place, size, properties)}


def _batch_of(place: Place, messages: int) -> Metrics:
    """Produce as in the paper: 200 B, *messages* in a batch, no wait for a flush."""
    count = place.count(2_000_000 if messages > 1 else 400_000)
    properties = {"linger.ms": 5 if messages > 1 else 0, "batch.num.messages": messages, "acks": 1}
    return _produced(place, count, 200, properties, messages)


def _consumer(place: Place) -> Metrics:
    """The paper's consumer: 200 B, about 200 kB a fetch, out of the batches of 50 that its producer made.

    A fetch has at least one batch, and one of those that librdkafka makes by itself has 1 MB. Fewer messages
    where a client sends message by message: to fill the queue would take minutes.
    """
    topic, count = place.topic(), place.count(4_000_000 if place.system.kafka else 400_000)
    produce(place, topic, count, 200, {**GATHERED, "batch.num.messages": 50})
    most_bytes = 200_000
    taken = consume(place, topic, count, {"fetch.message.max.bytes": most_bytes})
    if not prepared_requests.wanted(place):
        return taken
    return {**taken, **prepared_requests.fetched(place, topic, 200, count, most_bytes)}


def _batch_bytes(place: Place, batch_bytes: int) -> Metrics:
    """The thesis's table 10.3: messages of 100 B in batches of so many bytes."""
    count = place.count(2_000_000 if batch_bytes > 1000 else 400_000)
    # librdkafka counts a batch's own 61 bytes and some of each message: the smallest holds one message
    properties = {"linger.ms": 5, "batch.size": batch_bytes, "acks": 1}
    if batch_bytes < 400:
        properties |= ALONE
    return _produced(place, count, 100, properties, 1 if batch_bytes < 400 else None)


def _message_bytes(place: Place, size: int) -> Metrics:
    """The thesis's table 10.5: messages of one size, in batches as the client makes them."""
    count = place.count(min(4_000_000, 1_000_000_000 // size))
    return _produced(place, count, size, {**GATHERED, "acks": 1})


def _acks_and_codec(place: Place, acks: str, codec: str) -> Metrics:
    """Messages of 1 kB, acknowledged and compressed in one of the ways.

    With 200 B what librdkafka spends on a message is the bound of all nine cells.
    """
    properties = {**GATHERED, "acks": acks, "compression.type": codec}
    return _produced(place, place.count(1_000_000 if codec == "none" else 500_000), 1000, properties)


BATCHES = Experiment(
    "a",
    "One producer, 200 B, 1 and 50 messages a batch",
    "paper, figure 4",
    BY_RECORDS,
    [
        Cell("1", partial(_batch_of, messages=1)),
        Cell("50", partial(_batch_of, messages=50), kafka=True),
    ],
    ALL,
)
CONSUMER = Experiment(
    "b",
    "One consumer, 200 B, about 200 kB a fetch",
    "paper, figure 5",
    BY_RECORDS,
    [Cell("200 kB", _consumer)],
    ALL,
)
BATCH_BYTES = Experiment(
    "c",
    "One producer, 100 B, by bytes of a batch",
    "thesis, table 10.3",
    METRICS,
    [Cell(str(size), partial(_batch_bytes, batch_bytes=size)) for size in (195, 1387, 8192, 16384, 56769)],
    KAFKA,
)
MESSAGE_BYTES = Experiment(
    "d",
    "One producer, by bytes of a message",
    "thesis, table 10.5",
    METRICS,
    [Cell(str(size), partial(_message_bytes, size=size)) for size in (10, 100, 1000, 10_000, 100_000)],
    KAFKA,
)
ACKS = Experiment(
    "e",
    "One producer, 1 kB, by acks and codec",
    "ours",
    BY_RECORDS,
    [
        Cell(f"acks={acks} {codec}", partial(_acks_and_codec, acks=acks, codec=codec))
        for acks in ("0", "1", "all")
        for codec in ("none", "lz4", "zstd")
    ],
    KAFKA,
)
