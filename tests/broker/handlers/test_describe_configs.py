"""DescribeConfigs: every config with its default, of topics and of the broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafkatx.config import broker, topic
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
        """The result for one resource."""
        asked = [DescribeConfigsResource(kind, name, keys)]
        response = self.ask(32, version, DescribeConfigsRequest(asked, synonyms, documentation))
        (result,) = response.results
        self.assertEqual((result.resource_type, result.resource_name), (kind, name))
        described: DescribeConfigsResult = result
        return described

    def configs(self, result: DescribeConfigsResult) -> dict[str, DescribeConfigsResourceResult]:
        """The configs by name."""
        self.assertEqual(result.error_code, 0)
        return {config.name: config for config in result.configs}

    def test_topic(self) -> None:
        """A topic's own value, one that the broker's setting gives, and a default, in every version."""
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
        """The broker's settings."""
        configs = self.configs(self.describe(BROKER, "0"))
        self.assertEqual((configs["log.retention.hours"].value, configs["num.partitions"].value), ("7", "1"))

    def test_lists_every_setting(self) -> None:
        """Nothing that can be set is left out."""
        self.assertEqual(set(topic.SETTINGS) - set(self.configs(self.describe())), set())
        self.assertEqual(set(broker.SETTINGS) - set(self.configs(self.describe(BROKER, "0"))), set())

    def test_keys(self) -> None:
        """Only the configs asked for; an empty list asks for none."""
        self.assertEqual(list(self.configs(self.describe(keys=["retention.ms", "x"]))), ["retention.ms"])
        self.assertEqual(self.configs(self.describe(keys=[])), {})

    def test_synonyms(self) -> None:
        """Synonyms come from version 1 on, where they are asked for."""
        for version in VERSIONS:
            for wanted in (False, True):
                config = self.configs(self.describe(version=version, synonyms=wanted))["retention.ms"]
                names = [synonym.name for synonym in config.synonyms]
                self.assertEqual("log.retention.hours" in names, wanted and version >= 1)

    def test_documentation(self) -> None:
        """Types come from version 3 on, documentation where it is asked for."""
        for version in VERSIONS:
            config = self.configs(self.describe(version=version, documentation=True))["retention.ms"]
            self.assertEqual(
                (config.config_type, bool(config.documentation)), (5, True) if version >= 3 else (0, False)
            )
        self.assertIsNone(self.configs(self.describe())["retention.ms"].documentation)

    def test_cluster_defaults(self) -> None:
        """The empty broker name stands for the cluster's dynamic defaults: there are none."""
        self.assertEqual(self.configs(self.describe(BROKER, "")), {})

    def test_errors(self) -> None:
        """Unknown topics, other brokers, other kinds of resources; each with words that say why."""
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
        """What a message quotes of the request cannot make it too long to be sent."""
        self.assertNotEqual(self.describe(TOPIC, "x" * 32_767, version=0).error_code, 0)
