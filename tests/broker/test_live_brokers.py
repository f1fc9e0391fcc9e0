"""Tests of requests to the brokers of the own cluster."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.live_brokers import LiveBrokers, Patience
from kafkatx.clientcore.backoff import Backoff
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from tests.broker.mirror.control.case import ControlCase

PATIENCE = Patience(request_s=5.0, connect_s=5.0, backoff=Backoff(first_ms=50, longest_ms=1000))


class LiveBrokersTests(ControlCase):
    def setUp(self) -> None:
        """Make the requests of broker 1."""
        super().setUp()
        self.live = LiveBrokers(
            1, ("b1", 9101), self.brokers[1].broker.metadata, self.stores.clock, "tests", PATIENCE,
            self.network.endpoints_of(1),
        )  # fmt: skip
        self.addCleanup(lambda: self.stores.run(self.live.close()))

    def ask_one(self, broker_id: int) -> Any:
        """Ask a broker for its groups."""
        return self.result(self.live.ask(self.live.node(broker_id), ListGroupsRequest(), 4))

    def test_every_broker(self) -> None:
        """Each broker answers, this one too, and connections are kept."""
        for broker_id in (1, 2, 3, 2, 1):
            self.assertEqual(self.ask_one(broker_id).error_code, 0)
        self.assertEqual(len(self.live._connections), 3)

    def test_gone(self) -> None:
        """A broker that is gone is an error, and its connection is closed with the next request."""
        self.ask_one(2)
        self.kill(2)
        self.advance(20)
        error = self.assertRaises(RequestError, self.live.node, 2)
        self.assertEqual(error.code, ErrorCode.LEADER_NOT_AVAILABLE)
        self.ask_one(3)
        self.assertEqual(len(self.live._connections), 1)

    def test_dies(self) -> None:
        """A request to a broker that does not answer any more fails in time."""
        node = self.live.node(2)
        self.kill(2)
        asked = Deferred.fromCoroutine(self.live.ask(node, ListGroupsRequest(), 4))
        failed: list[Any] = []
        asked.addErrback(failed.append)
        self.advance(60)
        self.assertTrue(failed[0].check(KafkaTXError))
