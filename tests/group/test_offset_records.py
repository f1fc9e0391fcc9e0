"""Committed offsets as bytes: golden bytes by the format that Apache Kafka defines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.offset_records import (
    Committed,
    OffsetCommitKey,
    OffsetCommitValue,
    UnreadableOffset,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    key_version,
    tombstone,
)
from kafkatx.wire import codec
from tests.records.strategies import quick

KEY = bytes.fromhex("0001 0005") + b"group" + bytes.fromhex("0005") + b"topic" + bytes.fromhex("00000007")
OLD_KEY = b"\0\0" + KEY[2:]

OFFSET = bytes.fromhex("0000000000000064")  # 100
EPOCH = bytes.fromhex("00000003")
METADATA = bytes.fromhex("0004") + b"meta"
COMMIT_MS = bytes.fromhex("0000018bcfe56800")  # 1,700,000,000,000
EXPIRE_MS = bytes.fromhex("0000018bd50bc400")  # a day later

VALUES = {
    0: b"\0\0" + OFFSET + METADATA + COMMIT_MS,
    1: b"\0\1" + OFFSET + METADATA + COMMIT_MS + EXPIRE_MS,
    2: b"\0\2" + OFFSET + METADATA + COMMIT_MS,
    3: b"\0\3" + OFFSET + EPOCH + METADATA + COMMIT_MS,
    4: b"\0\4" + OFFSET + EPOCH + b"\x05meta" + COMMIT_MS + b"\0",
}
WITHOUT_EPOCH = Committed(100, -1, "meta", 1_700_000_000_000)
WITH_EPOCH = WITHOUT_EPOCH._replace(leader_epoch=3)
WITH_EXPIRY = WITHOUT_EPOCH._replace(expire_timestamp_ms=1_700_086_400_000)
MEANINGS = {0: WITHOUT_EPOCH, 1: WITH_EXPIRY, 2: WITHOUT_EPOCH, 3: WITH_EPOCH, 4: WITH_EPOCH}

texts = st.text(max_size=50)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)


class KeyTests(SynchronousTestCase):
    def test_golden(self) -> None:
        """Version 1 is written; 0 and 1 are read."""
        self.assertEqual(encode_key("group", "topic", 7), KEY)
        self.assertEqual(decode_key(KEY), ("group", "topic", 7))
        self.assertEqual(decode_key(OLD_KEY), ("group", "topic", 7))
        self.assertEqual([key_version(key) for key in (OLD_KEY, KEY, b"\0", b"")], [0, 1, -1, -1])

    @quick
    @given(texts, texts, int32s)
    def test_as_the_schema(self, group: str, topic: str, partition: int) -> None:
        """The packed bytes equal those of the schema's encoder, and are read back."""
        encoded = encode_key(group, topic, partition)
        self.assertEqual(encoded, b"\0\1" + codec.encode(OffsetCommitKey(group, topic, partition), 1))
        self.assertEqual(decode_key(encoded), (group, topic, partition))

    def test_damaged(self) -> None:
        """A truncated key, one with bytes behind it, and one of another kind are rejected."""
        for end in range(len(KEY)):
            self.assertRaises(UnreadableOffset, decode_key, KEY[:end])
        for key in (KEY + b"\0", b"\0\2" + KEY[2:], KEY.replace(b"topic", b"\xff\xff\xff\xff\xff")):
            self.assertRaises(UnreadableOffset, decode_key, key)

    def test_tombstone(self) -> None:
        """An offset is deleted by its key without a value."""
        self.assertEqual(tombstone("group", "topic", 7), (KEY, None))


class ValueTests(SynchronousTestCase):
    def test_golden(self) -> None:
        """Every version is read."""
        for version, value in VALUES.items():
            self.assertEqual(decode_value(value), MEANINGS[version], version)

    def test_written(self) -> None:
        """Version 3 is written, and 1 where there is an expire timestamp: the leader epoch is lost then."""
        self.assertEqual(encode_value(WITH_EPOCH), VALUES[3])
        self.assertEqual(encode_value(WITH_EXPIRY), VALUES[1])
        self.assertEqual(encode_value(WITH_EXPIRY._replace(leader_epoch=3)), VALUES[1])

    @quick
    @given(int64s, int32s, texts, int64s)
    def test_as_the_schema(self, offset: int, epoch: int, metadata: str, commit_ms: int) -> None:
        """The packed bytes equal those of the schema's encoder, and are read back."""
        committed = Committed(offset, epoch, metadata, commit_ms)
        encoded = encode_value(committed)
        value = OffsetCommitValue(offset, epoch, metadata, commit_ms)
        self.assertEqual(encoded, b"\0\3" + codec.encode(value, 3))
        self.assertEqual(decode_value(encoded), committed)

    def test_damaged(self) -> None:
        """A truncated value, and one with bytes behind it, are rejected."""
        for value in VALUES.values():
            for end in range(len(value)):
                self.assertRaises(UnreadableOffset, decode_value, value[:end])
            self.assertRaises(UnreadableOffset, decode_value, value + b"\1")

    def test_versions_to_come(self) -> None:
        """A tagged field of version 4 is passed over: 4.1 has the topic's id there; version 5 is refused."""
        with_topic_id = VALUES[4][:-1] + b"\x01\x00\x10" + b"i" * 16
        self.assertEqual(decode_value(with_topic_id), WITH_EPOCH)
        self.assertRaises(UnreadableOffset, decode_value, b"\0\5" + VALUES[4][2:])
