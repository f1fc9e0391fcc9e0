"""Tests of kafkatx.spark.sink.shipped."""

from __future__ import annotations

import pickle

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink.shipped import Shipped


class ShippedTests(SynchronousTestCase):
    def test_made_once(self) -> None:
        """The value is made at the first pickling, and never in a copy."""
        calls: list[int] = []

        def make() -> list[int]:
            calls.append(len(calls))
            return list(calls)

        shipped = Shipped(make)
        self.assertRaises(KafkaTXError, shipped.get)
        self.assertEqual(calls, [])
        copies = [pickle.loads(pickle.dumps(shipped)) for _ in range(2)]
        copies.append(pickle.loads(pickle.dumps(copies[0])))
        self.assertEqual([copy.get() for copy in copies], [[0]] * 3)
        self.assertEqual(calls, [0])

    def test_error(self) -> None:
        """An error is raised where the value is wanted; a bug where it is."""

        def fail() -> None:
            raise KafkaTXError("no broker")

        copy = pickle.loads(pickle.dumps(Shipped(fail)))
        self.assertEqual(str(self.assertRaises(KafkaTXError, copy.get)), "no broker")
        self.assertRaises(ZeroDivisionError, pickle.dumps, Shipped(lambda: 1 // 0))
