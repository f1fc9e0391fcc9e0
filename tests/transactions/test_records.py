"""Tests of the records of ``__transaction_state``: Apache Kafka's bytes."""

from __future__ import annotations

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.transactions.metadata import TransactionMetadata
from kafkatx.transactions.records import (
    UnreadableTransaction,
    by_topic,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    key_version,
)
from kafkatx.transactions.states import State
from kafkatx.types import TopicPartition
from tests.transactions.values import A, B, state_of

STORED = [state for state in State if state not in (State.DEAD, State.PREPARE_EPOCH_FENCE)]
I64, I16, I32 = st.integers(-1, 2**63 - 1), st.integers(-1, 2**15 - 1), st.integers(0, 2**31 - 1)
PARTITIONS = st.frozensets(st.builds(TopicPartition, st.text(min_size=1, max_size=20), I32), max_size=6)
VALUES = st.builds(
    TransactionMetadata,
    producer_id=I64,
    timeout_ms=I32,
    producer_epoch=I16,
    state=st.sampled_from(STORED),
    partitions=PARTITIONS,
    update_ms=I64,
    start_ms=I64,
    previous_producer_id=I64,
    next_producer_id=I64,
    client_version=st.sampled_from((0, 2)),
)
OLD = bytes.fromhex(
    "0000 0000000000000007 0004 0000ea60 01 00000001 000161 00000001 00000000"
    " 00000000000003e8 00000000000001f4"
)
NEW = bytes.fromhex(
    "0001 0000000000000007 0004 0000ea60 01 02 0261 02 00000000 00"
    " 00000000000003e8 00000000000001f4 01 02 02 0002"
)


class RecordsTests(SynchronousTestCase):
    """Keys and values."""

    def test_key(self) -> None:
        """A key is its version and the id; the version tells keys of other records."""
        self.assertEqual(encode_key("tx"), b"\0\0\0\x02tx")
        self.assertEqual(decode_key(encode_key("\N{SNOWMAN}" * 100)), "\N{SNOWMAN}" * 100)
        self.assertEqual((key_version(b"\0\x05ab"), key_version(b"\0")), (5, -1))
        for damaged in (b"", b"\0\0\0\x09tx", b"\0\0\0\x02txx", b"\0\x01\0\x02tx"):
            self.assertRaises(UnreadableTransaction, decode_key, damaged)

    def test_bytes(self) -> None:
        """Both versions have the bytes of the definition; the newer one has tagged fields."""
        old, new = state_of(State.ONGOING), state_of(State.ONGOING, version=2)
        self.assertEqual((encode_value(old, 0), encode_value(new)), (OLD, NEW))
        self.assertEqual((decode_value(OLD), decode_value(NEW)), (old, new))

    def test_empty(self) -> None:
        """A transactional id without a transaction has null for the partitions."""
        self.assertEqual(encode_value(state_of(State.EMPTY), 0)[17:21], b"\xff\xff\xff\xff")

    @settings(deadline=None, max_examples=200)
    @given(VALUES)
    def test_round_trip(self, metadata: TransactionMetadata) -> None:
        """A written value is read again as it was; Empty has no partitions."""
        if metadata.state is State.EMPTY:
            metadata = attrs.evolve(metadata, partitions=frozenset())
        self.assertEqual(decode_value(encode_value(metadata)), metadata)

    def test_damaged(self) -> None:
        """Every cut is noticed, and so are unknown versions and states that are never stored."""
        for value in (OLD, NEW):
            for end in range(len(value)):
                self.assertRaises(UnreadableTransaction, decode_value, value[:end])
        self.assertRaises(UnreadableTransaction, decode_value, b"\0\x02" + NEW[2:])
        for state in (6, 7, 8, 255):
            self.assertRaises(UnreadableTransaction, decode_value, OLD[:16] + bytes([state]) + OLD[17:])

    def test_by_topic(self) -> None:
        """Partitions are grouped by topic, all in order."""
        partitions = {B, A, TopicPartition("b", 1)}
        self.assertEqual(by_topic(partitions), [("a", [0]), ("b", [1, 3])])
