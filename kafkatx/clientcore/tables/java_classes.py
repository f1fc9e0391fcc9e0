"""The names of classes of Java clients in settings, and the plugins that do the same. Pure.

So the properties file of a Java program can be used as it is. Other classes are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_APACHE, _CONFLUENT = "org.apache.kafka.common.serialization.", "io.confluent.kafka.serializers."
_PLAIN = {"String": "string", "ByteArray": "bytes", "ByteBuffer": "bytes", "Bytes": "bytes"}
_WITH_SCHEMAS = {
    "KafkaAvro": "avro",
    "json.KafkaJsonSchema": "json-schema",
    "protobuf.KafkaProtobuf": "protobuf",
}


def _classes(ending: str) -> Mapping[str, str]:
    apache = {f"{_APACHE}{name}{ending}": plugin for name, plugin in _PLAIN.items()}
    confluent = {f"{_CONFLUENT}{name}{ending}": plugin for name, plugin in _WITH_SCHEMAS.items()}
    return MappingProxyType({**apache, **confluent})


SERIALIZERS: Mapping[str, str] = MappingProxyType(
    {
        **_classes("Serializer"),
        "kafka.serializer.StringEncoder": "string",
        "kafka.serializer.DefaultEncoder": "bytes",
    }
)
"""The plugins of serializers, and of the encoders of Kafka 0.8."""

DESERIALIZERS = _classes("Deserializer")

PARTITIONERS: Mapping[str, str] = MappingProxyType(
    {
        "org.apache.kafka.clients.producer.internals.DefaultPartitioner": "default",
        "org.apache.kafka.clients.producer.RoundRobinPartitioner": "round-robin",
    }
)
