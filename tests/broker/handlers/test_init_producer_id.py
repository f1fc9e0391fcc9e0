"""InitProducerId: ids for idempotent producers."""

from __future__ import annotations

from typing import Any

from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker import transactions
from kafkatx.errors import ErrorCode
from kafkatx.net.limited_log import MOST_LINES
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from tests.broker.running import BrokerTestCase

VERSIONS = range(6)


class InitProducerIdTests(BrokerTestCase):
    def test_new_ids(self) -> None:
        """Every request gets a new producer id with epoch 0, in every version."""
        responses = [self.ask(22, version, InitProducerIdRequest(None, 1000)) for version in VERSIONS]
        self.assertEqual(len({response.producer_id for response in responses}), len(VERSIONS))
        for response in responses:
            self.assertEqual((response.error_code, response.producer_epoch), (0, 0))
            self.assertGreaterEqual(response.producer_id, 0)

    def refuse(self, version: int = 4, name: str = "tx", client_id: str | None = "tests") -> list[Any]:
        """Send a request with a transactional id, which is refused; return the warnings."""
        with capturedLogs() as events:
            frame = self.frame(22, version, InitProducerIdRequest(name, 1000), client_id)
            answer: Any = self.dispatch.answer(frame, self.peer)
            response = self.response(22, version, answer)
        self.assertEqual(ErrorCode.of(response.error_code), ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        self.assertEqual((response.producer_id, response.producer_epoch), (-1, -1))
        return [event for event in events if event["log_level"] == LogLevel.warn]

    def test_transactional(self) -> None:
        """Transactions are refused in every version; the log names the client once."""
        warned = [event for version in VERSIONS for event in self.refuse(version)]
        self.assertEqual(
            [(event["peer"], event["client"], event["name"]) for event in warned],
            [(self.peer, "'tests'", "'tx'")],
        )

    def test_each_client(self) -> None:
        """Each client is logged once, including clients without a name."""
        for client_id, lines in (("one", 1), ("other", 1), ("one", 0), ("other", 0), (None, 1)):
            self.assertEqual(len(self.refuse(client_id=client_id)), lines, client_id)

    def test_log_stays_small(self) -> None:
        """The log lines per minute are limited, and the rest counted, whatever clients are called."""
        written = sum(len(self.refuse(client_id=str(number))) for number in range(100))
        self.assertEqual(written, MOST_LINES)
        with capturedLogs() as events:
            self.clock.advance(60)
        self.assertEqual([event.get("count") for event in events], [100 - MOST_LINES])

    def test_forgets_clients(self) -> None:
        """The number of remembered clients is bounded."""
        self.patch(transactions, "MOST_CLIENTS", 3)
        for number in range(10):
            self.refuse(client_id=str(number))
            self.assertLessEqual(len(self.broker.transactions._warned), 3)

    def test_log_line_is_one(self) -> None:
        """A client's name can neither break the log line nor make it long."""
        with capturedLogs() as events:
            self.ask(22, 4, InitProducerIdRequest("tx\n2026 forged \x1b[2J" + "x" * 10_000, 1000))
        self.assertTrue(events[0]["name"].isprintable())
        self.assertLess(len(events[0]["name"]), 200)

    def test_empty_transactional_id(self) -> None:
        """An empty transactional id is a transactional id."""
        response = self.ask(22, 4, InitProducerIdRequest("", 1000))
        self.assertNotEqual(response.error_code, 0)
