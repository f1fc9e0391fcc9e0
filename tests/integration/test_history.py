"""The checker of histories finds every kind of fault, and none in a history without one."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from tests.integration.history import History, Outcome, Poll, Send, unread


def good() -> History:
    """Return a history without faults: 0, 1 and 3 were written, 2 was refused, 3 without an answer."""
    return History(
        [
            Send(0, b"k", Outcome.OK, 0, 0),
            Send(1, b"k", Outcome.OK, 0, 1),
            Send(2, b"k", Outcome.FAILED),
            Send(3, b"k", Outcome.UNKNOWN),
        ],
        {0: [(0, 0), (1, 1), (2, 3)]},
        [Poll("a", 0, 0, 0, 0), Poll("a", 0, 0, 1, 1), Poll("b", 0, 0, 1, 1), Poll("b", 0, 0, 2, 3)],
        {0: [0, 1, 1, 3]},
    )


class HistoryTests(SynchronousTestCase):
    def found(self, **changes: object) -> list[str]:
        """Return the faults of the good history with other attributes."""
        return attrs.evolve(good(), **changes).faults()  # type: ignore[arg-type]

    def test_good(self) -> None:
        """A record that may or may not have been written is no fault, nor one that is read twice."""
        self.assertEqual(good().faults(), [])
        self.assertEqual(self.found(log={0: [(0, 0), (1, 1)]}, polls=[]), [])
        self.assertEqual(list(unread(good())), [])

    def test_lost(self) -> None:
        """An acknowledged record must be in the log, at its offset."""
        self.assertEqual(self.found(log={0: [(0, 0)]}, polls=[]), ["1 was acknowledged at 0/1, and is lost"])
        self.assertIn(
            "1 was acknowledged at 0/1, which is 3", self.found(log={0: [(0, 0), (1, 3)]}, polls=[])
        )

    def test_impossible(self) -> None:
        """The log has nothing that was refused, and nothing that was not sent."""
        log = {0: [(0, 0), (1, 1), (2, 2), (3, 9)]}
        self.assertEqual(self.found(log=log, polls=[]), ["2 at 0/2 was refused", "9 at 0/3 was never sent"])

    def test_repeated(self) -> None:
        """An idempotent producer writes each record once."""
        log = {0: [(0, 0), (1, 1), (2, 1)]}
        self.assertEqual(self.found(log=log, polls=[]), ["1 is in the log 2 times"])

    def test_order(self) -> None:
        """A partition has records in the order in which they were sent."""
        sends = [Send(0, b"k", Outcome.UNKNOWN), Send(1, b"k", Outcome.UNKNOWN)]
        self.assertEqual(
            self.found(sends=sends, log={0: [(0, 1), (1, 0)]}, polls=[]),
            ["0 at 0/1 comes after records that were sent later"],
        )

    def test_inconsistent(self) -> None:
        """All readers see the same record at an offset."""
        self.assertEqual(self.found(polls=[Poll("a", 0, 0, 1, 3)]), ["a saw 3 at 0/1, where others saw 1"])

    def test_skipped(self) -> None:
        """A consumer goes from offset to offset, until its assignment changes."""
        polls = [Poll("a", 0, 0, 0, 0), Poll("a", 0, 0, 2, 3)]
        self.assertEqual(self.found(polls=polls), ["a went from 0/0 to 2"])
        self.assertEqual(self.found(polls=[polls[0], attrs.evolve(polls[1], position=1)]), [])
        self.assertEqual(
            self.found(polls=[Poll("a", 0, 0, 1, 1), Poll("a", 0, 0, 0, 0)]), ["a went from 0/1 to 0"]
        )

    def test_commits(self) -> None:
        """A committed offset does not go back."""
        self.assertEqual(self.found(commits={0: [3, 1]}), ["the committed offset of 0 went back from 3 to 1"])

    def test_unread(self) -> None:
        """A record that no consumer got is found."""
        self.assertEqual(list(unread(attrs.evolve(good(), polls=[]))), [0, 1, 3])
