"""The generator of encoders: what its code packs at once, chunks of records, and values that do not fit."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire.codec import encode, encoder
from kafkatx.wire.encoders import encoder_source
from kafkatx.wire.schema import INT16, INT32, RECORDS, STRING, Message, field, nullable


class Example(Message, key=-1, versions=(0, 2), flexible=2):
    """A message with records between other fields."""

    first: int = field(INT16)
    second: int = field(INT32)
    records: bytes | memoryview | None = field(nullable(RECORDS))
    text: str | None = field(nullable(STRING), since=1, default=None)
    extra: int = field(INT32, since=2, tag=3, default=5)


class EncoderTests(SynchronousTestCase):
    def test_one_pack(self) -> None:
        """Neighbouring fields of fixed size, and the length behind them, are one call."""
        self.assertIn("pack_hii", str(encoder_source(Example, 0)))

    def test_records_are_not_copied(self) -> None:
        """Records are a chunk of their own, the very object."""
        records = memoryview(b"records")
        chunks = encoder(Example, 1)(Example(1, 2, records, "x"))
        self.assertEqual(len(chunks), 3)
        self.assertIs(chunks[1], records)
        self.assertEqual(chunks[0], b"\0\1\0\0\0\2\0\0\0\7")

    def test_null(self) -> None:
        """Null has the length -1, or 0 where lengths are compact."""
        self.assertEqual(encode(Example(1, 2), 1), b"\0\1\0\0\0\2\xff\xff\xff\xff\xff\xff")
        self.assertEqual(encode(Example(1, 2), 2), b"\0\1\0\0\0\2\0\0\0")

    def test_versions(self) -> None:
        """Fields that a version lacks are left out, whatever their values."""
        self.assertEqual(encode(Example(1, 2, None, "text", 9), 0), encode(Example(1, 2), 0))

    def test_tagged(self) -> None:
        """A tagged field is written only if it differs from its default."""
        self.assertEqual(encode(Example(1, 2, None, None, 9), 2)[-7:], b"\1\3\4\0\0\0\x09")
        self.assertEqual(encode(Example(1, 2, None, None, 5), 2)[-1:], b"\0")

    def test_unfit(self) -> None:
        """A value that does not fit is a ValueError with the message's name and version."""
        error = self.assertRaises(ValueError, encode, Example(1 << 15), 1)
        self.assertIn("Example", str(error))
        self.assertRaises(ValueError, encode, Example(1, 2, None, "x" * (1 << 15)), 1)
