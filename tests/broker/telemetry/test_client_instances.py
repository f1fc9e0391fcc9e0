"""Client instances: who may ask and push when, and who is forgotten."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.telemetry import client_instances
from kafkatx.broker.telemetry.client_instances import ClientInstance, ClientInstances, Pushed
from kafkatx.broker.telemetry.subscriptions import Client, Subscriptions
from kafkatx.errors import ErrorCode, RequestError

ID = uuid.UUID(int=5)
INTERVAL_MS = 1000
EVERYTHING = {"all": {"metrics": "*", "interval.ms": str(INTERVAL_MS)}}


class InstancesTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Subscribe to everything, each second."""
        self.instances = ClientInstances(Subscriptions(EVERYTHING))
        self.now_ms = 0.0

    def instance(self, number: int = 5) -> ClientInstance:
        """Return an instance."""
        return self.instances.find(uuid.UUID(int=number), Client(str(number)), self.now_ms)

    def get(self, number: int = 5) -> ErrorCode:
        """Ask for the subscription; return the error."""
        try:
            self.instance(number).check_get(self.now_ms)
        except RequestError as error:
            return error.code
        return ErrorCode.NONE

    def push(
        self, terminating: bool = False, subscription_id: int | None = None, codec: bool = True, size: int = 9
    ) -> ErrorCode:
        """Push; return the error."""
        instance = self.instance()
        number = instance.subscription_id if subscription_id is None else subscription_id
        try:
            instance.check_push(Pushed(number, terminating, codec, size, 100), self.now_ms)
        except RequestError as error:
            return error.code
        return ErrorCode.NONE


class GetTests(InstancesTestCase):
    def test_interval(self) -> None:
        """A client that asks again before the interval has passed is told to wait."""
        self.assertEqual(self.get(), ErrorCode.NONE)
        self.now_ms = INTERVAL_MS - 1
        self.assertEqual(self.get(), ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.now_ms = INTERVAL_MS
        self.assertEqual(self.get(), ErrorCode.NONE)

    def test_after_a_push(self) -> None:
        """A push counts as well."""
        self.assertEqual(self.push(), ErrorCode.NONE)
        self.now_ms = INTERVAL_MS - 1
        self.assertEqual(self.get(), ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    def test_after_errors(self) -> None:
        """A client that was told that its subscription is unknown asks at once, but only once."""
        for error, other in (
            (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, 7),
            (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, 0),
        ):
            self.now_ms += 10 * INTERVAL_MS
            self.assertEqual(self.push(subscription_id=other or None, codec=bool(other)), error)
            self.assertEqual(self.get(), ErrorCode.NONE)
            self.assertEqual(self.get(), ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    def test_changed_subscriptions(self) -> None:
        """A client gets its new subscription at once after a change."""
        self.assertEqual(self.get(), ErrorCode.NONE)
        self.instances.use(Subscriptions({"some": {"metrics": "a"}}))
        self.assertEqual(self.get(), ErrorCode.NONE)
        self.assertEqual(self.instance().selection.metrics, ("a",))
        self.assertEqual(self.get(), ErrorCode.THROTTLING_QUOTA_EXCEEDED)


class PushTests(InstancesTestCase):
    def test_interval(self) -> None:
        """A push before the interval has passed is refused; one after a get, or the last one, is not."""
        self.assertEqual(self.get(), ErrorCode.NONE)
        self.now_ms = 10
        self.assertEqual(self.push(), ErrorCode.NONE)
        self.now_ms = 9 + INTERVAL_MS
        self.assertEqual(self.push(), ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.now_ms = 10 + INTERVAL_MS
        self.assertEqual(self.push(), ErrorCode.NONE)
        self.assertEqual(self.push(terminating=True), ErrorCode.NONE)

    def test_terminated(self) -> None:
        """Nothing is taken after the terminating push."""
        self.assertEqual(self.push(terminating=True), ErrorCode.NONE)
        self.now_ms = 10 * INTERVAL_MS
        self.assertEqual(self.push(terminating=True), ErrorCode.INVALID_REQUEST)

    def test_unknown_subscription(self) -> None:
        """A push for another subscription than the client's is refused."""
        number = self.instance().subscription_id
        self.assertEqual(self.push(subscription_id=number ^ 1), ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        self.instances.use(Subscriptions({}))
        self.assertEqual(self.push(subscription_id=number), ErrorCode.UNKNOWN_SUBSCRIPTION_ID)

    def test_size(self) -> None:
        """A push above telemetry.max.bytes is refused."""
        self.assertEqual(self.push(size=100), ErrorCode.NONE)
        self.now_ms = INTERVAL_MS
        self.assertEqual(self.push(size=101), ErrorCode.TELEMETRY_TOO_LARGE)

    def test_another_broker(self) -> None:
        """A client whose connection to its broker is lost may push to another one without asking first."""
        number = self.instance().subscription_id
        self.instances = ClientInstances(Subscriptions(EVERYTHING))
        self.assertEqual(self.push(subscription_id=number), ErrorCode.NONE)


class ForgottenTests(InstancesTestCase):
    def test_idle(self) -> None:
        """An instance is forgotten after three intervals, at least a minute, and told of once."""
        self.instance()
        self.now_ms = 60_000
        self.instance(6)
        self.assertEqual(len(self.instances), 2)
        self.now_ms = 70_001
        self.instance(6)
        self.assertEqual([one.id for one in self.instances], [uuid.UUID(int=6)])
        self.assertFalse(self.instances.knows(ID))
        self.assertEqual(self.instances.take_forgotten(), [ID])
        self.assertEqual(self.instances.take_forgotten(), [])

    def test_long_interval(self) -> None:
        """An instance with a long interval is kept longer."""
        self.instances.use(Subscriptions({"all": {"metrics": "*", "interval.ms": "100000"}}))
        self.instance()
        self.now_ms = 290_000
        self.instance(6)
        self.assertTrue(self.instances.knows(ID))

    def test_bound(self) -> None:
        """Above the bound the instance that is idle longest is forgotten."""
        self.patch(client_instances, "MOST_INSTANCES", 3)
        for number in (5, 6, 7, 5, 8):
            self.instance(number)
        self.assertEqual({one.id.int for one in self.instances}, {5, 7, 8})
        self.assertEqual(self.instances.take_forgotten(), [uuid.UUID(int=6)])
