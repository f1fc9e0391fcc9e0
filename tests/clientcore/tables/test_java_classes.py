"""Tests of the names of Java classes in settings."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.interface import InterfaceClass

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer, producer
from kafkatx.clientcore.tables.java_classes import DESERIALIZERS, PARTITIONERS, SERIALIZERS
from kafkatx.extension import extensions
from kafkatx.interfaces import IDecoder, IEncoder, IPartitioner, IRegistryDecoder, IRegistryEncoder


class JavaClassTests(SynchronousTestCase):
    def test_installed(self) -> None:
        """Each name stands for a plugin that is built in."""

        def names(*interfaces: InterfaceClass) -> set[str]:
            return {one.name for interface in interfaces for one in extensions(interface)}

        self.assertLessEqual(set(SERIALIZERS.values()), names(IEncoder, IRegistryEncoder))
        self.assertLessEqual(set(DESERIALIZERS.values()), names(IDecoder, IRegistryDecoder))
        self.assertLessEqual(set(PARTITIONERS.values()), names(IPartitioner))

    def test_settings(self) -> None:
        """The settings of a Java program name the same parts; other classes are looked up as plugins."""
        serialization = "org.apache.kafka.common.serialization."
        confluent = "io.confluent.kafka.serializers."
        for setting, text, name in (
            (producer.KEY_SERIALIZER, f"{serialization}StringSerializer", "string"),
            (producer.VALUE_SERIALIZER, f"{serialization}ByteArraySerializer", "bytes"),
            (producer.VALUE_SERIALIZER, f"{confluent}KafkaAvroSerializer", "avro"),
            (consumer.KEY_DESERIALIZER, f"{serialization}ByteBufferDeserializer", "bytes"),
            (consumer.VALUE_DESERIALIZER, f"{confluent}json.KafkaJsonSchemaDeserializer", "json-schema"),
            (
                producer.PARTITIONER_CLASS,
                "org.apache.kafka.clients.producer.RoundRobinPartitioner",
                "round-robin",
            ),
            (producer.VALUE_SERIALIZER, "com.example.Own", "com.example.Own"),
        ):
            kind = "consumer" if "deserializer" in setting.name else "producer"
            settings = ClientSettings.load(kind, {setting.name: text})
            self.assertEqual(settings.part(setting), name)
