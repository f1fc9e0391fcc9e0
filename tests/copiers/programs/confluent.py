"""A copier with confluent-kafka, that is librdkafka (protocol 1)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

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

_PAUSE_S = 0.1
NO_REBOOTSTRAP = {"metadata.recovery.strategy": "none"}
"""librdkafka 2.16 forgets its brokers while all are away, but not the coordinators of groups that it knew:
``send_offsets_to_transaction`` then waits for a connection that is never opened."""


class Confluent(Client):
    """A producer and a consumer."""

    def __init__(self, job: Job) -> None:
        self._job = job
        common = {
            "bootstrap.servers": job.bootstrap,
            "log_level": 0,
            "reconnect.backoff.max.ms": 1000,
            **NO_REBOOTSTRAP,
        }
        self._producer = Producer(
            {
                **common,
                "transactional.id": job.transactional_id,
                "transaction.timeout.ms": TRANSACTION_MS,
                "linger.ms": 1,
            }
        )
        self._retrying(lambda: self._producer.init_transactions(CALL_S))
        self._consumer = Consumer(
            {
                **common,
                "group.id": job.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": SESSION_MS,
            }
        )
        # With callbacks it rebalances in consume() only.
        self._consumer.subscribe([job.source], on_assign=_nothing, on_revoke=_nothing, on_lost=_nothing)

    def _retrying(self, call: Callable[[], object]) -> None:
        end_s = time.monotonic() + CALL_S
        while True:
            try:
                call()
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > end_s:
                    raise
                time.sleep(_PAUSE_S)

    def poll(self) -> list[Taken]:
        """``consume``."""
        found = self._consumer.consume(MOST, POLL_S)
        taken = [Taken(one.partition(), one.offset(), one.value()) for one in found if not one.error()]
        return sorted(taken, key=lambda one: (one.partition, one.offset))

    def begin(self) -> None:
        """``begin_transaction``."""
        self._producer.begin_transaction()

    def produce(self, partition: int, value: bytes) -> None:
        """``produce``."""
        self._producer.produce(self._job.target, value, partition=partition)

    def send_offsets(self, positions: dict[int, int]) -> None:
        """``send_offsets_to_transaction`` with the group's metadata."""
        places = [TopicPartition(self._job.source, *position) for position in positions.items()]
        metadata = self._consumer.consumer_group_metadata()
        self._retrying(lambda: self._producer.send_offsets_to_transaction(places, metadata, CALL_S))

    def commit(self) -> None:
        """``commit_transaction``."""
        self._retrying(lambda: self._producer.commit_transaction(CALL_S))

    def abort(self) -> None:
        """``abort_transaction``."""
        self._retrying(lambda: self._producer.abort_transaction(CALL_S))

    def seek(self, positions: dict[int, int]) -> None:
        """``seek``, in the partitions that are still assigned."""
        assigned = {place.partition for place in self._consumer.assignment()}
        for partition, offset in positions.items():
            if partition in assigned:
                self._consumer.seek(TopicPartition(self._job.source, partition, offset))

    def requires_abort(self, error: Exception) -> bool:
        """``txn_requires_abort``."""
        return isinstance(error, KafkaException) and bool(error.args[0].txn_requires_abort())

    def close(self) -> None:
        """``close``."""
        self._consumer.close()


def _nothing(*_: Any) -> None:
    pass


if __name__ == "__main__":
    main(Confluent)
