"""Random operations on the logs of two replicas against lists of batches: copies are identical.

Each replica leads at times, so that the logs diverge; the other cuts and fetches as a follower does (without
a network), and has its leader's bytes when it has caught up.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from typing import Any

import attrs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.records.batch import parse_header
from kafkatx.testing.contracts.log_replication import at_offset, whole
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch, bytes_of
from tests.log.fakes import crash, file_store, memory_store

CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100, retention_policy="time", retention_ms=1)


@attrs.define
class Replica:
    """A log and what it must hold.

    :ivar batches: every batch of the log, as bytes.
    :ivar epochs: leader epochs and their start offsets.
    """

    store: Any
    log: Any
    path: str | None
    batches: list[bytes] = attrs.field(factory=list)
    epochs: list[tuple[int, int]] = attrs.field(factory=list)
    start: int = 0
    end: int = 0

    @property
    def latest(self) -> int:
        """The latest leader epoch."""
        return self.epochs[-1][0] if self.epochs else -1

    def begin_epoch(self, epoch: int) -> None:
        """Note an epoch at the end."""
        if epoch > self.latest:
            self.epochs = [entry for entry in self.epochs if entry[1] < self.end] + [(epoch, self.end)]

    def add(self, data: bytes) -> None:
        """Add a batch."""
        header = parse_header(data)
        if header.partition_leader_epoch > self.latest:
            kept = [entry for entry in self.epochs if entry[1] < header.base_offset]
            self.epochs = [*kept, (header.partition_leader_epoch, header.base_offset)]
        self.batches.append(data)
        self.end = header.last_offset + 1

    def cut(self, offset: int) -> None:
        """Remove what begins or ends at an offset or later."""
        self.batches = [data for data in self.batches if parse_header(data).last_offset < offset]
        self.end = min(self.end, offset)
        self.start = min(self.start, self.end)
        self.epochs = [entry for entry in self.epochs if entry[1] < self.end]

    def advance(self, offset: int) -> None:
        """Move the start; the epoch that holds it begins there, as in Kafka's cache."""
        self.start = offset
        before = [entry for entry in self.epochs if entry[1] <= offset]
        if before:
            self.epochs = [(before[-1][0], offset), *self.epochs[len(before) :]]

    def restart(self, offset: int) -> None:
        """Begin anew."""
        self.batches, self.epochs, self.start, self.end = [], [], offset, offset

    def readable(self) -> list[bytes]:
        """Return the batches from the log's start on."""
        return [data for data in self.batches if parse_header(data).last_offset >= self.start]

    def check(self) -> None:
        """Compare the log with the lists."""
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        readable = self.readable()
        assert whole(log) == b"".join(readable)
        assert log.latest_epoch == self.latest, (log.latest_epoch, self.epochs)
        for data in readable:
            header = parse_header(data)
            assert log.epoch_at(header.last_offset) == header.partition_leader_epoch
        for number, (epoch, start) in enumerate(self.epochs):
            if start >= self.start:
                following = [*self.epochs[number + 1 :], (0, self.end)]
                assert log.end_offset_for_epoch(epoch) == (epoch, following[0][1])
        last = {header.producer_id: header for header in map(parse_header, readable)}
        known = {one.producer_id: one.last_sequence for one in log.active_producers()}
        last.pop(-1, None)
        for producer_id, header in last.items():
            assert known[producer_id] == header.base_sequence + header.last_offset_delta


class ReplicationMachine(RuleBasedStateMachine):
    """Two replicas: the first in ``replicas`` leads."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.epoch = 0
        self.sequences = [0, 0, 0]
        self.topic_id = uuid.uuid4()
        self.replicas = [self.make(), self.make()]
        self.lead()

    def make(self) -> Replica:
        """Return a replica without records."""
        path = tempfile.mkdtemp()
        replica = Replica(self.open(path), None, path)
        replica.log = self.result(replica.store.create(TP, self.topic_id, CONFIG))
        return replica

    def open(self, path: str) -> Any:
        """Return an open store over a dir."""
        store = file_store(self.clock, path)
        self.result(store.open(lambda topic: CONFIG))
        return store

    def result(self, deferred: Deferred[Any]) -> Any:
        """Return the result of a Deferred."""
        found: list[Any] = []
        deferred.addCallback(found.append)
        deferred.addErrback(lambda failure: failure.raiseException())
        return found[0]

    @property
    def leader(self) -> Replica:
        """The leader."""
        return self.replicas[0]

    @property
    def follower(self) -> Replica:
        """The follower."""
        return self.replicas[1]

    def lead(self) -> None:
        """Begin an epoch with the first replica as leader."""
        self.epoch += 1
        self.leader.log.begin_epoch(self.epoch)
        self.leader.begin_epoch(self.epoch)

    # --- the leader

    @rule(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), producer=st.integers(0, 2))
    def produce(self, sizes: list[int], producer: int) -> None:
        """Write batches of an idempotent producer, whose epoch rises when its leader has lost some."""
        leader = self.leader
        for count in sizes:
            self.sequences[producer] += 1
            sent = batch([b"%d" % self.epoch * 9] * count, producer=(producer, self.sequences[producer], 0))
            base_offset = leader.log.append(sent, self.epoch, NOW_MS, True).base_offset
            leader.add(at_offset(sent, base_offset, self.epoch))
        leader.log.write()

    @precondition(lambda self: self.leader.epochs[-1][1] < self.leader.end)
    @rule(gap=st.integers(1, 5))
    def compacted(self, gap: int) -> None:
        """Append a batch with a gap before it to the leader."""
        data = at_offset(batch([b"gap"]), self.leader.end + gap, self.epoch)
        self.leader.log.append_as_follower(data, self.epoch)
        self.leader.log.write()
        self.leader.add(data)

    @rule(back=st.integers(0, 6))
    def delete_records(self, back: int) -> None:
        """Delete the leader's first records, perhaps all."""
        leader = self.leader
        offset = max(leader.end - back, leader.start)
        if offset > leader.start:
            leader.log.advance_log_start(offset)
            leader.advance(offset)

    @rule(back=st.integers(0, 12), which=st.integers(0, 1))
    def retain(self, back: int, which: int) -> None:
        """Delete all segments that may be deleted."""
        replica = self.replicas[which]
        replica.log.deletable_end = replica.end - back
        replica.log.retain(NOW_MS + 10**6)
        if replica.log.log_start_offset != replica.start:
            assert replica.start < replica.log.log_start_offset <= replica.end - back
            replica.advance(replica.log.log_start_offset)

    # --- the follower

    @rule(max_bytes=st.integers(1, 900))
    def fetch(self, max_bytes: int) -> None:
        """Take one step of a follower."""
        self.step(max_bytes)

    def step(self, max_bytes: int) -> None:
        """Cut, begin anew, or append one reply."""
        leader, follower = self.leader, self.follower
        log, epoch = follower.log, follower.log.latest_epoch
        if log.log_end_offset < leader.log.log_start_offset:
            log.restart_at(leader.log.log_start_offset)
            follower.restart(leader.log.log_start_offset)
            return
        told = leader.log.end_offset_for_epoch(epoch)
        if epoch >= 0 and (told[0] < epoch or told[1] < log.log_end_offset):
            own_epoch, own_end = log.end_offset_for_epoch(told[0])
            offset = own_end if 0 <= own_epoch < told[0] else min(told[1], log.log_end_offset)
            if own_epoch == told[0]:
                offset = min(offset, own_end)
            log.truncate_to(offset)
            follower.cut(offset)
            return
        if log.log_end_offset > leader.log.log_end_offset:
            log.truncate_to(leader.log.log_end_offset)
            follower.cut(leader.log.log_end_offset)
            return
        found = bytes_of(leader.log.read(log.log_end_offset, max_bytes, leader.log.log_end_offset, True))
        if found and not self.make_room(parse_header(found).base_offset):
            return
        size = log.append_as_follower(memoryview(found), self.epoch)
        log.write()
        at = 0
        while at < size:
            length = parse_header(found, at).size_bytes
            follower.add(found[at : at + length])
            at += length
        assert at == size

    def make_room(self, base_offset: int) -> bool:
        """Do as ``Follower._make_room`` in ``kafkatx.broker.replica.fetcher.follower``."""
        leader, follower = self.leader, self.follower
        log, end_offset = follower.log, follower.log.log_end_offset
        if base_offset >= end_offset or log.log_start_offset == end_offset:
            return True
        if leader.log.log_start_offset == end_offset:
            log.restart_at(end_offset)
            follower.restart(end_offset)
            return True
        assert not log.read(max(base_offset, log.log_start_offset), 1, end_offset, True)
        log.truncate_to(base_offset)
        follower.cut(base_offset)
        return False

    @rule()
    def catch_up(self) -> None:
        """Take steps until nothing is missing: then the logs are identical."""
        for _ in range(300):
            before = (self.follower.log.log_end_offset, self.follower.log.latest_epoch)
            self.step(2000)
            at_end = self.follower.end == self.leader.end
            if at_end and before == (self.follower.log.log_end_offset, self.follower.log.latest_epoch):
                break
        else:
            raise AssertionError("the follower does not catch up")
        both = max(self.leader.start, self.follower.start)
        for replica in self.replicas:
            if replica.start < both:
                replica.log.advance_log_start(both)
                replica.advance(both)
        assert whole(self.follower.log) == whole(self.leader.log)

    @rule()
    def elect(self) -> None:
        """Make the follower lead, whatever it lacks."""
        self.replicas.reverse()
        self.lead()

    # --- the end of a process

    def reopen(self, which: int) -> None:
        """Open a store again."""
        replica = self.replicas[which]
        assert replica.path is not None
        replica.store = self.open(replica.path)
        assert replica.store.unavailable == {}
        replica.log = replica.store.logs[TP]
        assert replica.log.log_start_offset <= replica.start
        replica.log.advance_log_start(replica.start)

    @rule(which=st.integers(0, 1))
    def kill(self, which: int) -> None:
        """End a process."""
        crash(self.replicas[which].store)
        self.reopen(which)

    @rule(which=st.integers(0, 1))
    def restart(self, which: int) -> None:
        """Close a store and open it."""
        self.result(self.replicas[which].store.close())
        self.reopen(which)

    @rule(which=st.integers(0, 1), checkpoint=st.booleans())
    def flush(self, which: int, checkpoint: bool) -> None:
        """Sync a log."""
        replica = self.replicas[which]
        assert self.result(replica.log.flush()) == replica.end == replica.log.flushed_offset
        if checkpoint:
            self.result(replica.store.checkpoint())

    @invariant()
    def same(self) -> None:
        """Check both logs."""
        for replica in self.replicas:
            replica.check()
            assert replica.log.flushed_offset <= replica.end

    def teardown(self) -> None:
        """Remove the files."""
        for replica in self.replicas:
            self.result(replica.store.close())
            if replica.path is not None:
                shutil.rmtree(replica.path)


class MemoryMachine(ReplicationMachine):
    """Logs in memory, which no process outlives."""

    def make(self) -> Replica:
        """Return a replica without records."""
        store = memory_store(self.clock)
        self.result(store.open(lambda topic: CONFIG))
        return Replica(store, self.result(store.create(TP, self.topic_id, CONFIG)), None)

    @precondition(lambda self: False)
    @rule(which=st.integers(0, 1))
    def kill(self, which: int) -> None:
        """Do nothing."""

    @precondition(lambda self: False)
    @rule(which=st.integers(0, 1))
    def restart(self, which: int) -> None:
        """Do nothing."""


FULL = os.environ.get("KAFKATX_ATTACK") == "full"
FEW = settings(
    max_examples=1000 if FULL else 40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class ReplicationModelTests(SynchronousTestCase):
    """A follower's log is its leader's, whatever has happened to both."""

    def test_memory(self) -> None:
        """The logs in memory."""
        run_state_machine_as_test(MemoryMachine, settings=FEW)

    def test_files(self) -> None:
        """The logs in files, through clean restarts and crashes."""
        run_state_machine_as_test(ReplicationMachine, settings=FEW)

    def run_both(self, *steps: tuple[str, dict[str, Any]]) -> None:
        """Take steps with logs in memory and with logs in files."""
        for kind in (MemoryMachine, ReplicationMachine):
            machine = kind()
            for name, values in steps:
                getattr(machine, name)(**values)
                machine.same()
            machine.teardown()

    def test_end_within_a_batch(self) -> None:
        """A log with other records ends where the leader's starts, within a batch: it catches up."""
        self.run_both(
            ("produce", {"sizes": [4], "producer": 0}),
            ("elect", {}),
            ("produce", {"sizes": [1, 1, 1, 2, 1], "producer": 0}),
            ("delete_records", {"back": 2}),
            ("catch_up", {}),
        )

    def test_start_within_a_batch(self) -> None:
        """An epoch begins at a log start within a batch, and goes with the records from there on."""
        self.run_both(
            ("produce", {"sizes": [3], "producer": 0}),
            ("delete_records", {"back": 1}),
            ("fetch", {"max_bytes": 2}),
            ("elect", {}),
            ("catch_up", {}),
        )
