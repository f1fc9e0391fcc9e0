"""DescribeConfigs: every config with its default, of topics and of the broker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from kafkatx.config.table import broker, topic
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from tests.broker.running import BrokerTestCase

TOPIC, BROKER = 2, 4
VERSIONS = range(5)


def _use(value: str, old: Mapping[str, str]) -> Mapping[str, str]:
    """Return a change of log.retention.ms."""
    return {"log.retention.ms": value}


class DescribeConfigsTests(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {"log.retention.hours": "7"}

    def setUp(self) -> None:
        """Make a topic with a config of its own."""
        super().setUp()
        self.make_topic(segment_bytes="1048576")

    def describe(
        self,
        kind: int = TOPIC,
        name: str = "t",
        keys: list[str] | None = None,
        version: int = 4,
        synonyms: bool = False,
        documentation: bool = False,
    ) -> DescribeConfigsResult:
        """Return the result for one resource."""
        asked = [DescribeConfigsResource(kind, name, keys)]
        response = self.ask(32, version, DescribeConfigsRequest(asked, synonyms, documentation))
        (result,) = response.results
        self.assertEqual((result.resource_type, result.resource_name), (kind, name))
        described: DescribeConfigsResult = result
        return described

    def configs(self, result: DescribeConfigsResult) -> dict[str, DescribeConfigsResourceResult]:
        """Return the configs by name."""
        self.assertEqual(result.error_code, 0)
        return {config.name: config for config in result.configs}

    def test_topic(self) -> None:
        """A topic has its own values, the broker's and defaults, in every version."""
        for version in VERSIONS:
            configs = self.configs(self.describe(version=version))
            for name, value, source in (
                ("segment.bytes", "1048576", 1),
                ("retention.ms", str(7 * 3600 * 1000), 4),
                ("cleanup.policy", "delete", 5),
            ):
                config = configs[name]
                self.assertEqual(config.value, value)
                self.assertEqual(config.config_source, source if version >= 1 else -1)
                if version == 0:
                    self.assertEqual(config.is_default, source == 5)

    def test_broker(self) -> None:
        """The broker's settings are described."""
        configs = self.configs(self.describe(BROKER, "0"))
        self.assertEqual((configs["log.retention.hours"].value, configs["num.partitions"].value), ("7", "1"))

    def test_lists_every_setting(self) -> None:
        """Every setting is listed."""
        self.assertEqual(set(topic.SETTINGS) - set(self.configs(self.describe())), set())
        self.assertEqual(set(broker.SETTINGS) - set(self.configs(self.describe(BROKER, "0"))), set())

    def test_keys(self) -> None:
        """Only the requested configs are described; an empty list requests none."""
        self.assertEqual(list(self.configs(self.describe(keys=["retention.ms", "x"]))), ["retention.ms"])
        self.assertEqual(self.configs(self.describe(keys=[])), {})

    def test_synonyms(self) -> None:
        """Synonyms are returned on request from version 1 on."""
        for version in VERSIONS:
            for wanted in (False, True):
                config = self.configs(self.describe(version=version, synonyms=wanted))["retention.ms"]
                names = [synonym.name for synonym in config.synonyms]
                self.assertEqual("log.retention.hours" in names, wanted and version >= 1)

    def test_documentation(self) -> None:
        """Types are returned from version 3 on, and documentation on request."""
        for version in VERSIONS:
            config = self.configs(self.describe(version=version, documentation=True))["retention.ms"]
            self.assertEqual(
                (config.config_type, bool(config.documentation)), (5, True) if version >= 3 else (0, False)
            )
        self.assertIsNone(self.configs(self.describe())["retention.ms"].documentation)

    def test_dynamic(self) -> None:
        """Dynamic configs of the broker and of topics have their sources and synonyms."""
        coordinator = self.broker.metadata
        for name, value in (("", "5"), ("0", "6")):
            self.successResultOf(coordinator.alter_broker_configs(name, partial(_use, value)))
        for kind, resource, name in ((BROKER, "0", "log.retention.ms"), (TOPIC, "t", "retention.ms")):
            config = self.configs(self.describe(kind, resource, synonyms=True))[name]
            self.assertEqual((config.value, config.config_source, config.read_only), ("6", 2, False))
            self.assertEqual(
                [(synonym.value, synonym.source) for synonym in config.synonyms][:2], [("6", 2), ("5", 3)]
            )
        self.assertEqual(
            [(synonym.name, synonym.source) for synonym in config.synonyms][2:],
            [("log.retention.hours", 4), ("log.retention.hours", 5)],
        )

    def test_cluster_defaults(self) -> None:
        """The empty broker name stands for the dynamic settings of all brokers, and no others."""
        self.assertEqual(list(self.configs(self.describe(BROKER, ""))), ["min.insync.replicas"])
        changed = {"log.roll.ms": "5"}
        self.successResultOf(self.broker.metadata.alter_broker_configs("", lambda _: changed))
        for version in VERSIONS:
            configs = self.configs(self.describe(BROKER, "", version=version))
            values = {c.name: c.value for c in configs.values()}
            self.assertEqual(values, {"log.roll.ms": "5", "min.insync.replicas": "1"})
            self.assertEqual(configs["log.roll.ms"].config_source, 3 if version else -1)

    def test_groups_and_offsets(self) -> None:
        """The settings of groups and their offsets are among the broker's."""
        configs = self.configs(self.describe(BROKER, "0"))
        self.assertEqual(configs["offsets.retention.minutes"].value, "10080")
        self.assertEqual(configs["group.initial.rebalance.delay.ms"].value, "3000")
        self.assertTrue(configs["offsets.topic.num.partitions"].read_only)

    def test_read_only(self) -> None:
        """A setting that is not dynamic is read-only; no topic config is."""
        configs = self.configs(self.describe(BROKER, "0"))
        self.assertTrue(configs["log.dirs"].read_only)
        self.assertFalse(configs["log.roll.ms"].read_only)
        self.assertEqual({config.read_only for config in self.configs(self.describe()).values()}, {False})

    def test_described_once(self) -> None:
        """A resource that a request names repeatedly is described once."""
        asked = [DescribeConfigsResource(kind, name, None) for kind, name in ((TOPIC, "t"), (BROKER, "0"))]
        response = self.ask(32, 4, DescribeConfigsRequest(asked * 100, True, True))
        self.assertEqual([(r.resource_type, r.resource_name) for r in response.results], [(2, "t"), (4, "0")])

    def test_errors(self) -> None:
        """Unknown topics, other brokers and other resource types are refused with an explanation."""
        for kind, name, code in (
            (TOPIC, "u", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (TOPIC, "../x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (BROKER, "1", ErrorCode.INVALID_REQUEST),
            (BROKER, "x", ErrorCode.INVALID_REQUEST),
            (8, "0", ErrorCode.INVALID_REQUEST),
            (0, "", ErrorCode.INVALID_REQUEST),
        ):
            result = self.describe(kind, name)
            self.assertEqual((ErrorCode.of(result.error_code), result.configs), (code, []))
            self.assertTrue(result.error_message)

    def test_long_message(self) -> None:
        """A message that quotes the request stays short enough to be sent."""
        self.assertNotEqual(self.describe(TOPIC, "x" * 32_767, version=0).error_code, 0)
