"""Frames of responses, and answers that are ready when records are written."""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests.pending_answers import ResponseEncoder, Staging
from kafkatx.types import FileSlice
from kafkatx.wire import codec
from kafkatx.wire.headers import decode_response_header
from kafkatx.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafkatx.wire.messages.heartbeat import HeartbeatResponse

CORRELATION_ID = 77


class ResponseEncoderTests(SynchronousTestCase):
    def test_frame(self) -> None:
        """A response without records is one chunk: size, header and body."""
        encoder = ResponseEncoder(12, 4, HeartbeatResponse)
        reply = encoder.reply(HeartbeatResponse(5, 3), CORRELATION_ID)
        assert reply is not None
        (chunk,) = reply
        assert isinstance(chunk, bytes)
        self.assertEqual(int.from_bytes(chunk[:4], "big"), len(chunk) - 4)
        correlation_id, at = decode_response_header(12, 4, memoryview(chunk)[4:])
        self.assertEqual(correlation_id, CORRELATION_ID)
        self.assertEqual(codec.decode(HeartbeatResponse, 4, chunk[4 + at :]), HeartbeatResponse(5, 3))

    def test_records_are_not_copied(self) -> None:
        """The records of a response are chunks of their own, and are not copied."""
        records = memoryview(b"records")
        response = FetchResponse(
            responses=[FetchableTopicResponse("t", partitions=[PartitionData(0, 0, 1, records=records)])]
        )
        reply = ResponseEncoder(1, 11, FetchResponse).reply(response, CORRELATION_ID)
        assert reply is not None
        self.assertIn(records, [chunk for chunk in reply if chunk is records])
        sizes = [chunk.size if isinstance(chunk, FileSlice) else len(chunk) for chunk in reply]
        first = reply[0]
        assert isinstance(first, bytes)
        self.assertEqual(int.from_bytes(first[:4], "big"), sum(sizes) - 4)

    def test_no_reply(self) -> None:
        """A missing response is no reply."""
        self.assertIsNone(ResponseEncoder(12, 4, HeartbeatResponse).reply(None, CORRELATION_ID))


class StagedHeartbeat(Staging[HeartbeatResponse]):
    """A staging that responds with a value chosen by the test."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome
        self.failed: Any = None
        self.encoder = ResponseEncoder(12, 4, HeartbeatResponse)
        self.correlation_id = CORRELATION_ID

    def respond(self, failed: dict[object, OSError]) -> Any:
        """Return the outcome."""
        self.failed = failed
        return self.outcome


class StagingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Encode a response."""
        self.reply = ResponseEncoder(12, 4, HeartbeatResponse).reply(HeartbeatResponse(), CORRELATION_ID)

    def test_at_once(self) -> None:
        """A response is encoded with the correlation id; the failed partitions are passed on."""
        staging = StagedHeartbeat(HeartbeatResponse())
        failed: dict[object, OSError] = {"t-0": OSError(errno.ENOSPC, "full")}
        self.assertEqual(staging.finish(failed), self.reply)
        self.assertIs(staging.failed, failed)

    def test_later(self) -> None:
        """A response from a Deferred is encoded when the Deferred fires."""
        waiting: Deferred[HeartbeatResponse] = Deferred()
        finished = StagedHeartbeat(waiting).finish({})
        assert isinstance(finished, Deferred)
        self.assertNoResult(finished)
        waiting.callback(HeartbeatResponse())
        self.assertEqual(self.successResultOf(finished), self.reply)

    def test_none(self) -> None:
        """A missing response is no reply."""
        self.assertIsNone(StagedHeartbeat(None).finish({}))

    def test_throttle(self) -> None:
        """A staging without a throttle time says so."""
        self.assertRaises(NotImplementedError, StagedHeartbeat(None).throttle, 5)
