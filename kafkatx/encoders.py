"""Objects to messages and back: the built-in encoders, which are decoders as well.

Kafka's name for them is serializers. A topic may matter to one (a schema registry's subject, say); these
three do not look at it.
"""

from __future__ import annotations

import json
from typing import Any

from zope.interface import implementer

from kafkatx.interfaces import IDecoder, IEncoder


@implementer(IEncoder, IDecoder)
class BytesEncoder:
    """Messages as they are."""

    def encode(self, topic: str, value: bytes | None) -> bytes | None:
        """The same bytes.

        :raises TypeError: they are none.
        """
        if value is not None and not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"a {type(value).__name__} is not bytes: encode it, or set key.serializer or value.serializer"
            )
        return value

    def decode(self, topic: str, data: bytes | None) -> bytes | None:
        """The same bytes."""
        return data


@implementer(IEncoder, IDecoder)
class StringEncoder:
    """Text as UTF-8."""

    def encode(self, topic: str, value: str | None) -> bytes | None:
        """The text's bytes.

        :raises TypeError: it is no text.
        """
        if value is None:
            return None
        if not isinstance(value, str):
            raise TypeError(f"a {type(value).__name__} is not a str")
        return value.encode()

    def decode(self, topic: str, data: bytes | None) -> str | None:
        """The text.

        :raises ValueError: the bytes are not UTF-8.
        """
        return None if data is None else str(data, "utf-8")


@implementer(IEncoder, IDecoder)
class JsonEncoder:
    """JSON in UTF-8, without spaces; None is no message (a tombstone), not ``null``."""

    def encode(self, topic: str, value: Any) -> bytes | None:
        """The value's JSON.

        :raises TypeError: something in it has no JSON.
        :raises ValueError: it contains itself, or a number that JSON lacks.
        """
        if value is None:
            return None
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def decode(self, topic: str, data: bytes | None) -> Any:
        """The value.

        :raises ValueError: the bytes are no JSON, or nested too deeply.
        """
        try:
            return None if data is None else json.loads(bytes(data))
        except RecursionError:
            raise ValueError("JSON is nested too deeply") from None
