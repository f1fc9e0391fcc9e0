"""Records of a group, byte for byte as Apache Kafka 4.0's GroupCoordinatorRecordHelpers makes them."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.group.consumer.member import Classic, Current, MemberState, Metadata
from kafkatx.group.consumer.records import (
    LONGEST_NAME_BYTES,
    Change,
    Kind,
    Resolved,
    TopicFacts,
    check_lengths,
    decode,
    encode,
)

T = uuid.UUID("01020304-0506-0708-090a-0b0c0d0e0f10")
U = uuid.UUID("11121314-1516-1718-191a-1b1c1d1e1f20")
MEMBER = Metadata("i", "r", "c", "/127.0.0.1", 300_000, frozenset({"u", "t"}), "x.*", "range")
PLAIN = Metadata(None, None, "c", "/127.0.0.1", 5000, frozenset({"t"}), "")
CLASSIC = Metadata(
    None, None, "c", "/127.0.0.1", 5000, frozenset({"t"}), "", None, Classic(6000, (("range", b"\1\2\3"),))
)
ASSIGNED = {T: frozenset({0, 1, 2}), U: frozenset({5})}
CURRENT = Current(3, 2, MemberState.UNREVOKED_PARTITIONS, ASSIGNED, {U: frozenset({6})})

GOLDEN: tuple[tuple[Change, str, str | None], ...] = (
    (Change(Kind.GROUP_EPOCH, "", 7), "0003000167", "00000000000700"),
    (Change(Kind.GROUP_EPOCH, "", None), "0003000167", None),
    (
        Change(Kind.TOPICS, "", {"t": TopicFacts(T, 3)}),
        "0004000167",
        "0000020102030405060708090a0b0c0d0e0f10027400000003010000",
    ),
    (
        Change(Kind.MEMBER, "m", MEMBER),
        "000500016700016d",
        "00000269027202630b2f3132372e302e302e31030274027504782e2a000493e00672616e676501000100",
    ),
    (
        Change(Kind.MEMBER, "m", PLAIN),
        "000500016700016d",
        "0000000002630b2f3132372e302e302e3102027401000013880001000100",
    ),
    (
        Change(Kind.MEMBER, "m", CLASSIC),
        "000500016700016d",
        "0000000002630b2f3132372e302e302e310202740100001388000100120100001770020672616e6765040102030000",
    ),
    (Change(Kind.MEMBER, "m", None), "000500016700016d", None),
    (Change(Kind.TARGET_EPOCH, "", 7), "0006000167", "00000000000700"),
    (
        Change(Kind.TARGET, "m", ASSIGNED),
        "000700016700016d",
        "0000030102030405060708090a0b0c0d0e0f1004000000000000000100000002"
        "001112131415161718191a1b1c1d1e1f2002000000050000",
    ),
    (
        Change(Kind.CURRENT, "m", CURRENT),
        "000800016700016d",
        "0000000000030000000201030102030405060708090a0b0c0d0e0f1004000000000000000100000002"
        "001112131415161718191a1b1c1d1e1f20020000000500021112131415161718191a1b1c1d1e1f2002000000060000",
    ),
    (
        Change(Kind.REGEX, "x.*", Resolved(frozenset({"x1", "x2"}), 4, 5)),
        "00100001670003782e2a",
        "0000030378310378320000000000000004000000000000000500",
    ),
)


class RecordTests(SynchronousTestCase):
    def test_golden(self) -> None:
        """Every kind is written and read as Kafka has it; no value is a tombstone."""
        self.assertEqual({change.kind for change, _, _ in GOLDEN}, set(Kind))
        for change, key, value in GOLDEN:
            record = encode("g", change)
            self.assertEqual(record.key.hex(), key, change)
            self.assertEqual(record.value.hex() if record.value is not None else None, value, change)
            self.assertEqual(decode(change.kind, record.key, record.value), ("g", change))

    def test_null_regex(self) -> None:
        """A member without an expression may have null for it, as a newer Kafka writes."""
        record = encode("g", Change(Kind.MEMBER, "m", Metadata(client_id="c")))
        assert record.value is not None
        self.assertIsNone(decode(Kind.MEMBER, record.key, record.value)[1].value.topic_regex)

    def test_unknown_state(self) -> None:
        """A member's state of a later version is unknown, and no error."""
        record = encode("g", Change(Kind.CURRENT, "m", CURRENT))
        assert record.value is not None
        value = record.value[:10] + b"\x09" + record.value[11:]
        self.assertIs(decode(Kind.CURRENT, record.key, value)[1].value.state, MemberState.UNKNOWN)

    def test_unknown_tag(self) -> None:
        """Tagged fields of later versions are skipped; a member without any is not a classic one."""
        record = encode("g", Change(Kind.MEMBER, "m", CLASSIC))
        assert record.value is not None
        section = record.value.index(b"\x01\x00\x12\x01")
        body, tagged = record.value[:section], record.value[section + 1 :]
        more = body + b"\x02\x07\x02ab" + tagged
        self.assertEqual(decode(Kind.MEMBER, record.key, more)[1].value, CLASSIC)
        self.assertIsNone(decode(Kind.MEMBER, record.key, body + b"\x00")[1].value.classic)

    def test_malformed(self) -> None:
        """A truncated record, and one of another version or kind, is a violation."""
        for change, key, value in GOLDEN:
            for size in range(2, len(bytes.fromhex(key))):
                self.assertRaises(ProtocolViolation, decode, change.kind, bytes.fromhex(key)[:size], None)
            data = bytes.fromhex(value or "")
            for size in range(len(data)):
                self.assertRaises(ProtocolViolation, decode, change.kind, bytes.fromhex(key), data[:size])
        self.assertRaises(ProtocolViolation, decode, 3, bytes.fromhex("0003000167"), b"\0\1\0\0\0\7\0")
        self.assertRaises(ProtocolViolation, decode, 9, bytes.fromhex("0009000167"), b"\0\0")

    def test_lengths(self) -> None:
        """A name that is too long for a key is refused early; the limit counts bytes, not characters."""
        check_lengths("g" * LONGEST_NAME_BYTES, None)
        for name in ("g" * (LONGEST_NAME_BYTES + 1), "é" * (LONGEST_NAME_BYTES // 2 + 1)):
            error = self.assertRaises(RequestError, check_lengths, "g", name)
            self.assertEqual(error.code, ErrorCode.INVALID_REQUEST)
