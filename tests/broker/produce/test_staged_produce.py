"""The answers to produce requests after the round was written, or failed."""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.produce.staged_produce import OFFLINE, StagedProduce, StoredPart
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tests.broker.running import BrokerTestCase

VERSION = 9
FULL = OSError(errno.ENOSPC, "No space left on device")
NOT_STORED = (ErrorCode.KAFKA_STORAGE_ERROR, -1)


class StagedTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """Make a topic whose records are stored at offset 7."""
        super().setUp()
        self.parts = self.make_topic("t", 2)

    def outcomes(self, response: Any) -> list[tuple[int, int]]:
        """Return error code and base offset of each partition in a response."""
        assert isinstance(response, ProduceResponse)
        return [
            (part.error_code, part.base_offset)
            for topic in response.responses
            for part in topic.partition_responses
        ]

    def hold_flush(self, partition: Partition) -> Deferred[int]:
        """Make a partition's requests wait for the disk; return the flush's Deferred."""
        flushing: Deferred[int] = Deferred()
        self.patch(partition.log, "flush", lambda: flushing)
        self.patch(type(partition.log), "flushed_offset", -1)
        partition.flush_messages = 1
        return flushing


class StagedProduceTests(StagedTestCase):
    def staged(self, acks: int = -1) -> StagedProduce:
        """Return the answer to a request for both partitions."""
        results = [PartitionProduceResponse(number, 0, 7) for number in range(2)]
        response = ProduceResponse([TopicProduceResponse("t", results)])
        parts = [StoredPart(*both, 8, 0) for both in zip(self.parts, results, strict=True)]
        return StagedProduce(acks, response, parts)

    def test_written(self) -> None:
        """Written partitions keep their offsets."""
        self.assertEqual(self.outcomes(self.staged().respond({})), [(0, 7), (0, 7)])

    def test_failed_write(self) -> None:
        """A partition whose write failed has a storage error and its message, the other its offset."""
        response = self.staged().respond({self.parts[0]: FULL})
        self.assertEqual(self.outcomes(response), [NOT_STORED, (0, 7)])
        assert isinstance(response, ProduceResponse)
        message = response.responses[0].partition_responses[0].error_message
        self.assertEqual(message, "No space left on device")

    def test_offline(self) -> None:
        """A partition whose log dir failed in the same round has a storage error."""
        self.parts[1].go_offline()
        response = self.staged().respond({})
        self.assertEqual(self.outcomes(response), [(0, 7), NOT_STORED])
        assert isinstance(response, ProduceResponse)
        self.assertEqual(response.responses[0].partition_responses[1].error_message, OFFLINE)

    def test_flush(self) -> None:
        """A response waits for the flush that flush.messages asks for."""
        flushing = self.hold_flush(self.parts[0])
        self.parts[1].flush_messages = 2**63 - 1
        waiting = self.staged().respond({})
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        flushing.callback(8)
        self.assertEqual(self.outcomes(self.successResultOf(waiting)), [(0, 7), (0, 7)])

    def test_failed_flush(self) -> None:
        """Records whose flush failed are not acknowledged."""
        flushing = self.hold_flush(self.parts[0])
        waiting = self.staged().respond({})
        assert isinstance(waiting, Deferred)
        flushing.errback(FULL)
        self.assertEqual(self.outcomes(self.successResultOf(waiting))[0], NOT_STORED)

    def test_without_acks(self) -> None:
        """A request with acks=0 has no response; after an error the connection must be closed."""
        self.assertIsNone(self.staged(0).respond({}))
        error = self.assertRaises(ProtocolViolation, self.staged(0).respond, {self.parts[0]: FULL})
        self.assertIn("partition 0 of 't' failed: KAFKA_STORAGE_ERROR No space left", str(error))

    def test_throttle(self) -> None:
        """The response has the throttle time."""
        staged = self.staged()
        staged.throttle(5)
        response = staged.respond({})
        assert isinstance(response, ProduceResponse)
        self.assertEqual(response.throttle_time_ms, 5)
