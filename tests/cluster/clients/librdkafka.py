"""Clients of librdkafka (confluent-kafka).

A consumer of librdkafka (seen with 2.16.0) can lock itself up for ever when a broker goes away while it asks
for the end of a leader epoch: its main thread holds the lock of a partition and waits for that of the client,
and the broker's thread has them the other way round (https://github.com/confluentinc/librdkafka/issues/5476).
Such a consumer answers no call, even for metadata. Readers go on with a new one then, from where they were;
that is counted among the errors of the client.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Producer as Library

from tests.cluster.access import Access
from tests.cluster.checker.history import ProducerHistory
from tests.cluster.clients.load import DELIVERY_MS, SURE_DELIVERY_MS, Producer, Taken

POLL_S = 0.5
BATCH = 500
ASK_S = 15.0
STALL_S = 20.0
CALL_S = 120.0
FAST = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 500,
    "topic.metadata.refresh.interval.ms": 5000,
    "socket.timeout.ms": 15_000,
    "log_level": 0,
}


class LibrdkafkaProducer(Producer):
    """A producer that may be idempotent.

    :param log: the path of a file for the library's log.
    :param conf: settings of the library over those here, with _ for a dot.
    """

    def __init__(
        self,
        history: ProducerHistory,
        name: str,
        topic: str,
        partitions: int,
        rate: float,
        access: Access,
        log: str,
        **conf: object,
    ) -> None:
        super().__init__(history, name, topic, partitions, rate)
        self._log = log
        self._conf = {
            **FAST,
            **access.librdkafka(),
            "linger.ms": 5,
            "message.timeout.ms": SURE_DELIVERY_MS if "enable_idempotence" in conf else DELIVERY_MS,
            "request.timeout.ms": 10_000,
            "retry.backoff.ms": 50,
            "queue.buffering.max.messages": 20_000,
            "error_cb": self._failed,
            "log_level": 7,
            "debug": "eos",
            **{setting.replace("_", "."): value for setting, value in conf.items()},
        }
        self._fatal: str = ""

    def open(self) -> None:
        """Make the library's producer; what it tells of idempotence goes to a file."""
        logger = logging.getLogger(f"tests.cluster.{self.name}")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.FileHandler(self._log))
        self._library = Library(self._conf, logger=logger)

    def send(self, number: int, partition: int, value: bytes) -> None:
        """Queue a record."""
        try:
            self._library.produce(
                self.topic, value, partition=partition, on_delivery=partial(self._done, number, partition)
            )
        except BufferError:
            self.history.failed(number)  # it was not queued
        except (KafkaException, SystemError) as error:
            self.note(error)
            self.history.failed(number)
        self._poll()
        if self._fatal:
            self.finish(1.0)
            self._fatal = ""
            self.open()

    def finish(self, timeout_s: float = DELIVERY_MS / 1000 + 10) -> None:
        """Wait for all outcomes."""
        try:
            self._library.flush(timeout_s)
        except (KafkaException, SystemError) as error:  # a fatal error may be raised as either
            self.note(error)

    def _poll(self) -> None:
        try:
            self._library.poll(0)
        except (KafkaException, SystemError) as error:
            self.note(error)

    def _done(self, number: int, partition: int, error: Any, message: Any) -> None:
        if error is None:
            self.delivered(number, partition, message.offset())
        else:
            self.note(error)

    def _failed(self, error: Any) -> None:
        if error.code() == KafkaError._FATAL:
            self._fatal = f"fatal: {error}"
            self.note(self._fatal)


def _taken(messages: list[Any]) -> Taken:
    """Return the records by partition.

    :raises KafkaException: an error is among them, and no record.
    """
    taken: Taken = {}
    for message in messages:
        if message.error() is None:
            taken.setdefault(message.partition(), []).append((message.offset(), message.value()))
        elif not taken and message is messages[-1]:
            raise KafkaException(message.error())
    return taken


T = TypeVar("T")


class LockedUp(Exception):
    """A call of the library did not return: see the beginning of this module."""


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of a call, which is left alone in its thread if it does not return.

    :raises LockedUp: it has not returned in time.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(call())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise LockedUp(f"a call of librdkafka did not return in {seconds:.0f} s")
    return done[0]


class LibrdkafkaReader:
    """A reader of all partitions from the beginning."""

    def __init__(self, access: Access, topic: str, partitions: int) -> None:
        self._topic = topic
        self._positions = dict.fromkeys(range(partitions), 0)
        self._conf = {
            **FAST,
            **access.librdkafka(),
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        self._library = Consumer(self._conf)
        self._assign()

    def poll(self) -> Taken:
        """Return the next records.

        :raises LockedUp: the library had locked itself up; a new consumer goes on.
        """
        taken = _taken(self._library.consume(BATCH, POLL_S))
        if taken:
            self._read_s = time.monotonic()
            self._positions |= {number: records[-1][0] + 1 for number, records in taken.items()}
        elif time.monotonic() - self._read_s > STALL_S:
            self._read_s = time.monotonic()
            self._look()
        return taken

    def close(self) -> None:
        """Close the consumer."""
        _within(CALL_S, self._library.close)

    def _assign(self) -> None:
        self._library.assign([TopicPartition(self._topic, *position) for position in self._positions.items()])
        self._read_s = time.monotonic()

    def _look(self) -> None:
        """Replace a consumer that answers nothing while a new one gets answers."""
        if self._answers(self._library):
            return
        fresh = Consumer(self._conf)
        if not self._answers(fresh):
            fresh.close()
            return
        threading.Thread(target=self._library.close, daemon=True).start()
        self._library = fresh
        self._assign()
        raise LockedUp("librdkafka has locked itself up; a new consumer goes on")

    def _answers(self, library: Any) -> bool:
        try:
            _within(ASK_S, partial(library.list_topics, self._topic, timeout=POLL_S * 10))
        except (KafkaException, LockedUp):
            return False
        return True


class LibrdkafkaMember:
    """A member of a group.

    :param protocol: "classic" or "consumer" (KIP-848).
    """

    def __init__(
        self, access: Access, topic: str, group: str, moved: Callable[[], None], protocol: str = "classic"
    ) -> None:
        self._topic = topic
        settings = {
            **FAST,
            **access.librdkafka(),
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        if protocol == "classic":
            settings |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
        self._library = Consumer(settings)

        def call(*_: object) -> None:
            moved()

        self._library.subscribe([topic], on_assign=call, on_revoke=call, on_lost=call)

    def poll(self) -> Taken:
        """Return the next record: one at a time, so that none is from before a rebalance that was told of."""
        message = self._library.poll(POLL_S)
        return {} if message is None else _taken([message])

    def commit(self, offsets: dict[int, int]) -> None:
        """Commit, and wait."""
        places = [TopicPartition(self._topic, number, offset) for number, offset in offsets.items()]
        commit = partial(self._library.commit, offsets=places, asynchronous=False)
        for place in _within(CALL_S, commit):
            if place.error is not None:
                raise KafkaException(place.error)

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Fetch committed offsets."""
        places = [TopicPartition(self._topic, number) for number in partitions]
        found = _within(CALL_S, partial(self._library.committed, places, ASK_S))
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
        return {place.partition: max(place.offset, -1) for place in found}

    def close(self) -> None:
        """Leave the group."""
        _within(CALL_S, self._library.close)
