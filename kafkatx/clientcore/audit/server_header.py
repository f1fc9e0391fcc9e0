"""The name of the server that a record comes from, in a header of the record.

The Kafka paper, section 4: "each message carries the timestamp and the server name when they are generated."
Records have a timestamp; the name is added to each of them where ``audit.server.header`` asks for it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.producer.accumulator import NO_PAUSE, Accumulator, Limits
from kafkatx.clientcore.producer.arguments import check_timestamp, checked_headers, checked_values
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES, Identity, pieces, record_bytes
from kafkatx.clientcore.producer.partition_queue import Outbox
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import producer
from kafkatx.errors import SettingError
from kafkatx.records.compression import Codec

Stamp: TypeAlias = "tuple[str, bytes]"
"""A header's name, and the server's name as UTF-8."""

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"


def server_name(chosen: str) -> str:
    """Return the name that was chosen, or this host's."""
    return chosen or platform.node()


def make_stamp(header: str, server: str) -> Stamp | None:
    """Return the header that names a server; None if *header* is empty.

    :param server: empty: this host's name.
    :raises SettingError: a name has no encoding in UTF-8.
    """
    if not header:
        return None
    try:
        header.encode()
        return header, server_name(server).encode()
    except UnicodeEncodeError as error:
        raise SettingError(f"audit.server.header and audit.server must be text: {error}") from None


def stamp_of(settings: ClientSettings) -> Stamp | None:
    """Return the header that a producer's settings ask for; raises as :func:`make_stamp`."""
    return make_stamp(settings[producer.AUDIT_SERVER_HEADER], settings[producer.AUDIT_SERVER])


class StampingAccumulator(Accumulator):
    """An accumulator that adds one header to each record that has none of this name."""

    def __init__(
        self,
        stamp: Stamp,
        limits: Limits,
        codec: Codec = Codec.NONE,
        closed: Callable[[str], None] = lambda topic: None,
        identity: Identity | None = None,
        backoff: Backoff = NO_PAUSE,
    ) -> None:
        super().__init__(limits, codec, closed, identity, backoff)
        self._stamp = (stamp,)
        self._name = stamp[0]
        self.stamp_bytes = record_bytes(None, None, self._stamp) - RECORD_OVERHEAD_BYTES

    def append(
        self,
        outbox: Outbox,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        receipt: Any,
        now_s: float,
    ) -> bool:
        """Add one record with its own headers and the stamp; as :meth:`Accumulator.append`."""
        if not headers:
            stamped: Headers = self._stamp
        else:
            stamped = checked_headers(headers)
            if all(name != self._name for name, _ in stamped):
                stamped = (*stamped, *self._stamp)
        return super().append(outbox, key, value, timestamp_ms, stamped, receipt, now_s)

    def append_values(
        self, outbox: Outbox, values: Sequence[bytes], timestamp_ms: int, receipt: Any, now_s: float
    ) -> int:
        """Add records that have a value, and get the stamp; as :meth:`Accumulator.append_values`."""
        check_timestamp(timestamp_ms)
        values = checked_values(values)
        overhead = RECORD_OVERHEAD_BYTES + self.stamp_bytes
        parts = list(pieces(values, min(self.limits.most_bytes, outbox.most_bytes), overhead))
        for piece, payload in parts:
            size = payload + overhead * len(piece)
            batch = outbox.open
            if batch is None or batch.size_bytes + size > batch.most_bytes:
                batch = self._begin(outbox, now_s)
            index = batch.rows.extend(piece, timestamp_ms)
            batch.rows.headers.update(dict.fromkeys(range(index, index + len(piece)), self._stamp))
            batch.entries += (receipt, index, len(piece), timestamp_ms)
            batch.size_bytes += size
            self.used_bytes += size
        return len(parts)


def accumulator(
    stamp: Stamp | None,
    limits: Limits,
    codec: Codec = Codec.NONE,
    closed: Callable[[str], None] = lambda topic: None,
    identity: Identity | None = None,
    backoff: Backoff = NO_PAUSE,
) -> Accumulator:
    """Return an accumulator, one that stamps records if there is a stamp."""
    if stamp is None:
        return Accumulator(limits, codec, closed, identity, backoff)
    return StampingAccumulator(stamp, limits, codec, closed, identity, backoff)
