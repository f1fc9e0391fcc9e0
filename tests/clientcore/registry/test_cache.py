"""Tests of kafkatx.clientcore.registry.cache."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.registry.cache import NEGATIVE_S, SchemaCache


class SchemaCacheTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a cache of three."""
        self.clock = Clock()
        self.cache: SchemaCache[int, str] = SchemaCache(3, self.clock.seconds)

    def test_bounded(self) -> None:
        """The oldest value gives way when the cache is full; failures are bounded, too."""
        for number in (1, 2, 3, 2, 4):
            self.cache.add(number, str(number))
        self.assertEqual(self.cache.found, {2: "2", 3: "3", 4: "4"})
        for number in range(10, 20):
            self.cache.fail(number, ValueError())
        self.assertEqual([number for number in range(10, 20) if self.cache.error(number)], [17, 18, 19])

    def test_failures(self) -> None:
        """A failure is kept for five seconds; a value replaces it."""
        error = ValueError()
        self.cache.fail(1, error)
        self.assertIs(self.cache.error(1), error)
        self.assertEqual(self.cache.missing((1, 2, 2)), [2])
        self.clock.advance(NEGATIVE_S)
        self.assertIsNone(self.cache.error(1))
        self.assertEqual(self.cache.missing((1, 2)), [1, 2])
        self.cache.fail(1, error)
        self.cache.add(1, "one")
        self.assertIsNone(self.cache.error(1))
        self.cache.discard(1)
        self.assertEqual(self.cache.missing((1,)), [1])
