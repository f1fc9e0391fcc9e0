"""Tests of kafkatx.mirror.core.offset_map, against a list of pairs."""

from __future__ import annotations

import random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror.core.offset_map import OffsetMap, Run


class OffsetMapTests(SynchronousTestCase):
    def test_example(self) -> None:
        """The example of the module's docstring."""
        known = OffsetMap([Run(0, 10, 3), Run(5, 13, 2)])
        self.assertEqual([known.to_target(source) for source in range(8)], [10, 11, 12, 13, 13, 13, 14, 15])
        self.assertEqual([known.to_source(target) for target in range(9, 16)], [0, 0, 1, 2, 5, 6, 7])
        self.assertEqual([known.copy_of(source) for source in (2, 3, 5, 7)], [12, None, 13, None])
        self.assertEqual([known.original_of(target) for target in (9, 12, 13, 15)], [None, 2, 5, None])

    def test_empty(self) -> None:
        """Nothing is known of nothing."""
        known = OffsetMap()
        self.assertEqual((known.to_target(0), known.to_source(0), known.copy_of(0)), (None, None, None))
        self.assertEqual((known.source_end, known.target_end), (-1, -1))

    def test_random(self) -> None:
        """Any gaps at both sides: each translation is the one that the list of pairs gives."""
        for seed in range(30):
            chance = random.Random(seed)
            known, pairs = OffsetMap(), list[tuple[int, int]]()
            source, target = chance.randrange(50), chance.randrange(50)
            for _ in range(chance.randrange(1, 12)):
                sources = []
                for _ in range(chance.randrange(1, 8)):
                    sources.append(source)
                    source += chance.choice([1, 1, 1, 4])
                known.add_offsets(sources, target)
                pairs += [(one, target + at) for at, one in enumerate(sources)]
                target += len(sources) + chance.choice([0, 0, 3])
            for at in range(pairs[0][0] - 2, pairs[-1][0] + 3):
                wanted = next((t for s, t in pairs if s >= at), pairs[-1][1] + 1)
                self.assertEqual(known.to_target(at), wanted, (seed, at))
                self.assertEqual(known.copy_of(at), dict(pairs).get(at))
            back = {t: s for s, t in pairs}
            for at in range(pairs[0][1] - 2, pairs[-1][1] + 3):
                wanted = next((s for s, t in pairs if t >= at), pairs[-1][0] + 1)
                self.assertEqual(known.to_source(at), wanted, (seed, at))
                self.assertEqual(known.original_of(at), back.get(at))

    def test_one_run(self) -> None:
        """A partition that is copied whole takes one run."""
        known = OffsetMap()
        for at in range(0, 1000, 10):
            known.add_offsets(range(at, at + 10), 5 + at)
        self.assertEqual(list(known), [Run(0, 5, 1000)])

    def test_known(self) -> None:
        """Runs that are added again change nothing; what goes on behind them is added."""
        known = OffsetMap([Run(0, 10, 5)])
        known.add(0, 10, 5)
        known.add(2, 12, 2)
        self.assertEqual(list(known), [Run(0, 10, 5)])
        known.add(3, 13, 4)
        self.assertEqual(list(known), [Run(0, 10, 7)])

    def test_source_was_cut(self) -> None:
        """Source offsets that come again are other records: the last ones count."""
        known = OffsetMap([Run(0, 0, 10)])
        known.add(6, 10, 3)
        self.assertEqual(list(known), [Run(0, 0, 6), Run(6, 10, 3)])
        self.assertEqual([known.copy_of(5), known.copy_of(6), known.original_of(6)], [5, 10, None])

    def test_target_was_cut(self) -> None:
        """Copies that the target has lost are forgotten."""
        known = OffsetMap([Run(0, 0, 10), Run(20, 10, 10)])
        known.forget_from(12)
        self.assertEqual(list(known), [Run(0, 0, 10), Run(20, 10, 2)])
        known.forget_from(4)
        self.assertEqual((list(known), known.source_end), ([Run(0, 0, 4)], 4))

    def test_deleted(self) -> None:
        """Copies that the target has deleted are forgotten: a group goes on at the first that is left."""
        known = OffsetMap([Run(0, 0, 10), Run(20, 10, 10), Run(40, 30, 5)])
        self.assertEqual(known.forget_before(25), 2)
        self.assertEqual(known.to_target(5), 30)

    def test_bound(self) -> None:
        """With too many runs the old half goes; offsets in it are translated to the very beginning."""
        known = OffsetMap([Run(10 * at, at, 1) for at in range(101)])
        known.bound(200)
        self.assertEqual((len(known), known.floor), (101, None))
        known.bound(100)
        self.assertEqual((len(known), known.floor), (50, Run(0, 0, 1)))
        self.assertEqual((known.to_target(300), known.to_source(30)), (0, 0))
        self.assertEqual((known.to_target(1000), known.to_target(905)), (100, 91))
        known.forget_before(1)
        self.assertEqual(known.to_target(300), 51)
