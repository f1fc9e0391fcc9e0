"""The metrics of clients: what is forgotten, bounds, and what a subscription sees of a connection."""

from __future__ import annotations

import uuid

from twisted.internet.defer import Deferred

from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.telemetry import telemetry
from kafkatx.broker.telemetry.subscriptions import Client
from kafkatx.broker.telemetry.telemetry import client_of
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest
from tests.broker.handlers.test_push_telemetry import PUSH, TelemetryTestCase


class ClientTests(TelemetryTestCase):
    def test_client_of(self) -> None:
        """A client is what its connection and its requests say; software that is not told is unknown."""
        context = RequestContext(71, 0, None, self.peer)
        text = "AAAAAAAAAAAAAAAAAAAABQ"
        self.assertEqual(
            client_of(uuid.UUID(int=5), context),
            Client(text, "", "unknown", "unknown", "127.0.0.1", "40000"),
        )
        self.peer.client_software = "librdkafka 2.16.1"
        client = client_of(uuid.UUID(int=5), RequestContext(71, 0, "app", self.peer))
        self.assertEqual(
            (client.client_id, client.client_software_name, client.client_software_version),
            ("app", "librdkafka", "2.16.1"),
        )


class ForgottenTests(TelemetryTestCase):
    def setUp(self) -> None:
        """Subscribe to all metrics."""
        super().setUp()
        self.subscribe()

    def test_forgotten(self) -> None:
        """Values go with their client."""
        self.assertEqual(self.push(self.get()), ErrorCode.NONE)
        self.assertEqual(self.values(), {"a": 1.5})
        self.clock.advance(71)
        self.assertEqual([*self.broker.telemetry.recent()], [])
        self.assertEqual(self.broker.telemetry.values.count, 0)

    def test_forgotten_meanwhile(self) -> None:
        """A client that is forgotten while its push is read leaves nothing behind."""
        got, held = self.get(), Deferred[object]()
        self.broker.telemetry._worker = lambda: lambda read: held.addCallback(lambda _: read())
        request = PushTelemetryRequest(got.client_instance_id, got.subscription_id, False, 0, PUSH)
        answer = self.answer(72, 0, request)
        self.clock.advance(71)
        self.assertEqual([*self.broker.telemetry.recent()], [])
        held.callback(None)
        self.successResultOf(answer)
        self.assertEqual((self.broker.telemetry.values.count, [*self.broker.telemetry.recent()]), (0, []))

    def test_bound_of_reading(self) -> None:
        """Pushes above the bound of those that are being read are put off."""
        self.patch(telemetry, "MOST_READ", 1)
        held = Deferred[object]()
        self.broker.telemetry._worker = lambda: lambda read: held.addCallback(lambda _: read())
        one, other = self.get(), self.get()
        request = PushTelemetryRequest(one.client_instance_id, one.subscription_id, False, 0, PUSH)
        answer = self.answer(72, 0, request)
        self.assertEqual(self.push(other), ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        held.callback(None)
        self.successResultOf(answer)
        self.clock.advance(1)
        self.assertEqual(self.push(other), ErrorCode.NONE)
