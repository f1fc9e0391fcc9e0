"""Clients of librdkafka (confluent-kafka)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Producer as Library

from tests.cluster.checker.history import ProducerHistory
from tests.cluster.clients.load import Producer, Taken

POLL_S = 0.5
BATCH = 500
DELIVERY_MS = 120_000
ASK_S = 15.0
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
        bootstrap: str,
        log: str,
        **conf: object,
    ) -> None:
        super().__init__(history, name, topic, partitions, rate)
        self._log = log
        self._conf = {
            **FAST,
            "bootstrap.servers": bootstrap,
            "linger.ms": 5,
            "message.timeout.ms": DELIVERY_MS,
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


class LibrdkafkaReader:
    """A reader of all partitions from the beginning."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._library = Consumer(
            {
                **FAST,
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self._library.assign([TopicPartition(topic, number, 0) for number in range(partitions)])

    def poll(self) -> Taken:
        """Return the next records."""
        return _taken(self._library.consume(BATCH, POLL_S))

    def close(self) -> None:
        """Close the consumer."""
        self._library.close()


class LibrdkafkaMember:
    """A member of a group.

    :param protocol: "classic" or "consumer" (KIP-848).
    """

    def __init__(
        self, bootstrap: str, topic: str, group: str, moved: Callable[[], None], protocol: str = "classic"
    ) -> None:
        self._topic = topic
        settings = {
            **FAST,
            "bootstrap.servers": bootstrap,
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
        for place in self._library.commit(offsets=places, asynchronous=False):
            if place.error is not None:
                raise KafkaException(place.error)

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Fetch committed offsets."""
        places = [TopicPartition(self._topic, number) for number in partitions]
        found = self._library.committed(places, ASK_S)
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
        return {place.partition: max(place.offset, -1) for place in found}

    def close(self) -> None:
        """Leave the group."""
        self._library.close()
