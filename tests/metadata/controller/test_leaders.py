"""Tests of the election of the leader of one partition: each row of the table of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.controller.isr import TopicRules
from kafkatx.metadata.controller.leaders import Replicas, next_state
from kafkatx.types import NO_LEADER, BrokerNode, LogEnd, PartitionState, TopicPartition
from tests.metadata.controller.cases import ONE, broker, cluster, missing

SAFE = TopicRules(unclean=False, min_insync=2)
UNCLEAN = TopicRules(unclean=True, min_insync=2)


def led(leader: int, isr: Sequence[int], eligible: Sequence[int] = ()) -> PartitionState:
    """Return a partition with the replicas 1, 2 and 3 in leader epoch 4."""
    return PartitionState(leader, 4, (1, 2, 3), tuple(isr), 7, 50, eligible=tuple(eligible))


class LeaderCase(SynchronousTestCase):
    stale_epochs: Mapping[int, int] = MappingProxyType({})

    def check(
        self,
        old: PartitionState,
        brokers: Sequence[BrokerNode],
        expected: tuple[int, int, Sequence[int], Sequence[int]] | None,
        rules: TopicRules = SAFE,
        offline: Sequence[int] = (),
        recovering: bool = False,
    ) -> None:
        """Compare leader, leader epoch, ISR and eligible brokers of the new state; None: it needs none."""
        state = cluster((), *brokers, offline={each: frozenset([ONE]) for each in offline})
        state = attrs.evolve(state, stale_epochs=self.stale_epochs)
        found = next_state(old, ONE, Replicas(state), lambda: rules)
        if found is None or expected is None:
            self.assertEqual(found, expected)
            return
        leader, epoch, isr, eligible = expected
        self.assertEqual(
            found,
            attrs.evolve(
                old,
                leader=leader,
                leader_epoch=epoch,
                isr=tuple(isr),
                eligible=tuple(eligible),
                partition_epoch=old.partition_epoch + 1,
                revision=0,
                recovering=recovering,
            ),
        )
        later = attrs.evolve(found, revision=99)
        self.assertIsNone(next_state(later, ONE, Replicas(state), lambda: rules))


class NewTests(LeaderCase):
    def test_live(self) -> None:
        """The first live replica of a new partition leads, and all live ones are in sync."""
        self.check(missing(3, 1, 2), [broker(1), broker(2)], (1, 0, (1, 2), ()))

    def test_stopping(self) -> None:
        """A stopping broker and an offline replica are not in sync in a new partition, if others can be."""
        brokers = [broker(1, stopping=True), broker(2), broker(3)]
        self.check(missing(1, 2, 3), brokers, (3, 0, (3,), ()), offline=[2])
        self.check(missing(1), brokers, (1, 0, (1,), ()))

    def test_none_live(self) -> None:
        """A new partition without a live replica waits."""
        self.check(missing(3), [broker(1)], None)
        self.check(missing(1), [broker(1)], None, offline=[1])


class RestoredTests(SynchronousTestCase):
    """The tree is an older copy; the partition has the replicas 1, 2 and 3."""

    def state(self, partition: PartitionState, **others: Any) -> PartitionState | None:
        """Return the next state, with all brokers live."""
        known = attrs.evolve(cluster((), broker(1), broker(2), broker(3)), **others)
        return next_state(partition, ONE, Replicas(known), lambda: SAFE)

    def told(self, **ends: LogEnd) -> dict[int, dict[TopicPartition, LogEnd]]:
        """Return what brokers, ``b1`` for broker 1, have told."""
        return {int(name[1:]): {ONE: end} for name, end in ends.items()}

    def test_from_before(self) -> None:
        """A state from before the restoration gets no leader and no in-sync replicas; a later one stays."""
        found = self.state(led(1, (1, 2, 3), (2,)), restored_at=50)
        assert found is not None
        self.assertEqual((found.leader, found.leader_epoch, found.isr, found.eligible), (-1, 5, (), ()))
        self.assertIsNone(self.state(led(1, (1, 2, 3)), restored_at=49))
        self.assertFalse(
            Replicas(attrs.evolve(cluster((), broker(1)), restored_at=50)).is_settled(led(1, (1,)))
        )

    def test_never_had_a_state(self) -> None:
        """A partition without a state waits, too: its logs may be from a time that the copy does not know."""
        found = self.state(missing(1, 2, 3), restored_at=50)
        assert found is not None
        self.assertEqual((found.leader, found.leader_epoch, found.isr, found.partition_epoch), (-1, 0, (), 0))

    def test_longest(self) -> None:
        """The last record's epoch counts before the end; the new epoch is above all that logs know."""
        ends = self.told(b1=LogEnd(4, 9, 5, 900), b2=LogEnd(4, 7, 7, 100), b3=LogEnd(4, 7, 7, 120))
        found = self.state(led(NO_LEADER, ()), log_ends=ends)
        assert found is not None
        self.assertEqual((found.leader, found.leader_epoch, found.isr), (3, 10, (3,)))

    def test_not_all_told(self) -> None:
        """It waits while one has not told its end, or has told it for an earlier state."""
        two = self.told(b1=LogEnd(4, 5, 5, 9), b2=LogEnd(4, 5, 5, 9))
        self.assertIsNone(self.state(led(NO_LEADER, ()), log_ends=two))
        old = {**two, **self.told(b3=LogEnd(3, 5, 5, 9))}
        self.assertIsNone(self.state(led(NO_LEADER, ()), log_ends=old))
        known = attrs.evolve(cluster((), broker(1), broker(2), broker(3)), log_ends=two)
        unclean = next_state(led(NO_LEADER, ()), ONE, Replicas(known), lambda: UNCLEAN)
        self.assertIsNone(unclean)

    def test_equal(self) -> None:
        """The first replica leads if logs are equal."""
        ends = self.told(b3=LogEnd(4, 5, 5, 9), b1=LogEnd(4, 5, 5, 8), b2=LogEnd(4, 5, 5, 9))
        found = self.state(led(NO_LEADER, ()), log_ends=ends)
        assert found is not None
        self.assertEqual(found.leader, 2)


class LedTests(LeaderCase):
    def test_quiet(self) -> None:
        """A partition is left as it is if its ISR is live."""
        self.check(led(2, [2, 1]), [broker(1), broker(2)], None)

    def test_quick(self) -> None:
        """The quick look finds a partition settled only if it certainly is."""
        brokers = [broker(1), broker(2), broker(3, clean=False), broker(4, stopping=True), broker(5)]
        replicas = Replicas(cluster((), *brokers, offline={5: frozenset([ONE])}))
        self.assertTrue(replicas.is_settled(led(2, [2, 1])))
        for epoch, settled in ((49, True), (50, False)):
            lost = attrs.evolve(replicas.state, lost_epochs={1: 3, 2: epoch})
            self.assertEqual(Replicas(lost).is_settled(led(2, [2, 1])), settled)
        changed: list[dict[str, Any]] = [
            {"leader": NO_LEADER},
            {"leader": 6},
            {"revision": 1},
            *({"isr": (2, number)} for number in (3, 4, 5, 6)),
            {"eligible": (3,)},
            {"adding": (3,)},
            {"removing": (3,)},
        ]
        for changes in changed:
            self.assertFalse(replicas.is_settled(attrs.evolve(led(2, [2, 1]), **changes)), changes)

    def test_member_gone(self) -> None:
        """A member that is gone leaves the ISR; the leader and its epoch stay."""
        self.check(led(2, [3, 2, 1]), [broker(1), broker(2)], (2, 4, (2, 1), ()))

    def test_too_few_left(self) -> None:
        """Members that leave an ISR below min.insync.replicas are eligible."""
        self.check(led(2, [1, 2]), [broker(2), broker(3)], (2, 4, (2,), (1,)))
        self.check(led(2, [2, 3], [1]), [broker(2)], (2, 4, (2,), (1, 3)))

    def test_member_offline(self) -> None:
        """A member whose log dir has failed leaves the ISR."""
        self.check(led(2, [1, 2, 3]), [broker(1), broker(2), broker(3)], (2, 4, (1, 2), ()), offline=[3])

    def test_member_stopping(self) -> None:
        """A stopping member leaves the ISR, if another member stays."""
        self.check(led(2, [1, 2]), [broker(1, stopping=True), broker(2), broker(3)], (2, 4, (2,), (1,)))
        both = [broker(1, stopping=True), broker(2, stopping=True)]
        self.check(led(2, [1, 2]), both, None)

    def test_registered_again(self) -> None:
        """A leader that has registered after its state was written leads in the next epoch."""
        self.check(led(2, [1, 2]), [broker(1), broker(2, 60)], (2, 5, (1, 2), ()))
        self.check(led(2, [1, 2]), [broker(2, 50)], (2, 5, (2,), (1,)))

    def test_member_registered_again(self) -> None:
        """A member that has registered again in order, or after a kill, stays."""
        self.check(led(2, [1, 2]), [broker(1, 60), broker(2)], None)

    def test_eligible_cleared_by_the_leader(self) -> None:
        """Eligible brokers stay while nothing changes, though enough are in sync: the leader clears them."""
        self.check(led(2, [1, 2], [3]), [broker(1), broker(2)], None)

    def test_recovering_stays(self) -> None:
        """A leader that recovers does so until it says that it has."""
        old = attrs.evolve(led(2, [2]), recovering=True)
        self.check(old, [broker(2, 60)], (2, 5, (2,), ()), rules=TopicRules(), recovering=True)


class GoneTests(LeaderCase):
    def test_another_in_sync(self) -> None:
        """The first live replica in the ISR leads; the order is that of the assignment, not of the ISR."""
        self.check(led(1, [3, 2, 1]), [broker(2), broker(3)], (2, 5, (3, 2), ()))
        self.check(led(1, [1, 3]), [broker(2), broker(3)], (3, 5, (3,), (1,)))

    def test_leader_offline(self) -> None:
        """Another leads if the leader's log dir has failed, though its broker lives."""
        brokers = [broker(1), broker(2), broker(3)]
        self.check(led(1, [1, 2, 3]), brokers, (2, 5, (2, 3), ()), offline=[1])

    def test_leader_stopping(self) -> None:
        """Another leads if the leader is stopping; if no other is in sync it leads on."""
        brokers = [broker(1, stopping=True), broker(2), broker(3)]
        self.check(led(1, [1, 2, 3]), brokers, (2, 5, (2, 3), ()))
        self.check(led(1, [1], [2]), brokers, None)

    def test_stopping_is_last(self) -> None:
        """A broker that is stopping is elected only if no other can be."""
        self.check(led(1, [1, 2, 3]), [broker(2, stopping=True), broker(3)], (3, 5, (3,), (1, 2)))
        self.check(led(1, [1, 2]), [broker(2, stopping=True), broker(3)], (2, 5, (2,), (1,)))

    def test_eligible(self) -> None:
        """A live eligible broker leads alone if no member is live; the members are eligible then."""
        self.check(led(1, [1], [3, 2]), [broker(2), broker(3)], (2, 5, (2,), (1, 3)))
        self.check(led(NO_LEADER, [1], [3]), [broker(2), broker(3)], (3, 5, (3,), (1,)))

    def test_none_live(self) -> None:
        """Without a live member there is no leader, in the next epoch; ISR and eligible brokers stay."""
        self.check(led(1, [1, 3], [2]), [broker(4)], (NO_LEADER, 5, (1, 3), (2,)))
        self.check(led(NO_LEADER, [1, 3]), [broker(2)], None)

    def test_back(self) -> None:
        """A partition without a leader is led by the first member that is back, in the next epoch."""
        self.check(led(NO_LEADER, [1, 3]), [broker(2), broker(3, 60)], (3, 5, (3,), (1,)))

    def test_not_a_replica(self) -> None:
        """A member that is no replica any more is not elected."""
        self.check(led(NO_LEADER, [4]), [broker(4), broker(1)], None)
        self.check(led(1, [1, 4]), [broker(4), broker(1)], (1, 4, (1,), ()))

    def test_unclean(self) -> None:
        """A replica that is not in sync leads only if the topic allows it; no broker is eligible then."""
        old = led(1, [1])
        self.check(old, [broker(2, stopping=True), broker(3)], (NO_LEADER, 5, (1,), ()))
        self.check(old, [broker(2, stopping=True), broker(3)], (3, 5, (3,), ()), UNCLEAN, recovering=True)
        self.check(led(NO_LEADER, [1], [4]), [broker(2)], (2, 5, (2,), ()), UNCLEAN, recovering=True)

    def test_clean_before_unclean(self) -> None:
        """Members and eligible brokers are elected before others, whatever the topic allows."""
        self.check(led(1, [1, 3]), [broker(2), broker(3)], (3, 5, (3,), (1,)), UNCLEAN)
        self.check(led(1, [1], [3]), [broker(2), broker(3)], (3, 5, (3,), (1,)), UNCLEAN)
        self.check(led(1, [1]), [broker(4)], (NO_LEADER, 5, (1,), ()), UNCLEAN)


class StaleTests(LeaderCase):
    def setUp(self) -> None:
        """Take it that broker 1 has the logs of an earlier life."""
        self.stale_epochs = {1: 60}

    def test_others(self) -> None:
        """A broker with the logs of an earlier life leaves the ISR, if another is left, live or not."""
        back = broker(1, 60, clean=False)
        self.check(led(1, [1, 2]), [back, broker(2)], (2, 5, (2,), ()))
        self.check(led(1, [1, 2]), [back], (NO_LEADER, 5, (2,), ()))
        self.check(led(NO_LEADER, [1], [2]), [back, broker(2)], (2, 5, (2,), ()))

    def test_last(self) -> None:
        """No write trusts it where it was the last, not even one that says that there is no leader."""
        for brokers in ([broker(1, 60, clean=False)], [broker(1, 70), broker(2)], [broker(3)], []):
            for leader in (1, NO_LEADER):
                self.check(led(leader, [1]), brokers, None)
        self.stale_epochs = {1: 60, 2: 60}
        self.check(led(1, [1], [2]), [broker(1, 60, clean=False), broker(2, 60, clean=False)], None)

    def test_unclean(self) -> None:
        """It leads after an unclean election, if the topic allows that."""
        back = [broker(1, 60, clean=False), broker(3)]
        self.check(led(NO_LEADER, [1]), back, (1, 5, (1,), ()), UNCLEAN, recovering=True)

    def test_later_state(self) -> None:
        """A state from after its registration counts it as any other broker."""
        self.stale_epochs = {1: 49}
        self.check(led(NO_LEADER, [1]), [broker(1, 49, clean=False)], (1, 5, (1,), ()))


class LostTests(LeaderCase):
    def test_member_lost(self) -> None:
        """A broker that may have lost records leaves the ISR and the eligible ones, if another is left."""
        self.check(led(2, [1, 2, 3]), [broker(1, 60, clean=False), broker(2), broker(3)], (2, 4, (2, 3), ()))
        self.check(led(2, [2], [1, 3]), [broker(2), broker(3, 60, clean=False)], (2, 4, (2,), (1,)))

    def test_lost_and_joined(self) -> None:
        """A broker whose machine has gone down before the state was written is a member as others are."""
        self.check(led(2, [1, 2]), [broker(1, 49, clean=False), broker(2)], None)

    def test_leader_lost(self) -> None:
        """A leader that may have lost records does not lead, if another has them, live or not."""
        self.check(led(1, [1, 2]), [broker(1, 60, clean=False), broker(2)], (2, 5, (2,), ()))
        self.check(led(1, [1, 2]), [broker(1, 60, clean=False)], (NO_LEADER, 5, (2,), ()))
        self.check(led(NO_LEADER, [1, 2]), [broker(1, 60, clean=False)], (NO_LEADER, 4, (2,), ()))

    def test_eligible_take_the_place(self) -> None:
        """Eligible brokers take the place of members that may all have lost records."""
        self.check(led(1, [1], [2]), [broker(1, 60, clean=False)], (NO_LEADER, 5, (2,), ()))
        self.check(led(1, [1], [2, 3]), [broker(1, 60, clean=False), broker(3)], (3, 5, (3,), (2,)))

    def test_last(self) -> None:
        """The last member leads also if it may have lost records."""
        self.check(led(1, [1]), [broker(1, 60, clean=False), broker(2)], (1, 5, (1,), ()), TopicRules())
        self.check(led(NO_LEADER, [1]), [broker(1, 60, clean=False)], (1, 5, (1,), ()), TopicRules())

    def test_all_lost(self) -> None:
        """One of the members leads if all of them may have lost records; the others are members no more."""
        brokers = [broker(each, 60, clean=False) for each in (1, 2, 3)]
        self.check(led(NO_LEADER, [3, 2], [1]), brokers, (2, 5, (2,), ()))
