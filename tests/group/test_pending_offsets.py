"""Tests of pending offsets, also against a model that keeps the whole history."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.offset_records import Committed, OffsetKey
from kafkatx.group.pending_offsets import PendingOffsets

KEY: OffsetKey = ("g", "t", 0)
OTHER: OffsetKey = ("h", "t", 1)
KEYS = (KEY, OTHER)


class PendingTests(SynchronousTestCase):
    """Transactions that end, one by one."""

    def setUp(self) -> None:
        """Begin with nothing."""
        self.pending = PendingOffsets()

    def test_commit(self) -> None:
        """A commit gives the offsets once; the last one of the transaction counts."""
        self.pending.add(1, KEY, Committed(5))
        self.pending.add(1, KEY, Committed(6))
        self.pending.add(1, OTHER, Committed(7))
        self.assertIn(KEY, self.pending)
        self.assertEqual(self.pending.end(1, True), {KEY: Committed(6), OTHER: Committed(7)})
        self.assertFalse(self.pending)
        self.assertEqual(self.pending.end(1, True), {})

    def test_abort(self) -> None:
        """An abort gives nothing, and leaves those of others."""
        self.pending.add(1, KEY, Committed(5))
        self.pending.add(2, KEY, Committed(6))
        self.assertEqual(self.pending.end(1, False), {})
        self.assertIn(KEY, self.pending)
        self.assertEqual(self.pending.end(2, True), {KEY: Committed(6)})

    def test_newest_record(self) -> None:
        """The newest record counts, not the newest marker."""
        self.pending.add(1, KEY, Committed(5))
        self.pending.add(2, KEY, Committed(6))
        self.assertEqual(self.pending.end(2, True), {KEY: Committed(6)})
        self.assertEqual(self.pending.end(1, True), {})
        self.assertFalse(self.pending)

    def test_superseded(self) -> None:
        """A commit without a transaction that was written later, or a deletion, drops what is pending."""
        self.pending.add(1, KEY, Committed(5))
        self.pending.add(1, OTHER, Committed(6))
        self.pending.supersede(KEY)
        self.pending.supersede(("x", "y", 9))
        self.assertNotIn(KEY, self.pending)
        self.assertEqual(self.pending.end(1, True), {OTHER: Committed(6)})

    def test_groups(self) -> None:
        """Groups with pending offsets are known, and their partitions."""
        self.pending.add(1, KEY, Committed(5))
        self.pending.add(2, OTHER, Committed(5))
        self.assertEqual(self.pending.groups(), {"g", "h"})
        self.assertEqual(self.pending.of_group("g"), {("t", 0)})
        self.assertEqual(set(self.pending), set(KEYS))

    @settings(deadline=None, max_examples=300)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(("add", "plain", "commit", "abort")),
                st.integers(1, 3),
                st.sampled_from(KEYS),
            ),
            max_size=30,
        )
    )
    def test_model(self, steps: list[tuple[str, int, OffsetKey]]) -> None:
        """After any history the offsets are those of the newest committed records."""
        pending, offsets = PendingOffsets(), dict[OffsetKey, int]()
        newest, opened = dict[OffsetKey, int](), dict[int, dict[OffsetKey, int]]()
        for at, (step, producer_id, key) in enumerate(steps):
            if step == "add":
                pending.add(producer_id, key, Committed(at))
                opened.setdefault(producer_id, {})[key] = at
            elif step == "plain":
                pending.supersede(key)
                offsets[key] = newest[key] = at
            else:
                ended = pending.end(producer_id, step == "commit")
                offsets.update({one: committed.offset for one, committed in ended.items()})
                for one, written in opened.pop(producer_id, {}).items():
                    if step == "commit":
                        newest[one] = max(newest.get(one, -1), written)
        self.assertEqual(offsets, newest)
