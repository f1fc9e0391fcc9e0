"""The bytes of a classic group in ``__consumer_offsets``."""

from __future__ import annotations

import struct

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.group.classic.records import (
    GroupMetadataValue,
    MemberMetadata,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from tests.group.classic.driver import WALL_MS, GroupDriver


def string(text: str | None) -> bytes:
    """Return a string, or null, as versions before 4 write it."""
    return b"\xff\xff" if text is None else struct.pack(">h", len(text)) + text.encode()


def blob(data: bytes) -> bytes:
    """Return bytes as versions before 4 write them."""
    return struct.pack(">i", len(data)) + data


def value_of(version: int) -> tuple[bytes, GroupMetadataValue]:
    """Return a value written by hand from ``GroupMetadataValue.json``, and its decoded form."""
    fields = [
        struct.pack(">h", version),
        string("consumer"),
        struct.pack(">i", 5),
        string("range"),
        string("m"),
    ]
    if version >= 2:
        fields.append(struct.pack(">q", 1234567890123))
    fields += [struct.pack(">i", 1), string("m")]
    if version >= 3:
        fields.append(string("i"))
    fields += [string("client"), string("/127.0.0.1")]
    if version >= 1:
        fields.append(struct.pack(">i", 300_000))
    fields += [struct.pack(">i", 10_000), blob(b"subscription"), blob(b"assignment")]
    member = MemberMetadata(
        "m",
        "i" if version >= 3 else None,
        "client",
        "/127.0.0.1",
        300_000 if version >= 1 else -1,
        10_000,
        b"subscription",
        b"assignment",
    )
    at_ms = 1234567890123 if version >= 2 else -1
    return b"".join(fields), GroupMetadataValue("consumer", 5, "range", "m", at_ms, [member])


class RecordTests(SynchronousTestCase):
    def test_key(self) -> None:
        """The key consists of version 2 and the group."""
        self.assertEqual(encode_key("my-group"), b"\0\2\0\x08my-group")
        self.assertEqual(decode_key(b"\0\2\0\x08my-group"), "my-group")

    def test_other_keys(self) -> None:
        """Keys of other versions are not keys of group metadata."""
        for key in (b"\0\1\0\1g", b"\0\3\0\1g", b"", b"\0", b"\0\2\0\5g", b"\0\2\0\1gg"):
            with self.assertRaises(ProtocolViolation):
                decode_key(key)

    def test_values(self) -> None:
        """Every version is read and written as Apache Kafka's schema defines it."""
        for version in range(4):
            data, value = value_of(version)
            self.assertEqual(decode_value(data), value)
            self.assertEqual(encode_value(value, version), data)

    def test_flexible_value(self) -> None:
        """Version 4, which is flexible, is read."""
        compact = struct.pack(">h", 4) + b"\x09consumer" + struct.pack(">i", 5) + b"\0\0"
        compact += struct.pack(">q", -1) + b"\1" + b"\0"
        self.assertEqual(decode_value(compact), GroupMetadataValue("consumer", 5, None, None, -1, []))

    def test_written_version(self) -> None:
        """The record of a stable group is written in version 3, checked byte by byte."""
        driver = GroupDriver()
        token = driver.join(instance="i", client="client")
        driver.pass_ms(3000)
        at_ms = WALL_MS + driver.now_ms
        driver.settle([driver.member(token)])
        expected = (
            b"\0\3" + string("consumer") + struct.pack(">i", 1) + string("range") + string("i-1")
            + struct.pack(">qi", at_ms, 1) + string("i-1") + string("i") + string("client")
            + string("/10.0.0.1") + struct.pack(">ii", 60_000, 10_000) + blob(b"r") + blob(b"part of i-1")
        )  # fmt: skip
        self.assertEqual(driver.records[-1].value, expected)
        self.assertEqual(driver.records[-1].key, b"\0\2\0\1g")

    def test_bad_values(self) -> None:
        """Unknown versions and truncated values are rejected."""
        data, _ = value_of(3)
        for cut in range(len(data)):
            with self.assertRaises(ProtocolViolation):
                decode_value(data[:cut])
        with self.assertRaises(ProtocolViolation):
            decode_value(data + b"\0")
        for version in (-1, 5):
            with self.assertRaises(ProtocolViolation):
                decode_value(struct.pack(">h", version) + data[2:])

    def test_rebalance_timeout(self) -> None:
        """A member of version 0, which has no rebalance time-out, gets its session time-out."""
        driver = GroupDriver()
        for version, rebalance_ms in ((0, 10_000), (1, 300_000)):
            driver.group.replay(value_of(version)[0], driver.now_ms)
            self.assertEqual(driver.group.members["m"].rebalance_timeout_ms, rebalance_ms)
            self.assertEqual(driver.group.state_since_ms, -1)
