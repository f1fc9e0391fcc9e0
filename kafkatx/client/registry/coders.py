"""The encoders and decoders by their names in the settings."""

from __future__ import annotations

from kafkatx.client.registry.decoder import RegistryDecoder
from kafkatx.client.registry.encoder import RegistryEncoder
from kafkatx.schemas.messages.avro import AvroFormat


def avro_encoder() -> RegistryEncoder:
    """Return the encoder ``avro``."""
    return RegistryEncoder(AvroFormat())


def avro_decoder() -> RegistryDecoder:
    """Return the decoder ``avro``."""
    return RegistryDecoder(AvroFormat())
