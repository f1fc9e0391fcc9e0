"""ApiVersions: the features; the API versions are tested with the dispatch."""

from __future__ import annotations

from typing import Any

from kafkatx.broker import features
from kafkatx.broker.features import Feature
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest
from kafkatx.wire.schema import NULL_UUID
from tests.broker.running import NOW_MS, BrokerTestCase

OTHERS = ["metadata.version", "transaction.version"]
"""The features that are always there."""


class FeaturesTests(BrokerTestCase):
    """KIP-584: the features that the broker supports, and those that the cluster has finalized."""

    def ask_for(self, version: int) -> Any:
        """Return the response."""
        return self.ask(18, version, ApiVersionsRequest("test", "1"))

    def test_finalized(self) -> None:
        """The features of groups, transactions and metadata are finalized, as clients of Kafka 4 expect."""
        for version in (3, 4):
            response = self.ask_for(version)
            levels = {f.name: (f.min_version_level, f.max_version_level) for f in response.finalized_features}
            finalized = {"group.version": (1, 1), "metadata.version": (25, 25), "transaction.version": (2, 2)}
            self.assertEqual(levels, finalized)
            supported = {f.name: (f.min_version, f.max_version) for f in response.supported_features}
            transactions = {"transaction.version": (0, 2)} if version == 4 else {}
            del finalized["transaction.version"]
            self.assertEqual(supported, finalized | transactions)

    def test_requests_of_features(self) -> None:
        """The requests that clients send with version 2 of transactions are offered, as it is finalized."""
        offered = {api.api_key: api.max_version for api in self.ask_for(4).api_keys}
        for key, version in ((0, 12), (22, 4), (25, 4), (26, 5), (28, 5)):
            self.assertGreaterEqual(offered[key], version, key)

    def test_old_versions(self) -> None:
        """Versions below 3 have no features."""
        for version in range(3):
            response = self.ask_for(version)
            self.assertEqual((response.finalized_features, response.finalized_features_epoch), ([], -1))

    def test_without_consumer_groups(self) -> None:
        """The feature of the consumer protocol is not finalized if the protocol is disabled."""
        self.broker = self.make_broker(**{"group.coordinator.rebalance.protocols": "classic"})
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
        self.assertEqual([f.name for f in self.ask_for(4).finalized_features], OTHERS)

    def test_metrics_of_clients(self) -> None:
        """The requests that push metrics are listed while there is a subscription, and served in any case."""
        keys = {GetTelemetrySubscriptionsRequest.API_KEY, PushTelemetryRequest.API_KEY}

        def listed() -> set[int]:
            return keys & {api.api_key for api in self.ask_for(3).api_keys}

        self.assertEqual(listed(), set())
        self.assertEqual(self.ask(71, 0, GetTelemetrySubscriptionsRequest(NULL_UUID)).error_code, 0)
        subscribe = self.broker.metadata.alter_client_metrics_configs
        self.successResultOf(subscribe("all", lambda _: {"metrics": "*"}))
        self.assertEqual(listed(), keys)
        self.successResultOf(subscribe("all", lambda _: {}))
        self.assertEqual(listed(), set())

    def test_epoch(self) -> None:
        """The epoch rises with each start, since clients accept newer features only with a higher epoch."""
        first = self.ask_for(3).finalized_features_epoch
        self.assertEqual(first, NOW_MS)
        self.now_ms += 5000
        self.assertEqual(self.ask_for(3).finalized_features_epoch, first)
        self.broker = self.make_broker()
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
        self.assertGreater(self.ask_for(3).finalized_features_epoch, first)

    def test_lowest_level_0(self) -> None:
        """A feature whose lowest level is 0 is listed from version 4 on (KAFKA-17011)."""
        self.patch(features, "GROUP_VERSION", Feature("group.version", 0, 1, 1))
        for version, names in ((3, ["metadata.version"]), (4, ["group.version", *OTHERS])):
            response = self.ask_for(version)
            self.assertEqual([f.name for f in response.supported_features], names)
            self.assertEqual(len(response.finalized_features), 3)
