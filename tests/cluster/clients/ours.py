"""Our own clients, by their form for programs that block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial

from kafkatx.client import RebalanceListener
from kafkatx.client import threads as library
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.producer.values import RecordMetadata
from kafkatx.types import TopicPartition
from tests.cluster.access import Access
from tests.cluster.checker.history import ProducerHistory
from tests.cluster.clients.load import DELIVERY_MS, RETRY_S, SURE_DELIVERY_MS, Producer, Taken

POLL_MS = 500
ASK_S = 30.0
FAST: dict[str, object] = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 500,
    "retry.backoff.ms": 50,
    "metadata.max.age.ms": 5000,
    "request.timeout.ms": 15_000,
}


class OurProducer(Producer):
    """An idempotent producer."""

    def __init__(
        self,
        history: ProducerHistory,
        name: str,
        topic: str,
        partitions: int,
        rate: float,
        access: Access,
    ) -> None:
        super().__init__(history, name, topic, partitions, rate)
        self._access = access

    def open(self) -> None:
        """Make the producer, and connect."""
        settings = {
            **FAST,
            **self._access.ours(),
            "acks": "all",
            "delivery.timeout.ms": SURE_DELIVERY_MS,
            "linger.ms": 5,
        }
        while True:
            producer = library.Producer(settings, timeout_s=ASK_S)
            try:
                self._library = producer.start()
                return
            except Exception as error:
                producer.close()
                self.note(error)
                self._stopping.wait(RETRY_S)

    def send(self, number: int, partition: int, value: bytes) -> None:
        """Queue a record."""
        self._library.produce(self.topic, value, partition=partition, on_delivery=partial(self._done, number))

    def finish(self) -> None:
        """Wait for all outcomes."""
        try:
            self._library.flush(DELIVERY_MS / 1000)
        except Exception as error:
            self.note(error)
        self._library.close(timeout_s=5)

    def _done(self, number: int, error: Exception | None, metadata: RecordMetadata | None) -> None:
        if metadata is not None:
            self.delivered(number, metadata.partition, metadata.offset)
        else:
            self.note(error)


def _taken(found: dict[TopicPartition, list[Record]]) -> Taken:
    return {
        place.partition: [(record.offset, record.value) for record in records]
        for place, records in found.items()
        if records
    }


class OurReader:
    """A reader of all partitions from the beginning."""

    def __init__(self, access: Access, topic: str, partitions: int) -> None:
        self._library = library.Consumer(
            {
                **FAST,
                **access.ours(),
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            },
            timeout_s=ASK_S,
        )
        places = [TopicPartition(topic, number) for number in range(partitions)]
        self._library.start()
        self._library.assign(places)
        for place in places:
            self._library.seek(place, 0)

    def poll(self) -> Taken:
        """Return the next records."""
        return _taken(self._library.getmany(timeout_ms=POLL_MS))

    def close(self) -> None:
        """Close the consumer."""
        self._library.close()


class _Listener(RebalanceListener):
    """Notes that the assignment has changed; it is called in another thread than the consumer's."""

    def __init__(self) -> None:
        self.changed = threading.Event()

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Note it."""
        self.changed.set()

    on_partitions_revoked = on_partitions_lost = on_partitions_assigned


class OurMember:
    """A member of a group."""

    def __init__(self, access: Access, topic: str, group: str, moved: Callable[[], None]) -> None:
        self._topic, self._moved = topic, moved
        self._listener, self._again = _Listener(), False
        settings = {
            **FAST,
            **access.ours(),
            "group.id": group,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 1000,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        self._library = library.Consumer(settings, timeout_s=ASK_S)
        try:
            self._library.start()
            self._library.subscribe([topic], listener=self._listener)
        except BaseException:
            self._library.close()
            raise

    def poll(self) -> Taken:
        """Return the next records; those around a rebalance may be from before it or after it."""
        if self._again:
            self._moved()
            self._again = False
        found = _taken(self._library.getmany(timeout_ms=POLL_MS))
        if self._listener.changed.is_set():
            self._listener.changed.clear()
            self._moved()
            self._again = True
        return found

    def commit(self, offsets: dict[int, int]) -> None:
        """Commit, and wait."""
        self._library.commit(
            {TopicPartition(self._topic, number): offset for number, offset in offsets.items()}
        )

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Fetch committed offsets."""
        found = self._library.committed(*(TopicPartition(self._topic, number) for number in partitions))
        return {place.partition: -1 if one is None else one.offset for place, one in found.items()}

    def close(self) -> None:
        """Leave the group."""
        self._library.close()
