"""Random transactions of several producers, cuts, failed writes, passes of the cleaner, restarts and kills.

After each step the log is compared with a list of all batches: open transactions, aborted ones, the last
stable offset, and what a reader of committed records gets.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from typing import Any

import attrs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.cleaner.clean import clean
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec
from kafkatx.records.control import build_marker
from kafkatx.testing.contracts.log_replication import at_offset, whole
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, find_retention
from kafkatx.types import Marker
from tests.log.cleaner.logs import COMPACT, CleanerSettings
from tests.log.fakes import FailingFiles, at_once, crash, memory_store
from tests.log.transactions.oracle import aborted_of, open_transactions, outcomes, read_committed

PRODUCERS = (1, 2, 3)
EVERY_KEY = [b"a", b"b", b"c"]
CONFIG = LogConfig(
    index_interval_bytes=100,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1000,
    message_timestamp_after_max_ms=10**12,
    producer_id_expiration_ms=10**12,
)


@attrs.define
class Written:
    """A batch that was written; *outcome* is None while its transaction is open."""

    base_offset: int
    last_offset: int
    producer_id: int
    data: bytes
    pairs: list[tuple[bytes, bytes | None]]
    is_marker: bool = False
    outcome: bool | None = True


class TransactionMachine(RuleBasedStateMachine):
    """A log that leads and follows in turn, and all batches that it should have."""

    policy: frozenset[str] = frozenset({"delete"})
    durable = True

    def __init__(self) -> None:
        super().__init__()
        self.path = tempfile.mkdtemp()
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.files = FailingFiles()
        self.batches: list[Written] = []
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.end = self.start = self.high_watermark = self.restarted_at = 0
        self.number = 0
        self.times: dict[int, int] = {}
        self.decided: dict[int, bool] = {}
        self.config = CONFIG
        self.store: Any = None
        self.log: Any = None

    def result(self, deferred: Deferred[Any]) -> Any:
        """Return the result of a Deferred."""
        found: list[Any] = []
        deferred.addCallback(found.append)
        deferred.addErrback(lambda failure: failure.raiseException())
        return found[0]

    def _open(self) -> None:
        if self.durable:
            where = CleanerSettings(self.path)
            self.store = FileLogStore(where, at_once, self.clock, find_retention, self.files, clean)
        else:
            self.store = memory_store(self.clock)
        self.result(self.store.open(lambda topic: self.config))
        self.log = self.store.logs.get(TP)
        if self.log is not None:
            self.log.deletable_end = self.high_watermark

    @initialize(segment_bytes=st.integers(150, 1200))
    def begin(self, segment_bytes: int) -> None:
        """Make the log."""
        self.config = attrs.evolve(CONFIG, segment_bytes=segment_bytes, cleanup_policy=self.policy)
        self._open()
        self.log = self.result(self.store.create(TP, uuid.uuid4(), self.config))
        self.log.deletable_end = 0

    # --- writing

    def _in_transaction(self, producer_id: int) -> bool:
        return self._is_open(self.batches, producer_id)

    def _write(self, sent: bytes, follow: bool) -> bool:
        """Write a batch, as leader or as follower; return False if the disk is full."""
        if follow:
            self.log.append_as_follower(at_offset(sent, self.end, 1), 1)
        else:
            appended = self.log.append(sent, 1, self._now_ms(), True, None, True)
            assert (appended.error, appended.base_offset) == (0, self.end), appended
        return self._written()

    def _written(self) -> bool:
        try:
            self.log.write()
        except OSError:
            self.files.bytes_left = None
            return False
        finally:
            self.files.bytes_left = None
        return True

    def _now_ms(self) -> int:
        return int(self.clock.seconds() * 1000)

    @rule(
        producer_id=st.sampled_from(PRODUCERS),
        keys=st.lists(st.sampled_from(EVERY_KEY), min_size=1, max_size=3),
        codec=st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP]),
        transactional=st.sampled_from([True, True, False]),
        null=st.booleans(),
        follow=st.booleans(),
    )
    def append(
        self, producer_id: int, keys: list[bytes], codec: Codec, transactional: bool, null: bool, follow: bool
    ) -> None:
        """Append a batch of a transaction, or one outside of it where there is none."""
        if producer_id in self.decided:
            return  # the coordinator has ended the transaction, and only its marker can follow
        transactional = transactional or self._in_transaction(producer_id)
        builder = BatchBuilder(codec, producer_id, 0, self.sequences[producer_id], transactional)
        pairs: list[tuple[bytes, bytes | None]] = []
        for key in keys:
            self.number += 1
            pairs.append((key, None if null else b"%d" % self.number * 4))
            builder.append(*pairs[-1], self._now_ms())
        sent = builder.build()
        if self._write(sent, follow):
            self.sequences[producer_id] += len(keys)
            last = self.end + len(keys) - 1
            outcome = None if transactional else True
            self.batches.append(Written(self.end, last, producer_id, sent, pairs, outcome=outcome))
            for offset in range(self.end, last + 1):
                self.times[offset] = self._now_ms()
            self.end = last + 1

    @rule(producer_id=st.sampled_from(PRODUCERS), committed=st.booleans(), follow=st.booleans())
    def end_transaction(self, producer_id: int, committed: bool, follow: bool) -> None:
        """Append a marker, also of a producer without a transaction; one that was cut is repeated."""
        committed = self.decided.get(producer_id, committed)
        marker = Marker(committed, 1)
        sent = build_marker(producer_id, 0, marker, self._now_ms())
        if follow:
            written = self._write(sent, True)
        else:
            assert not self.log.append_marker(producer_id, 0, marker, 1, self._now_ms()).error
            written = self._written()
        if written:
            self.decided.pop(producer_id, None)
            for one in self.batches:
                if one.producer_id == producer_id and one.outcome is None:
                    one.outcome = committed
            self.batches.append(Written(self.end, self.end, producer_id, sent, [], True, committed))
            self.end += 1

    @rule(bytes_left=st.integers(0, 200))
    def fill_the_disk(self, bytes_left: int) -> None:
        """Make the next write fail after some bytes."""
        if self.durable:
            self.files.bytes_left = bytes_left

    @rule(fraction=st.floats(0, 1))
    def commit(self, fraction: float) -> None:
        """Move the high watermark."""
        ends = [one.last_offset + 1 for one in self.batches if one.last_offset >= self.high_watermark]
        self.high_watermark = [self.high_watermark, *ends][int(len(ends) * fraction)]
        self.log.deletable_end = self.high_watermark

    @rule()
    def flush(self) -> None:
        """Flush."""
        self.files.bytes_left = None
        self.result(self.log.flush())

    @rule()
    def roll(self) -> None:
        """Close the active segment."""
        self.files.bytes_left = None
        self.log.roll_if_due(self._now_ms() + self.config.segment_ms + 10**12)

    @rule(seconds=st.floats(0, 1.2))
    def wait(self, seconds: float) -> None:
        """Advance the time."""
        self.clock.advance(seconds)

    # --- cuts

    @rule(fraction=st.floats(0, 1))
    def truncate(self, fraction: float) -> None:
        """Cut the log at the high watermark or above."""
        self.files.bytes_left = None
        offset = self.high_watermark + int((self.end - self.high_watermark) * fraction)
        kept = [one for one in self.batches if one.last_offset < offset]
        offset = max([self.high_watermark, *(one.last_offset + 1 for one in kept)])
        for marker in self.batches[len(kept) :]:
            if marker.is_marker:
                for one in self._of_transaction(marker):
                    one.outcome = None
                    self.decided[one.producer_id] = bool(marker.outcome)
        self.decided = {key: outcome for key, outcome in self.decided.items() if self._is_open(kept, key)}
        self.batches, self.end, self.restarted_at = kept, offset, min(self.restarted_at, offset)
        self.log.truncate_to(offset)
        for producer_id in PRODUCERS:
            self.sequences[producer_id] = sum(
                len(one.pairs) for one in kept if one.producer_id == producer_id
            )

    @staticmethod
    def _is_open(batches: list[Written], producer_id: int) -> bool:
        return any(one.producer_id == producer_id and one.outcome is None for one in batches)

    def _of_transaction(self, marker: Written) -> list[Written]:
        """Return the batches of the transaction that a marker ends."""
        found: list[Written] = []
        for one in self.batches:
            if one is marker:
                return found
            if one.producer_id == marker.producer_id:
                is_plain = not one.data[22] & 0x10
                found = [] if one.is_marker or is_plain else [*found, one]
        return []

    @rule(fraction=st.floats(0, 0.6))
    def delete_records(self, fraction: float) -> None:
        """Move the log's start, also past open transactions."""
        self.files.bytes_left = None
        if "delete" in self.policy:
            self.start += int((self.high_watermark - self.start) * fraction)
            self.log.advance_log_start(self.start)

    @rule()
    def clean(self) -> None:
        """Run passes until there is nothing to clean."""
        self.files.bytes_left = None
        if "compact" in self.policy:
            passes = 0
            while self.result(self.store.clean(self._now_ms())):
                passes += 1
                assert passes < 1000

    # --- restarts

    @rule()
    def restart(self) -> None:
        """Close and open."""
        self.files.bytes_left = None
        if self.durable:
            self.result(self.store.close())
            self._open()
            self.restarted_at = self.end

    @rule()
    def kill(self) -> None:
        """Die and open."""
        self.files.bytes_left = None
        if self.durable:
            crash(self.store)
            self._open()
            self.restarted_at = self.end
            self.log.advance_log_start(self.start)

    # --- what must be true

    @invariant()
    def known(self) -> None:
        """Check open and aborted transactions, and the last stable offset."""
        if self.log is None:
            return
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        expected = outcomes(b"".join(at_offset(one.data, one.base_offset) for one in self.batches))
        # Where it begins before the log's start is of no use, and not always known.
        found, wanted = (
            {key: max(first, self.start) for key, first in known.items()}
            for known in (open_transactions(log), expected.open)
        )
        assert found == wanted, (found, wanted)
        # After a restart the log need not know whether the last markers were committed.
        least, most = (
            expected.last_stable_offset(self.high_watermark, self.start, known_from)
            for known_from in (0, self.restarted_at)
        )
        stable = log.last_stable_offset(self.high_watermark)
        assert least <= stable <= most, (least, stable, most)
        if "compact" not in self.policy:
            listed = {(one[0], one[1]) for one in expected.aborted if one[1] >= self.start}
            assert listed <= set(aborted_of(log)), (listed, aborted_of(log))
            assert outcomes(whole(log)) == expected or self.start
        self._check_reader(stable)

    def _check_reader(self, stable: int) -> None:
        """Check what a reader of committed records gets."""
        expected = {
            offset: (offset, *pair)
            for one in self.batches
            if one.outcome
            for offset, pair in enumerate(one.pairs, one.base_offset)
            if self.start <= offset < stable
        }
        found = read_committed(self.log, self.high_watermark)
        if "compact" not in self.policy:
            assert found == list(expected.values()), (found, expected)
            return
        assert all(expected.get(one[0]) == one for one in found), (found, expected)
        offsets = {one[0] for one in found}
        for offset, _, value in {key: one for one in expected.values() for key in [one[1]]}.values():
            late = value is None and self._now_ms() - self.times[offset] >= self.config.delete_retention_ms
            assert offset in offsets or late, (offset, found)

    def teardown(self) -> None:
        """Close the store."""
        self.files.bytes_left = None
        if self.store is not None:
            self.result(self.store.close())
        shutil.rmtree(self.path)


class CompactedMachine(TransactionMachine):
    """The same with the cleaner."""

    policy = COMPACT


class MemoryMachine(TransactionMachine):
    """The same in memory."""

    durable = False


FEW = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


class ModelTests(SynchronousTestCase):
    """Logs with transactions."""

    def test_files(self) -> None:
        """A log in files knows its transactions after cuts, failed writes, restarts and kills."""
        run_state_machine_as_test(TransactionMachine, settings=FEW)

    def test_compacted(self) -> None:
        """Passes remove records of aborted transactions only, and leave the outcomes of others."""
        run_state_machine_as_test(CompactedMachine, settings=FEW)

    def test_memory(self) -> None:
        """A log in memory knows its transactions after cuts."""
        run_state_machine_as_test(MemoryMachine, settings=FEW)
