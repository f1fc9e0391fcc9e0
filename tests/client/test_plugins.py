"""Tests of kafkatx.client.plugins: settings that name a plugin, or are an object."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.plugins import (
    assignor,
    check_plugin_settings,
    configured_instance,
    decoder,
    encoder,
)
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer, producer
from kafkatx.errors import SettingError
from kafkatx.interfaces import IPartitioner, IProducerCallbacks
from kafkatx.partitioners import DefaultPartitioner, RoundRobinPartitioner


class PluginsTests(SynchronousTestCase):
    def settings(self, kind: str = "producer", **values: Any) -> ClientSettings:
        """Return settings of a client."""
        return ClientSettings.load(kind, values)

    def partitioner(self, **values: Any) -> Any:
        """Return the partitioner of some settings."""
        return configured_instance(self.settings(**values), producer.PARTITIONER_CLASS, IPartitioner)

    def test_name(self) -> None:
        """A name gives a new object of the installed plugin."""
        self.assertIsInstance(self.partitioner(), DefaultPartitioner)
        self.assertIsInstance(self.partitioner(partitioner_class="round-robin"), RoundRobinPartitioner)

    def test_object_and_class(self) -> None:
        """An object is used itself; a class is instantiated."""
        chosen = RoundRobinPartitioner()
        self.assertIs(self.partitioner(partitioner_class=chosen), chosen)
        self.assertIsInstance(
            self.partitioner(partitioner_class=RoundRobinPartitioner), RoundRobinPartitioner
        )

    def test_nothing(self) -> None:
        """An empty setting gives None."""
        found = configured_instance(self.settings(), producer.CALLBACK_HANDLER, IProducerCallbacks)
        self.assertIsNone(found)

    def test_unknown(self) -> None:
        """An unknown name is refused, with the nearest one."""
        error = self.assertRaises(SettingError, self.partitioner, partitioner_class="round-robbin")
        self.assertIn("did you mean round-robin?", str(error))
        self.assertRaises(SettingError, assignor, "none-such", self.settings("consumer"))

    def test_assignor(self) -> None:
        """An assignor is found by its name."""
        self.assertEqual(assignor("range", self.settings("consumer")).name, "range")

    def test_encoder(self) -> None:
        """bytes needs no encoder; a plugin, an object with encode() or a function does."""

        class Shout:
            def encode(self, topic: str, value: str) -> bytes:
                return f"{topic}:{value}".encode()

        choices: list[tuple[Any, Any]] = [
            ("bytes", None),
            ("string", b"v"),
            (Shout(), b"t:v"),
            (lambda value: value.encode() + b"!", b"v!"),
        ]
        for chosen, expected in choices:
            encode = encoder(self.settings(value_serializer=chosen), producer.VALUE_SERIALIZER)
            self.assertEqual(encode and encode("t", "v"), expected)

    def test_decoder(self) -> None:
        """Decoders are found in the same way."""
        plain = decoder(self.settings("consumer"), consumer.VALUE_DESERIALIZER)
        self.assertIsNone(plain)
        decode = decoder(self.settings("consumer", value_deserializer="json"), consumer.VALUE_DESERIALIZER)
        assert decode is not None
        self.assertEqual(decode("t", b'{"a":1}'), {"a": 1})

    def test_plugin_settings(self) -> None:
        """A setting of a plugin that is not installed is refused."""
        check_plugin_settings(self.settings())
        settings = self.settings(**{"kafkatx.plugin.nonesuch.x": "1"})
        self.assertRaises(SettingError, check_plugin_settings, settings)
