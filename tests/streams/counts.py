"""A reader of committed counts: each word's counts must be 1, 2, 3, ..., each of them once."""

from __future__ import annotations

import struct
import threading
from collections import Counter

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.streams.lines import QUIET

_LONG = struct.Struct(">q")
MOST_FAULTS = 20


class Counts:
    """The counts that readers of committed records see, read by a thread.

    :ivar last: the last count of each word.
    :ivar records: the number of records.
    :ivar faults: counts that do not follow on the one before.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._settings = {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "reader of counts",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
        self._places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="counts")
        self.last: Counter[str] = Counter()
        self.records = 0
        self.faults: list[str] = []

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()

    def take(self, word: str, count: int) -> None:
        """Take the next record of a word."""
        if count != self.last[word] + 1 and len(self.faults) < MOST_FAULTS:
            self.faults.append(f"{word}: {count} after {self.last[word]}")
        self.last[word] = count
        self.records += 1

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        consumer.assign(self._places)
        while not self._stopping.is_set():
            for message in consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    self.take(message.key().decode(), *_LONG.unpack(message.value()))
        consumer.close()
