"""The decoders of large messages, which count elements."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.wire.codec import counting_decoder, decoder, encode
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkatx.wire.schema import Message


class CountingTests(SynchronousTestCase):
    def assert_counted(self, request: Message, version: int, items: int) -> None:
        """A request is decoded as ever with so many elements, and refused with one less."""
        data = encode(request, version)
        counting = counting_decoder(type(request), version)
        self.assertEqual(counting(data, 0, items), decoder(type(request), version)(data, 0))
        with self.assertRaisesRegex(ProtocolViolation, f"more than {items - 1} elements"):
            counting(data, 0, items - 1)

    def test_nested(self) -> None:
        """The elements of all arrays count together."""
        topics = [FetchTopic("t", partitions=[FetchPartition(n) for n in range(4)]) for _ in range(3)]
        for version in (0, 11, 12):
            self.assert_counted(FetchRequest(topics=topics), version, 3 + 3 * 4)

    def test_plain_values(self) -> None:
        """Numbers in an array count."""
        topics = [OffsetFetchRequestTopic("t", [1, 2, 3])]
        for version in (5, 6):
            self.assert_counted(OffsetFetchRequest("g", topics), version, 1 + 3)

    def test_tagged_fields(self) -> None:
        """Unknown tagged fields count: each takes time, and two bytes are enough for one."""
        for count in (5, 200):
            data = encode(OffsetFetchRequest("g", []), 6)[:-1]
            prefix = bytes([count]) if count < 128 else bytes([count & 127 | 128, count >> 7])
            data += prefix + b"\x7f\0" * count
            counting = counting_decoder(OffsetFetchRequest, 6)
            self.assertEqual(counting(data, 0, count)[1], len(data))
            self.assertRaises(ProtocolViolation, counting, data, 0, count - 1)
