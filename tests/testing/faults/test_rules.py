"""Rules of injected faults."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.testing.faults.rules import Delay, Drop, Refuse, Rule, Rules


class RulesTests(SynchronousTestCase):
    def test_times(self) -> None:
        """A rule is for as many requests as it says; None is for all."""
        rules = Rules()
        twice = rules.add(Rule("Fetch", None, Drop(), 2))
        always = rules.add(Rule("Fetch", None, Delay(1), None))
        self.assertEqual([rules.take("Fetch", ()) for _ in range(4)], [Drop(), Drop(), Delay(1), Delay(1)])
        self.assertEqual((twice.hits, always.hits), (2, 2))

    def test_topic(self) -> None:
        """A rule for a topic is for requests that name it, and for no others."""
        rules = Rules()
        rules.add(Rule("Produce", "t", Refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER), 1))
        self.assertIsNone(rules.take("Produce", ["u"]))
        self.assertIsNone(rules.take("Fetch", ["t"]))
        self.assertEqual(rules.take("Produce", ["u", "t"]), Refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def test_clear(self) -> None:
        """Without rules requests are served."""
        rules = Rules()
        rules.add(Rule("Fetch", None, Drop(), None))
        rules.clear()
        self.assertIsNone(rules.take("Fetch", ()))
