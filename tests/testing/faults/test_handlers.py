"""Handlers with faults, asked directly."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import SERVED
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.net.requests import ExclusiveReply
from kafkatx.records.builder import build_values
from kafkatx.testing.faults.handlers import with_faults
from kafkatx.testing.faults.rules import Delay, LoseReply, Refuse, Rule, Rules
from kafkatx.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.broker.running import NOW_MS, BrokerTestCase, produce_request


class HandlersTests(BrokerTestCase):
    def setUp(self) -> None:
        """A dispatch whose handlers have rules."""
        super().setUp()
        self.rules = Rules()
        self.dispatch = Dispatch(self.broker, with_faults(SERVED, self.rules))
        self.make_topic("t")
        self.request = produce_request(build_values([b"v"], NOW_MS), -1, "t", 0)

    def end(self) -> int:
        """Return the log's end."""
        partition = self.broker.topics.find("t", 0)
        assert partition is not None
        end: int = partition.log.log_end_offset
        return end

    def pending(self, key: int, version: int, request: Any) -> Deferred[Any]:
        """Return the Deferred of an answer that comes later."""
        answer = self.answer(key, version, request)
        reply = answer.reply if isinstance(answer, ExclusiveReply) else answer
        assert isinstance(reply, Deferred)
        return reply

    def test_refused(self) -> None:
        """Each partition of a refused request has the error."""
        self.rules.add(Rule("Produce", "t", Refuse(ErrorCode.NOT_ENOUGH_REPLICAS), 1))
        response = self.ask(0, 9, self.request)
        code = response.responses[0].partition_responses[0].error_code
        self.assertEqual((code, self.end()), (ErrorCode.NOT_ENOUGH_REPLICAS, 0))

    def test_delayed(self) -> None:
        """A delayed produce is written and answered when its time has come."""
        self.rules.add(Rule("Produce", None, Delay(2), 1))
        reply = self.pending(0, 9, self.request)
        self.clock.advance(1.9)
        self.assertNoResult(reply)
        self.assertEqual(self.end(), 0)
        self.clock.advance(0.2)
        response = self.response(0, 9, self.successResultOf(reply))
        self.assertEqual((response.responses[0].partition_responses[0].base_offset, self.end()), (0, 1))

    def test_lost(self) -> None:
        """A produce whose reply is lost is written; then the connection is to be closed."""
        self.rules.add(Rule("Produce", None, LoseReply(), 1))
        self.failureResultOf(self.pending(0, 9, self.request), ProtocolViolation)
        self.assertEqual(self.end(), 1)

    def test_plain(self) -> None:
        """Requests that stage nothing can be delayed as well."""
        self.rules.add(Rule("ListOffsets", "t", Delay(1), 1))
        asked = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, -1)])])
        reply = self.pending(2, 6, asked)
        self.clock.advance(1)
        response = self.response(2, 6, self.successResultOf(reply))
        self.assertEqual(response.topics[0].partitions[0].offset, 0)
