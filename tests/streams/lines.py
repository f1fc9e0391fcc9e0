"""Numbered lines: what they are made of, their words in all, and a thread that sends them."""

from __future__ import annotations

import threading
import time
from collections import Counter

from confluent_kafka import KafkaError, Producer

WORDS = 200
"""Words that come again and again; besides them each line has its number, which is a word of its own."""
PER_LINE = 5
DELIVERY_MS = 600_000
FLUSH_S = 300.0
QUIET = {"log_level": 0, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500}


def line(number: int) -> str:
    """Return a line."""
    return " ".join([f"n{number}", *(f"w{number * 7919 * (place + 1) % WORDS}" for place in range(PER_LINE))])


def words_of(lines: int) -> Counter[str]:
    """Return how often each word is in the first lines."""
    return Counter(word for number in range(lines) for word in line(number).split())


class Feeder:
    """Sends numbered lines at a rate, each once and in order.

    :ivar sent: the number of lines that were produced.
    :ivar acknowledged: those that the broker has acknowledged.
    """

    def __init__(self, bootstrap: str, topic: str, rate: float) -> None:
        settings = {"enable.idempotence": True, "linger.ms": 20, "message.timeout.ms": DELIVERY_MS}
        self._producer = Producer({**QUIET, **settings, "bootstrap.servers": bootstrap})
        self._topic = topic
        self._rate = rate
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lines")
        self._failed: list[KafkaError] = []
        self.sent = 0
        self.acknowledged = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> int:
        """End; return the number of lines.

        :raises AssertionError: a line was not acknowledged.
        """
        self._stopping.set()
        self._thread.join()
        if self._failed or self.acknowledged != self.sent:
            told = f"{self.acknowledged} of {self.sent} lines were acknowledged"
            raise AssertionError(f"{told}: {self._failed[:3]}")
        return self.sent

    def _run(self) -> None:
        begun_s = time.monotonic()
        while not self._stopping.is_set():
            while self.sent < self._rate * (time.monotonic() - begun_s):
                self._send()
            self._producer.poll(0.02)
        self._producer.flush(FLUSH_S)

    def _send(self) -> None:
        try:
            self._producer.produce(self._topic, line(self.sent), on_delivery=self._delivered)
        except BufferError:
            self._producer.poll(0.1)
        else:
            self.sent += 1

    def _delivered(self, error: KafkaError | None, message: object) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self._failed.append(error)
