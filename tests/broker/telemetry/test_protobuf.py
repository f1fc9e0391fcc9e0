"""Fields of Protobuf's wire format: against Google's library, and damaged."""

from __future__ import annotations

import random
from typing import Any

from google.protobuf import unknown_fields
from google.protobuf.empty_pb2 import Empty
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.telemetry.protobuf import (
    BYTES,
    FIXED_32,
    FIXED_64,
    Malformed,
    double,
    fields,
    int64,
    signed,
    varint,
)
from tests.broker.telemetry.pushes import gauge, metrics_data, total

PUSH = metrics_data(gauge("a.b", 1.5, node="1"), total("c", -7), group_id="g")


def plain(data: bytes) -> list[tuple[int, int, object]]:
    """Return the fields with bytes in place of views."""
    return [
        (n, kind, bytes(v) if isinstance(v, memoryview) else v) for n, kind, v in fields(memoryview(data))
    ]


class FieldsTests(SynchronousTestCase):
    def test_oracle(self) -> None:
        """Random fields of all types are read as Google's library reads unknown fields."""
        rng = random.Random(714)
        for _ in range(300):
            data = b"".join(self.random_field(rng) for _ in range(rng.randrange(6)))
            theirs = []
            unknown: Any = unknown_fields.UnknownFieldSet(Empty.FromString(data))
            for one in unknown:
                value = one.data
                if one.wire_type in (FIXED_64, FIXED_32):
                    value = value.to_bytes(8 if one.wire_type == FIXED_64 else 4, "little")
                theirs.append((one.field_number, one.wire_type, value))
            self.assertEqual(plain(data), theirs)

    def random_field(self, rng: random.Random) -> bytes:
        """Return a field with a random number, type and value."""
        kind, number = rng.choice((0, 1, 2, 5)), rng.choice((1, 2, 15, 16, 1000, (1 << 29) - 1))
        key = encoded(number << 3 | kind)
        if kind == 0:
            return key + encoded(rng.getrandbits(rng.randrange(1, 65)))
        if kind == BYTES:
            content = rng.randbytes(rng.randrange(200))
            return key + encoded(len(content)) + content
        return key + rng.randbytes(8 if kind == FIXED_64 else 4)

    def test_cut(self) -> None:
        """A message that is cut within a field is malformed."""
        for data in (b"\x08", b"\x08\x80", b"\x09" + bytes(7), b"\x0d" + bytes(3), b"\x0a\x05abcd", b"\x80"):
            with self.assertRaises(Malformed):
                plain(data)

    def test_impossible(self) -> None:
        """Groups, unknown types, the number 0 and endless numbers are malformed."""
        for data in (b"\x0b", b"\x0c", b"\x0e", b"\x0f", b"\x00\x00", b"\x08" + b"\xff" * 11):
            with self.assertRaises(Malformed):
                plain(data)
        with self.assertRaises(Malformed):  # a length far beyond the message
            plain(b"\x0a" + encoded((1 << 63) + 1) + b"x")

    def test_numbers(self) -> None:
        """Numbers of eight bytes, and varints with a sign."""
        self.assertEqual(double(memoryview(b"\x00\x00\x00\x00\x00\x00\xf8\x3f")), 1.5)
        self.assertEqual(int64(memoryview(b"\xff" * 8)), -1)
        self.assertEqual([signed(n) for n in (0, 5, (1 << 64) - 1, 1 << 63)], [0, 5, -1, -(1 << 63)])
        self.assertEqual(varint(memoryview(b"x\xac\x02"), 1), (300, 3))
        for read in (double, int64):
            with self.assertRaises(Malformed):
                read(memoryview(bytes(4)))


def encoded(value: int) -> bytes:
    """Return a varint."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
