"""Random keyed records, tombstones, passes of the cleaner and restarts against a dict."""

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

from kafkatx.records.batch import Record
from kafkatx.records.compression import Codec
from kafkatx.records.legacy.message_sets import build
from kafkatx.testing.contracts.partition_log import NOW_MS, TP
from tests.log.cleaner.logs import EAGER, Pair, cleaning_store, keyed, records_of
from tests.log.fakes import crash

KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"a key of more than thirty bytes, hashed"])
VALUES = st.one_of(st.none(), st.binary(min_size=1, max_size=30))
PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6)


class CompactionMachine(RuleBasedStateMachine):
    """A compacted log, and all records that were ever written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.path = tempfile.mkdtemp()
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.written: list[tuple[int, bytes | None, bytes | None]] = []
        self.times: list[int] = []
        self.start = 0
        self.sequence = 0
        self.last: tuple[bytes, int] | None = None
        self.config = EAGER
        self.memory_bytes = 0
        self.store: Any = None
        self.log: Any = None

    @property
    def now_ms(self) -> int:
        """Return the time."""
        return int(self.clock.seconds() * 1000)

    def result(self, deferred: Deferred[Any]) -> Any:
        """Return the result of a Deferred."""
        found: list[Any] = []
        deferred.addCallback(found.append)
        deferred.addErrback(lambda failure: failure.raiseException())
        return found[0]

    @initialize(
        segment_bytes=st.integers(100, 1500),
        index_interval_bytes=st.integers(1, 300),
        memory_bytes=st.sampled_from([1, 700, 1 << 20]),
    )
    def begin(self, segment_bytes: int, index_interval_bytes: int, memory_bytes: int) -> None:
        """Make the log."""
        self.config = attrs.evolve(
            EAGER,
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval_bytes,
            message_timestamp_after_max_ms=10**12,
        )
        self.memory_bytes = memory_bytes
        self._open()
        self.log = self.result(self.store.create(TP, uuid.uuid4(), self.config))

    def _open(self) -> None:
        self.store = cleaning_store(self.clock, self.path, memory_bytes=self.memory_bytes)
        self.result(self.store.open(lambda topic: self.config))
        self.log = self.store.logs.get(TP)

    def _note(self, base_offset: int, pairs: list[Pair]) -> None:
        self.log.write()
        for offset, (key, value) in enumerate(pairs, base_offset):
            assert offset == len(self.written)
            self.written.append((offset, key, value))
            self.times.append(self.now_ms)

    @rule(pairs=PAIRS, codec=st.sampled_from([Codec.NONE, Codec.NONE, Codec.ZSTD]), late=st.integers(0, 50))
    def append(self, pairs: list[Pair], codec: Codec, late: int) -> None:
        """Append a batch of an idempotent producer; the records' times go up and down."""
        times = [self.now_ms - late * (number % 3) for number in range(len(pairs))]
        sent = keyed(pairs, codec, (7, 0, self.sequence), times)
        appended = self.log.append(sent, 0, self.now_ms, True)
        assert not appended.error, appended
        self._note(appended.base_offset, pairs)
        self.last = sent, appended.base_offset
        self.sequence += len(pairs)

    @rule(pairs=PAIRS, magic=st.sampled_from([0, 1]), codec=st.sampled_from([Codec.NONE, Codec.GZIP]))
    def append_old(self, pairs: list[Pair], magic: int, codec: Codec) -> None:
        """Append a message set of magic 0 or 1."""
        time = self.now_ms if magic else -1
        records = [Record(number, time, key, value, []) for number, (key, value) in enumerate(pairs)]
        appended = self.log.append(build(records, magic, codec, 0), 0, self.now_ms, False)
        assert not appended.error, appended
        self._note(appended.base_offset, pairs)

    @rule()
    def resend(self) -> None:
        """Send the producer's last batch again, and check that it is known after any pass and restart."""
        if self.last is not None:
            sent, base_offset = self.last
            appended = self.log.append(sent, 0, self.now_ms, True)
            assert (appended.error, appended.base_offset) == (0, base_offset), appended

    @rule()
    def roll(self) -> None:
        """Close the active segment."""
        self.log.roll_if_due(self.now_ms + self.config.segment_ms + 10**12)

    @rule(seconds=st.floats(0, 1.2))
    def wait(self, seconds: float) -> None:
        """Advance the time; tombstones stay 1 s."""
        self.clock.advance(seconds)

    @rule()
    def clean(self) -> None:
        """Run passes until there is nothing to clean."""
        passes = 0
        while self.result(self.store.clean(self.now_ms)):
            passes += 1
            assert passes < 1000
        self._check_compacted()

    def _check_compacted(self) -> None:
        """Check that each key occurs once if all of the log but the active segment is clean."""
        active = self.log.segments[-1].base_offset
        assert self.log.first_dirty_offset == active or active == self.log.segments[0].base_offset
        keys = [key for offset, key, _ in records_of(self.log) if offset < active]
        assert len(keys) == len(set(keys)), keys

    @rule(fraction=st.floats(0, 0.5))
    def delete_records(self, fraction: float) -> None:
        """Move the log's start."""
        self.start += int((len(self.written) - self.start) * fraction)
        self.log.advance_log_start(self.start)

    @rule()
    def restart(self) -> None:
        """Close and open."""
        self.result(self.store.close())
        self._open()

    @rule()
    def kill(self) -> None:
        """Die and open."""
        crash(self.store)
        self._open()
        self.log.advance_log_start(self.start)

    @invariant()
    def nothing_lost(self) -> None:
        """Check that each key's last record is there, or an expired tombstone, and that others are true."""
        if self.log is None:
            return
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, len(self.written))
        found = records_of(self.log)
        offsets = [offset for offset, _, _ in found]
        assert offsets == sorted(set(offsets))
        assert all(record == self.written[record[0]] for record in found)
        last = {record[1]: record for record in self.written}
        for offset, _, value in last.values():
            vanished = offset >= self.start and offset not in offsets
            expired = value is None and self.now_ms - self.times[offset] >= self.config.delete_retention_ms
            assert not vanished or expired, (offset, value)
        for offset, key, _ in found:
            if offset < last[key][0]:
                # An older record of a key may be there only while its last one is, too.
                assert last[key][0] in offsets

    def teardown(self) -> None:
        """Close the store."""
        if self.store is not None:
            self.result(self.store.close())
        shutil.rmtree(self.path)


FEW = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


class ModelTests(SynchronousTestCase):
    """The log in files, compacted."""

    def test_compaction(self) -> None:
        """A reader gets each key's last value after any number of passes, restarts and kills."""
        run_state_machine_as_test(CompactionMachine, settings=FEW)
