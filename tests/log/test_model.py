"""Random operations on each store against a list of records."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from typing import Any

import attrs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.records.conversion import batches, iter_any
from kafkatx.testing.contracts.partition_log import ALL, NOW_MS, TP, batch, bytes_of
from tests.log.fakes import crash, file_store, memory_store

VALUES = st.lists(st.binary(max_size=40), min_size=1, max_size=5)


@attrs.frozen
class Kept:
    """A record of the model, and the offsets of its batch."""

    offset: int
    value: bytes
    time: int
    epoch: int
    batch_start: int


class LogMachine(RuleBasedStateMachine):
    """A log and its expected content."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.config = LogConfig()
        self.model: list[Kept] = []
        self.end = 0
        self.start = 0
        self.epoch = 0
        self.producer = 7
        self.sequence = 0
        self.last: tuple[bytes, int] | None = None
        self.staged: list[Kept] = []
        self.store: Any = None
        self.log: Any = None

    def result(self, deferred: Deferred[Any]) -> Any:
        """Return the result of a Deferred."""
        found: list[Any] = []
        deferred.addCallback(found.append)
        deferred.addErrback(lambda failure: failure.raiseException())
        return found[0]

    def make_store(self) -> Any:
        """Return the store under test."""
        raise NotImplementedError

    @initialize(
        segment_bytes=st.integers(80, 2000),
        index_interval_bytes=st.integers(1, 500),
        compressed=st.booleans(),
    )
    def begin(self, segment_bytes: int, index_interval_bytes: int, compressed: bool) -> None:
        """Make the log."""
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval_bytes,
            compression_type="gzip" if compressed else "producer",
            message_timestamp_after_max_ms=10**12,
        )
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: self.config))
        self.log = self.result(self.store.create(TP, uuid.uuid4(), self.config))

    @rule(values=VALUES, times=st.lists(st.integers(0, 1000), min_size=5, max_size=5))
    def append(self, values: list[bytes], times: list[int]) -> None:
        """Stage a batch of an idempotent producer, then send it again."""
        times = times[: len(values)]
        sent = batch(values, times, producer=(self.producer, 0, self.sequence))
        start = self.end + len(self.staged)
        for _ in range(2):
            appended = self.log.append(memoryview(sent), self.epoch, NOW_MS, True)
            assert (appended.error, appended.base_offset) == (0, start), appended
        self.sequence += len(values)
        self.last = sent, start
        for index, (value, time) in enumerate(zip(values, times, strict=True)):
            self.staged.append(Kept(start + index, value, time, self.epoch, start))

    @rule()
    def write(self) -> None:
        """Write the staged batches."""
        self.log.write()
        self.model += self.staged
        self.end += len(self.staged)
        self.staged = []

    @precondition(lambda self: self.last is not None)
    @rule()
    def resend(self) -> None:
        """Send the producer's last batch again, and check that it is known even after a restart."""
        assert self.last is not None
        sent, start = self.last
        appended = self.log.append(sent, self.epoch, NOW_MS, True)
        assert (appended.error, appended.base_offset) == (0, start), appended

    @rule()
    def new_leader(self) -> None:
        """Begin another leader epoch."""
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        """Close the active segment, whatever its size."""
        self.log.roll_if_due(NOW_MS * 3)

    @precondition(lambda self: not self.staged)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        """Truncate at the start of some batch."""
        starts = sorted(
            {kept.batch_start for kept in self.model if kept.batch_start >= self.start} | {self.end}
        )
        offset = data.draw(st.sampled_from(starts))
        self.log.truncate_to(offset)
        self.model = [kept for kept in self.model if kept.offset < offset]
        self.end = offset
        self.producer += 1
        self.sequence = 0
        self.last = None

    @rule(fraction=st.floats(0, 1))
    def delete_records(self, fraction: float) -> None:
        """Move the log's start."""
        self.start = self.start + int((self.end - self.start) * fraction)
        self.log.advance_log_start(self.start)

    @rule(cut_files=st.integers(0, 3000))
    def retain(self, cut_files: int) -> None:
        """Run retention by size."""
        self.log.configure(attrs.evolve(self.config, retention_bytes=cut_files, retention_ms=-1))
        self.log.retain(NOW_MS)
        assert self.log.log_start_offset >= self.start
        assert self.start == self.log.log_start_offset or self.log.size_bytes >= cut_files
        self.start = self.log.log_start_offset

    @rule(fraction=st.floats(0, 1), max_bytes=st.integers(0, 2000), limit=st.floats(0, 1))
    def read(self, fraction: float, max_bytes: int, limit: float) -> None:
        """Read a part, and check that it begins with the batch of the offset and has no gaps."""
        offset = self.start + int((self.end - self.start) * fraction)
        end_offset = offset + int((self.end - offset) * limit)
        found = bytes_of(self.log.read(offset, max_bytes, end_offset, True))
        records = [(one.offset, one.value, one.timestamp) for one in iter_any(found)]
        readable = [kept for kept in self.model if kept.offset >= offset]
        if not records:
            assert not readable or readable[0].batch_start + self._batch_size(readable[0]) > end_offset
            return
        assert records[0][0] == readable[0].batch_start
        assert records[-1][0] < end_offset
        expected = [(k.offset, k.value, k.time) for k in self.model if k.offset >= records[0][0]]
        assert [one for one in records if one[0] >= offset] == [
            one for one in expected[: len(records)] if one[0] >= offset
        ]
        assert len(found) <= max_bytes or len(list(batches(found))) == 1

    def _batch_size(self, kept: Kept) -> int:
        return sum(one.batch_start == kept.batch_start for one in self.model)

    @rule(time=st.integers(0, 1001))
    def find_time(self, time: int) -> None:
        """Look a time up."""
        match = next((k for k in self.model if k.offset >= self.start and k.time >= time), None)
        expected = None if match is None else (match.offset, match.time, match.epoch)
        assert self.result(self.log.offset_for_timestamp(time)) == expected

    @rule()
    def find_newest(self) -> None:
        """Look the largest time up; of several equal ones in different batches any may be given."""
        found = self.result(self.log.max_timestamp())
        readable = [kept for kept in self.model if kept.offset >= self.start]
        if not readable:
            assert found is None
            return
        newest = max(kept.time for kept in readable)
        assert found in [(kept.offset, newest, kept.epoch) for kept in readable if kept.time == newest]

    @invariant()
    def same_content(self) -> None:
        """Check that the log holds the model's records."""
        if self.log is None:
            return
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        found: list[tuple[int, bytes | None]] = []
        at = self.start
        while at < self.end:
            data = bytes_of(self.log.read(at, ALL, self.end, True))
            found += [(one.offset, one.value) for one in iter_any(data)]
            at = found[-1][0] + 1
        expected = [(kept.offset, kept.value) for kept in self.model if kept.offset >= self.start]
        assert [one for one in found if one[0] >= self.start] == expected
        for kept in self.model:
            if kept.offset >= self.start:
                assert self.log.epoch_at(kept.offset) == kept.epoch

    def teardown(self) -> None:
        """Close the store."""
        if self.store is not None:
            self.result(self.store.close())


class MemoryMachine(LogMachine):
    """In memory."""

    def make_store(self) -> Any:
        """Return a store in memory."""
        return memory_store(self.clock)


class FileMachine(LogMachine):
    """In files, with restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.path = tempfile.mkdtemp()

    def make_store(self) -> Any:
        """Return a store in the machine's dir."""
        return file_store(self.clock, self.path)

    def _reopen(self) -> None:
        self.sequence -= len(self.staged)
        if self.staged:
            self.staged, self.last = [], None
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: self.config))
        self.log = self.store.logs[TP]

    @rule()
    def restart(self) -> None:
        """Close and open."""
        self.result(self.store.close())
        self._reopen()

    @rule(checkpoint=st.booleans())
    def kill(self, checkpoint: bool) -> None:
        """Die and open; the log's start is what the last checkpoint says, at least."""
        if checkpoint:
            self.result(self.store.checkpoint())
        crash(self.store)
        self._reopen()
        assert self.log.log_start_offset <= self.start
        assert not checkpoint or self.log.log_start_offset == self.start
        self.log.advance_log_start(self.start)

    @rule()
    def flush(self) -> None:
        """Sync."""
        assert self.result(self.log.flush()) == self.end

    def teardown(self) -> None:
        """Remove the dir, too."""
        super().teardown()
        shutil.rmtree(self.path)


FEW = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


class ModelTests(SynchronousTestCase):
    """Each store does what a list would do."""

    def test_memory(self) -> None:
        """The log in memory."""
        run_state_machine_as_test(MemoryMachine, settings=FEW)

    def test_files(self) -> None:
        """The log in files, through clean restarts and crashes."""
        run_state_machine_as_test(FileMachine, settings=FEW)
