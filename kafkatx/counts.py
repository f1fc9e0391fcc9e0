"""Counts that metrics are made of: plain integers that are incremented where the work is done. Pure.

They only grow while their owner lives. Each is incremented once for a write, a sync, or a partition of a
fetch, never for a record; :mod:`kafkatx.broker.metrics` reads them when it is asked.
"""

from __future__ import annotations


class WriteCounts:
    """Counts of what was written to one log since it was opened.

    :ivar writes: calls that wrote staged batches.
    :ivar records: records by their offsets, so that the gaps of compacted batches count, too.
    :ivar followed_batches: batches, of a leader or of the source of a mirror, that were staged to be written
        as they were; ``followed_records`` and ``followed_bytes`` belong to them.
    :ivar syncs: syncs to the disk; ``sync_s`` is the time that they have taken, in seconds.
    """

    __slots__ = (
        "batches",
        "bytes",
        "followed_batches",
        "followed_bytes",
        "followed_records",
        "records",
        "sync_s",
        "syncs",
        "writes",
    )

    def __init__(self) -> None:
        self.writes = self.batches = self.records = self.bytes = 0
        self.followed_batches = self.followed_records = self.followed_bytes = 0
        self.syncs = 0
        self.sync_s = 0.0


class PartitionCounts:
    """Counts of what clients have asked of one partition since this broker has it.

    :ivar fetches: fetch requests of clients that named it; ``failed_fetches`` of them got an error.
    :ivar bytes_out: bytes of records in the replies to clients.
    :ivar replica_bytes_out: bytes of records in the replies to followers.
    :ivar failed_produces: produce requests of which the part of this partition was refused.
    """

    __slots__ = ("bytes_out", "failed_fetches", "failed_produces", "fetches", "replica_bytes_out")

    def __init__(self) -> None:
        self.fetches = self.failed_fetches = self.failed_produces = 0
        self.bytes_out = self.replica_bytes_out = 0


class RequestCounts:
    """Counts of the requests for one version of one API at one listener.

    :ivar requests: those that were understood.
    :ivar refused: those that were refused as a whole, by error code.
    """

    __slots__ = ("listener", "name", "refused", "requests", "version")

    def __init__(self, name: str, version: int, listener: str) -> None:
        self.name = name
        self.version = version
        self.listener = listener
        self.requests = 0
        self.refused: dict[int, int] = {}

    def refuse(self, code: int) -> None:
        """Count a request that is refused."""
        self.refused[code] = self.refused.get(code, 0) + 1
