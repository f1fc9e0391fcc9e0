"""The topics of a consumer's subscription."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.range import RangePartitionAssignor
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.classic.subscription import topics_of
from tests.group.classic.driver import subscription


class SubscriptionTests(SynchronousTestCase):
    def test_union(self) -> None:
        """The result is the union of the topics of all members."""
        data = [subscription("a", "b"), subscription("b", "c", version=0)]
        self.assertEqual(topics_of(data), frozenset("abc"))
        self.assertEqual(topics_of([]), frozenset())

    def test_later_versions(self) -> None:
        """Fields that later versions append are ignored."""
        owned = b"\0\0\0\1" + b"\0\1t" + b"\0\0\0\1" + b"\0\0\0\7"
        data = subscription("a", version=9, user_data=b"xyz", rest=owned)
        self.assertEqual(topics_of([data]), frozenset("a"))

    def test_of_kafka_python(self) -> None:
        """The metadata that kafka-python joins with is read."""
        data = RangePartitionAssignor.metadata({"orders", "payments"}).encode()
        self.assertEqual(topics_of([data]), frozenset({"orders", "payments"}))

    def test_damaged(self) -> None:
        """Unreadable metadata of one member makes the topics unknown."""
        whole = subscription("topic")
        for cut in range(13):
            self.assertIsNone(topics_of([subscription("a"), whole[:cut]]), cut)
        self.assertIsNone(topics_of([b"\0\1\x7f\xff\xff\xff"]))
        self.assertIsNone(topics_of([b"\0\1\xff\xff\xff\xff"]))
        self.assertIsNone(topics_of([b"\0\1\0\0\0\1\0\1\xff"]))

    @given(st.binary(max_size=40))
    def test_anything(self, data: bytes) -> None:
        """Arbitrary bytes give topics or None, and never an error."""
        self.assertIsInstance(topics_of([data]), frozenset | type(None))
