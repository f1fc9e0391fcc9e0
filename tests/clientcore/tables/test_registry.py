"""Tests of kafkatx.clientcore.tables.registry: names and values of Confluent's serializers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import registry
from kafkatx.errors import SettingError

_PLACE = "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"


class RegistryTableTests(SynchronousTestCase):
    def test_java_names(self) -> None:
        """The settings of a Java producer are taken as they are."""
        settings = ClientSettings.load(
            "producer",
            {
                "schema.registry.url": "http://a:8081,http://b:8081",
                "auto.register.schemas": "false",
                "use.latest.version": "true",
                "value.schema.id.serializer": _PLACE,
            },
        )
        self.assertEqual(settings[registry.URL], ("http://a:8081", "http://b:8081"))
        self.assertEqual((settings[registry.AUTO_REGISTER], settings[registry.USE_LATEST]), (False, True))
        self.assertEqual(
            (settings[registry.VALUE_ID_PLACE], settings[registry.KEY_ID_PLACE]),
            (registry.HEADER, registry.PREFIX),
        )

    def test_kinds(self) -> None:
        """A consumer does not have the settings of encoders."""
        self.assertRaises(SettingError, ClientSettings.load, "consumer", {"auto.register.schemas": "true"})
