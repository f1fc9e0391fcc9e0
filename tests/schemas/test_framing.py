"""Tests of kafkatx.schemas.framing against Confluent's own code."""

from __future__ import annotations

from confluent_kafka.schema_registry.common.serde import SchemaId
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas import framing

GUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
indexes = st.lists(st.integers(0, 1 << 20), min_size=1, max_size=8).map(tuple)


class PrefixTests(SynchronousTestCase):
    def test_as_confluent(self) -> None:
        """The prefix of an id is the one that Confluent's serializers write, and is read back."""
        for schema_id in (0, 1, 300, (1 << 31) - 1):
            theirs = SchemaId("AVRO", schema_id, GUID).id_to_bytes()
            self.assertEqual(framing.prefix(schema_id), theirs)
            self.assertEqual(framing.prefix_id(theirs + b"payload"), schema_id)

    def test_no_prefix(self) -> None:
        """A short message, and one with another first byte, have no prefix."""
        for data in (b"", b"\0\0\0\0", b'{"a":1}', b"\1\0\0\0\1"):
            self.assertRaises(framing.BadFrame, framing.prefix_id, data)


class HeaderTests(SynchronousTestCase):
    def test_as_confluent(self) -> None:
        """The header of a GUID is the one that Confluent's serializers write, and is read back."""
        theirs = SchemaId("AVRO", 1, GUID).guid_to_bytes()
        self.assertEqual(framing.header_value(GUID), theirs)
        self.assertEqual(framing.header_guid(theirs), GUID)

    def test_malformed(self) -> None:
        """A header that is cut off, or of another version, is refused."""
        whole = framing.header_value(GUID)
        for value in (b"", whole[:-1], b"\2" + whole[1:]):
            self.assertRaises(framing.BadFrame, framing.header_guid, value)


class IndexesTests(SynchronousTestCase):
    @given(indexes)
    def test_as_confluent(self, path: tuple[int, ...]) -> None:
        """Message indexes are those of Confluent's serializers, and are read back."""
        theirs = SchemaId("PROTOBUF", 1, GUID)
        theirs.message_indexes = list(path)
        encoded = framing.encode_indexes(path)
        self.assertEqual(framing.prefix(1) + encoded, theirs.id_to_bytes())
        self.assertEqual(framing.header_value(GUID) + encoded, theirs.guid_to_bytes())
        self.assertEqual(framing.decode_indexes(b"xy" + encoded + b"z", 2), (path, 2 + len(encoded)))

    def test_first(self) -> None:
        """The first message is a single zero byte."""
        self.assertEqual(framing.encode_indexes((0,)), b"\0")
        self.assertEqual(framing.decode_indexes(b"\0", 0), ((0,), 1))

    def test_damaged(self) -> None:
        """Indexes that are cut off, negative, too many or too long are refused."""
        for data in (b"", b"\x04\x02", b"\x02\x01", b"\x01", b"\xfe\x01" + b"\2" * 127, b"\xff" * 9):
            self.assertRaises(framing.BadFrame, framing.decode_indexes, data, 0)
