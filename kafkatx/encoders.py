"""The built-in encoders, which are decoders as well: objects to messages and back. Pure: no I/O.

Kafka calls them serializers. An encoder may depend on the topic (as with a schema registry); these do not.
"""

from __future__ import annotations

import json
from typing import Any

from zope.interface import implementer

from kafkatx.interfaces import IDecoder, IEncoder
from kafkatx.schemas.json_numbers import load


@implementer(IEncoder, IDecoder)
class BytesEncoder:
    """Messages as they are."""

    def encode(self, topic: str, value: bytes | None) -> bytes | None:
        """Return the same bytes.

        :raises TypeError: the value is not bytes.
        """
        if value is not None and not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"a {type(value).__name__} is not bytes: encode it, or set key.serializer or value.serializer"
            )
        return value

    def decode(self, topic: str, data: bytes | None) -> bytes | None:
        """Return the same bytes."""
        return data


@implementer(IEncoder, IDecoder)
class StringEncoder:
    """Text as UTF-8."""

    def encode(self, topic: str, value: str | None) -> bytes | None:
        """Return the text in UTF-8.

        :raises TypeError: the value is not a str.
        """
        if value is None:
            return None
        if not isinstance(value, str):
            raise TypeError(f"the string serializer takes str, not {type(value).__name__}")
        return value.encode()

    def decode(self, topic: str, data: bytes | None) -> str | None:
        """Return the text.

        :raises ValueError: the bytes are not UTF-8.
        """
        return None if data is None else str(data, "utf-8")


@implementer(IEncoder, IDecoder)
class JsonEncoder:
    """JSON in UTF-8, without spaces; None becomes no message (a tombstone), not ``null``."""

    def encode(self, topic: str, value: object) -> bytes | None:
        """Return the value as JSON.

        :raises TypeError: a part of it cannot be written as JSON.
        :raises ValueError: it contains itself, or a number that JSON does not have.
        """
        if value is None:
            return None
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def decode(self, topic: str, data: bytes | None) -> Any:
        """Return the value.

        :raises ValueError: the bytes are not JSON, are nested too deeply, or have a number beyond a double.
        """
        try:
            return None if data is None else load(bytes(data))
        except RecursionError:
            raise ValueError("JSON is nested too deeply") from None
