"""The settings of one partition log: the topic's over the broker's. Pure."""

from __future__ import annotations

import attrs

HEADERS, BOUNDED, FULL = "headers", "bounded", "full"
"""The values of ``kafkatx.records.validation``."""


@attrs.frozen
class LogConfig:
    """The settings of one log. Names are the topic configs' of Apache Kafka, with ``_`` for ``.``.

    ``-1`` in ``retention_ms`` and ``retention_bytes`` means no limit.
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1048588
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    retention_policy: str = "time+size"
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    file_delete_delay_ms: int = 60_000
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    expose: str = "written"
    records_validation: str = BOUNDED
    max_inflated_bytes: int = 16 << 20
    compression_type: str = "producer"
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_after_max_ms: int = 3_600_000
    producer_id_expiration_ms: int = 86_400_000
    producer_ids_max: int = 100_000
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    value_schemas: bool = False
    key_schemas: bool = False

    @property
    def compacted(self) -> bool:
        """True if the log is compacted; its records must have keys."""
        return "compact" in self.cleanup_policy

    @property
    def checks_schemas(self) -> bool:
        """True if keys or values must have the id of a schema (``confluent.value.schema.validation``)."""
        return self.value_schemas or self.key_schemas

    @property
    def exposes_flushed(self) -> bool:
        """True if consumers see records only after they are flushed to the disk (``log.expose``)."""
        return self.expose == "flushed"

    @property
    def log_append_time(self) -> bool:
        """True if the broker sets the timestamps of records."""
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def checks_records(self) -> bool:
        """True if more than the headers of batches is checked (``kafkatx.records.validation``)."""
        return self.records_validation != HEADERS

    @property
    def inflated_limit_bytes(self) -> int:
        """The maximum decompressed size of the records of one batch."""
        return max(self.max_inflated_bytes, self.max_message_bytes)
