"""Changes of configs: the checks before the cluster's metadata change, and the log lines."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent

from kafkatx.broker import configs
from kafkatx.broker.configs import BROKER, BROKER_LOGGER, GROUP, TOPIC, alter, replace
from kafkatx.config.alter import Alteration, Operation
from kafkatx.errors import ErrorCode, RequestError
from tests.broker.running import BrokerTestCase


class ConfigsTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """Create a topic."""
        super().setUp()
        self.make_topic()

    def done(self, change: Coroutine[Any, Any, None]) -> list[str]:
        """Make a change; return the log lines."""
        with capturedLogs() as events:
            self.successResultOf(Deferred.fromCoroutine(change))
        return [formatEvent(event) for event in events]

    def refused(self, change: Coroutine[Any, Any, None]) -> ErrorCode:
        """Return the error of a change that is refused."""
        failure = self.failureResultOf(Deferred.fromCoroutine(change), RequestError)
        assert isinstance(failure.value, RequestError)
        return failure.value.code

    @property
    def topic_configs(self) -> Mapping[str, str]:
        """The configs of the topic."""
        topic_configs: Mapping[str, str] = self.broker.metadata.state.topics["t"].configs
        return topic_configs


class ReplaceTests(ConfigsTestCase):
    def test_topic(self) -> None:
        """The configs of a topic are those given and no others; the log names them."""
        self.done(replace(self.broker, TOPIC, "t", {"retention.ms": "5"}, False))
        lines = self.done(replace(self.broker, TOPIC, "t", {"segment.ms": "6"}, False))
        self.assertEqual(self.topic_configs, {"segment.ms": "6"})
        self.assertEqual(lines, ["changed configs of topic t: 'segment.ms'"])

    def test_validate_only(self) -> None:
        """A change with validate_only is checked, and neither made nor logged."""
        self.assertEqual(self.done(replace(self.broker, TOPIC, "t", {"retention.ms": "5"}, True)), [])
        self.assertEqual(self.topic_configs, {})
        bad = replace(self.broker, TOPIC, "t", {"retention.ms": "x"}, True)
        self.assertEqual(self.refused(bad), ErrorCode.INVALID_CONFIG)

    def test_null_value(self) -> None:
        """A config without a value is refused."""
        change = replace(self.broker, TOPIC, "t", {"retention.ms": None}, False)
        self.assertEqual(self.refused(change), ErrorCode.INVALID_REQUEST)

    def test_unknown_resources(self) -> None:
        """Unknown topics, other brokers, groups without a name and other types are refused."""
        for kind, name, code in (
            (TOPIC, "u", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (BROKER, "7", ErrorCode.INVALID_REQUEST),
            (GROUP, "", ErrorCode.INVALID_REQUEST),
            (BROKER_LOGGER, "0", ErrorCode.INVALID_REQUEST),
            (77, "t", ErrorCode.INVALID_REQUEST),
        ):
            self.assertEqual(self.refused(replace(self.broker, kind, name, {}, False)), code, kind)

    def test_contradiction(self) -> None:
        """Configs that are valid alone but contradict each other are refused."""
        change = {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}
        self.assertEqual(
            self.refused(replace(self.broker, TOPIC, "t", change, False)), ErrorCode.INVALID_CONFIG
        )
        self.assertEqual(self.topic_configs, {})

    def test_many_groups(self) -> None:
        """The number of groups with configs is bounded; those with configs may change them."""
        self.patch(configs, "MOST_GROUPS", 1)
        change = {"consumer.session.timeout.ms": "46000"}
        lines = self.done(replace(self.broker, GROUP, "g\n", change, False))
        self.assertEqual(lines, ["changed configs of group 'g\\n': 'consumer.session.timeout.ms'"])
        other = replace(self.broker, GROUP, "h", change, False)
        self.assertEqual(self.refused(other), ErrorCode.POLICY_VIOLATION)
        self.done(replace(self.broker, GROUP, "g\n", {}, False))
        self.assertNotIn("g\n", self.broker.metadata.state.group_configs)


class AlterTests(ConfigsTestCase):
    def test_others_stay(self) -> None:
        """Configs that are not named stay as they are."""
        self.done(replace(self.broker, TOPIC, "t", {"retention.ms": "5", "segment.ms": "6"}, False))
        change = [Alteration("retention.ms", Operation.DELETE, None)]
        self.done(alter(self.broker, TOPIC, "t", change, False))
        self.assertEqual(self.topic_configs, {"segment.ms": "6"})

    def test_all_brokers(self) -> None:
        """A list of all brokers is changed from their own value, not from that of this broker."""
        lines = self.done(
            alter(self.broker, BROKER, "", [Alteration("log.retention.ms", Operation.SET, "5")], False)
        )
        self.assertEqual(lines, ["changed settings of all brokers: 'log.retention.ms'"])
        self.assertEqual(self.broker.config.get("log.retention.ms"), 5)

    def test_fixed_setting(self) -> None:
        """A setting that cannot change at run time is refused."""
        change = [Alteration("log.dirs", Operation.SET, "/elsewhere")]
        self.assertEqual(
            self.refused(alter(self.broker, BROKER, "0", change, False)), ErrorCode.INVALID_REQUEST
        )
