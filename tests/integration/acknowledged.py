"""A load of numbered records, idempotent and with acks=all, and the check that none of them is lost."""

from __future__ import annotations

import threading

from confluent_kafka import Producer

from kafkatx.testing.messages import read_messages
from tests.until import until

PAUSE_S = 0.002
READ_S = 30.0


class AcknowledgedLoad:
    """Sends numbers to a topic of one partition until it is stopped.

    :ivar acknowledged: the offset of each number that was acknowledged.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: dict[int, int] = {}
        self._bootstrap, self._topic = bootstrap, topic
        self._sent = 0
        self._over = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "log_level": 0,
                "reconnect.backoff.max.ms": 200,
                "topic.metadata.refresh.interval.ms": 500,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(PAUSE_S):
            number = self._sent
            self._sent += 1

            def done(error: object, message: object, number: int = number) -> None:
                if error is None:
                    self.acknowledged[number] = message.offset()  # type: ignore[attr-defined]

            self._producer.produce(self._topic, b"%d" % number, partition=0, on_delivery=done)
            self._producer.poll(0)

    def go_on(self, count: int = 200) -> None:
        """Wait until as many more records are acknowledged."""
        end = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= end, f"{count} more records are acknowledged")

    def stop(self) -> None:
        """Send no more, and wait for the acknowledgements."""
        self._over.set()
        self._thread.join()
        self._producer.flush(60)

    def lost(self) -> list[int]:
        """Return the acknowledged numbers that are not at their offsets any more."""
        messages = read_messages(self._bootstrap, self._topic, None, READ_S)
        found = {message.offset: int(message.value or b"-1") for message in messages}
        return sorted(number for number, offset in self.acknowledged.items() if found.get(offset) != number)
