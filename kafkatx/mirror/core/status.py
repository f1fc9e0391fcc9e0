"""The status of a mirror's streams, and what is said of it. Pure."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable

import attrs

from kafkatx.mirror.core.provenance import StreamId
from kafkatx.names import counted

SHOWN_FAILURES = 5


class State(enum.Enum):
    """The state of a stream."""

    STARTING = "starting"
    COPYING = "copying"
    FAILED = "failed"


@attrs.define(eq=False)
class StreamStatus:
    """One partition of a source.

    :ivar source_next: the next source offset; -1 while it is not known. *target_next* likewise.
    :ivar source_end: end of the source's log, as far as a consumer sees it; -1: not known.
    :ivar records: copied since the start; *bytes* likewise, as written.
    :ivar filtered: records that the filter has left out.
    :ivar cycled: records that came from the target.
    :ivar deleted: offsets that the source had deleted before they were copied.
    :ivar conflicts: how often something else was appended to the target's log.
    :ivar time_ms: timestamp of the last copied record; -1: none.
    """

    stream: StreamId
    state: State = State.STARTING
    failure: str = ""
    source_next: int = -1
    target_next: int = -1
    source_end: int = -1
    records: int = 0
    bytes: int = 0
    filtered: int = 0
    cycled: int = 0
    deleted: int = 0
    conflicts: int = 0
    time_ms: int = -1

    @property
    def lag(self) -> int:
        """Offsets at the source that are not copied yet; -1: not known."""
        if self.source_end < 0 or self.source_next < 0:
            return -1
        return max(0, self.source_end - self.source_next)


@attrs.frozen
class Totals:
    """Sums over streams; ``lag`` counts those that are known."""

    partitions: int
    copying: int
    failed: int
    records: int
    bytes: int
    filtered: int
    cycled: int
    deleted: int
    lag: int

    @classmethod
    def of(cls, streams: Collection[StreamStatus]) -> Totals:
        """Add up."""
        return cls(
            len(streams),
            sum(one.state is State.COPYING for one in streams),
            sum(one.state is State.FAILED for one in streams),
            sum(one.records for one in streams),
            sum(one.bytes for one in streams),
            sum(one.filtered for one in streams),
            sum(one.cycled for one in streams),
            sum(one.deleted for one in streams),
            sum(max(0, one.lag) for one in streams),
        )

    def line(self) -> str:
        """Return a line for a log."""
        parts = [
            f"{counted(self.records, 'record')} ({_bytes(self.bytes)}) copied",
            f"{self.lag} behind",
            f"{self.copying} of {counted(self.partitions, 'partition')}",
        ]
        for count, what in (
            (self.filtered, "left out by the filter"),
            (self.cycled, "left out because they came from the target"),
            (self.deleted, "deleted at the source before they were copied"),
            (self.failed, "partitions failed"),
        ):
            if count:
                parts.append(f"{count} {what}")
        return ", ".join(parts)


def failures(streams: Iterable[StreamStatus]) -> list[str]:
    """Return a line for each of the first failed streams, and one for the others."""
    failed = [one for one in streams if one.state is State.FAILED]
    lines = [f"{one.stream} is not copied: {one.failure}" for one in failed[:SHOWN_FAILURES]]
    if len(failed) > SHOWN_FAILURES:
        lines.append(f"and {counted(len(failed) - SHOWN_FAILURES, 'partition')} more")
    return lines


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
