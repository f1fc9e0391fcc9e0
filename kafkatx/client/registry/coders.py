"""The encoders and decoders by their names in the settings."""

from __future__ import annotations

from kafkatx.client.registry.decoder import RegistryDecoder
from kafkatx.client.registry.encoder import RegistryEncoder
from kafkatx.schemas.messages.avro.avro_format import AvroFormat
from kafkatx.schemas.messages.json_schema import JsonSchemaFormat
from kafkatx.schemas.messages.protobuf.protobuf_format import ProtobufFormat


def avro_encoder() -> RegistryEncoder:
    """Return the encoder ``avro``."""
    return RegistryEncoder(AvroFormat())


def avro_decoder() -> RegistryDecoder:
    """Return the decoder ``avro``."""
    return RegistryDecoder(AvroFormat())


def json_encoder() -> RegistryEncoder:
    """Return the encoder ``json-schema``."""
    return RegistryEncoder(JsonSchemaFormat())


def json_decoder() -> RegistryDecoder:
    """Return the decoder ``json-schema``."""
    return RegistryDecoder(JsonSchemaFormat())


def protobuf_encoder() -> RegistryEncoder:
    """Return the encoder ``protobuf``."""
    return RegistryEncoder(ProtobufFormat())


def protobuf_decoder() -> RegistryDecoder:
    """Return the decoder ``protobuf``."""
    return RegistryDecoder(ProtobufFormat())
