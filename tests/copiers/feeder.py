"""The producer of all inputs: numbered records in transactions, of which some are aborted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaException, Producer

from tests.copiers.values import ABORT, Plan, Value

TICK_S = 0.5
NTH = 7
_CALL_S = 60.0
_PAUSE_S = 0.5


class Feeder:
    """Sends records to topics at a rate, each topic in a transaction for every tick, in a thread.

    A transaction whose end is not known is not repeated: its records are there, or not.

    :param rate: records per second, to each topic.
    :ivar committed: the ids of transactions that are committed for sure.
    """

    def __init__(
        self, bootstrap: str, topics: list[str], partitions: int, rate: float, tell: Callable[[str], None]
    ) -> None:
        self.committed: set[str] = set()
        self.failures = 0
        self._bootstrap = bootstrap
        self._topics = topics
        self._partitions = partitions
        self._count = max(1, round(rate * TICK_S))
        self._tell = tell
        self._plan = Plan(NTH)
        self._producer: Producer | None = None
        self._numbers = dict.fromkeys(topics, 0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Send no more; end the open transaction."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._stopping.is_set():
            for topic in self._topics:
                self._feed(topic)
            due_s = max(due_s + TICK_S, time.monotonic() - 4 * TICK_S)
            self._stopping.wait(max(0.0, due_s - time.monotonic()))
        while self._producer is None:  # the next one ends the transaction of one that has failed
            self._connect()

    def _feed(self, topic: str) -> None:
        first = self._numbers[topic]
        self._numbers[topic] += self._count
        values = self._plan.next(list(range(first, first + self._count)))
        while self._producer is None:
            self._connect()
        try:
            self._transaction(self._producer, topic, values)
        except KafkaException as error:
            self.failures += 1
            self._tell(f"feeder: {error}")
            self._producer = None

    def _connect(self) -> None:
        settings = {"bootstrap.servers": self._bootstrap, "transactional.id": "feeder", "linger.ms": 1}
        producer = Producer({**settings, "log_level": 0, "reconnect.backoff.max.ms": 1000})
        try:
            producer.init_transactions(_CALL_S)
            self._producer = producer
        except KafkaException as error:
            self._tell(f"feeder: {error}")
            time.sleep(_PAUSE_S)

    def _transaction(self, producer: Producer, topic: str, values: list[Value]) -> None:
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value.encode(), partition=value.number % self._partitions)
        if values[0].fate == ABORT:
            producer.flush(_CALL_S)
            producer.abort_transaction(_CALL_S)
        else:
            producer.commit_transaction(_CALL_S)
            self.committed.add(values[0].transaction)
