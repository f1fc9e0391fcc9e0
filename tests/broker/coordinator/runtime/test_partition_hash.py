"""The partition of a key, as Java finds it."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.runtime.partition_hash import java_hash, partition_for


class HashTests(SynchronousTestCase):
    def test_java(self) -> None:
        """The hash equals Java's ``hashCode()``, even outside of ASCII and the BMP."""
        known = {"": 0, "a": 97, "hello": 99162322, "Hello World": -862545276, "é": 233, "😀": 1772899}
        self.assertEqual({text: java_hash(text) for text in known}, known)

    def test_partition(self) -> None:
        """A negative hash counts by its absolute value, and the minimum, which has none, as 0."""
        self.assertEqual(partition_for("hello", 50), 22)
        self.assertEqual(partition_for("Hello World", 50), 26)
        self.assertEqual(java_hash("polygenelubricants"), -(2**31))
        self.assertEqual(partition_for("polygenelubricants", 50), 0)
