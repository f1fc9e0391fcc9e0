"""Tests of kafkatx.client.admin.configs and kafkatx.client.admin.quotas."""

from __future__ import annotations

from kafkatx.clientcore.admin.configs import ConfigEntry, ConfigType, Resource, ResourceType, Source, Synonym
from kafkatx.clientcore.admin.quotas import EntityQuotas
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from kafkatx.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest
from kafkatx.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.blocking.fake_settings import BROKER, TOPIC, FakeSettings
from tests.blocking.fakes import Log
from tests.client.admins import AdminTestCase

T = Resource(ResourceType.TOPIC, "t")
BROKER_2 = Resource(ResourceType.BROKER, "2")
DEFAULTS = Resource(ResourceType.BROKER, "")
PATIENT_S = 3.0


class ConfigsTests(AdminTestCase):
    def setUp(self) -> None:
        """Make two brokers, and a topic with a setting."""
        self.fake = FakeSettings({"t": [Log()]}, brokers=2, settings={(TOPIC, "t"): {"retention.ms": "5"}})
        self.open(self.fake)
        self.configs = self.admin.configs

    def test_describe(self) -> None:
        """Settings are sorted, each with its source and its flags."""
        found = self.result(self.configs.describe(T, synonyms=True))
        self.assertEqual(list(found), ["cleanup.policy", "future", "retention.ms", "secret"])
        self.assertEqual(
            found["retention.ms"], ConfigEntry("retention.ms", "5", Source.TOPIC, type=ConfigType.LONG)
        )
        self.assertEqual(
            found["cleanup.policy"].synonyms, (Synonym("log.cleanup.policy", "delete", Source.DEFAULT),)
        )
        self.assertEqual(self.result(self.configs.describe(T))["cleanup.policy"].synonyms, ())

    def test_version_0(self) -> None:
        """The version of the request decides how the answer is read."""
        self.network.newest[DescribeConfigsRequest] = 0
        for link in self.network.live():
            link.lose()
        found = self.result(self.configs.describe(T), PATIENT_S)
        self.assertEqual(
            (found["cleanup.policy"].source, found["future"].source), (Source.DEFAULT, Source.TOPIC)
        )

    def test_whom_to_ask(self) -> None:
        """A broker's settings are read and changed at that broker; all others at any broker."""
        for _ in range(5):
            self.result(self.configs.describe(BROKER_2))
            self.result(self.configs.alter(BROKER_2, {"a": "1"}))
        self.assertEqual(set(self.asked(DescribeConfigsRequest)), {2})
        self.assertEqual(set(self.asked(IncrementalAlterConfigsRequest)), {2})
        for resource in (T, DEFAULTS, Resource(ResourceType.BROKER, "77")):
            self.result(self.configs.describe(resource))

    def test_alter(self) -> None:
        """Given settings are set and deleted ones removed; validation alone changes nothing."""
        self.result(self.configs.alter(T, {"segment.ms": "8"}, validate_only=True))
        self.assertEqual(self.fake.settings[TOPIC, "t"], {"retention.ms": "5"})
        self.result(self.configs.alter(T, {"segment.ms": "9"}, ["retention.ms"]))
        self.assertEqual(self.fake.settings[TOPIC, "t"], {"segment.ms": "9"})
        self.result(self.configs.alter(DEFAULTS, {"a": "1"}))
        self.assertEqual(self.fake.settings[BROKER, ""], {"a": "1"})

    def test_refused(self) -> None:
        """The broker's reason is reported with the resource; an unknown topic is not waited for."""
        error = self.error(RequestError, self.configs.alter(BROKER_2, {"log.dirs": "x"}))
        self.assertEqual(str(error), "settings of broker 2: log.dirs cannot be changed")
        nope = Resource(ResourceType.TOPIC, "nope")
        self.error(UnknownTopic, self.configs.describe(nope))
        self.error(UnknownTopic, self.configs.alter(nope, {"a": "1"}))

    def test_retried(self) -> None:
        """A retriable error is retried, and so is a broker that is down, at another one if possible."""
        self.fake.faults[IncrementalAlterConfigsRequest].append(ErrorCode.NOT_CONTROLLER)
        self.fake.faults[DescribeConfigsRequest].append(ErrorCode.REQUEST_TIMED_OUT)
        self.result(self.configs.alter(T, {"segment.ms": "9"}), PATIENT_S)
        self.assertIn("segment.ms", self.result(self.configs.describe(T), PATIENT_S))
        self.network.kill(2)
        for _ in range(5):
            self.result(self.configs.describe(T), 20)


class QuotasTests(AdminTestCase):
    def setUp(self) -> None:
        """Make one broker."""
        self.fake = FakeSettings()
        self.open(self.fake)
        self.quotas = self.admin.quotas

    def test_quotas(self) -> None:
        """Quotas that are set can be read, for one entity or all; deleted ones are gone."""
        ann, anybody = {"user": "ann"}, {"client-id": None}
        self.result(self.quotas.alter(ann, {"producer_byte_rate": 5.0, "consumer_byte_rate": 6.0}))
        self.result(self.quotas.alter(anybody, {"producer_byte_rate": 7.0}))
        self.result(self.quotas.alter(ann, {"producer_byte_rate": 9.0}, validate_only=True))
        self.result(self.quotas.alter(ann, deleted=["consumer_byte_rate"]))
        of_ann = EntityQuotas(ann, {"producer_byte_rate": 5.0})
        self.assertEqual(self.result(self.quotas.describe(ann)), [of_ann])
        self.assertEqual(
            self.result(self.quotas.describe()), [EntityQuotas(anybody, {"producer_byte_rate": 7.0}), of_ann]
        )

    def test_refused(self) -> None:
        """The error names the entity; a retriable one is tried again."""
        error = self.error(RequestError, self.quotas.alter({"user": "ann"}, {"producer_byte_rate": -1.0}))
        self.assertEqual(str(error), "quotas of user 'ann': invalid request")
        self.fake.faults[AlterClientQuotasRequest].append(ErrorCode.NOT_CONTROLLER)
        self.fake.faults[DescribeClientQuotasRequest].append(ErrorCode.REQUEST_TIMED_OUT)
        self.result(self.quotas.alter({"user": "ann"}, {"producer_byte_rate": 1.0}), PATIENT_S)
        self.assertEqual(len(self.result(self.quotas.describe(), PATIENT_S)), 1)
