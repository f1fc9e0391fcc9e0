"""Helpers of the compaction tests: keyed batches, and a store that cleans synchronously."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.interfaces import IReactorTime

from kafkatx.config.log_config import LogConfig
from kafkatx.log.cleaner.clean import clean
from kafkatx.log.files import Files
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches, iter_any
from kafkatx.testing.contracts.partition_log import NOW_MS, find_retention
from tests.log.fakes import QuickFiles, Settings, at_once

Pair = tuple[bytes | None, bytes | None]

COMPACT = frozenset({"compact"})
EAGER = LogConfig(
    segment_bytes=300,
    index_interval_bytes=100,
    cleanup_policy=COMPACT,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1000,
)
"""Small segments, cleaned whenever there is something to be cleaned."""


class CleanerSettings(Settings):
    """Settings with those that the cleaner reads."""

    def __init__(self, *log_dirs: str, memory_bytes: int = 1 << 20) -> None:
        super().__init__(*log_dirs)
        self._values["log.cleaner.dedupe.buffer.size"] = memory_bytes
        self._values["log.cleaner.io.buffer.load.factor"] = 1.0


def cleaning_store(
    clock: IReactorTime, path: str, files: Files | None = None, memory_bytes: int = 1 << 20
) -> FileLogStore:
    """Return a store whose Deferreds fire at once, and which cleans in this process."""
    settings = CleanerSettings(path, memory_bytes=memory_bytes)
    return FileLogStore(settings, at_once, clock, find_retention, files or QuickFiles(), clean)


def keyed(
    pairs: Sequence[Pair],
    codec: Codec = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    timestamps: Sequence[int] | None = None,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> bytes:
    """Return a batch of magic 2 of some keys and values."""
    builder = BatchBuilder(codec, *producer)
    for (key, value), timestamp in zip(pairs, timestamps or [NOW_MS] * len(pairs), strict=True):
        builder.append(key, value, timestamp, headers)
    return builder.build()


def records_of(log: Any) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return offset, key and value of every record of a log, read as a consumer does."""
    found = []
    at = log.log_start_offset
    while at < log.log_end_offset:
        data = log.read(at, 1 << 30, log.log_end_offset, True)
        if not len(data):
            break
        data = data.tobytes() if hasattr(data, "tobytes") else bytes(data)
        found += [(one.offset, one.key, one.value) for one in iter_any(data) if one.offset >= at]
        at = list(batches(data))[-1].last_offset + 1
    return found


def last_values(log: Any) -> dict[bytes | None, bytes | None]:
    """Return the last value of each key, without keys whose last record is a tombstone."""
    values: dict[bytes | None, bytes | None] = {}
    for _, key, value in records_of(log):
        values[key] = value
    return {key: value for key, value in values.items() if value is not None}
