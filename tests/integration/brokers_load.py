"""A load on a cluster whose brokers fail: a producer of numbered records, a group of consumers, a history.

Both are librdkafka's. They run in threads until they are told to stop; the history is complete after that.
"""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from kafkatx.testing import EmbeddedCluster
from tests.integration.history import History, Outcome, Poll, Send

SESSION_MS = 6000
DELIVERY_MS = 120_000
PAUSE_S = 0.001
COMMIT_EVERY = 100
DEADLINE_S = 60.0
_FAST = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 1000,
    "log_level": 0,
}


class BrokersLoad:
    """Sends records to all partitions of a topic in turn, and reads them in a group.

    :param consumers: number of members of the group.
    :ivar acknowledged: the time of the last acknowledgement of each partition, by the monotonic clock.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, consumers: int = 3) -> None:
        self.acknowledged: dict[int, float] = {}
        self.group = f"load-{uuid.uuid4().hex[:8]}"
        self._topic = topic
        self._partitions = partitions
        self._sends: dict[int, Send] = {}
        self._polls: list[list[Poll]] = [[] for _ in range(consumers)]
        self._producing, self._consuming = threading.Event(), threading.Event()
        self._failed: list[BaseException] = []
        self._producer = Producer(
            {
                **_FAST,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": DELIVERY_MS,
                "retry.backoff.ms": 20,
                "queue.buffering.max.messages": 20_000,
            }
        )
        configuration = {
            **_FAST,
            "bootstrap.servers": bootstrap,
            "group.id": self.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500,
        }
        self._threads = [threading.Thread(target=self._run, args=(self._produce,), name="load")]
        for number, polls in enumerate(self._polls):
            consume = partial(self._consume, f"consumer {number}", polls, configuration)
            self._threads.append(threading.Thread(target=self._run, args=(consume,), name=f"load {number}"))

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop_sending(self) -> None:
        """Stop the producer; return when all of its records are acknowledged or have failed."""
        self._producing.set()
        self._threads[0].join()

    def stop(self) -> None:
        """Stop producer and consumers.

        :raises BaseException: what a thread has raised.
        """
        self.stop_sending()
        self._consuming.set()
        for thread in self._threads:
            thread.join()
        for error in self._failed:
            raise error

    def wait_for_reads(self, count: int) -> None:
        """Wait until the consumers have got as many different records.

        :raises AssertionError: they have not in time.
        """
        deadline_s = time.monotonic() + DEADLINE_S
        while (got := len({poll.number for polls in self._polls for poll in tuple(polls)})) < count:
            if time.monotonic() > deadline_s:
                raise AssertionError(f"the group got {got} of {count} records")
            time.sleep(0.1)

    @property
    def sent(self) -> int:
        """The number of records sent so far."""
        return len(self._sends)

    def history(self, cluster: EmbeddedCluster) -> History:
        """Return what happened, with the log as it is now."""
        log: dict[int, list[tuple[int, int]]] = {number: [] for number in range(self._partitions)}
        for message in cluster.messages(self._topic):
            log[message.partition].append((message.offset, int(message.value or b"-1")))
        polls = [poll for polls in self._polls for poll in polls]
        return History(list(self._sends.values()), log, polls)

    def _run(self, work: Any) -> None:
        try:
            work()
        except BaseException as error:
            self._failed.append(error)

    def _produce(self) -> None:
        number = 0
        while not self._producing.is_set():
            key = b"%d" % (number % 50)
            try:
                self._producer.produce(
                    self._topic,
                    b"%d" % number,
                    key,
                    number % self._partitions,
                    on_delivery=partial(self._delivered, number, key),
                )
            except BufferError:
                self._producer.poll(0.01)
                continue
            self._sends[number] = Send(number, key, Outcome.UNKNOWN)
            number += 1
            self._producer.poll(0)
            time.sleep(PAUSE_S)
        self._producer.flush(DELIVERY_MS / 1000)

    def _delivered(self, number: int, key: bytes, error: Any, message: Any) -> None:
        if error is None:
            partition = message.partition()
            self._sends[number] = Send(number, key, Outcome.OK, partition, message.offset())
            self.acknowledged[partition] = time.monotonic()

    def _consume(self, name: str, polls: list[Poll], configuration: dict[str, Any]) -> None:
        position = 0

        def assigned(*_: object) -> None:
            nonlocal position
            position += 1

        consumer = Consumer(configuration)
        consumer.subscribe([self._topic], on_assign=assigned, on_revoke=assigned, on_lost=assigned)
        try:
            while not self._consuming.is_set():
                message = consumer.poll(0.2)
                if message is None or message.error():
                    continue
                number = int(message.value())
                polls.append(Poll(name, position, message.partition(), message.offset(), number))
                if len(polls) % COMMIT_EVERY == 0:
                    self._commit(consumer)
        finally:
            consumer.close()

    def _commit(self, consumer: Any) -> None:
        with suppress(KafkaException):  # a rebalance, or the coordinator is away: the records come again
            consumer.commit(asynchronous=False)
