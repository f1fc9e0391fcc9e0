"""Decoding and encoding of messages: one function per message and version, compiled at its first use. Pure.

``source(cls, version)`` returns the code of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from kafkatx.errors import ProtocolViolation
from kafkatx.types import FileSlice, Records
from kafkatx.wire.decoders import decoder_source
from kafkatx.wire.encoders import encoder_source
from kafkatx.wire.schema import Message

M = TypeVar("M", bound=Message)

Decoder: TypeAlias = Callable[[memoryview | bytes, int], tuple[M, int]]
"""(buffer, position) -> (message, position after it)."""

Encoder: TypeAlias = Callable[[M], list[Records]]
"""Message -> chunks; a chunk is the uncopied value of a records field, or the bytes between two of them."""

CountingDecoder: TypeAlias = Callable[[memoryview | bytes, int, int], tuple[M, int]]
"""(buffer, position, most elements of all arrays together) -> (message, position after it)."""

_counting_decoders: dict[tuple[type[Message], int], CountingDecoder[Any]] = {}
_decoders: dict[tuple[type[Message], int], Decoder[Any]] = {}
_encoders: dict[tuple[type[Message], int], Encoder[Any]] = {}


def decoder(cls: type[M], version: int) -> Decoder[M]:
    """Return the function that decodes one version of a message.

    Records are a slice of the buffer, uncopied, or None. Fields that the version lacks get their defaults;
    unknown tagged fields are skipped. The function raises :class:`ProtocolViolation` if the bytes are
    malformed; it allocates no more than the buffer's size justifies.

    :raises ValueError: there is no such version.
    """
    made = _decoders.get((cls, version))
    if made is None:
        code = decoder_source(_known(cls, version), version)
        made = _decoders[cls, version] = code.function("decode", f"decoder of {cls.__name__} v{version}")
    return made


def counting_decoder(cls: type[M], version: int) -> CountingDecoder[M]:
    """Return the decoder for large messages: it raises ProtocolViolation if arrays have too many elements.

    :raises ValueError: there is no such version.
    """
    made = _counting_decoders.get((cls, version))
    if made is None:
        code = decoder_source(_known(cls, version), version, True)
        name = f"counting decoder of {cls.__name__} v{version}"
        made = _counting_decoders[cls, version] = code.function("decode", name)
    return made


def encoder(cls: type[M], version: int) -> Encoder[M]:
    """Return the function that encodes one version of a message.

    Fields that the version lacks are omitted. The function raises ValueError, with the message's name and
    version, if a value does not fit its field.

    :raises ValueError: there is no such version.
    """
    made = _encoders.get((cls, version))
    if made is None:
        code = encoder_source(_known(cls, version), version)
        made = _encoders[cls, version] = code.function("encode", f"encoder of {cls.__name__} v{version}")
    return made


def decode(cls: type[M], version: int, data: memoryview | bytes) -> M:
    """Decode a message that fills *data*.

    :raises ProtocolViolation: it is malformed, or has additional bytes.
    """
    message, end = decoder(cls, version)(data, 0)
    if end != len(data):
        raise ProtocolViolation(f"{len(data) - end} bytes are left over after {cls.__name__} v{version}")
    return message


def encode(message: Message, version: int) -> bytes:
    """Encode a message to bytes; file slices are read.

    :raises ValueError: there is no such version, or a value does not fit its field.
    :raises OSError: a file slice cannot be read.
    """
    chunks = encoder(type(message), version)(message)
    return b"".join([c.tobytes() if isinstance(c, FileSlice) else c for c in chunks])


def source(cls: type[Message], version: int) -> str:
    """Return the generated code of the decoder and the encoder, for people."""
    _known(cls, version)
    return f"{decoder_source(cls, version)}\n\n{encoder_source(cls, version)}"


def _known(cls: type[M], version: int) -> type[M]:
    if version not in cls.VERSIONS:
        raise ValueError(f"{cls.__name__} has versions {cls.VERSIONS[0]}-{cls.VERSIONS[-1]}, not {version}")
    return cls
