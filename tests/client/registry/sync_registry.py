"""A registry client that waits, in place of the one of Twisted: for coders without a reactor."""

from __future__ import annotations

from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.client.registry.decoder import RegistryDecoder
from kafkatx.client.registry.encoder import RegistryEncoder
from kafkatx.clientcore.registry.plans import Plan
from kafkatx.clientcore.settings import ClientSettings

T = TypeVar("T")


class SyncRegistry:
    """Carries plans out at once."""

    def __init__(self, url: str) -> None:
        self._blocking = BlockingRegistry.of({"schema.registry.url": url})
        self.settings = self._blocking.settings
        self.reactor = Clock()

    def run(self, plan: Plan[T]) -> Deferred[T]:
        """Return a Deferred that has fired."""
        try:
            return succeed(self._blocking.run(plan))
        except Exception:
            return fail()

    def close(self) -> None:
        """Close the connection."""
        self._blocking.close()


def attach_encoder(
    made: RegistryEncoder, registry: Any, is_key: bool = False, **values: Any
) -> RegistryEncoder:
    """Give an encoder a registry and settings."""
    settings = {"schema.registry.url": "http://r", **values}
    made.attach(registry, ClientSettings.load("producer", settings), is_key)
    return made


def attach_decoder(
    made: RegistryDecoder, registry: Any, is_key: bool = False, **values: Any
) -> RegistryDecoder:
    """Give a decoder a registry and settings."""
    settings = {"schema.registry.url": "http://r", **values}
    made.attach(registry, ClientSettings.load("consumer", settings), is_key)
    return made


def encode(encoder: RegistryEncoder, topic: str, value: Any) -> tuple[bytes | None, Any]:
    """Encode a value, preparing the encoder first; return the bytes and the headers."""
    asked = encoder.prepare(topic, value)
    failed: list[Any] = []
    if asked is not None:
        asked.addErrback(failed.append)
    if failed:
        failed[0].raiseException()
    return encoder.encode_record(topic, value)


def decode(decoder: RegistryDecoder, topic: str, data: bytes, headers: bytes = b"") -> Any:
    """Decode a message, preparing the decoder first."""
    asked = decoder.prepare_batch(topic, [data], [headers])
    failed: list[Any] = []
    if asked is not None:
        asked.addErrback(failed.append)
    if failed:
        failed[0].raiseException()
    return decoder.decode_record(topic, data, headers)
