"""A copier: consume, transform, produce, and commit offsets, in transactions. A process, to be killed."""

from __future__ import annotations

import sys

from kafkatx.client import threads
from kafkatx.client.producer.transactions import coordinator
from kafkatx.clientcore.errors import CommitFailed
from kafkatx.clientcore.producer.transactions.errors import AbortRequired
from kafkatx.types import TopicPartition

MOST = 20
"""Records of a transaction."""

WAIT_MS = 200


def copy(bootstrap: str, source: str, target: str, name: str) -> None:
    """Copy from one topic to another until the process is killed.

    :param name: of the group, and of the producer's transactions.
    """
    reading = {
        "bootstrap_servers": bootstrap,
        "group_id": name,
        "group_instance_id": name,  # the next start takes over its partitions at once
        "enable_auto_commit": False,
        "isolation_level": "read_committed",
        "auto_offset_reset": "earliest",
        "session_timeout_ms": 6000,
    }
    writing = {"bootstrap_servers": bootstrap, "transactional_id": name, "linger_ms": 1}
    with threads.Producer(writing) as producer, threads.Consumer(reading) as consumer:
        consumer.subscribe([source])
        while True:
            found = consumer.getmany(MOST, WAIT_MS)
            if not found:
                continue
            positions: dict[TopicPartition, int] = {}
            try:
                with producer.transaction():
                    for place, records in found.items():
                        for record in records:
                            producer.produce(target, record.value, partition=place.partition)
                        positions[place] = records[-1].offset + 1
                    producer.send_offsets(dict(positions), consumer.group_metadata())
            except (AbortRequired, CommitFailed):
                return  # the next start reads from what is committed


if __name__ == "__main__":
    if sys.argv[5:] == ["older"]:
        vars(coordinator)["IMPLICIT_VERSION"] = 1 << 30
    copy(*sys.argv[1:5])
