"""A record header with the name of the producer's server (``audit.server.header``). Reads the host name.

The Kafka paper, section 4: "each message carries the timestamp and the server name when they are generated."
Records have a timestamp anyway; the name is added to each of them if ``audit.server.header`` is set.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.producer.accumulator import NO_PAUSE, AccumulatorLimits, RecordAccumulator
from kafkatx.clientcore.producer.arguments import check_timestamp, checked_headers, checked_values
from kafkatx.clientcore.producer.batch import (
    RECORD_OVERHEAD_BYTES,
    ProducerIdAndEpoch,
    record_bytes,
    split_to_fit,
)
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import producer
from kafkatx.errors import SettingError
from kafkatx.records.compression import Codec

Stamp: TypeAlias = "tuple[str, bytes]"
"""A header's name, and the server's name as UTF-8."""

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"


def server_name(chosen: str) -> str:
    """Return the configured name, or this host's."""
    return chosen or platform.node()


def make_stamp(header: str, server: str) -> Stamp | None:
    """Return the header that names a server; None if *header* is empty.

    :param server: empty: this host's name.
    :raises SettingError: a name cannot be encoded in UTF-8.
    """
    if not header:
        return None
    try:
        header.encode()
        return header, server_name(server).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"audit.server.header and audit.server must be text: {error}") from None


def stamp_of(settings: ClientSettings) -> Stamp | None:
    """Return the header that a producer's settings ask for; raise as :func:`make_stamp` does."""
    return make_stamp(settings[producer.AUDIT_SERVER_HEADER], settings[producer.AUDIT_SERVER])


class StampingAccumulator(RecordAccumulator):
    """An accumulator that adds a header to each record that has none of this name."""

    def __init__(
        self,
        stamp: Stamp,
        limits: AccumulatorLimits,
        codec: Codec = Codec.NONE,
        closed: Callable[[str], None] = lambda topic: None,
        id_and_epoch: ProducerIdAndEpoch | None = None,
        backoff: Backoff = NO_PAUSE,
    ) -> None:
        super().__init__(limits, codec, closed, id_and_epoch, backoff)
        self._stamp = (stamp,)
        self._name = stamp[0]
        self.stamp_bytes = record_bytes(None, None, self._stamp) - RECORD_OVERHEAD_BYTES

    def append(
        self,
        queue: PartitionQueue,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        receipt: object,
        now_s: float,
    ) -> bool:
        """Append a record with the header; otherwise as :meth:`RecordAccumulator.append`."""
        if not headers:
            stamped: Headers = self._stamp
        else:
            stamped = checked_headers(headers)
            if all(name != self._name for name, _ in stamped):
                stamped = (*stamped, *self._stamp)
        return super().append(queue, key, value, timestamp_ms, stamped, receipt, now_s)

    def append_values(
        self, queue: PartitionQueue, values: Sequence[bytes], timestamp_ms: int, receipt: object, now_s: float
    ) -> int:
        """Append records with the header; otherwise as :meth:`RecordAccumulator.append_values`."""
        check_timestamp(timestamp_ms)
        values = checked_values(values)
        overhead = RECORD_OVERHEAD_BYTES + self.stamp_bytes
        parts = list(split_to_fit(values, min(self.limits.max_bytes, queue.max_bytes), overhead))
        for piece, payload in parts:
            size = payload + overhead * len(piece)
            batch = queue.open
            if batch is None or batch.size_bytes + size > batch.max_bytes:
                batch = self._begin(queue, now_s)
            index = batch.rows.extend(piece, timestamp_ms)
            batch.rows.headers.update(dict.fromkeys(range(index, index + len(piece)), self._stamp))
            batch.entries += (receipt, index, len(piece), timestamp_ms)
            batch.size_bytes += size
            self.used_bytes += size
        return len(parts)


def make_accumulator(
    stamp: Stamp | None,
    limits: AccumulatorLimits,
    codec: Codec = Codec.NONE,
    closed: Callable[[str], None] = lambda topic: None,
    id_and_epoch: ProducerIdAndEpoch | None = None,
    backoff: Backoff = NO_PAUSE,
) -> RecordAccumulator:
    """Return an accumulator; it adds the header if *stamp* is not None."""
    if stamp is None:
        return RecordAccumulator(limits, codec, closed, id_and_epoch, backoff)
    return StampingAccumulator(stamp, limits, codec, closed, id_and_epoch, backoff)
