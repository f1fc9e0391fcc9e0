"""Commits of one read: one batch and one write per partition, and the handling of failures."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed
from kafkatx.net.requests import Staged
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest
from kafkatx.wire.schema import Message
from tests.broker.coordinated import partition_of, partitions_of
from tests.broker.handlers.test_offset_commit import CommitTestCase, commit
from tests.broker.running import NOW_MS, produce_request

PRODUCE, COMMIT = 0, 8
HERE, THERE = "a", "b"
"""Two groups in different ones of three partitions."""


class RoundTestCase(CommitTestCase):
    """A test case whose :meth:`round` serves requests as one read does: staged, written, then answered."""

    settings: ClassVar[Mapping[str, str]] = {"offsets.topic.num.partitions": "3"}

    def setUp(self) -> None:
        """Make ``__consumer_offsets``."""
        super().setUp()
        self.successResultOf(self.broker.groups.topic.ensure())
        self.writes: list[str] = []
        for partition in partitions_of(self.broker):
            self.note_writes(partition)

    def note_writes(self, partition: Partition) -> None:
        """Record in :attr:`writes` each write that has something to write."""
        log: Any = partition.log
        write = log.write

        def noted() -> None:
            if log._appender.staged.batches:
                self.writes.append(str(partition.topic_partition))
            write()

        self.patch(log, "write", noted)

    def fail_write(self, group: str) -> None:
        """Make the next write to a group's partition fail."""
        log = partition_of(self.broker, group).log

        def write() -> None:
            log.truncate_to(log.log_end_offset)  # drops the staged records, as a failing write() does
            patched.restore()
            raise OSError(errno.ENOSPC, "No space left on device")

        patched = self.patch(log, "write", write)

    def round(self, *requests: Message, version: int = 8) -> list[list[int]]:
        """Return the codes that each commit of a round is answered with."""
        staged = []
        for request in requests:
            key = COMMIT if isinstance(request, OffsetCommitRequest) else PRODUCE
            answer = self.dispatch.answer(self.frame(key, version, request), self.peer)
            assert isinstance(answer, Staged)
            staged.append((key, answer))
        failed = self.broker.write_staged()
        codes = []
        for key, answer in staged:
            reply = answer.finish(failed)
            assert not isinstance(reply, Deferred)
            response = self.response(key, version, reply)
            if key == COMMIT:
                codes.append([p.error_code for topic in response.topics for p in topic.partitions])
        return codes

    def limit(self, max_message_bytes: int) -> None:
        """Limit the log of group ``g`` to small batches."""
        log = partition_of(self.broker, "g").log
        log.configure(attrs.evolve(log.config, max_message_bytes=max_message_bytes))

    def batches(self, group: str) -> list[int]:
        """Return the number of records of each batch in a group's partition."""
        segments: Any = partition_of(self.broker, group).log.segments
        return [w.last_offset - w.base_offset + 1 for segment in segments for w in segment.written]


class RoundTests(RoundTestCase):
    def test_one_write(self) -> None:
        """All commits of a round to one partition are one batch and one write, in their order."""
        self.assertEqual(self.round(*[commit(n, n) for n in range(10)]), [[0, 0]] * 10)
        self.assertEqual(self.batches("g"), [20])
        self.assertEqual(len(self.writes), 1)
        self.assertEqual([committed.offset for _, committed in self.written()][::2], list(range(10)))
        self.assertEqual(self.committed(), Committed(9, 7, "m", NOW_MS))

    def test_partitions(self) -> None:
        """Commits of groups in two partitions are two writes."""
        self.round(*[commit(n, group=group) for n in range(5) for group in (HERE, THERE)])
        self.assertEqual((self.batches(HERE), self.batches(THERE)), ([5], [5]))
        self.assertEqual(len(self.writes), 2)

    def test_not_before_it_is_written(self) -> None:
        """A commit has no effect until it is written; an answer alone does not make it so."""
        self.dispatch.answer(self.frame(COMMIT, 8, commit(5)), self.peer)
        self.assertIsNone(self.committed())
        self.broker.write_staged()
        self.assertEqual(self.committed(), Committed(5, 7, "m", NOW_MS))

    def test_with_produce(self) -> None:
        """Produce requests and commits may share a round."""
        records = build_values([b"v"], NOW_MS)
        self.round(commit(1), produce_request(records), commit(2))
        self.assertEqual(self.stored(), [b"v"])
        self.assertEqual(self.committed(), Committed(2, 7, "m", NOW_MS))
        self.assertEqual(self.batches("g"), [2])

    def test_rounds_are_apart(self) -> None:
        """A round begins without anything from the previous one."""
        self.round(commit(1))
        self.broker.write_staged()
        self.round(commit(2))
        self.assertEqual(self.batches("g"), [1, 1])

    def test_large_rounds(self) -> None:
        """A round too large for one batch is split into several, between commits."""
        self.limit(1000)
        self.assertEqual(self.round(*[commit(n, n) for n in range(20)]), [[0, 0]] * 20)
        counts = self.batches("g")
        self.assertGreater(len(counts), 2)
        self.assertEqual((sum(counts), {count % 2 for count in counts}), (40, {0}))
        self.assertEqual(len(self.writes), 1)


class FailureTests(RoundTestCase):
    def test_failed_write(self) -> None:
        """A failed write changes nothing and fails each of its commits; other partitions are not affected."""
        self.round(commit(1, group=HERE))
        self.fail_write(HERE)
        codes = self.round(commit(2, group=HERE), commit(3, group=THERE), commit(4, 5, group=HERE))
        lost = ErrorCode.NOT_COORDINATOR
        self.assertEqual(codes, [[lost], [0], [lost, lost]])
        self.assertEqual(self.committed(group=HERE), Committed(1, 7, "m", NOW_MS))
        self.assertIsNone(self.committed(1, group=HERE))
        self.assertEqual(self.committed(group=THERE), Committed(3, 7, "m", NOW_MS))
        self.assertEqual(self.round(commit(6, group=HERE)), [[0]])
        self.assertEqual(len(self.written()), 3)

    def test_too_large(self) -> None:
        """A commit that no batch can hold is refused; the others are accepted."""
        self.limit(1000)
        codes = self.round(commit(1), commit(2, metadata="m" * 1000), commit(3))
        self.assertEqual(codes, [[0], [ErrorCode.INVALID_COMMIT_OFFSET_SIZE], [0]])
        self.assertEqual(self.committed(), Committed(3, 7, "m", NOW_MS))
        self.assertEqual(self.batches("g"), [1, 1])

    def test_too_few_replicas(self) -> None:
        """A commit fails with fewer in-sync replicas than min.insync.replicas."""
        partition = partition_of(self.broker, "g")
        partition.replicated, partition.min_insync = True, 2
        self.assertEqual(self.round(commit(1)), [[ErrorCode.COORDINATOR_NOT_AVAILABLE]])
        self.assertIsNone(self.committed())

    def test_offline(self) -> None:
        """A commit fails in an offline log dir."""
        partition_of(self.broker, "g").go_offline()
        self.assertEqual(self.round(commit(1), commit(2)), [[ErrorCode.NOT_COORDINATOR]] * 2)
        self.assertIsNone(self.committed())

    def test_lost_before_it_is_written(self) -> None:
        """A commit fails if the partition is lost before the end of its round."""
        answer = self.dispatch.answer(self.frame(COMMIT, 8, commit(1, group=HERE)), self.peer)
        assert isinstance(answer, Staged)
        self.broker.groups.runtime.role_changed(partition_of(self.broker, HERE), False)
        reply = answer.finish(self.broker.write_staged())
        assert not isinstance(reply, Deferred)
        (topic,) = self.response(COMMIT, 8, reply).topics
        self.assertEqual(topic.partitions[0].error_code, ErrorCode.NOT_COORDINATOR)

    def test_goes_offline_with_another(self) -> None:
        """A commit fails when its log dir fails during the write of another log."""
        partition = partition_of(self.broker, HERE)
        other = partition_of(self.broker, THERE)
        write = other.log.write

        def fails() -> None:
            write()
            partition.go_offline()

        self.patch(other.log, "write", fails)
        codes = self.round(commit(1, group=HERE), commit(1, group=THERE))
        self.assertEqual(codes, [[ErrorCode.NOT_COORDINATOR], [0]])
        self.assertIsNone(self.committed(group=HERE))
