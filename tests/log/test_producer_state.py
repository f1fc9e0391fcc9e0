"""Idempotent producers: the table of sequences, and the snapshot's bytes."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.log.producer_state import (
    ProducerBatch,
    ProducerState,
    ProducerStateManager,
    SnapshotDamaged,
    decode_snapshot,
    encode_snapshot,
)
from kafkatx.records.checksum import crc32c

GAP = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
FENCED = ErrorCode.INVALID_PRODUCER_EPOCH
MAX = 2**31 - 1


def with_batches(*batches: tuple[int, int], epoch: int = 5) -> ProducerStateManager:
    """Return producer 1 after batches of (first sequence, records); offsets begin at 100."""
    producers = ProducerStateManager()
    offset = 100
    for first, count in batches:
        producers.record(1, epoch, first, offset, offset + count - 1, 0)
        offset += count
    return producers


class CheckTests(SynchronousTestCase):
    """ProducerStateManager.check: the verdict on a batch."""

    def test_table(self) -> None:
        """A row: the batches before; epoch, first sequence and count of the new one; the verdict."""
        five = [(0, 2), (2, 2), (4, 2), (6, 2), (8, 2)]
        table = [
            ([], 0, 0, 1, None),
            ([], 3, 77, 1, None),
            ([(0, 1)], 5, 1, 4, None),
            ([(0, 1)], 5, 2, 1, GAP),
            ([(3, 1)], 5, 0, 1, GAP),
            ([(0, 1)], 4, 1, 1, FENCED),
            ([(0, 1)], 4, 0, 1, FENCED),
            ([(0, 1)], 6, 0, 1, None),
            ([(0, 1)], 6, 1, 1, GAP),
            ([(0, 3)], 5, 0, 3, ProducerBatch(0, 2, 100, 102)),
            ([(0, 3)], 5, 0, 2, GAP),
            (five, 5, 0, 2, ProducerBatch(0, 1, 100, 101)),
            (five, 5, 8, 2, ProducerBatch(8, 9, 108, 109)),
            (five, 5, 10, 2, None),
            ([*five, (10, 1)], 5, 0, 2, GAP),
            ([*five, (10, 1)], 5, 2, 2, ProducerBatch(2, 3, 102, 103)),
            ([(MAX, 1)], 5, 0, 1, None),
            ([(MAX, 1)], 5, 1, 1, GAP),
            ([(MAX - 1, 4)], 5, 2, 1, None),
            ([(MAX - 1, 4)], 5, MAX - 1, 4, ProducerBatch(MAX - 1, 1, 100, 103)),
        ]
        for before, epoch, first, count, verdict in table:
            found = with_batches(*before).check(1, epoch, first, count)
            self.assertEqual(found, verdict, (before, epoch, first, count))

    def test_others_do_not_count(self) -> None:
        """A producer id knows nothing of another's sequences."""
        self.assertIsNone(with_batches((0, 5)).check(2, 0, 3, 1))

    def test_restore(self) -> None:
        """The state from before a batch can be put back, also where there was none."""
        producers = with_batches((0, 1))
        before = dict(producers.states)
        undo = [(1, producers.record(1, 5, 1, 101, 101, 9)), (2, producers.record(2, 0, 0, 102, 102, 9))]
        self.assertNotEqual(producers.states, before)
        producers.restore(undo)
        self.assertEqual(producers.states, before)

    def test_new_epoch_forgets(self) -> None:
        """A batch of a new epoch makes the old one's batches unknown."""
        producers = with_batches((0, 1))
        producers.record(1, 6, 0, 101, 101, 0)
        self.assertEqual([batch.base_offset for batch in producers.states[1].batches], [101])

    def test_expire(self) -> None:
        """A producer expires when it has been idle for the whole time, not before."""
        producers = ProducerStateManager()
        producers.record(1, 0, 0, 0, 0, 1000)
        producers.record(2, 0, 0, 1, 1, 1001)
        producers.expire(1100, 100)
        self.assertEqual(list(producers.states), [2])


class SnapshotTests(SynchronousTestCase):
    """The .snapshot file."""

    def test_golden(self) -> None:
        """The bytes are those of Kafka's schema: version, CRC-32C, count, and 46 bytes a producer."""
        producers = ProducerStateManager()
        producers.record(0x1122334455667788, 3, 10, 500, 504, 1_700_000_000_000)
        entry = bytes.fromhex(
            "1122334455667788"  # producer_id
            "0003"  # epoch
            "0000000e"  # last_sequence
            "00000000000001f8"  # last_offset
            "00000004"  # offset_delta
            "0000018bcfe56800"  # timestamp
            "ffffffff"  # coordinator_epoch
            "ffffffffffffffff"  # current_txn_first_offset
        )
        body = struct.pack(">i", 1) + entry
        expected = struct.pack(">hI", 1, crc32c(body)) + body
        self.assertEqual(encode_snapshot(producers.states), expected)
        self.assertEqual(encode_snapshot({}).hex(), "000148674bc700000000")

    def test_last_five(self) -> None:
        """The last five batches are kept, the oldest first; Kafka takes the last entry of a producer."""
        producers = ProducerStateManager()
        for number in range(7):
            producers.record(1, 3, 2 * number, 10 * number, 10 * number + 1, 99)
            producers.record(2, 0, number, 10 * number, 10 * number, 98)
        data = encode_snapshot(producers.states)
        self.assertEqual(struct.unpack_from(">i", data, 6), (10,))
        self.assertEqual(struct.unpack_from(">qhiq", data, 10 + 4 * 46), (1, 3, 13, 61))
        self.assertEqual(decode_snapshot(data), producers.states)
        self.assertEqual([batch.base_offset for batch in producers.states[1].batches], [20, 30, 40, 50, 60])

    def test_without_batches(self) -> None:
        """A producer that is known only by its epoch has -1 for sequence and offset, as in Apache Kafka."""
        states = {4: ProducerState(2, (), 7)}
        data = encode_snapshot(states)
        self.assertEqual(data[20:36].hex(), "ffffffff" + "ff" * 8 + "00000000")
        self.assertEqual(decode_snapshot(data), states)
        self.assertIsNone(ProducerStateManager(states).check(4, 2, 0, 1))
        self.assertEqual(ProducerStateManager(states).check(4, 2, 1, 1), GAP)

    @settings(deadline=None, max_examples=50)
    @given(
        st.dictionaries(
            st.integers(0, 2**63 - 1),
            st.builds(
                lambda epoch, first, count, offset, used: ProducerState(
                    epoch,
                    (ProducerBatch(first, (first + count - 1) & MAX, offset, offset + count - 1),),
                    used,
                ),
                st.integers(0, 2**15 - 1),
                st.integers(0, MAX),
                st.integers(1, 1000),
                st.integers(0, 2**60),
                st.integers(-1, 2**62),
            ),
            max_size=5,
        )
    )
    def test_round_trip(self, states: dict[int, ProducerState]) -> None:
        """A snapshot is read back as it was written, the last batch of each producer."""
        self.assertEqual(decode_snapshot(encode_snapshot(states)), states)

    def test_damaged(self) -> None:
        """A snapshot with any byte wrong or missing is refused."""
        data = encode_snapshot(with_batches((0, 1)).states)
        for end in range(len(data)):
            self.assertRaises(SnapshotDamaged, decode_snapshot, data[:end])
        for at in range(len(data)):
            garbled = bytearray(data)
            garbled[at] ^= 4
            self.assertRaises(SnapshotDamaged, decode_snapshot, bytes(garbled))


class OldestTests(SynchronousTestCase):
    """The order in which producers are forgotten."""

    def test_order(self) -> None:
        """Those that wrote last stay, whenever they came; of few one goes, of many a twentieth."""
        producers = ProducerStateManager()
        for key in range(100):
            producers.record(key, 0, 0, key, key, key)
        producers.record(0, 0, 1, 100, 100, 100)
        producers.forget_oldest()
        self.assertEqual(list(producers.states)[:2], [7, 8])
        self.assertEqual(list(producers.states)[-2:], [99, 0])

    def test_after_a_restart(self) -> None:
        """A snapshot's order does not count, but when each has written."""
        states = {key: ProducerState(0, (ProducerBatch(0, 0, key, key),), 50 - key) for key in range(50)}
        producers = ProducerStateManager(decode_snapshot(encode_snapshot(states)))
        producers.expire(50, 10)
        self.assertEqual(sorted(producers.states), list(range(10)))
