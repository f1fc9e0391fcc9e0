"""ListConfigResources: topics, brokers and groups that have configs."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.broker.running import BrokerTestCase

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


class ListConfigResourcesTests(BrokerTestCase):
    def ask_for(self, *types: int, version: int = 1) -> Any:
        """Return the response for these types."""
        return self.ask(74, version, ListConfigResourcesRequest(list(types)))

    def listed(self, *types: int) -> list[tuple[int, str]]:
        """Return types and names of the resources."""
        response = self.ask_for(*types)
        self.assertEqual(response.error_code, 0)
        return [(one.resource_type, one.resource_name) for one in response.config_resources]

    def test_types(self) -> None:
        """Each type has its resources in order; a request without types lists all of them."""
        self.make_topic("b")
        self.make_topic("a")
        topics, brokers = [(TOPIC, "a"), (TOPIC, "b")], [(BROKER, "0")]
        self.assertEqual(self.listed(TOPIC), topics)
        self.assertEqual(self.listed(BROKER), brokers)
        for kind in (BROKER_LOGGER, CLIENT_METRICS, GROUP):
            self.assertEqual(self.listed(kind), [])
        self.assertEqual(self.listed(), brokers + topics)

    def test_groups(self) -> None:
        """Groups with configs of their own are listed; a group without any is not."""
        alter = self.broker.metadata.alter_group_configs
        for name in ("h", "g"):
            self.successResultOf(alter(name, lambda old: {"consumer.session.timeout.ms": "50000"}))
        self.assertEqual(self.listed(GROUP), [(GROUP, "g"), (GROUP, "h")])
        self.successResultOf(alter("h", lambda old: {}))
        self.assertEqual(self.listed(), [(BROKER, "0"), (GROUP, "g")])

    def test_twice(self) -> None:
        """A type that is named a thousand times is listed once."""
        self.make_topic("a")
        self.assertEqual(self.listed(*[TOPIC] * 1000), [(TOPIC, "a")])

    def test_unknown(self) -> None:
        """An unknown type is UNSUPPORTED_VERSION, as in Apache Kafka."""
        for kind in (0, 99, -1):
            response = self.ask_for(TOPIC, kind)
            self.assertEqual(response.error_code, ErrorCode.UNSUPPORTED_VERSION)
            self.assertEqual(response.config_resources, [])

    def test_version_0(self) -> None:
        """Version 0 requests client metrics, and nothing else."""
        self.make_topic("a")
        response = self.ask_for(version=0)
        self.assertEqual((response.error_code, response.config_resources), (0, []))
        for name in ("t", "s"):
            alter = self.broker.metadata.alter_client_metrics_configs
            self.successResultOf(alter(name, lambda old: {"metrics": "*"}))
        response = self.ask_for(version=0)
        self.assertEqual([one.resource_name for one in response.config_resources], ["s", "t"])
        self.assertEqual(self.listed(CLIENT_METRICS), [(CLIENT_METRICS, "s"), (CLIENT_METRICS, "t")])
