"""The configs of subscriptions: names, ranges, Kafka's errors."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.telemetry.client_metrics_config import check_client_metrics_configs
from kafkatx.errors import ErrorCode, RequestError


class CheckTests(SynchronousTestCase):
    def test_range(self) -> None:
        """The interval has bounds, which are allowed themselves."""
        for text in ("100", "3600000"):
            check_client_metrics_configs("s", {"interval.ms": text})
        for text in ("99", "3600001", "-1"):
            error = self.assertRaises(RequestError, check_client_metrics_configs, "s", {"interval.ms": text})
            self.assertEqual(error.code, ErrorCode.INVALID_REQUEST)

    def test_values(self) -> None:
        """An unknown config, an empty name, and a value of another type have Kafka's codes."""
        for name, configs, code in (
            ("s", {"interval": "100"}, ErrorCode.INVALID_REQUEST),
            ("", {}, ErrorCode.INVALID_REQUEST),
            ("s", {"interval.ms": "x"}, ErrorCode.INVALID_CONFIG),
            ("s", {"metrics": "a,,b"}, ErrorCode.INVALID_CONFIG),
        ):
            error = self.assertRaises(RequestError, check_client_metrics_configs, name, configs)
            self.assertEqual(error.code, code)
        check_client_metrics_configs("s", {"metrics": "", "match": ""})
