"""The clients of the source while it is mirrored: producers of each kind, and groups that consume."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import attrs
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 4
DELIVERY_MS = 900_000
DEADLINE_S = 120.0
KEYS = 20_000
TRANSACTION = 100
PADDING = b"." * 80
MOST_FAILURES = 100
"""Transactions in a row."""

_QUIET = {"log_level": 0, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500}


@attrs.frozen
class Kind:
    """A kind of topic.

    :ivar share: its part of all records.
    """

    topic: str
    share: float
    configs: dict[str, str]
    producer: dict[str, object]
    transactional: bool = False


PLAIN = Kind("plain", 0.4, {}, {"compression.type": "none"})
ZIPPED = Kind("zipped", 0.3, {}, {"compression.type": "zstd"})
KEYED = Kind(
    "keyed",
    0.2,
    {"cleanup.policy": "compact", "segment.ms": "20000", "min.cleanable.dirty.ratio": "0.1"},
    {"compression.type": "lz4"},
)
COMMITTED = Kind("committed", 0.1, {}, {"compression.type": "none"}, True)


def kinds(transactions: bool) -> list[Kind]:
    """Return the kinds of topics; those with transactions if the source has them."""
    return [PLAIN, ZIPPED, KEYED, *([COMMITTED] if transactions else [])]


def create(bootstrap: str, chosen: list[Kind]) -> None:
    """Create the topics at the source."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **_QUIET})
    topics = [NewTopic(kind.topic, PARTITIONS, 1, config=kind.configs) for kind in chosen]
    for made in admin.create_topics(topics).values():
        made.result(DEADLINE_S)


class Sender:
    """Produces the records of one topic at a rate, in a thread.

    :ivar acknowledged: records that the source has acknowledged, by partition; of the last transaction also
        if it was aborted.
    """

    def __init__(self, bootstrap: str, kind: Kind, records: int, rate: float) -> None:
        self.kind = kind
        self.sent = 0
        self.acknowledged = [0] * PARTITIONS
        self.failed: list[str] = []
        self._bootstrap = bootstrap
        self._records = records
        self._rate = rate
        self._thread = threading.Thread(target=self._run, name=f"send {kind.topic}")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait until everything is sent."""
        self._thread.join()

    @property
    def is_running(self) -> bool:
        """True while there is something to send."""
        return self._thread.is_alive()

    def _run(self) -> None:
        settings = {
            **_QUIET,
            "bootstrap.servers": self._bootstrap,
            "enable.idempotence": True,
            "linger.ms": 20,
            "message.timeout.ms": DELIVERY_MS,
            **self.kind.producer,
        }
        if self.kind.transactional:
            del settings["message.timeout.ms"]  # of a transaction it is part of transaction.timeout.ms
            self._in_transactions({**settings, "transactional.id": self.kind.topic})
            return
        producer = Producer(settings)
        begun_s = time.monotonic()
        for number in range(self._records):
            self._produce(producer, number)
            if number % 200 == 0:
                producer.poll(0)
                ahead_s = number / self._rate - (time.monotonic() - begun_s)
                if ahead_s > 0:
                    time.sleep(ahead_s)
        if producer.flush(DEADLINE_S * 3):
            self.failed.append(f"{self.kind.topic}: {len(producer)} records were not sent in the end")

    def _produce(self, producer: Producer, number: int) -> None:
        value = b"%s %d %s" % (self.kind.topic.encode(), number, PADDING)
        while True:
            try:
                producer.produce(
                    self.kind.topic,
                    value,
                    b"key %d" % (number * 7919 % KEYS),
                    partition=number % PARTITIONS,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                producer.poll(0.1)
        self.sent += 1

    def _delivered(self, error: KafkaError | None, message: object) -> None:
        if error is not None:
            if not self.kind.transactional:
                self.failed.append(f"{self.kind.topic}: {error}")
            return
        self.acknowledged[message.partition()] += 1  # type: ignore[attr-defined]

    def _in_transactions(self, settings: dict[str, object]) -> None:
        """Send in transactions, of which each third is aborted; a producer that fails is replaced."""
        begun_s, number, producer, failures = time.monotonic(), 0, None, 0
        while number < self._records and not self.failed:
            try:
                if producer is None:
                    producer = Producer(settings)
                    producer.init_transactions(DEADLINE_S)
                producer.begin_transaction()
                for _ in range(TRANSACTION):
                    self._produce(producer, number)
                    number += 1
                if number // TRANSACTION % 3 == 0:
                    producer.flush(DEADLINE_S)
                    producer.abort_transaction(DEADLINE_S)
                else:
                    producer.commit_transaction(DEADLINE_S)
                failures = 0
            except KafkaException as error:
                producer = None  # the next one fences it, and ends its transaction
                failures += 1
                if failures == MOST_FAILURES:
                    self.failed.append(f"{self.kind.topic}: {error}")
                time.sleep(0.5)
            ahead_s = number / self._rate - (time.monotonic() - begun_s)
            if ahead_s > 0:
                time.sleep(ahead_s)


class Member:
    """A consumer of a group, in a thread, which commits what it has read.

    :param take: called with (topic, partition, offset, value) of each record.
    """

    def __init__(
        self, bootstrap: str, group: str, topics: list[str], take: Callable[[str, int, int, bytes], None]
    ) -> None:
        self._settings = {
            **_QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 10_000,
            "max.poll.interval.ms": 600_000,
        }
        self._topics = topics
        self._take = take
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"consume {group}")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Commit, and leave the group."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe(self._topics)
        read = 0
        while not self._stopping.is_set():
            for message in consumer.consume(2000, timeout=0.5):
                if message.error() is None:
                    self._take(message.topic(), message.partition(), message.offset(), message.value())
                    read += 1
            if read > 20_000:
                read = 0
                with suppress(KafkaException):  # its broker was killed: the next commit has these, too
                    consumer.commit(asynchronous=False)
        self._leave(consumer)

    def _leave(self, consumer: Consumer) -> None:
        end_s = time.monotonic() + DEADLINE_S
        while True:
            try:
                with suppress_no_offset():
                    consumer.commit(asynchronous=False)
                break
            except KafkaException:
                if time.monotonic() > end_s:
                    raise
                time.sleep(0.5)
        consumer.close()


def committed(bootstrap: str, group: str, topics: list[str]) -> dict[tuple[str, int], int]:
    """Return the committed offsets of a group, by topic and partition."""
    consumer = Consumer({**_QUIET, "bootstrap.servers": bootstrap, "group.id": group})
    places = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    found = consumer.committed(places, DEADLINE_S)
    consumer.close()
    return {(one.topic, one.partition): one.offset for one in found if one.offset >= 0}


@contextmanager
def suppress_no_offset() -> Iterator[None]:
    """Ignore that there is nothing to commit."""
    try:
        yield
    except KafkaException as error:
        if error.args[0].code() != KafkaError._NO_OFFSET:
            raise
