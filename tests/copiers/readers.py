"""Readers with ``read_committed``: one that runs all along, and two that read everything at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from confluent_kafka import Consumer, TopicPartition

from kafkatx.blocking import Cluster, Reader
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from tests.copiers.checks import Place, Seen
from tests.copiers.values import Value

_FETCH_S = 0.5
_READ_COMMITTED = 1


class Watcher:
    """Reads topics from their start on with librdkafka, in a thread.

    :ivar seen: the records of each partition, in the order in which they came.
    """

    def __init__(self, bootstrap: str, topics: Iterable[str], partitions: int) -> None:
        self.seen: dict[Place, list[Seen]] = {(topic, p): [] for topic in topics for p in range(partitions)}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "watcher",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "log_level": 0,
                "reconnect.backoff.max.ms": 1000,
            }
        )
        self._consumer.assign([TopicPartition(*place, 0) for place in self.seen])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stopping.set()
        self._thread.join()

    def count(self, topic: str) -> int:
        """Return the number of records that were seen of a topic."""
        return sum(len(seen) for (name, _), seen in self.seen.items() if name == topic)

    def _run(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(2000, _FETCH_S):
                if message.error() is None:
                    value = Value.decode(message.value())
                    self.seen[message.topic(), message.partition()].append((message.offset(), value))
        self._consumer.close()


def read_all(cluster: Cluster, place: Place) -> list[Seen]:
    """Read the committed records of a partition with our own reader."""
    topic, partition = place
    (start, _) = cluster.offsets(topic, {partition: EARLIEST})[partition]
    (end, _) = cluster.offsets(topic, {partition: LATEST}, _READ_COMMITTED)[partition]
    with Reader(
        cluster,
        topic,
        partition,
        start_offset=start,
        end_offset=end,
        isolation_level=_READ_COMMITTED,
    ) as reader:
        return [(record.offset, Value.decode(bytes(record.value or b""))) for record in reader]
