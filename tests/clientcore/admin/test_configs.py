"""Tests of kafkatx.clientcore.admin.configs: requests and responses."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin import configs
from kafkatx.clientcore.admin.configs import ConfigEntry, ConfigType, Resource, ResourceType, Source, Synonym
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages import describe_configs as m
from kafkatx.wire.messages import incremental_alter_configs as alter

TOPIC, BROKER, ALL = (
    Resource(ResourceType.TOPIC, "t"),
    Resource(ResourceType.BROKER, "3"),
    Resource(ResourceType.BROKER, ""),
)


def described(*results: Any, code: int = 0, message: str | None = None) -> m.DescribeConfigsResponse:
    """Return a response for one resource."""
    result = m.DescribeConfigsResult(code, message, ResourceType.TOPIC, "t", list(results))
    return m.DescribeConfigsResponse(results=[result])


def told(name: str, **fields: Any) -> m.DescribeConfigsResourceResult:
    """Return one setting of a response."""
    return m.DescribeConfigsResourceResult(**{"name": name, "value": "1", "synonyms": [], **fields})


class ResourceTests(SynchronousTestCase):
    def test_whom_to_ask(self) -> None:
        """A broker's own settings are read from that broker; those of topics and the defaults from any."""
        self.assertEqual([one.broker_id for one in (TOPIC, BROKER, ALL)], [None, 3, None])

    def test_words(self) -> None:
        """Resources are named as in error messages."""
        words = ["topic 't'", "broker 3", "the defaults of all brokers"]
        self.assertEqual([str(one) for one in (TOPIC, BROKER, ALL)], words)


class DescribeTests(SynchronousTestCase):
    def test_request(self) -> None:
        """A request asks for all settings of one resource."""
        request = configs.describe_request(BROKER, synonyms=True)
        (asked,) = request.resources
        found = (asked.resource_type, asked.resource_name, asked.configuration_keys, request.include_synonyms)
        self.assertEqual(found, (4, "3", None, True))

    def test_entries(self) -> None:
        """Entries are sorted by name, and have all fields of the response."""
        synonym = m.DescribeConfigsSynonym("log.b", "2", Source.STATIC)
        one = told("b", config_source=Source.TOPIC, config_type=ConfigType.LONG, synonyms=[synonym])
        other = told("a", value=None, is_sensitive=True, read_only=True, config_source=Source.STATIC)
        found = configs.entries(described(one, other), TOPIC, 4)
        self.assertEqual(list(found), ["a", "b"])
        long = ConfigEntry("b", "1", Source.TOPIC, type=ConfigType.LONG)
        expected = (Synonym("log.b", "2", Source.STATIC),)
        self.assertEqual((found["b"].type, found["b"].synonyms), (long.type, expected))
        self.assertTrue(found["b"].overridden)
        self.assertEqual(found["a"], ConfigEntry("a", None, Source.STATIC, True, True))
        self.assertFalse(found["a"].overridden)

    def test_version_0(self) -> None:
        """Version 0 tells only defaults from other values."""
        one, other = told("a", is_default=True), told("b", is_default=False)
        for resource, source in ((TOPIC, Source.TOPIC), (BROKER, Source.STATIC)):
            found = configs.entries(described(one, other), resource, 0)
            self.assertEqual((found["a"].source, found["b"].source), (Source.DEFAULT, source))

    def test_newer_numbers(self) -> None:
        """Unknown numbers of newer versions are read as unknown."""
        found = configs.entries(described(told("a", config_source=99, config_type=77)), TOPIC, 4)
        self.assertEqual((found["a"].source, found["a"].type), (Source.UNKNOWN, ConfigType.UNKNOWN))

    def test_refused(self) -> None:
        """An unknown topic raises UnknownTopic; other errors keep the broker's message."""
        missing = described(code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertRaises(UnknownTopic, configs.entries, missing, TOPIC, 4)
        error = self.assertRaises(RequestError, configs.entries, missing, BROKER, 4)
        self.assertNotIsInstance(error, UnknownTopic)
        denied = described(code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, message="no")
        error = self.assertRaises(RequestError, configs.entries, denied, TOPIC, 4)
        self.assertEqual(str(error), "settings of topic 't': no")


class AlterTests(SynchronousTestCase):
    def test_request(self) -> None:
        """The request has the settings to set and to delete."""
        request = configs.alter_request(TOPIC, {"a": "1"}, ["b"], validate_only=True)
        (changed,) = request.resources
        self.assertEqual(
            (changed.resource_type, changed.resource_name, request.validate_only), (2, "t", True)
        )
        found = [(one.name, one.config_operation, one.value) for one in changed.configs]
        self.assertEqual(found, [("a", 0, "1"), ("b", 1, None)])

    def test_answer(self) -> None:
        """A response without an error returns None, and another raises it."""

        def answer(code: int) -> alter.IncrementalAlterConfigsResponse:
            result = alter.AlterConfigsResourceResponse(code, "words", 2, "t")
            return alter.IncrementalAlterConfigsResponse(responses=[result])

        configs.check_altered(answer(0), TOPIC)
        for code, error in (
            (ErrorCode.INVALID_CONFIG, RequestError),
            (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UnknownTopic),
        ):
            self.assertRaises(error, configs.check_altered, answer(code), TOPIC)
