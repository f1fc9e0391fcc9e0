"""Numbers and names in sentences."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.explanations.rules.texts import evidence, named, number, seconds


class TextTests(SynchronousTestCase):
    def test_texts(self) -> None:
        """Durations, numbers and lists read as a person writes them."""
        self.assertEqual(
            [seconds(ms) for ms in (0, 1500, 9999, 10_000, 119_000, 120_000, 7_199_000, 7_200_000)],
            ["0 s", "1.5 s", "10 s", "10 s", "119 s", "2 min", "119 min", "2 h"],
        )
        self.assertEqual([number(n) for n in (0, 12345, 0.1234, 1234.5)], ["0", "12,345", "0.123", "1,234"])
        self.assertEqual([named("ab"), named("abcd")], ["a, b", "a, b, c and 1 more"])
        self.assertEqual(evidence(a=1 / 3, b=True), (("a", "0.333333"), ("b", "True")))
