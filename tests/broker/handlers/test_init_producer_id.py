"""InitProducerId: ids for idempotent producers."""

from __future__ import annotations

from twisted.logger import LogLevel, capturedLogs

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from tests.broker.running import BrokerTestCase

VERSIONS = range(6)


class InitProducerIdTests(BrokerTestCase):
    def test_new_ids(self) -> None:
        """Every request gets an id that nobody had, in epoch 0, in every version."""
        responses = [self.ask(22, version, InitProducerIdRequest(None, 1000)) for version in VERSIONS]
        self.assertEqual(len({response.producer_id for response in responses}), len(VERSIONS))
        for response in responses:
            self.assertEqual((response.error_code, response.producer_epoch), (0, 0))
            self.assertGreaterEqual(response.producer_id, 0)

    def test_transactional(self) -> None:
        """Transactions are refused in every version, and the log says who asked for them."""
        for version in VERSIONS:
            with capturedLogs() as events:
                response = self.ask(22, version, InitProducerIdRequest("tx", 1000))
            self.assertEqual(ErrorCode.of(response.error_code), ErrorCode.UNSUPPORTED_VERSION)
            self.assertEqual((response.producer_id, response.producer_epoch), (-1, -1))
            (event,) = (e for e in events if e["log_level"] == LogLevel.warn)
            self.assertEqual((event["peer"], event["name"]), (self.peer, "'tx'"))

    def test_log_line_is_one(self) -> None:
        """What a client calls itself can neither break the log's line nor fill the log."""
        with capturedLogs() as events:
            self.ask(22, 4, InitProducerIdRequest("tx\n2026 forged \x1b[2J" + "x" * 10_000, 1000))
        self.assertTrue(events[0]["name"].isprintable())
        self.assertLess(len(events[0]["name"]), 200)

    def test_empty_transactional_id(self) -> None:
        """An empty transactional id is one."""
        response = self.ask(22, 4, InitProducerIdRequest("", 1000))
        self.assertNotEqual(response.error_code, 0)
