"""Requests of tests to a broker: create a topic, produce, read all messages.

Blocking, by :mod:`kafkatx.blocking`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from kafkatx.blocking import EARLIEST, LATEST, Admin, Cluster, Reader, UnknownTopic, Writer
from kafkatx.testing.errors import MessagesMissing

POLL_S = 0.02

Text: TypeAlias = bytes | str
"""A key or value; a ``str`` is encoded as UTF-8."""


class Message(NamedTuple):
    """One message of a topic.

    :ivar timestamp_ms: milliseconds since 1970; -1 where the message format has none.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    partition: int
    offset: int
    timestamp_ms: int


def create_topic(bootstrap: str, name: str, partitions: int, configs: Mapping[str, str]) -> None:
    """Create a topic and wait until clients can use it.

    :raises RequestError: the broker refuses the name, the number or a config.
    """
    with Cluster(bootstrap) as cluster:
        Admin(cluster).create_topic(name, partitions, configs=configs)


def produce(
    bootstrap: str,
    topic: str,
    values: Iterable[Text | None],
    key: Text | None,
    partition: int | None,
    headers: Iterable[tuple[str, bytes | None]],
    timestamp_ms: int | None,
) -> None:
    """Write one message for each of *values* and wait until all are acknowledged.

    :raises KafkaTXError: the topic does not exist and is not created; or the broker refuses a message.
    """
    listed = tuple(headers)
    with Cluster(bootstrap) as cluster, Writer(cluster, topic) as writer:
        for value in values:
            writer.send(_encoded(value), _encoded(key), partition, listed, timestamp_ms)


def _encoded(text: Text | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def read_messages(
    bootstrap: str,
    topic: str,
    count: int | None,
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Message]:
    """Return all messages of a topic, ordered by partition and offset.

    :param count: wait until there are at least this many; None returns what is there.
    :raises MessagesMissing: there are fewer after *timeout_s* seconds.
    :raises UnknownTopic: there is no such topic, and no count to wait for.
    """
    deadline = clock() + timeout_s
    found: list[Message] = []
    positions: dict[int, int] = {}
    with Cluster(bootstrap) as cluster:
        while True:
            try:
                found += _read_new(cluster, topic, positions)
            except UnknownTopic:
                if count is None:
                    raise
            if count is None or len(found) >= count:
                return sorted(found, key=lambda message: (message.partition, message.offset))
            if clock() >= deadline:
                raise MessagesMissing(
                    f"topic {topic!r} has {len(found)} of {count} messages after {timeout_s:g} s"
                )
            sleep(POLL_S)


def _read_new(cluster: Cluster, topic: str, positions: dict[int, int]) -> list[Message]:
    """Return the messages from *positions* to the end, and move *positions* there."""
    cluster.forget_metadata()  # partitions may have been added
    partitions = cluster.partitions(topic)
    earliest = cluster.offsets(topic, dict.fromkeys(partitions, EARLIEST))
    latest = cluster.offsets(topic, dict.fromkeys(partitions, LATEST))
    found: list[Message] = []
    for partition in partitions:
        start, end = positions.get(partition, earliest[partition][0]), latest[partition][0]
        if start < end:
            with Reader(cluster, topic, partition, start_offset=start, end_offset=end) as reader:
                found += (
                    Message(record.key, record.value, tuple(record.headers), partition, *record[:2])
                    for record in reader
                )
        positions[partition] = end
    return found
