"""Clients of kafka-python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.cluster.access import Access
from tests.cluster.checker.history import ProducerHistory
from tests.cluster.clients.load import DELIVERY_MS, RETRY_S, SURE_DELIVERY_MS, Producer, Taken

POLL_MS = 500
FAST = {
    "reconnect_backoff_ms": 20,
    "reconnect_backoff_max_ms": 500,
    "retry_backoff_ms": 50,
    "request_timeout_ms": 15_000,
    "metadata_max_age_ms": 5000,
}


class KafkaPythonProducer(Producer):
    """A producer with acks=all that may be idempotent."""

    def __init__(
        self,
        history: ProducerHistory,
        name: str,
        topic: str,
        partitions: int,
        rate: float,
        access: Access,
        *,
        idempotent: bool,
    ) -> None:
        super().__init__(history, name, topic, partitions, rate)
        self._access, self._idempotent = access, idempotent

    def open(self) -> None:
        """Make the library's producer."""
        while True:
            try:
                self._library = KafkaProducer(
                    **FAST,
                    **self._access.kafka_python(),
                    acks="all",
                    enable_idempotence=self._idempotent,
                    delivery_timeout_ms=SURE_DELIVERY_MS if self._idempotent else DELIVERY_MS,
                    max_block_ms=DELIVERY_MS,
                    linger_ms=5,
                )
                return
            except Exception as error:
                self.note(error)
                self._stopping.wait(RETRY_S)

    def send(self, number: int, partition: int, value: bytes) -> None:
        """Queue a record."""
        try:
            future = self._library.send(self.topic, value, partition=partition)
        except Exception as error:
            self.note(error)
            return
        future.add_callback(partial(self._acknowledged, number))
        future.add_errback(self.note)

    def finish(self) -> None:
        """Wait for all outcomes."""
        try:
            self._library.flush(DELIVERY_MS / 1000)
            self._library.close(5)
        except Exception as error:
            self.note(error)

    def _acknowledged(self, number: int, metadata: Any) -> None:
        self.delivered(number, metadata.partition, metadata.offset)


def _taken(polled: Any) -> Taken:
    return {
        place.partition: [(record.offset, record.value) for record in records]
        for place, records in polled.items()
        if records
    }


class KafkaPythonReader:
    """A reader of all partitions from the beginning."""

    def __init__(self, access: Access, topic: str, partitions: int) -> None:
        self._library = KafkaConsumer(
            **FAST,
            **access.kafka_python(),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        places = [TopicPartition(topic, number) for number in range(partitions)]
        self._library.assign(places)
        for place in places:
            self._library.seek(place, 0)

    def poll(self) -> Taken:
        """Return the next records."""
        return _taken(self._library.poll(POLL_MS))

    def close(self) -> None:
        """Close the consumer."""
        self._library.close()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, moved: Callable[[], None]) -> None:
        self._moved = moved

    def on_partitions_assigned(self, assigned: object) -> None:
        """Tell of it."""
        self._moved()

    def on_partitions_revoked(self, revoked: object) -> None:
        """Tell of it."""
        self._moved()


class KafkaPythonMember:
    """A member of a group of the classic protocol."""

    def __init__(self, access: Access, topic: str, group: str, moved: Callable[[], None]) -> None:
        self._topic = topic
        self._library = KafkaConsumer(
            **FAST,
            **access.kafka_python(),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=6000,
            heartbeat_interval_ms=1000,
        )
        self._library.subscribe([topic], listener=_Listener(moved))

    def poll(self) -> Taken:
        """Return the next records."""
        return _taken(self._library.poll(POLL_MS))

    def commit(self, offsets: dict[int, int]) -> None:
        """Commit, and wait."""
        self._library.commit(
            {
                TopicPartition(self._topic, number): OffsetAndMetadata(offset, "", -1)
                for number, offset in offsets.items()
            }
        )

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Fetch committed offsets."""
        found = {
            number: self._library.committed(TopicPartition(self._topic, number)) for number in partitions
        }
        return {number: -1 if offset is None else int(offset) for number, offset in found.items()}

    def close(self) -> None:
        """Leave the group."""
        self._library.close()
