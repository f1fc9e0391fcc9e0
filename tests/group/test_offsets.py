"""Committed offsets in memory: lookups, replay and expiry."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.offset_records import (
    Committed,
    UnreadableOffset,
    encode_key,
    encode_value,
    tombstone,
)
from kafkatx.group.offsets import Offsets
from tests.records.strategies import quick

NOW_MS = 1_700_000_000_000
RETENTION_MS = 1000

names = st.sampled_from(["a", "b", ""])
changes = st.lists(st.tuples(names, names, st.integers(0, 2), st.none() | st.integers(0, 9)), max_size=40)


class OffsetsTests(SynchronousTestCase):
    @quick
    @given(changes, st.booleans())
    def test_model(self, asked: list[tuple[str, str, int, int | None]], replayed: bool) -> None:
        """The offsets equal a dict's after any changes or replay, and no empty entries are left."""
        offsets, model = Offsets(), {}
        for group, topic, partition, offset in asked:
            committed = None if offset is None else Committed(offset)
            if replayed:
                value = committed and encode_value(committed)
                found = offsets.replay(encode_key(group, topic, partition), value)
                self.assertEqual(found, None if committed is None else group)
            elif committed is None:
                offsets.delete(group, topic, partition)
            else:
                offsets.set(group, topic, partition, committed)
            model[group, topic, partition] = committed
        model = {key: committed for key, committed in model.items() if committed is not None}
        self.assertEqual(
            {
                (group, topic, partition): committed
                for group in offsets.groups()
                for topic, partitions in offsets.of(group).items()
                for partition, committed in partitions.items()
            },
            model,
        )
        for group, topic, partition, _ in asked:
            self.assertEqual(offsets.get(group, topic, partition), model.get((group, topic, partition)))
        self.assertEqual(offsets.topics(), {topic for _, topic, _ in model})
        self.assertEqual(set(offsets.groups()), {group for group, _, _ in model})

    def test_unknown(self) -> None:
        """An offset that was never committed is None, and a lookup adds no entry."""
        offsets = Offsets()
        offsets.set("g", "t", 0, Committed(5))
        for group, topic, partition in (("other", "t", 0), ("g", "other", 0), ("g", "t", 1)):
            self.assertIsNone(offsets.get(group, topic, partition))
            offsets.delete(group, topic, partition)
        self.assertEqual(dict(offsets.of("other")), {})
        self.assertEqual(offsets.of("g"), {"t": {0: Committed(5)}})

    def test_by_topic(self) -> None:
        """The groups that have offsets of a topic, and the tombstones of a group, are found."""
        offsets = Offsets()
        for group, topic, partition in (("g", "t", 0), ("g", "t", 2), ("h", "t", 1), ("g", "u", 0)):
            offsets.set(group, topic, partition, Committed(5))
        self.assertEqual(list(offsets.of_topic("t")), [("g", [0, 2]), ("h", [1])])
        tombstones = [tombstone("g", "t", 0), tombstone("g", "t", 2), tombstone("g", "u", 0)]
        self.assertEqual(offsets.tombstones("g"), tombstones)
        offsets.remove("g")
        self.assertEqual(offsets.groups(), ["h"])

    def test_damaged_record(self) -> None:
        """A record that cannot be read is refused and changes nothing."""
        offsets = Offsets()
        offsets.set("g", "t", 0, Committed(5))
        self.assertRaises(UnreadableOffset, offsets.replay, encode_key("g", "t", 0), b"\0\3")
        self.assertEqual(offsets.get("g", "t", 0), Committed(5))


class FakeGroup:
    """A group as expiry sees it."""

    def __init__(self, kind: str, state: str, protocol_type: str, empty_since_ms: int, *topics: str) -> None:
        self.group_id = "g"
        self.kind = kind
        self.state = state
        self.protocol_type = protocol_type
        self.empty_since_ms = empty_since_ms
        self._topics = topics

    def subscribes(self, topic: str) -> bool:
        """Return True if the group was made with a subscription to *topic*."""
        return topic in self._topics


class ExpiryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an offset of topic ``old`` at the end of its retention, and one of ``new`` just before it."""
        self.offsets = Offsets()
        self.offsets.set("g", "old", 0, Committed(1, commit_timestamp_ms=NOW_MS - RETENTION_MS))
        self.offsets.set("g", "new", 0, Committed(1, commit_timestamp_ms=NOW_MS - RETENTION_MS + 1))

    def expired(self, *group: Any) -> list[str]:
        """Return the topics whose offsets expire now."""
        found = self.offsets.expired(FakeGroup(*group), NOW_MS, RETENTION_MS)  # type: ignore[arg-type]
        return [topic for topic, _ in found]

    def test_simple_group(self) -> None:
        """Offsets that were committed without a group expire a retention time after the commit."""
        self.assertEqual(self.expired("classic", "Empty", "", -1), ["old"])

    def test_empty_group(self) -> None:
        """All offsets of a group expire a retention time after its last member left, whenever committed."""
        self.assertEqual(self.expired("classic", "Empty", "consumer", NOW_MS - RETENTION_MS), ["old", "new"])
        self.assertEqual(self.expired("classic", "Empty", "consumer", NOW_MS - RETENTION_MS + 1), [])
        self.assertEqual(self.expired("consumer", "Empty", "consumer", NOW_MS - RETENTION_MS + 1), [])

    def test_empty_since_nobody_knows_when(self) -> None:
        """The commit time counts for a group whose record, from before 2.1, has no time."""
        self.assertEqual(self.expired("classic", "Empty", "consumer", -1), ["old"])

    def test_members(self) -> None:
        """Offsets of topics without subscribers expire a retention time after the commit."""
        for kind in ("classic", "consumer"):
            self.assertEqual(self.expired(kind, "Stable", "consumer", -1), ["old"])
            self.assertEqual(self.expired(kind, "Stable", "consumer", -1, "old", "new"), [])

    def test_not_known(self) -> None:
        """No offsets expire during a rebalance, or if the members are no consumers."""
        for state in ("PreparingRebalance", "CompletingRebalance"):
            self.assertEqual(self.expired("classic", state, "consumer", -1), [])
        self.assertEqual(self.expired("classic", "Stable", "connect", -1), [])

    def test_expire_timestamp(self) -> None:
        """An offset with an expire timestamp expires then, regardless of commit time and retention."""
        for expire_ms, expected in ((NOW_MS, ["mine"]), (NOW_MS + 1, [])):
            self.offsets = Offsets()
            self.offsets.set("g", "mine", 0, Committed(1, -1, "", 0, expire_ms))
            self.assertEqual(self.expired("classic", "Empty", "", -1), expected)
            self.assertEqual(self.expired("classic", "Empty", "consumer", NOW_MS), expected)

    def test_unknown_group(self) -> None:
        """A group without offsets has none that expire."""
        self.offsets.remove("g")
        self.assertEqual(self.expired("classic", "Empty", "", -1), [])
