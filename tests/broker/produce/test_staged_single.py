"""The answers to produce requests for one partition, after the round was written, or failed."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.produce.staged_produce import OFFLINE
from kafkatx.broker.produce.staged_single import StagedForOne
from kafkatx.broker.requests.pending_answers import ResponseEncoder
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tests.broker.produce.test_staged_produce import FULL, VERSION, StagedTestCase
from tests.broker.running import CORRELATION_ID


class StagedForOneTests(StagedTestCase):
    def setUp(self) -> None:
        """Encode the reply to expect."""
        super().setUp()
        self.partition = self.parts[1]
        self.encoder = ResponseEncoder(0, VERSION, ProduceResponse)

    def staged(self, acks: int = -1) -> StagedForOne:
        """Return the answer to a request for partition 1."""
        staged = StagedForOne(acks, "t", 1, self.partition, 7)
        staged.encoder, staged.correlation_id = self.encoder, CORRELATION_ID
        return staged

    def encoded(self, *result: Any, throttle_time_ms: int = 0) -> Any:
        """Return the reply that the encoder makes."""
        part = PartitionProduceResponse(1, *result)
        response = ProduceResponse([TopicProduceResponse("t", [part])], throttle_time_ms)
        return self.encoder.reply(response, CORRELATION_ID)

    def test_same_bytes(self) -> None:
        """The short cut gives the bytes of the encoder, the first time and later, for each log start."""
        for _ in range(2):
            self.assertEqual(self.staged().finish({}), self.encoded(0, 7, -1, 0))
        self.patch(self.partition.log, "log_start_offset", 3)
        self.assertEqual(self.staged().finish({}), self.encoded(0, 7, -1, 3))

    def test_without_acks(self) -> None:
        """A request with acks=0 has no reply."""
        self.assertIsNone(self.staged(0).finish({}))

    def test_throttle(self) -> None:
        """The reply has the throttle time."""
        staged = self.staged()
        staged.throttle(5)
        self.assertEqual(staged.finish({}), self.encoded(0, 7, -1, 0, throttle_time_ms=5))

    def test_failed_write(self) -> None:
        """A failed write is reported as usual; another partition's failure does not affect this one."""
        error = ErrorCode.KAFKA_STORAGE_ERROR
        self.assertEqual(
            self.staged().finish({self.partition: FULL}), self.encoded(error, -1, -1, 0, [], FULL.strerror)
        )
        self.assertEqual(self.staged().finish({self.parts[0]: FULL}), self.encoded(0, 7, -1, 0))

    def test_offline(self) -> None:
        """A partition whose log dir failed in the same round has a storage error."""
        self.partition.go_offline()
        error = ErrorCode.KAFKA_STORAGE_ERROR
        self.assertEqual(self.staged().finish({}), self.encoded(error, -1, -1, -1, [], OFFLINE))

    def test_flush(self) -> None:
        """The reply waits for the flush that flush.messages asks for."""
        flushing = self.hold_flush(self.partition)
        waiting = self.staged().finish({})
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        flushing.callback(8)
        self.assertEqual(self.successResultOf(waiting), self.encoded(0, 7, -1, 0))
