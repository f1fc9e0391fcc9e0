"""The limits of a stream's batches: ``maxOffsetsPerTrigger`` and its like. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from kafkatx.errors import SettingError
from kafkatx.types import TopicPartition

MAX_DELAY_MS = 15 * 60 * 1000

_MS_PER_UNIT = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


@attrs.frozen
class Limits:
    """The limits of one batch of a stream.

    :ivar max_offsets: about that many offsets at most.
    :ivar min_offsets: no batch until this many are available, or ``max_delay_ms`` after the last batch.
    """

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = MAX_DELAY_MS


def too_few(
    limits: Limits,
    start: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    since_last_ms: float | None,
) -> bool:
    """Return True if a batch should wait for more offsets, as Spark's KafkaMicroBatchStream.delayBatch does.

    :param start: where the batch starts in each partition of *latest*.
    :param since_last_ms: how long ago the last batch was; None if there was none, which never waits.
    """
    if limits.min_offsets is None or since_last_ms is None or since_last_ms >= limits.max_delay_ms:
        return False
    return sum(end - start[partition] for partition, end in latest.items()) < limits.min_offsets


def rate_limit(
    max_offsets: int, start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return the end of a batch: each partition gets a share in proportion to how far behind it is.

    As Spark's KafkaMicroBatchStream.rateLimit: a share is rounded down, but is never nothing, so that small
    partitions do not starve. With more partitions than offsets the limit is therefore exceeded::

        behind   10, 30, 60, max_offsets 10  ->  1, 3, 6
        behind   1, 1000,    max_offsets 10  ->  1, 9
    """
    behind = {partition: end - start[partition] for partition, end in latest.items()}
    total = sum(size for size in behind.values() if size > 0)
    return {
        partition: start[partition] + min(size, _share(max_offsets, size, total)) if size > 0 else end
        for (partition, end), size in zip(latest.items(), behind.values(), strict=True)
    }


def _share(max_offsets: int, size: int, total: int) -> int:
    return max(max_offsets * size // total, 1)


def parse_duration_ms(option: str, text: str) -> int:
    """Parse a time as Spark writes it: ``15m``, ``30s``, ``100ms``; a bare number is milliseconds.

    :raises SettingError: it is none.
    """
    found = re.fullmatch(r"([0-9]{1,15})([a-z]*)", text.strip().lower())
    unit = _MS_PER_UNIT.get(found[2] or "ms") if found else None
    if found is None or unit is None:
        raise SettingError(
            f"{option}={text}: give a time such as 15m; the units are {', '.join(_MS_PER_UNIT)}"
        )
    return int(int(found[1]) * unit)
