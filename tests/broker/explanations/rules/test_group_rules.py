"""Rules about groups, each at its threshold and below it."""

from __future__ import annotations

import attrs

from kafkatx.broker.explanations.facts import Severity
from kafkatx.broker.explanations.rules import group_rules as r
from tests.broker.explanations.situations import FACTS, GROUP, MEMBER, RuleTestCase, behind, group

NOTE, HINT, PROBLEM = Severity
IDLE = attrs.evolve(MEMBER, member_id="app-2", client_id="spare", partitions=0)
NO_GROUP = attrs.evolve(FACTS, group=None)


class MemberTests(RuleTestCase):
    def test_no_members(self) -> None:
        """A group without members is a problem if it has lag, else a note."""
        self.silent(r.no_members, NO_GROUP, group(members=(), state="PreparingRebalance"))
        facts = group(members=(), state="Empty", partitions=(behind(7),))
        self.says(r.no_members, facts, PROBLEM, "no members for 60 min", "7 records of lag")
        self.says(r.no_members, group(members=(), state_age_ms=None), NOTE, "The group has no members; it")

    def test_too_few_members(self) -> None:
        """Lag that grows while members share partitions is a problem; what shrinks is none."""
        growing = tuple(behind(50, number, produced=100, consumed=40) for number in range(3))
        found = self.says(
            r.too_few_members, group(partitions=growing), PROBLEM, "grows by 90 records", "up to 3"
        )
        self.assertEqual(found.rule, "too-few-members")
        self.assertIn(("produced_per_s", "150"), found.evidence)
        found = self.says(
            r.too_few_members, group(partitions=growing[:1]), PROBLEM, "more members would be idle"
        )
        self.assertEqual(found.rule, "too-few-partitions")
        shrinking = (behind(50, 0, produced=40, consumed=100), behind(9, 1))
        self.silent(r.too_few_members, NO_GROUP, group(partitions=shrinking), group(members=()))

    def test_idle_members(self) -> None:
        """Members without partitions are named; a group where no member has one has another fault."""
        self.silent(r.idle_members, NO_GROUP, group(members=(IDLE,)))
        self.says(
            r.idle_members, group(members=(MEMBER, IDLE)), HINT, "1 member of 2 has no partition", "(spare)"
        )


class RebalanceTests(RuleTestCase):
    def test_going_on(self) -> None:
        """A rebalance is a hint at first, and a problem after five seconds or if it is repeated."""
        for state in sorted(r.REBALANCING):
            self.says(r.rebalance, group(state=state, state_age_ms=4999), HINT, "5 s", state)
            self.says(r.rebalance, group(state=state, state_age_ms=5000), PROBLEM, "1 member")
        self.says(r.rebalance, group(state="Assigning", state_age_ms=None, rebalances=1), PROBLEM)

    def test_recent(self) -> None:
        """A rebalance of less than a minute ago is a hint."""
        self.says(r.rebalance, group(state_age_ms=59_999), HINT, "60 s ago")
        self.says(r.rebalance, group(rebalances=2), HINT, "in the last seconds")
        self.silent(r.rebalance, NO_GROUP, group(state_age_ms=60_000), group(members=(), state_age_ms=0))


class LagTests(RuleTestCase):
    def test_hot_partition(self) -> None:
        """A partition with four fifths of a large lag is named with its consumer."""
        rest = (behind(100, 1), behind(99, 2))
        facts = group(partitions=(behind(801, 0, committed=0, high_watermark=801), *rest))
        self.says(
            r.hot_partition, facts, PROBLEM, "80% of the lag", "t-0; its consumer is app", "no more records"
        )
        hot = behind(900, 0, produced=95, client_id="")
        facts = group(partitions=(hot, behind(1, 1, produced=5), behind(100, 2)))
        self.says(r.hot_partition, facts, PROBLEM, "no member has it", "choose keys")
        self.silent(
            r.hot_partition,
            NO_GROUP,
            group(partitions=(behind(900), behind(100, 1))),  # one of two
            group(partitions=(behind(799), *rest)),  # too little
            group(partitions=tuple(behind(500, number) for number in range(3))),
        )

    def test_no_progress(self) -> None:
        """A partition with records and a member that commits nothing for a minute is a problem."""
        stuck = behind(10, commit_age_ms=60_000)
        self.says(r.no_progress, group(partitions=(stuck,)), PROBLEM, "t-0", "60 s", "offset 90 of t-0")
        self.silent(
            r.no_progress,
            NO_GROUP,
            group(partitions=(behind(10, commit_age_ms=59_999),)),
            group(partitions=(behind(10, commit_age_ms=None),)),
            group(partitions=(behind(10, commit_age_ms=99_999, consumed=1),)),
            group(partitions=(behind(10, commit_age_ms=99_999, client_id=""),)),
            group(partitions=(behind(10, commit_age_ms=99_999, last_stable_offset=90),)),
            group(partitions=(stuck,), members=()),
        )

    def test_deleted_unread(self) -> None:
        """Offsets that retention has deleted are counted."""
        lost = attrs.evolve(behind(50), log_start_offset=70)
        self.says(r.out_of_range, group(partitions=(lost,)), PROBLEM, "20 offsets of t-0 were deleted")
        self.silent(r.out_of_range, NO_GROUP, group(partitions=(attrs.evolve(lost, here=False),)))

    def test_up_to_date(self) -> None:
        """A group without lag waits for records."""
        self.says(r.up_to_date, FACTS, NOTE, "has read everything")
        for facts in (NO_GROUP, group(members=()), group(partitions=()), group(partitions=(behind(1),))):
            self.assertEqual([*r.up_to_date(facts)], [])

    def test_left_out(self) -> None:
        """Partitions above the bound are told of."""
        self.assertEqual(r.left_out(GROUP), "")
        self.assertIn("3 further", r.left_out(attrs.evolve(GROUP, partitions_left_out=3)))
