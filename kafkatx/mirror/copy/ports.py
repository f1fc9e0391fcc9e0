"""The protocols by which streams, sources and the target know each other: tests give a stream others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.clientcore.consumer.record import Record
from kafkatx.mirror.copy.recovery import Recovered
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.mirror.core.tail import Copied
from kafkatx.types import TopicPartition


class StreamPort(Protocol):
    """A stream, as the target sees it.

    :ivar topic_id: of the source's topic; empty if it has none.
    :ivar target_place: the partition that it is copied to.
    :ivar producer_id: with which its batches are written.
    """

    id: StreamId
    topic_id: str
    target_place: TopicPartition
    producer_id: int


class SourcePort(Protocol):
    """The consumer that the streams of a source share."""

    async def first_offset(self, place: TopicPartition, again: bool) -> int:
        """Return where to begin with a partition: as the settings say, but at its first record if *again*.

        :param again: the target has lost what was copied before.
        """

    def begin(self, place: TopicPartition, offset: int) -> None:
        """Read a partition from an offset on, and pass its records to the stream."""

    def pause(self, place: TopicPartition) -> None:
        """Pass no records of a partition until :meth:`resume` or :meth:`begin`."""

    def resume(self, place: TopicPartition) -> None:
        """Pass records of a partition again."""

    def done(self, size: int) -> None:
        """Take back *size* bytes from those that count as queued."""


class TargetPort(Protocol):
    """The target that all streams share.

    :ivar cluster_id: of the target.
    """

    cluster_id: str
    reactor: IReactorTime

    async def recover(self, stream: StreamPort) -> Recovered:
        """Find out where a stream goes on."""

    async def note(self, stream: StreamPort, position: Position) -> None:
        """Keep where a stream begins, before anything of it is copied."""

    def copied(self, stream: StreamPort, sources: Sequence[int], target: int) -> None:
        """Keep the pairs of offsets of copies, which follow each other from *target* on."""

    def counted(self, stream: StreamPort, start: int, end: int, records: Sequence[Record]) -> None:
        """Count copied records for the audit.

        :param start: the first source offset that they are about; *end* is exclusive. Those in between that
            have no record here were left out, or the source has none.
        """

    async def admit(self, size: int) -> None:
        """Wait until the rate allows *size* bytes more."""

    def append(self, place: TopicPartition, batch: bytes) -> Deferred[int]:
        """Append a batch; see :meth:`kafkatx.mirror.copy.appender.Appender.append`."""

    async def read_back(self, stream: StreamPort, offset: int) -> list[Copied]:
        """Return the copies in the batch at an offset of the target's log."""
