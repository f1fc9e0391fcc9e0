"""The log of one partition of a source, as a list of batches. Pure."""

from __future__ import annotations

import struct

from attrs import define, field

from kafkatx.records.builder import build_values

TIME_MS = 1_700_000_000_000


@define
class SourceLog:
    """A log with leader epochs, of which leaders come and go.

    :ivar leader: the id of its leader; -1: none.
    :ivar start: the log start offset.
    :ivar batches: base offset, last offset, leader epoch and bytes of each batch.
    :ivar epochs: leader epochs and the offsets where they begin.
    :ivar high_watermark: consumers get what is below it.
    """

    leader: int = 1
    leader_epoch: int = 0
    start: int = 0
    end: int = 0
    high_watermark: int = 0
    batches: list[tuple[int, int, int, bytes]] = field(factory=list)
    epochs: list[tuple[int, int]] = field(factory=lambda: [(0, 0)])

    def add(self, *values: bytes, commit: bool = True) -> bytes:
        """Append a batch of values; return its bytes."""
        return self.add_batch(build_values(values, TIME_MS), commit)

    def add_batch(self, records: bytes, commit: bool = True) -> bytes:
        """Append a batch, whatever its offset and epoch were; return its bytes."""
        data = bytearray(records)
        struct.pack_into(">q", data, 0, self.end)
        struct.pack_into(">i", data, 12, self.leader_epoch)
        last = self.end + int.from_bytes(data[23:27], "big")
        self.batches.append((self.end, last, self.leader_epoch, bytes(data)))
        self.end = last + 1
        if commit:
            self.high_watermark = self.end
        return bytes(data)

    def commit(self) -> None:
        """Commit all."""
        self.high_watermark = self.end

    def skip(self, count: int) -> None:
        """Leave a gap, as compaction does."""
        self.end += count
        self.high_watermark = self.end

    def elect(self, leader: int = 1) -> None:
        """Give the partition a leader, in the next leader epoch."""
        self.leader = leader
        self.leader_epoch += 1
        self.epochs.append((self.leader_epoch, self.end))

    def lose(self, offset: int, leader: int = 1) -> None:
        """Elect a leader that lacks the records from an offset on, also committed ones (unclean)."""
        self.batches = [batch for batch in self.batches if batch[1] < offset]
        self.epochs = [epoch for epoch in self.epochs if epoch[1] < offset]
        self.end = self.batches[-1][1] + 1 if self.batches else self.start
        self.high_watermark = min(self.high_watermark, self.end)
        self.elect(leader)

    def delete_below(self, offset: int) -> None:
        """Delete records, as retention does."""
        self.start = max(self.start, offset)
        self.batches = [batch for batch in self.batches if batch[1] >= offset]
        before = [epoch for epoch in self.epochs if epoch[1] <= self.start]
        after = [epoch for epoch in self.epochs if epoch[1] > self.start]
        self.epochs = [*((epoch, self.start) for epoch, _ in before[-1:]), *after]

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch not above one, and its end; as Apache Kafka's ``LeaderEpochFileCache``."""
        if not self.epochs or epoch < 0:
            return -1, -1
        if epoch == self.epochs[-1][0]:
            return epoch, self.end
        above = [each for each in self.epochs if each[0] > epoch]
        below = [each for each in self.epochs if each[0] <= epoch]
        if not above:
            return -1, -1
        return below[-1][0] if below else epoch, above[0][1]

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return whole committed batches from the one with an offset on, at least one."""
        data = b""
        for _, last, _, batch in self.batches:
            if offset > last:
                continue
            if last >= self.high_watermark or (data and len(data) + len(batch) > max_bytes):
                break
            data += batch
        return data

    @property
    def committed(self) -> bytes:
        """The bytes of all batches that consumers can read."""
        return b"".join(data for _, last, _, data in self.batches if last < self.high_watermark)
