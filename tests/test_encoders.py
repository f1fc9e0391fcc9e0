"""Tests of kafkatx.encoders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.encoders import BytesEncoder, JsonEncoder, StringEncoder
from kafkatx.extension import find
from kafkatx.interfaces import IDecoder, IEncoder
from kafkatx.testing.contracts.decoder import DecoderContract
from kafkatx.testing.contracts.producer import EncoderContract


class BytesEncoderTests(EncoderContract, SynchronousTestCase):
    make_encoder = make_decoder = BytesEncoder

    def samples(self) -> Iterable[Any]:
        """Any bytes."""
        return (b"", b"\0\xff")

    def refused(self) -> Iterable[Any]:
        """Nothing else."""
        return ("text", 5, [b"x"])


class StringEncoderTests(EncoderContract, SynchronousTestCase):
    make_encoder = make_decoder = StringEncoder

    def samples(self) -> Iterable[Any]:
        """Any text."""
        return ("", "grün", "\0😀")

    def refused(self) -> Iterable[Any]:
        """Bytes, and what UTF-8 lacks."""
        return (b"bytes", 5, "\ud800")

    def malformed(self) -> Iterable[bytes]:
        """Return bytes that are not UTF-8."""
        return (b"\xff",)

    def test_utf_8(self) -> None:
        """Text is UTF-8, as Java's StringSerializer makes it."""
        self.assertEqual(StringEncoder().encode("t", "grün"), b"gr\xc3\xbcn")


class JsonDecoderTests(DecoderContract, SynchronousTestCase):
    make_decoder = JsonEncoder

    def samples(self) -> Iterable[tuple[bytes, Any]]:
        """JSON with and without spaces."""
        return ((b'{"a": 1}', {"a": 1}), (b'[1,"x"]', [1, "x"]))

    def malformed(self) -> Iterable[bytes]:
        """Return bytes that are not JSON."""
        return (b"{", b"\xff")


class JsonEncoderTests(EncoderContract, SynchronousTestCase):
    make_encoder = make_decoder = JsonEncoder

    def samples(self) -> Iterable[Any]:
        """Return values that JSON has."""
        return ({"a": [1, 2.5, None, True, "ü"]}, [], 0, False, "")

    def refused(self) -> Iterable[Any]:
        """Return values that JSON lacks."""
        return (b"bytes", {1, 2}, float("nan"))

    def malformed(self) -> Iterable[bytes]:
        """Return bytes that are not JSON."""
        return (b"", b"{", b"\xff")

    def test_compact(self) -> None:
        """There are no spaces and no escapes that are not needed."""
        self.assertEqual(JsonEncoder().encode("t", {"a": [1, "ü"]}), '{"a":[1,"ü"]}'.encode())


class ExtensionTests(SynchronousTestCase):
    def test_by_name(self) -> None:
        """The built-in ones are found by name, for encoding and for decoding."""
        for name, made in (("bytes", BytesEncoder), ("string", StringEncoder), ("json", JsonEncoder)):
            for interface in (IEncoder, IDecoder):
                self.assertIs(type(find(interface, name, "value.serializer")()), made)
