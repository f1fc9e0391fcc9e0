"""Tests of ``kafkatx mirror promote``."""

from __future__ import annotations

import attrs

from kafkatx.cli.mirror import promote
from tests.cli.mirror.link_case import T0, T1, U0, LinkCase


class PromoteTests(LinkCase):
    def setUp(self) -> None:
        """Use a clock that waiting alone moves."""
        super().setUp()
        self.now_s = 0.0
        self.polls = 0
        self.patch(promote, "time", self)

    def monotonic(self) -> float:
        """Return the time."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Promote t after the third look."""
        self.now_s += seconds
        self.polls += 1
        if self.polls == 3:
            self.cluster.mirrored = {1: [attrs.evolve(one, state="promoted") for one in (T0, T1, U0)]}

    def test_all(self) -> None:
        """All topics of the link are to be promoted; what is missing here is told before."""
        self.mirror("promote", "dc1", "--yes")
        self.assertEqual(self.settings["mirror.dc1.promoted"], ".*")
        self.assertIn("3 offsets of 1 partition are not here yet", self.err.text())
        self.assertIn("the promotion has begun", self.err.text())

    def test_some(self) -> None:
        """Some topics are added to those that are to be promoted."""
        self.settings["mirror.dc1.promoted"] = "u"
        self.mirror("promote", "dc1", "-t", "t", "--yes")
        self.assertEqual(self.settings["mirror.dc1.promoted"], "t|u")

    def test_open_transactions(self) -> None:
        """It tells of open transactions, unless there are none."""
        self.mirror("promote", "dc1", "--yes")
        self.assertNotIn("open transactions", self.err.text())
        self.cluster.mirrored = {1: [T0, attrs.evolve(T1, open_transaction=0), U0]}
        self.mirror("promote", "dc1", "--yes")
        self.assertIn("1 partition with open transactions, which will be aborted", self.err.text())

    def test_asks(self) -> None:
        """It asks, with a warning that there is no way back, and changes nothing without an answer."""
        self.mirror("promote", "dc1", exit_code=2)
        self.assertNotIn("mirror.dc1.promoted", self.settings)

    def test_waits(self) -> None:
        """With --wait it ends when all is promoted."""
        self.mirror("promote", "dc1", "--yes", "--wait", "60")
        self.assertEqual(self.polls, 3)
        self.assertIn("1 topic promoted: producers may write there", self.err.text())

    def test_waits_in_vain(self) -> None:
        """After the time it says what hinders it; the exit code is 1."""
        self.cluster.mirrored = {1: [T0, attrs.evolve(T1, reason="not promoted: a transaction"), U0]}
        self.mirror("promote", "dc1", "--yes", "--wait", "1", exit_code=1)
        self.assertIn("1 topic not promoted yet: t-1: not promoted: a transaction", self.err.text())

    def test_gone_link(self) -> None:
        """Mirrors of a link that was removed can be promoted."""
        self.cluster.links = {}
        self.cluster.settings.clear()
        self.mirror("promote", "dc1", "--yes")
        self.assertEqual(self.settings["mirror.dc1.promoted"], ".*")

    def test_nothing_left(self) -> None:
        """Topics that are promoted already need nothing."""
        self.mirror("promote", "dc1", "-t", "u", "--yes")
        self.assertIn("no mirrors that are not promoted already", self.err.text())
        self.assertNotIn("mirror.dc1.promoted", self.settings)

    def test_unknown(self) -> None:
        """Links and topics that are not there are errors."""
        self.mirror("promote", "dc9", "--yes", exit_code=1)
        self.mirror("promote", "dc1", "-t", "x", "--yes", exit_code=1)
        self.assertNotIn("mirror.dc1.promoted", self.settings)
