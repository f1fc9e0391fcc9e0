"""Facts of tests: a group that gets on, and changes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.explanations.facts import (
    BrokerFacts,
    ClientFacts,
    Explanation,
    Facts,
    GroupFacts,
    MemberFacts,
    PartitionFacts,
    Severity,
)

PARTITION = PartitionFacts(
    "t", 0, committed=100, high_watermark=100, last_stable_offset=100, commit_age_ms=500, client_id="app"
)
MEMBER = MemberFacts("app-1", "app", "/127.0.0.1", 1)
GROUP = GroupFacts("g", "classic", "Stable", 3_600_000, 0, (MEMBER,), (PARTITION,))
BROKER = BrokerFacts(1, window_s=2.0, idle_share=0.9)
FACTS = Facts(BROKER, GROUP, (ClientFacts("app", instances=1),))

Rule = Callable[[Facts], Iterator[Explanation]]


def group(**changes: Any) -> Facts:
    """Return the facts with another group."""
    return attrs.evolve(FACTS, group=attrs.evolve(GROUP, **changes))


def broker(**changes: Any) -> Facts:
    """Return the facts with another broker."""
    return attrs.evolve(FACTS, broker=attrs.evolve(BROKER, **changes))


def behind(lag: int, number: int = 0, **changes: Any) -> PartitionFacts:
    """Return a partition with a lag."""
    return attrs.evolve(
        PARTITION,
        partition=number,
        **{"committed": 100 - lag if lag <= 100 else 0, "high_watermark": max(100, lag), **changes},
    )


class RuleTestCase(SynchronousTestCase):
    def says(self, rule: Rule, facts: Facts, severity: Severity, *texts: str) -> Explanation:
        """Check that a rule says one sentence with these texts."""
        (found,) = rule(facts)
        self.assertEqual(found.severity, severity, found)
        for text in texts:
            self.assertIn(text, f"{found.sentence} {found.advice}")
        return found

    def silent(self, rule: Rule, *every: Facts) -> None:
        """Check that a rule says nothing."""
        for facts in (FACTS, *every):
            self.assertEqual([*rule(facts)], [])
