"""Tests of kafkatx.blocking.admin.configs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.configs import Configs
from kafkatx.clientcore.admin.configs import ConfigEntry, ConfigType, Resource, ResourceType, Source, Synonym
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest
from kafkatx.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.blocking.fake_settings import BROKER, TOPIC, FakeSettings
from tests.blocking.fakes import Log

T = Resource(ResourceType.TOPIC, "t")
BROKER_2 = Resource(ResourceType.BROKER, "2")
DEFAULTS = Resource(ResourceType.BROKER, "")


class ConfigsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two brokers, and a topic with a setting."""
        self.fake = FakeSettings({"t": [Log()]}, brokers=2, settings={(TOPIC, "t"): {"retention.ms": "5"}})
        self.configs = Configs(self.fake.client(retries=3))

    def asked(self, request: type) -> list[int]:
        """The brokers that got requests of this kind."""
        return [node for node, message in self.fake.requests if isinstance(message, request)]

    def test_describe(self) -> None:
        """Every setting in order, with where it comes from and what it is."""
        found = self.configs.describe(T, synonyms=True)
        self.assertEqual(list(found), ["cleanup.policy", "future", "retention.ms", "secret"])
        self.assertEqual(
            found["retention.ms"], ConfigEntry("retention.ms", "5", Source.TOPIC, type=ConfigType.LONG)
        )
        self.assertTrue(found["retention.ms"].overridden)
        self.assertFalse(found["cleanup.policy"].overridden)
        self.assertEqual(
            found["cleanup.policy"].synonyms, (Synonym("log.cleanup.policy", "delete", Source.DEFAULT),)
        )
        self.assertEqual((found["secret"].value, found["secret"].sensitive), (None, True))
        self.assertTrue(self.fake.sent(DescribeConfigsRequest)[0].include_synonyms)

    def test_values_of_topics(self) -> None:
        """One config of many topics takes a request for each 500; what is not shown is left out."""
        self.assertEqual(self.configs.values_of_topics("retention.ms", ["t"]), {"t": "5"})
        (asked,) = self.fake.sent(DescribeConfigsRequest)[0].resources
        self.assertEqual(asked.configuration_keys, ["retention.ms"])
        self.assertEqual(self.configs.values_of_topics("retention.ms", ["gone"]), {})
        del self.fake.requests[:]
        self.configs.values_of_topics("retention.ms", [f"t{n}" for n in range(501)])
        sizes = [len(sent.resources) for sent in self.fake.sent(DescribeConfigsRequest)]
        self.assertEqual(sizes, [500, 1])
        self.assertEqual(self.configs.values_of_topics("retention.ms", []), {})

    def test_newer_broker(self) -> None:
        """Numbers that we do not know are unknown, not an error."""
        entry = self.configs.describe(T)["future"]
        self.assertEqual((entry.source, entry.type), (Source.UNKNOWN, ConfigType.UNKNOWN))

    def test_version_0(self) -> None:
        """Version 0 tells only what is a default: the rest is the topic's own, or in the broker's file."""
        self.fake.versions[DescribeConfigsRequest] = 0
        found = self.configs.describe(T)
        self.assertEqual(
            (found["cleanup.policy"].source, found["future"].source), (Source.DEFAULT, Source.TOPIC)
        )
        self.assertIs(self.configs.describe(BROKER_2)["future"].source, Source.STATIC)

    def test_whom_to_ask(self) -> None:
        """A broker's settings are asked of that broker, all others of any; so are the changes."""
        for resource, node in (
            (BROKER_2, 2),
            (DEFAULTS, 1),
            (T, 1),
            (Resource(ResourceType.BROKER, "77"), 1),
        ):
            self.fake.requests.clear()
            self.configs.describe(resource)
            self.configs.alter(resource, {"a": "1"})
            self.assertEqual(self.asked(DescribeConfigsRequest), [node])
            self.assertEqual(self.asked(IncrementalAlterConfigsRequest), [node])

    def test_alter(self) -> None:
        """Values are set and others deleted in one request."""
        self.configs.alter(T, {"segment.ms": "9"}, ["retention.ms"])
        self.assertEqual(self.fake.settings[TOPIC, "t"], {"segment.ms": "9"})
        self.configs.alter(DEFAULTS, {"a": "1"})
        self.assertEqual(self.fake.settings[BROKER, ""], {"a": "1"})

    def test_validate_only(self) -> None:
        """Nothing is changed if the broker is only to judge."""
        self.configs.alter(T, {"segment.ms": "9"}, validate_only=True)
        self.assertEqual(self.fake.settings[TOPIC, "t"], {"retention.ms": "5"})

    def test_refused(self) -> None:
        """The broker's reason is told, with what it is about."""
        error = self.assertRaises(RequestError, self.configs.alter, BROKER_2, {"log.dirs": "x"})
        self.assertEqual(str(error), "settings of broker 2: log.dirs cannot be changed")
        error = self.assertRaises(RequestError, self.configs.alter, DEFAULTS, {"log.dirs": "x"})
        self.assertIn("settings of the defaults of all brokers", str(error))

    def test_unknown_topic(self) -> None:
        """A topic that is not there is not waited for."""
        nope = Resource(ResourceType.TOPIC, "nope")
        self.assertRaises(UnknownTopic, self.configs.describe, nope)
        self.assertRaises(UnknownTopic, self.configs.alter, nope, {"a": "1"})
        self.assertEqual(self.fake.slept, [])

    def test_retried(self) -> None:
        """An error that may pass is waited for, at the first contact too."""
        self.fake.faults[IncrementalAlterConfigsRequest].append(ErrorCode.NOT_CONTROLLER)
        self.fake.faults[DescribeConfigsRequest].append(ErrorCode.REQUEST_TIMED_OUT)
        self.configs.alter(T, {"segment.ms": "9"})
        self.assertIn("segment.ms", self.configs.describe(T))
        self.assertEqual(self.fake.slept, [0.1, 0.1])
