"""The groups of a partition, and the requests that wait for them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.groups.record_store import RecordStore
from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.broker.coordinator.runtime.pending_request import PendingRequest
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.heartbeat import HeartbeatResponse


class FakePartition:
    """A partition with a name."""

    topic_partition = TopicPartition("__consumer_offsets", 7)


class ShardTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a shard."""
        partition: Any = FakePartition()
        self.records = RecordStore(lambda records: None, lambda group, error: None)
        self.shard = GroupShard(partition, self.records)

    def wait(self) -> tuple[PendingRequest[HeartbeatResponse], Any]:
        """Return a request that waits, and what it waits for."""
        request: PendingRequest[HeartbeatResponse] = PendingRequest()
        return request, request.wait(self.shard)

    def test_drop(self) -> None:
        """All waiting requests fail with NOT_COORDINATOR, and nothing is stored any more."""
        self.assertEqual((self.shard.number, self.shard.dropped), (7, False))
        waits = [self.wait()[1] for _ in range(3)]
        self.shard.drop()
        for waiting in waits:
            error = self.failureResultOf(waiting, RequestError).value
            self.assertEqual(error.code, ErrorCode.NOT_COORDINATOR)
        self.assertTrue(self.shard.dropped)
        group: Any = self
        self.assertEqual(self.records.store(group, []), ErrorCode.NOT_COORDINATOR)

    def test_answered(self) -> None:
        """A request that was answered, or whose client has gone, waits no more."""
        answered, waiting = self.wait()
        answered.leave()
        waiting.callback(HeartbeatResponse())
        self.successResultOf(waiting)
        cancelled, gone = self.wait()
        gone.cancel()
        self.failureResultOf(gone, CancelledError)
        self.assertIsNone(cancelled.waiting)
        self.shard.drop()

    def test_made_by_an_answer(self) -> None:
        """A request that comes while the others are answered finds the shard dropped."""
        _, waiting = self.wait()
        seen: list[tuple[bool, int]] = []
        waiting.addErrback(lambda _: seen.append((self.shard.dropped, len(self.shard.requests))))
        self.shard.drop()
        self.assertEqual(seen, [(True, 0)])
