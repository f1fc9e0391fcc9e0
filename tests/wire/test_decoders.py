"""The generator of decoders: what its code reads at once, and that bad bytes are refused."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.wire.codec import counting_decoder, decode, decoder, encode
from kafkatx.wire.decoders import decoder_source
from kafkatx.wire.schema import INT16, INT32, STRING, Message, Struct, array, field, nullable


class Item(Struct):
    """An element."""

    number: int = field(INT32)


class Example(Message, key=-1, versions=(0, 2), flexible=2):
    """A message with most kinds of fields."""

    first: int = field(INT16)
    second: int = field(INT32)
    text: str | None = field(nullable(STRING))
    items: list[Item] = field(array(Item), since=1)
    extra: int = field(INT32, since=2, tag=3, default=5)


class DecoderTests(SynchronousTestCase):
    def test_one_read(self) -> None:
        """Neighbouring fields of fixed size, and the length behind them, are one read."""
        self.assertIn("unpack_hih", str(decoder_source(Example, 0)))

    def test_defaults(self) -> None:
        """Fields that a version lacks have their defaults, each object a list of its own."""
        data = encode(Example(1, 2, "x"), 0)
        one, other = decode(Example, 0, data), decode(Example, 0, data)
        self.assertEqual((one.items, one.extra), ([], 5))
        self.assertIsNot(one.items, other.items)

    def test_truncated(self) -> None:
        """Every truncation of every version is an error, never a shorter message."""
        for version in range(3):
            data = encode(Example(1, 2, "text", [Item(3)], 9), version)
            for size in range(len(data)):
                self.assertRaises(ProtocolViolation, decode, Example, version, data[:size])

    def test_left_over(self) -> None:
        """Bytes behind the message are an error for :func:`decode`."""
        self.assertRaises(ProtocolViolation, decode, Example, 0, encode(Example(1), 0) + b"?")

    def test_large_count(self) -> None:
        """An array that claims more elements than bytes are left is refused before it is made."""
        data = encode(Example(1, 2, "x"), 1)
        self.assertRaises(ProtocolViolation, decoder(Example, 1), data[:-4] + b"\x7f\xff\xff\xff", 0)

    def test_unknown_tag(self) -> None:
        """An unknown tagged field is skipped by its size."""
        data = encode(Example(1, 2, "x"), 2)
        self.assertEqual(data[-1:], b"\0")
        self.assertEqual(decode(Example, 2, data[:-1] + b"\1\x09\2zz"), Example(1, 2, "x"))

    def test_counting(self) -> None:
        """The counting form takes as many elements as it is told, and no more."""
        data = encode(Example(1, 2, "x", [Item(1), Item(2)]), 1)
        message, end = counting_decoder(Example, 1)(data, 0, 2)
        self.assertEqual((len(message.items), end), (2, len(data)))
        self.assertRaises(ProtocolViolation, counting_decoder(Example, 1), data, 0, 1)
