"""Configs of subscriptions to metrics of clients (resource type CLIENT_METRICS)."""

from __future__ import annotations

from typing import Any

from kafkatx.broker import configs
from kafkatx.config.alter import Operation
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages import alter_configs
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.running import BrokerTestCase

CLIENT_METRICS = 16
SET, DELETE, APPEND, SUBTRACT = Operation
OWN, DEFAULT = 7, 5


class ClientMetricsConfigsTests(BrokerTestCase):
    def alter(
        self, *changes: tuple[str, Operation, str | None], name: str = "s", validate_only: bool = False
    ) -> tuple[int, str | None]:
        """Alter a subscription; return the code and the message."""
        asked = AlterConfigsResource(CLIENT_METRICS, name, [AlterableConfig(*change) for change in changes])
        (result,) = self.ask(44, 1, IncrementalAlterConfigsRequest([asked], validate_only)).responses
        return result.error_code, result.error_message

    def describe(self, name: str = "s") -> Any:
        """Return the configs of a subscription."""
        request = DescribeConfigsRequest([DescribeConfigsResource(CLIENT_METRICS, name, None)], True, True)
        (result,) = self.ask(32, 4, request).results
        return result

    def shown(self) -> dict[str, tuple[str | None, int]]:
        """Return names, values and sources."""
        return {config.name: (config.value, config.config_source) for config in self.describe().configs}

    @property
    def stored(self) -> Any:
        """The subscriptions."""
        return self.broker.metadata.state.client_metrics_configs

    def test_alter(self) -> None:
        """Configs are set, added to and removed; without any the subscription is gone."""
        self.assertEqual(
            self.shown(),
            {"metrics": ("", DEFAULT), "interval.ms": ("300000", DEFAULT), "match": ("", DEFAULT)},
        )
        self.assertEqual(self.alter(("metrics", APPEND, "a,b"), ("interval.ms", SET, "1000")), (0, None))
        self.assertEqual(self.alter(("metrics", APPEND, "c"), ("match", APPEND, "client_id=x.*")), (0, None))
        self.assertEqual(self.alter(("metrics", SUBTRACT, "a")), (0, None))
        self.assertEqual(
            self.shown(),
            {"metrics": ("b,c", OWN), "interval.ms": ("1000", OWN), "match": ("client_id=x.*", OWN)},
        )
        self.assertEqual(self.alter(*((name, DELETE, None) for name in self.shown())), (0, None))
        self.assertEqual(self.stored, {})

    def test_refused(self) -> None:
        """Errors have the codes of Apache Kafka; nothing is stored then, nor by a mere check."""
        for change, code in {
            ("interval.ms", SET, "10"): ErrorCode.INVALID_REQUEST,
            ("interval", SET, "1000"): ErrorCode.INVALID_REQUEST,
            ("match", SET, "client=x"): ErrorCode.INVALID_CONFIG,
            ("match", SET, "client_id=("): ErrorCode.INVALID_CONFIG,
            ("interval.ms", APPEND, "1"): ErrorCode.INVALID_CONFIG,
        }.items():
            self.assertEqual(ErrorCode(self.alter(change)[0]), code)
        self.assertEqual(self.alter(("metrics", SET, "*"), validate_only=True), (0, None))
        self.assertEqual(self.alter(("metrics", SET, "*"), name="")[0], ErrorCode.INVALID_REQUEST)
        self.assertEqual(self.describe("").error_code, ErrorCode.INVALID_REQUEST)
        self.assertEqual(self.stored, {})

    def test_replace(self) -> None:
        """AlterConfigs replaces all configs."""
        self.alter(("metrics", SET, "a"), ("interval.ms", SET, "1000"))
        given = [alter_configs.AlterableConfig("metrics", "b")]
        asked = alter_configs.AlterConfigsResource(CLIENT_METRICS, "s", given)
        (result,) = self.ask(33, 2, alter_configs.AlterConfigsRequest([asked])).responses
        self.assertEqual((result.error_code, self.stored), (0, {"s": {"metrics": "b"}}))

    def test_bound(self) -> None:
        """The number of subscriptions is bounded; one that is there can still be changed."""
        self.patch(configs, "MOST_SUBSCRIPTIONS", 1)
        self.assertEqual(self.alter(("metrics", SET, "a")), (0, None))
        self.assertEqual(self.alter(("metrics", SET, "a"), name="t")[0], ErrorCode.POLICY_VIOLATION)
        self.assertEqual(self.alter(("metrics", SET, "b")), (0, None))
