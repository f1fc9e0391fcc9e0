"""The moment at which a group counts as settled, and its records as read."""

from __future__ import annotations

import json
import sys
import threading

from twisted.trial.unittest import SynchronousTestCase

from tests.clients.features import PARTITIONS
from tests.clients.members import Member, Members

# Says its arguments line by line, then waits until its input ends.
_SAYS = "import sys\nfor line in sys.argv[1:]: print(line, flush=True)\nsys.stdin.read()\n"


def says(*lines: dict[str, object]) -> list[str]:
    """The options of a member that says this."""
    return [json.dumps(line) for line in lines]


class MembersTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A group of scripted members, which is gone at the end."""
        self.members = Members([sys.executable, "-c", _SAYS])
        self.addCleanup(self.members.__exit__)

    def join(self, *owned: list[int]) -> None:
        """Members that own this, once they have said so."""
        for partitions in owned:
            member = self.members.join(*says({"owns": partitions}))
            self.members.wait("it speaks", lambda member=member: member.owned is not None, 20)  # type: ignore[misc]

    def test_settled(self) -> None:
        """A group in which each partition has one owner, and each member a partition, is settled."""
        self.join([0, 1], [2, 3], [4, 5])
        self.assertTrue(self.members.settled())

    def test_owned_twice(self) -> None:
        """A partition with two owners is not settled, even where all partitions are owned."""
        self.join([0, 1, 2, 3], [3, 4, 5])
        self.assertFalse(self.members.settled())

    def test_owned_by_nobody(self) -> None:
        """A partition without an owner is not settled."""
        self.join([0, 1], [2, 3, 4])
        self.assertFalse(self.members.settled())

    def test_idle_member(self) -> None:
        """A member without partitions is not settled: there are enough for all."""
        self.join(list(range(PARTITIONS)), [])
        self.assertFalse(self.members.settled())

    def test_owned_twice_and_one_missing(self) -> None:
        """Six ownerships of five partitions are not settled."""
        self.join([0, 1, 2], [2, 3, 4])
        self.assertFalse(self.members.settled())

    def test_skipped_record(self) -> None:
        """Records are all read only if no offset below the end is missing."""
        self.members.join(*says({"read": [[0, 0], [0, 2]]}))
        self.members.wait("it speaks", lambda: bool(self.members.present[0].read), 20)
        self.assertFalse(self.members.have_read({0: 3}))
        other = self.members.join(*says({"read": [[0, 1]]}))
        self.members.wait("the other reads what is missing", lambda: self.members.have_read({0: 3}), 20)
        self.members.kill(other)
        self.assertTrue(self.members.have_read({0: 3}))

    def test_member_that_ended(self) -> None:
        """Waiting ends at once when a member has ended by itself, and tells what it said last."""
        self.members._command = [sys.executable, "-c", "raise SystemExit('no broker')"]
        self.members.join()
        error = self.assertRaises(AssertionError, self.members.wait, "a miracle", lambda: False, 20)
        self.assertIn("a member has ended", str(error))

    def test_bad_leave(self) -> None:
        """A member that leaves with an error fails."""
        script = "import sys; print('{\"owns\": []}', flush=True); sys.stdin.read(); sys.exit(3)"
        member = Member([sys.executable, "-c", script], threading.Condition())
        self.addCleanup(member.kill)
        self.assertIn("status 3", str(self.assertRaises(AssertionError, member.leave)))
