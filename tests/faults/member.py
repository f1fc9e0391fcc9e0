"""A member of a group in a process of its own, for :mod:`tests.faults.groups`.

    python -m tests.faults.member CONFIG TOPIC DIARY

It processes what it is given, then commits, and writes each step into its diary, a line of JSON at a time:
``[seconds of the monotonic clock, "assigned" or "revoked", partitions]``, ``["done", partition, offset]``.
SIGTERM lets it leave.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException

BATCH = 200
POLL_S = 0.1


def main(config: dict[str, Any], topic: str, path: str) -> None:
    """Consume until SIGTERM."""
    leaving = []
    signal.signal(signal.SIGTERM, lambda *_: leaving.append(True))
    consumer = Consumer(config)
    with open(path, "w", encoding="ascii", buffering=1) as diary:

        def write(*entry: object) -> None:
            diary.write(json.dumps(entry) + "\n")

        def changed(what: str) -> Any:
            return lambda _, given: write(time.monotonic(), what, [one.partition for one in given])

        consumer.subscribe(
            [topic], on_assign=changed("assigned"), on_revoke=changed("revoked"), on_lost=changed("revoked")
        )
        while not leaving:
            messages = [one for one in consumer.consume(BATCH, POLL_S) if not one.error()]
            for message in messages:
                write("done", message.partition(), message.offset())
            if messages:
                try:
                    consumer.commit(asynchronous=False)
                except (
                    KafkaException
                ) as error:  # the group has moved on: the next owner of the partition reads it again
                    write("not committed", str(error))
        consumer.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3])
