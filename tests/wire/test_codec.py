"""Tests of the compiled codecs: round trips, and what bad bytes get."""

from __future__ import annotations

import os
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.types import FileSlice, SharedFile
from kafkatx.wire.codec import decode, decoder, encode, encoder, source
from kafkatx.wire.messages.api_versions import ApiVersionsResponse
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest
from kafkatx.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.primitives import uvarint
from kafkatx.wire.schema import (
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    STRING,
    UINT16,
    UINT32,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)
from tests.wire.strategies import VERSIONS, for_every_version, messages, quick, sample


class Cursor(Struct):
    """A struct that may be null."""

    name: str = field(STRING)
    number: int = field(INT32)


class Everything(Message, key=32000, versions=(0, 3), flexible=2):
    """A message with features of the schema that no real message uses."""

    small: int = field(INT8)
    unsigned: int = field(UINT16)
    larger: int = field(UINT32)
    ratio: float = field(FLOAT64)
    blob: bytes = field(BYTES)
    maybe_blob: bytes | None = field(nullable(BYTES))
    ids: list[object] = field(array(UUID))
    names: list[str | None] = field(array(nullable(STRING)))
    grid: list[list[int]] = field(array(array(INT16)))
    plain: Cursor = field(Cursor)
    cursor: Cursor | None = field(nullable(Cursor), default=None)
    moved: int = field(INT16, since=1, tag=3, tag_since=3)
    tagged_name: str | None = field(nullable(STRING), since=2, tag=1)


class RoundTripTests(SynchronousTestCase):
    """An encoded message decodes to the same message."""

    def test_every_version(self) -> None:
        """Every message in every version comes back as it was, and takes up its bytes exactly."""

        def check(cls: type[Message], version: int, message: Message) -> None:
            data = encode(message, version)
            self.assertEqual(decode(cls, version, data), message)
            self.assertEqual(
                decoder(cls, version)(memoryview(b"???" + data + b"!"), 3), (message, len(data) + 3)
            )

        for_every_version(check)

    def test_sample_of_every_version(self) -> None:
        """A message with a value in every field does, too."""
        for cls, version in VERSIONS:
            message = sample(cls, version)
            self.assertEqual(decode(cls, version, encode(message, version)), message, f"{cls} {version}")

    @quick(60)
    @given(st.data())
    def test_every_type(self, data: st.DataObject) -> None:
        """Types and combinations that real messages do not use do, too."""
        for version in Everything.VERSIONS:
            message = data.draw(messages(Everything, version))
            self.assertEqual(decode(Everything, version, encode(message, version)), message)

    def test_long_lengths(self) -> None:
        """Lengths and counts of more than one varint byte are written and read."""
        request = MetadataRequest([MetadataRequestTopic(name="n" * size) for size in range(120, 400)])
        for version in (8, 9):
            self.assertEqual(decode(MetadataRequest, version, encode(request, version)), request)

    def test_absent_fields_take_defaults(self) -> None:
        """A field that a version lacks is omitted, and has its default after decoding."""
        data = encode(FetchRequest(max_bytes=5, rack_id="rack", session_id=9), 2)
        back = decode(FetchRequest, 2, data)
        self.assertEqual((back.max_bytes, back.rack_id, back.session_id), (0x7FFFFFFF, "", 0))

    def test_lists_of_absent_fields_are_not_shared(self) -> None:
        """Each decoded message has default lists of its own."""
        data = encode(DeleteTopicsRequest(topic_names=["t"]), 0)
        decode(DeleteTopicsRequest, 0, data).topics.append(None)  # type: ignore[arg-type]  # any will do
        self.assertEqual(decode(DeleteTopicsRequest, 0, data).topics, [])


class RecordsTests(SynchronousTestCase):
    """Records are passed on, never copied."""

    def request(self, records: bytes | FileSlice | None) -> ProduceRequest:
        """A request with these records."""
        return ProduceRequest(topic_data=[TopicProduceData("t", [PartitionProduceData(0, records)])])

    def test_decoded_in_place(self) -> None:
        """Records are a slice of the buffer that was decoded."""
        buffer = bytearray(encode(self.request(b"records"), 9))
        records = decode(ProduceRequest, 9, memoryview(buffer)).topic_data[0].partition_data[0].records
        self.assertIsInstance(records, memoryview)
        buffer[buffer.index(b"records")] = ord("R")
        self.assertEqual(records, b"Records")

    def test_encoded_in_place(self) -> None:
        """Records are a chunk of their own, the very object that was given, in either form of length."""
        for version in (7, 9):
            records = b"r" * 300
            chunks = encoder(ProduceRequest, version)(self.request(records))
            self.assertEqual(len(chunks), 3 if version == 9 else 2)
            self.assertIs(chunks[1], records)

    def test_null_and_empty(self) -> None:
        """Null stays null, and no records stay no records."""
        for version in (7, 9):
            for records in (None, b""):
                back = decode(ProduceRequest, version, encode(self.request(records), version))
                self.assertEqual(back.topic_data[0].partition_data[0].records, records)

    def test_file_slice(self) -> None:
        """A slice of a file stands for its bytes."""
        path = self.mktemp()
        with open(path, "wb") as made:
            made.write(b"0123456789")
        part = FileSlice(SharedFile(path, os.O_RDONLY), 2, 5)
        response = FetchResponse(
            responses=[FetchableTopicResponse("t", partitions=[PartitionData(records=part)])]
        )
        self.assertIs(encoder(FetchResponse, 12)(response)[1], part)
        back = decode(FetchResponse, 12, encode(response, 12))
        self.assertEqual(back.responses[0].partitions[0].records, b"23456")


class TaggedFieldTests(SynchronousTestCase):
    """Tagged fields, known and unknown."""

    def test_unknown_is_dropped(self) -> None:
        """An unknown tagged field is skipped, and not encoded again."""
        plain = encode(ApiVersionsResponse(finalized_features_epoch=4), 3)
        section = b"\x03" + b"\x01\x08" + (4).to_bytes(8, "big") + b"\x63\x02??" + b"\xac\x02\x01!"
        data = plain[: plain.index(b"\x01\x01\x08")] + section
        back = decode(ApiVersionsResponse, 3, data)
        self.assertEqual(back.finalized_features_epoch, 4)
        self.assertEqual(encode(back, 3), plain)

    def test_unknown_in_every_flexible_message(self) -> None:
        """Every flexible version passes over an unknown field at its end."""
        for cls, version in VERSIONS:
            if version >= cls.FLEXIBLE_SINCE:
                plain = encode(cls(), version)
                self.assertEqual(decode(cls, version, plain[:-1] + b"\x01\x63\x03abc"), cls())

    def test_defaults_are_not_sent(self) -> None:
        """A tagged field that has its default, and a struct of defaults, take no bytes."""
        unset = FetchResponse(responses=[FetchableTopicResponse("t", partitions=[PartitionData()])])
        default = FetchResponse(
            responses=[
                FetchableTopicResponse("t", partitions=[PartitionData(diverging_epoch=EpochEndOffset())])
            ]
        )
        self.assertEqual(encode(default, 12), encode(unset, 12))

    def test_wrong_size(self) -> None:
        """A known tagged field that is shorter or longer than its size says is a violation."""
        for size in (7, 9):
            data = b"\0\0\x01\0\0\0\0\x01\x01" + bytes([size]) + bytes(20)
            self.assertRaises(ProtocolViolation, decoder(ApiVersionsResponse, 3), data, 0)


class MalformedTests(SynchronousTestCase):
    """Any bytes give a message or a ProtocolViolation."""

    def test_every_truncation(self) -> None:
        """A message cut anywhere is a violation."""
        for cls, version in VERSIONS:
            data = memoryview(encode(sample(cls, version), version))
            read = decoder(cls, version)
            for end in range(len(data)):
                with self.assertRaises(ProtocolViolation, msg=f"{cls.__name__} v{version} cut at {end}"):
                    read(data[:end], 0)

    def test_every_byte_changed(self) -> None:
        """A message with one wrong byte is a violation or another message, never another exception."""
        for cls, version in VERSIONS:
            data = encode(sample(cls, version), version)
            for at in range(len(data)):
                for byte in (0, 1, 0x7F, 0x80, 0xFF):
                    self.decodes_or_violates(cls, version, data[:at] + bytes([byte]) + data[at + 1 :])

    @quick(300)
    @given(st.sampled_from(VERSIONS), st.binary(max_size=100))
    def test_garbage(self, what: tuple[type[Message], int], data: bytes) -> None:
        """Random bytes are a violation or a message, never another exception."""
        self.decodes_or_violates(*what, data)

    def decodes_or_violates(self, cls: type[Message], version: int, data: bytes) -> None:
        """Fail on any other exception, and where what was decoded does not round-trip."""
        try:
            message = decode(cls, version, data)
        except ProtocolViolation:
            return
        again = decode(cls, version, encode(message, version))
        self.assertEqual(again, message)

    def test_left_over(self) -> None:
        """Bytes behind the message are a violation for decode()."""
        data = encode(MetadataRequest(), 9) + b"\0"
        self.assertRaises(ProtocolViolation, decode, MetadataRequest, 9, data)

    def test_null_where_none_may_be(self) -> None:
        """A null array, and a null string, are violations in versions that do not know them."""
        self.assertRaises(ProtocolViolation, decode, MetadataRequest, 0, b"\xff\xff\xff\xff")
        self.assertIsNone(decode(MetadataRequest, 1, b"\xff\xff\xff\xff").topics)
        self.assertRaises(ProtocolViolation, decode, MetadataRequest, 0, b"\0\0\0\1\xff\xff")
        self.assertRaises(ProtocolViolation, decode, MetadataRequest, 9, b"\2\0\0\1\0\0\0")

    def test_counts_are_checked_before_allocation(self) -> None:
        """An array that says it is huge is refused, and next to nothing is allocated for it."""
        cases: list[tuple[type[Message], int, bytes]] = [
            (MetadataRequest, 1, b"\x7f\xff\xff\xff" + bytes(64)),
            (MetadataRequest, 9, uvarint(2**32 - 1) + bytes(64)),
            (Everything, 0, bytes(23) + b"\xff\xff\xff\xff" + b"\x7f\xff\xff\xff" + bytes(64)),
            (ProduceRequest, 0, bytes(6) + b"\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\x7f\xff\xff\xff"),
        ]
        for cls, version, data in cases:
            read = decoder(cls, version)
            tracemalloc.start()
            try:
                self.assertRaises(ProtocolViolation, read, data, 0)
                self.assertLess(tracemalloc.get_traced_memory()[1], 100_000)
            finally:
                tracemalloc.stop()

    def test_message_names_the_fault(self) -> None:
        """The violation says which message and field it was."""
        error = self.assertRaises(ProtocolViolation, decode, MetadataRequest, 1, b"\x7f\xff\xff\xff")
        self.assertIn("MetadataRequest v1: topics says it holds 2147483647 elements", str(error))

    def test_bad_utf8(self) -> None:
        """A string that is no UTF-8 is a violation."""
        self.assertRaises(ProtocolViolation, decode, MetadataRequest, 0, b"\0\0\0\1\0\2\xff\xff")


class UnfitTests(SynchronousTestCase):
    """Our own mistakes are ValueErrors that name the message."""

    def test_value_does_not_fit(self) -> None:
        """A number out of range, a None and a wrong type say which message could not be encoded."""
        for request in (
            FetchRequest(max_wait_ms=2**31),
            FetchRequest(rack_id=None),  # type: ignore[arg-type]  # the mistake to be found
            FetchRequest(topics=[b"t"]),  # type: ignore[list-item]  # the mistake to be found
        ):
            error = self.assertRaises(ValueError, encode, request, 11)
            self.assertIn("FetchRequest v11", str(error))

    def test_no_such_version(self) -> None:
        """A version outside the range is refused, for both directions."""
        for make in (decoder, encoder, source):
            error = self.assertRaises(ValueError, make, MetadataRequest, 14)
            self.assertIn("MetadataRequest has versions 0-13, not 14", str(error))


class SourceTests(SynchronousTestCase):
    """The generated code can be read."""

    def test_source(self) -> None:
        """It holds both functions, with neighbouring fields read and written as one."""
        text = source(ProduceRequest, 9)
        self.assertIn("o0.acks, o0.timeout_ms, n = unpack_hiB(buffer, at)", text)
        self.assertIn("pack_hiB(o0.acks, o0.timeout_ms, n)", text)

    def test_compiled_once(self) -> None:
        """The functions are made once for each version."""
        self.assertIs(decoder(ProduceRequest, 9), decoder(ProduceRequest, 9))
        self.assertIs(encoder(ProduceRequest, 9), encoder(ProduceRequest, 9))
        self.assertIsNot(decoder(ProduceRequest, 9), decoder(ProduceRequest, 8))
