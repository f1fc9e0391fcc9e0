"""A copier with kafka-python (protocol 1)."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.structs import OffsetAndMetadata

from tests.copiers.programs.loop import (
    CALL_S,
    MOST,
    POLL_S,
    SESSION_MS,
    TRANSACTION_MS,
    Client,
    Job,
    Taken,
    given_up_after,
    main,
)

_STUCK_S = 90.0
"""kafka-python 3.0 waits for the end of these calls without a limit, and may forget a request."""

_FATAL = (
    kafka_errors.ProducerFencedError,
    kafka_errors.AuthorizationError,
    kafka_errors.IllegalStateError,
)


class KafkaPython(Client):
    """A producer and a consumer."""

    def __init__(self, job: Job) -> None:
        self._job = job
        common: dict[str, Any] = {"bootstrap_servers": job.bootstrap.split(",")}
        self._producer = KafkaProducer(
            **common,
            transactional_id=job.transactional_id,
            transaction_timeout_ms=TRANSACTION_MS,
            max_block_ms=int(CALL_S * 1000),
            linger_ms=1,
        )
        self._producer.init_transactions()
        self._consumer = KafkaConsumer(
            job.source,
            **common,
            group_id=job.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=SESSION_MS // 6,
        )

    def poll(self) -> list[Taken]:
        """``poll``."""
        found = self._consumer.poll(timeout_ms=int(POLL_S * 1000), max_records=MOST)
        return [Taken(place.partition, one.offset, one.value) for place in found for one in found[place]]

    def begin(self) -> None:
        """``begin_transaction``."""
        self._producer.begin_transaction()

    def produce(self, partition: int, value: bytes) -> None:
        """``send``."""
        self._producer.send(self._job.target, value, partition=partition)

    def send_offsets(self, positions: dict[int, int]) -> None:
        """``send_offsets_to_transaction`` with the group's metadata."""
        offsets = {
            self._place(partition): OffsetAndMetadata(at, "", -1) for partition, at in positions.items()
        }
        with given_up_after(_STUCK_S, "send_offsets_to_transaction"):
            self._producer.send_offsets_to_transaction(offsets, self._consumer.group_metadata())

    def _place(self, partition: int) -> Any:
        return TopicPartition(self._job.source, partition)

    def commit(self) -> None:
        """``commit_transaction``."""
        with given_up_after(_STUCK_S, "commit_transaction"):
            self._producer.commit_transaction()

    def abort(self) -> None:
        """``abort_transaction``."""
        with given_up_after(_STUCK_S, "abort_transaction"):
            self._producer.abort_transaction()

    def seek(self, positions: dict[int, int]) -> None:
        """``seek``, in the partitions that are still assigned."""
        assigned = self._consumer.assignment()
        for partition, offset in positions.items():
            if self._place(partition) in assigned:
                self._consumer.seek(self._place(partition), offset)

    def requires_abort(self, error: Exception) -> bool:
        """All errors of Kafka but those that are fatal."""
        return isinstance(error, kafka_errors.KafkaError) and not isinstance(error, _FATAL)

    def close(self) -> None:
        """``close``."""
        self._consumer.close()
        self._producer.close(5)


if __name__ == "__main__":
    main(KafkaPython)
