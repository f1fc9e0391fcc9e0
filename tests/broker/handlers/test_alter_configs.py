"""AlterConfigs: all configs of a topic or broker are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
)
from tests.broker.running import BrokerTestCase, Held, codes

TOPIC, BROKER = 2, 4
VERSIONS = range(3)


def resource(kind: int = TOPIC, name: str = "t", **configs: str | None) -> AlterConfigsResource:
    """Return a resource with all of its new configs; ``_`` in names stands for ``.``."""
    return AlterConfigsResource(
        kind, name, [AlterableConfig(config.replace("_", "."), value) for config, value in configs.items()]
    )


class AlterConfigsTests(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {"log.roll.ms": "77"}

    def setUp(self) -> None:
        """Make a topic with configs of its own."""
        super().setUp()
        (self.partition,) = self.make_topic(retention_ms="1", segment_bytes="1000")

    def alter(
        self, *resources: AlterConfigsResource, version: int = 2, validate_only: bool = False
    ) -> list[AlterConfigsResourceResponse]:
        """Return the results for these resources."""
        request = AlterConfigsRequest(list(resources), validate_only)
        results: list[AlterConfigsResourceResponse] = self.ask(33, version, request).responses
        self.assertEqual(
            [(r.resource_type, r.resource_name) for r in results],
            [(r.resource_type, r.resource_name) for r in resources],
        )
        return results

    def check_refused(self, asked: AlterConfigsResource, code: ErrorCode) -> str:
        """Assert that the resource is refused and not altered; return the message."""
        before = self.broker.metadata.state
        for validate_only in (True, False):
            (result,) = self.alter(asked, validate_only=validate_only)
            self.assertEqual(ErrorCode.of(result.error_code), code)
        self.assertIs(self.broker.metadata.state, before)
        return result.error_message or ""

    def test_every_version(self) -> None:
        """Named configs are set and the others return to their defaults, stored and in the log."""
        for version in VERSIONS:
            (result,) = self.alter(resource(retention_ms=str(version)), version=version)
            self.assertEqual((result.error_code, result.error_message), (0, None))
            self.assertEqual(self.broker.metadata.state.topics["t"].configs, {"retention.ms": str(version)})
            config = self.partition.log.config
            self.assertEqual((config.retention_ms, config.segment_bytes), (version, 1 << 30))

    def test_broker(self) -> None:
        """Settings of this broker and of all brokers are replaced; none restores the startup values."""
        names = ("log.roll.ms", "log.retention.ms")
        for kind, configs, values in (
            ("0", {"log_roll_ms": "5", "log_retention_ms": "6"}, (5, 6)),
            ("", {"log_roll_ms": "7"}, (5, 6)),
            ("0", {"log_retention_ms": "8"}, (7, 8)),
            ("0", {}, (7, None)),
            ("", {}, (77, None)),
        ):
            self.assertEqual(codes(self.alter(resource(BROKER, kind, **configs))), [0])
            self.assertEqual(tuple(self.broker.config.get(name) for name in names), values)
            self.assertEqual(self.partition.log.config.segment_ms, values[0])
        self.assertEqual(self.broker.metadata.state.broker_configs, {})

    def test_validate_only(self) -> None:
        """A request with validate_only changes nothing."""
        before = self.broker.metadata.state
        asked = resource(retention_ms="5"), resource(BROKER, "0", log_roll_ms="5")
        self.assertEqual(codes(self.alter(*asked, validate_only=True)), [0, 0])
        self.assertIs(self.broker.metadata.state, before)
        self.assertEqual(self.partition.log.config.retention_ms, 1)

    def test_each_for_itself(self) -> None:
        """A resource that cannot be altered does not affect the others."""
        results = self.alter(
            resource(retention_ms="soon"), resource(name="u"), resource(BROKER, "0", log_roll_ms="5")
        )
        self.assertEqual(codes(results), [ErrorCode.INVALID_CONFIG, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0])
        self.assertEqual(self.broker.config.get("log.roll.ms"), 5)

    def test_all_or_nothing(self) -> None:
        """A resource with one invalid config is not changed at all."""
        why = self.check_refused(resource(segment_ms="5", retention_ms="soon"), ErrorCode.INVALID_CONFIG)
        self.assertEqual(why, "retention.ms=soon: the value must be a whole number of 64 bits, -1 or more")

    def test_topic_refused(self) -> None:
        """Unknown names, missing or invalid values, and contradictions are refused for a topic."""
        code = ErrorCode.INVALID_CONFIG
        self.assertIn("retention.ms?", self.check_refused(resource(retention_mss="1"), code))
        self.assertIn("-1 or more", self.check_refused(resource(retention_ms="-2"), code))
        why = self.check_refused(resource(retention_ms=None), ErrorCode.INVALID_REQUEST)
        self.assertIn("retention.ms", why)
        lags = resource(min_compaction_lag_ms="6", max_compaction_lag_ms="5")
        self.assertIn("min.compaction.lag.ms=6", self.check_refused(lags, code))

    def test_broker_refused(self) -> None:
        """Settings that need a restart, are unknown or invalid, and other brokers are refused."""
        code = ErrorCode.INVALID_REQUEST
        why = self.check_refused(resource(BROKER, "0", log_dirs="/x"), code)
        self.assertEqual(why, "Cannot update these configs dynamically: Set(log.dirs)")
        self.check_refused(resource(BROKER, "", broker_id="1"), code)
        self.check_refused(resource(BROKER, "0", retention_ms="1"), code)
        self.assertIn("log.roll.ms=0", self.check_refused(resource(BROKER, "0", log_roll_ms="0"), code))
        for name in ("1", "x", "00", " "):
            self.check_refused(resource(BROKER, name, log_roll_ms="5"), code)

    def test_twice(self) -> None:
        """A resource or config that occurs twice in a request is INVALID_REQUEST."""
        request = AlterConfigsRequest(
            [resource(retention_ms="5"), resource(BROKER, "0"), resource(retention_ms="6")]
        )
        results = self.ask(33, 2, request).responses
        self.assertEqual(codes(results), [ErrorCode.INVALID_REQUEST, 0])
        twice = AlterConfigsResource(TOPIC, "t", [AlterableConfig("retention.ms", "5")] * 2)
        self.check_refused(twice, ErrorCode.INVALID_REQUEST)
        self.assertEqual(self.partition.log.config.retention_ms, 1)

    def test_other_resources(self) -> None:
        """Loggers and unknown types of resources have no configs."""
        for kind in (0, 1, 8, 16, 64, -1):
            self.check_refused(resource(kind, "0", a="b"), ErrorCode.INVALID_REQUEST)

    def test_client_goes(self) -> None:
        """A change is made and kept although its client has disconnected."""
        held = Held()
        held.holding = False
        self.broker = self.make_broker(held)
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
        (partition,) = self.make_topic()
        held.holding = True
        for asked in (resource(retention_ms="5"), resource(BROKER, "0", log_roll_ms="6")):
            answer = self.answer(33, 2, AlterConfigsRequest([asked], False))
            answer.addErrback(lambda _: None)
            answer.cancel()
            held.work()
        self.assertEqual((partition.log.config.retention_ms, partition.log.config.segment_ms), (5, 6))
