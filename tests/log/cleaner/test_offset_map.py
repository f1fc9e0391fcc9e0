"""The map of keys to their last offsets."""

from __future__ import annotations

import sys
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.cleaner.offset_map import ENTRY_BYTES, OffsetMap, names_of, short

FEW = settings(max_examples=100, deadline=None)


class NameTests(SynchronousTestCase):
    """Names of keys."""

    def test_short_keys_are_their_own_names(self) -> None:
        """Up to 30 bytes a key is itself; from there on it is a hash of 31 bytes."""
        for size in range(70):
            name = short(b"k" * size)
            self.assertEqual(name == b"k" * size, size < 31)
            self.assertEqual(len(name), min(size, 31))

    def test_a_key_that_is_anothers_hash(self) -> None:
        """A key that looks like the name of a long one is not taken for it."""
        long = b"long" * 10
        self.assertNotEqual(short(short(long)), short(long))

    def test_names_of(self) -> None:
        """Keys keep their order; no key has no name."""
        keys = [b"a", None, b"b" * 40, b""]
        self.assertEqual(names_of(keys), [b"a", None, short(b"b" * 40), b""])


class OffsetMapTests(SynchronousTestCase):
    """Tests of the map's answers."""

    @FEW
    @given(st.lists(st.one_of(st.none(), st.binary(max_size=2), st.just(b"x" * 40)), max_size=30))
    def test_latest(self, keys: list[bytes | None]) -> None:
        """Only the last record of each key is the latest; a record without a key never is."""
        offsets = [3 * number for number in range(len(keys))]
        names = names_of(keys)
        known = OffsetMap(1 << 20, 1.0)
        for at in range(0, len(keys), 7):
            known.add(names[at : at + 7], offsets[at : at + 7])
        last = dict(zip(keys, offsets, strict=True))
        last.pop(None, None)
        expected = [last.get(key) == offset for key, offset in zip(keys, offsets, strict=True)]
        self.assertEqual(known.latest(names, offsets), expected)
        self.assertEqual(len(known), len(last))

    def test_unknown_key(self) -> None:
        """A record whose key is not in the map stays."""
        known = OffsetMap(1 << 20, 1.0)
        known.add([b"a"], [5])
        self.assertEqual(known.latest([b"b", b"a"], [1, 2]), [True, False])

    @FEW
    @given(st.lists(st.binary(max_size=1), min_size=1, max_size=40), st.integers(0, 40), st.integers(1, 5))
    def test_may_hold(self, keys: list[bytes], start: int, size: int) -> None:
        """A batch without a key's last record is known as such; one from before the dirty part never is."""
        known = OffsetMap(1 << 20, 1.0)
        known.add(names_of(keys[start:]), range(start, len(keys)))
        known.complete(start)
        last = {key: offset for offset, key in enumerate(keys)}.values()
        for base in range(len(keys)):
            holds = any(base <= offset < base + size for offset in last)
            self.assertEqual(known.may_hold(base, base + size - 1), holds or base < start)

    def test_room(self) -> None:
        """The number of keys is limited by memory and load factor; the first batch always fits."""
        known = OffsetMap(20 * ENTRY_BYTES, 0.5)
        self.assertTrue(known.has_room(1000))
        known.add([b"%d" % number for number in range(8)], list(range(8)))
        self.assertTrue(known.has_room(2))
        self.assertFalse(known.has_room(3))

    def test_memory(self) -> None:
        """A key costs no more than ENTRY_BYTES, at the moment of growth, too."""
        if sys.implementation.name != "cpython":
            return
        count = 175_000  # a dict has just grown then
        tracemalloc.start()
        try:
            known = OffsetMap(1 << 30, 1.0)
            for start in range(0, count, 1000):
                names = names_of(
                    [b"a key of more than 31 bytes, whatever %d" % n for n in range(start, start + 1000)]
                )
                known.add(names, [(1 << 40) + n for n in range(start, start + 1000)])
            names = []
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        self.assertEqual(len(known), count)
        self.assertLess(peak / count, ENTRY_BYTES)
