"""All rules together: the order of their sentences, and what is said if there are none."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.explanations import rules
from kafkatx.broker.explanations.explanations import NOTHING, RULES, explain
from tests.broker.explanations.situations import FACTS, GROUP, MEMBER, behind, broker, group


class ExplainTests(SynchronousTestCase):
    def rules(self, facts: object) -> list[str]:
        """Return the names of the rules that say something, in order."""
        return [one.rule for one in explain(facts)]  # type: ignore[arg-type]

    def test_order(self) -> None:
        """Problems come before hints, and hints before notes."""
        idle = attrs.evolve(MEMBER, partitions=0)
        facts = attrs.evolve(
            broker(idle_share=0.01),
            group=attrs.evolve(GROUP, members=(MEMBER, idle), partitions_left_out=4),
        )
        self.assertEqual(self.rules(facts), ["saturated", "idle-members", "waits-for-records", "left-out"])

    def test_nothing(self) -> None:
        """A group of which no rule says anything gets a sentence, too; one that has read all needs none."""
        self.assertEqual(self.rules(FACTS), ["waits-for-records"])
        self.assertEqual(self.rules(group(partitions=(behind(1),))), ["nothing-found"])
        self.assertEqual(self.rules(attrs.evolve(FACTS, group=None)), ["nothing-found"])

    def test_page(self) -> None:
        """The page of the rules has each name that a rule gives, and no other one."""
        folder = Path(rules.__file__).parent
        names = {NOTHING.rule, "left-out"}
        for path in folder.glob("*_rules.py"):
            names |= set(re.findall(r'Explanation\(\s*"([a-z-]+)"', path.read_text(encoding="utf-8")))
        page = (Path(__file__).parents[3] / "docs" / "why-slow.md").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)), names)

    def test_rules_differ(self) -> None:
        """Each rule is there once."""
        self.assertEqual(len(set(RULES)), len(RULES))
