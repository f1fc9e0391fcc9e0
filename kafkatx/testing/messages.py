"""Requests of tests to a broker: create a topic, produce, read all messages.

Blocking, by :mod:`kafkatx.blocking`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kafkatx.blocking import EARLIEST, LATEST, Admin, Cluster, Reader, UnknownTopic, Writer
from kafkatx.blocking.admin.replicas import Replicas
from kafkatx.clientcore.admin.replicas import PREFERRED
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.testing.errors import BrokerDidNotStart, MessagesMissing
from kafkatx.types import TopicPartition

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


def create_topic(
    bootstrap: str, name: str, partitions: int, configs: Mapping[str, str], replication: int = 1
) -> None:
    """Create a topic and wait until clients can use it.

    :raises RequestError: the broker refuses the name, the number or a config.
    """
    with Cluster(bootstrap) as cluster:
        Admin(cluster).create_topic(name, partitions, replication, configs)


def wait_for_brokers(bootstrap: str, broker_ids: Collection[int], timeout_s: float) -> None:
    """Wait until a broker knows these brokers and a controller.

    :raises BrokerDidNotStart: it does not after *timeout_s* seconds.
    """

    def are_known(found: ClusterMetadata) -> bool:
        return found.brokers.keys() >= set(broker_ids) and found.controller_id in found.brokers

    found = _wait_for_metadata(bootstrap, [], are_known, timeout_s)
    if not are_known(found):
        raise BrokerDidNotStart(
            f"the broker at {bootstrap} knows the brokers {sorted(found.brokers)} and controller"
            f" {found.controller_id} after {timeout_s:g} s"
        )


def wait_for_leaders(bootstrap: str, topic: str, timeout_s: float) -> None:
    """Wait until a broker knows a leader of each partition of a topic.

    :raises MessagesMissing: it does not after *timeout_s* seconds.
    """

    def are_led(found: ClusterMetadata) -> bool:
        partitions = found.topics[topic].partitions.values()
        return bool(partitions) and all(partition.leader in found.brokers for partition in partitions)

    found = _wait_for_metadata(bootstrap, [topic], are_led, timeout_s)
    if not are_led(found):
        raise MessagesMissing(f"the broker at {bootstrap} knows {found.topics[topic]} after {timeout_s:g} s")


def move_leader(bootstrap: str, name: TopicPartition, to: int, timeout_s: float) -> None:
    """Make a replica the preferred one of a partition, and wait until it leads.

    :raises KafkaTXError: it is no in-sync replica; or it does not lead after *timeout_s* seconds.
    """
    with Cluster(bootstrap) as cluster:
        found = cluster.metadata([name.topic]).topics[name.topic].partitions[name.partition]
        if to not in found.isr:
            raise MessagesMissing(f"{name}: broker {to} is not among the in-sync replicas {list(found.isr)}")
        replicas = Replicas(cluster)
        replicas.reassign({name: (to, *(each for each in found.replicas if each != to))})
        replicas.elect(PREFERRED, [name])

    def leads(found: ClusterMetadata) -> bool:
        return found.topics[name.topic].partitions[name.partition].leader == to

    if not leads(_wait_for_metadata(bootstrap, [name.topic], leads, timeout_s)):
        raise MessagesMissing(f"{name}: broker {to} does not lead it after {timeout_s:g} s")


def _wait_for_metadata(
    bootstrap: str, topics: Sequence[str], suffices: Callable[[ClusterMetadata], bool], timeout_s: float
) -> ClusterMetadata:
    """Return the first metadata of a broker that suffice, or the last ones within *timeout_s* seconds."""
    deadline_s = time.monotonic() + timeout_s
    with Cluster(bootstrap) as cluster:
        while not suffices(found := cluster.metadata(topics)) and time.monotonic() < deadline_s:
            time.sleep(POLL_S)
    return found


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
