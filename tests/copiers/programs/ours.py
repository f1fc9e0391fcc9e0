"""A copier with our own client. Its first argument is ``now`` for protocol 2, ``older`` for protocol 1."""

from __future__ import annotations

import sys
import time

from kafkatx.client import threads
from kafkatx.client.producer.transactions import coordinator
from kafkatx.clientcore.errors import CommitFailed, ConnectionFailed
from kafkatx.clientcore.producer.transactions.errors import AbortRequired
from kafkatx.types import TopicPartition
from tests.copiers.programs.loop import (
    CALL_S,
    MOST,
    POLL_S,
    SESSION_MS,
    TRANSACTION_MS,
    Client,
    Job,
    Taken,
    main,
)

_PAUSE_S = 0.2


class Ours(Client):
    """A producer and a consumer, for programs that block."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._producer = threads.Producer(
            bootstrap_servers=job.bootstrap,
            transactional_id=job.transactional_id,
            transaction_timeout_ms=TRANSACTION_MS,
            linger_ms=1,
        ).start()
        self._consumer = threads.Consumer(
            bootstrap_servers=job.bootstrap,
            group_id=job.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=SESSION_MS,
        ).start()
        self._consumer.subscribe([job.source])

    def poll(self) -> list[Taken]:
        """``getmany``."""
        found = self._consumer.getmany(MOST, int(POLL_S * 1000))
        return [
            Taken(place.partition, one.offset, one.value or b"") for place in found for one in found[place]
        ]

    def begin(self) -> None:
        """``begin``."""
        self._producer.begin()

    def produce(self, partition: int, value: bytes) -> None:
        """``produce``."""
        self._producer.produce(self._job.target, value, partition=partition)

    def send_offsets(self, positions: dict[int, int]) -> None:
        """``send_offsets`` with the group's metadata."""
        offsets = {self._place(partition): at for partition, at in positions.items()}
        self._producer.send_offsets(offsets, self._consumer.group_metadata())

    def _place(self, partition: int) -> TopicPartition:
        return TopicPartition(self._job.source, partition)

    def commit(self) -> None:
        """``commit``, again while no coordinator answers."""
        end_s = time.monotonic() + CALL_S
        while True:
            try:
                self._producer.commit()
                return
            except ConnectionFailed:
                if time.monotonic() > end_s:
                    raise
                time.sleep(_PAUSE_S)

    def abort(self) -> None:
        """``abort``."""
        self._producer.abort()

    def seek(self, positions: dict[int, int]) -> None:
        """``seek``, in the partitions that are still assigned."""
        assigned = self._consumer.assignment()
        for partition, offset in positions.items():
            if self._place(partition) in assigned:
                self._consumer.seek(self._place(partition), offset)

    def requires_abort(self, error: Exception) -> bool:
        """AbortRequired; or the consumer is joining a generation."""
        return isinstance(error, (AbortRequired, CommitFailed))

    def close(self) -> None:
        """``close``."""
        self._consumer.close()
        self._producer.close()


if __name__ == "__main__":
    if sys.argv.pop(1) == "older":
        vars(coordinator)["IMPLICIT_VERSION"] = 1 << 30
    main(Ours)
