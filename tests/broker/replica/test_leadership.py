"""The leader's view of the other replicas: tables of the rules, random histories against a plain model."""

from __future__ import annotations

import random
from math import inf
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.leadership import UNKNOWN, Follower, Leadership
from kafkatx.types import PartitionState
from tests.broker.replica.fakes import FakeCluster

LAG_S = 30.0
REPLICAS = (1, 2, 3)


def state_of(isr: tuple[int, ...], **changes: Any) -> PartitionState:
    """Return a state of a partition with three replicas that broker 1 leads."""
    state = PartitionState(1, 5, REPLICAS, isr, partition_epoch=7, revision=100)
    return attrs.evolve(state, **changes)


class LeadershipTestCase(SynchronousTestCase):
    """Tests of a partition that broker 1 leads; the time begins at 1000 s."""

    def setUp(self) -> None:
        """Make the cluster."""
        self.cluster = FakeCluster()
        self.now_s = 1000.0

    def lead(self, isr: tuple[int, ...], min_insync: int = 1, start: int = 0, **changes: Any) -> Leadership:
        """Return the leadership at its beginning."""
        leadership = Leadership(1, state_of(isr, **changes), min_insync, start, self.now_s)
        leadership.forget_lives(self.cluster.epoch_of)
        return leadership

    def fetch(self, leadership: Leadership, replica_id: int, offset: int, end: int, start: int = 0) -> None:
        """Count a fetch of a live broker."""
        epoch = self.cluster.epochs[replica_id]
        leadership.fetched(replica_id, epoch, offset, start, end, self.now_s)

    def committed(self, leadership: Leadership, end: int) -> int:
        """Return the committed end for a log end."""
        return leadership.committed_end(end, self.now_s, LAG_S, self.cluster)

    def next_isr(
        self, leadership: Leadership, end: int, high_watermark: int = 0, start: int = 0
    ) -> tuple[int, ...] | None:
        """Return the in-sync replicas to ask for."""
        return leadership.next_isr(start, end, high_watermark, self.now_s, LAG_S, self.cluster)


class FollowerTests(SynchronousTestCase):
    def test_caught_up(self) -> None:
        """A follower was caught up when it had all, or all that there was at its fetch before."""
        follower = Follower(caught_up_s=-inf)
        for now_s, offset, leader_end, caught_up_s in (
            (10, 0, 50, -inf),  # it begins
            (11, 30, 80, -inf),  # less than the end at 10 s
            (12, 80, 120, 11),  # the end at 11 s
            (13, 110, 150, 11),  # less than the end at 12 s
            (14, 150, 150, 14),  # everything
            (15, 150, 151, 14),  # the end at 14 s
            (16, 150, 152, 14),  # less than the end at 15 s
        ):
            follower.fetched(offset, 0, leader_end, now_s)
            self.assertEqual((follower.end_offset, follower.caught_up_s), (offset, caught_up_s), now_s)

    def test_is_caught_up(self) -> None:
        """It is caught up with the leader's end, or within the time after it last was."""
        follower = Follower(end_offset=9, caught_up_s=100.0)
        for leader_end, now_s, expected in ((9, 500, True), (10, 130, True), (10, 130.1, False)):
            self.assertEqual(follower.is_caught_up(leader_end, now_s, LAG_S), expected)


class CommittedEndTests(LeadershipTestCase):
    def test_smallest_end(self) -> None:
        """It is the smallest end of the in-sync replicas, the leader's own among them."""
        leadership = self.lead((1, 2, 3))
        for two, three, own, expected in ((4, 6, 9, 4), (8, 6, 9, 6), (9, 9, 9, 9), (9, 9, 7, 7)):
            self.fetch(leadership, 2, two, 9)
            self.fetch(leadership, 3, three, 9)
            self.assertEqual(self.committed(leadership, own), expected)

    def test_unknown(self) -> None:
        """A member that has not fetched from this leader has no end: nothing moves."""
        leadership = self.lead((1, 2, 3))
        self.fetch(leadership, 2, 9, 9)
        self.assertEqual(self.committed(leadership, 9), UNKNOWN)
        self.fetch(leadership, 3, 9, 9)
        self.assertEqual(self.committed(leadership, 9), 9)

    def test_minimum(self) -> None:
        """It stands still with fewer in-sync replicas than min.insync.replicas (KIP-966)."""
        for isr, min_insync, expected in (
            ((1,), 1, 9),
            ((1,), 2, UNKNOWN),
            ((1, 2), 2, 9),
            ((1, 2), 3, UNKNOWN),
        ):
            leadership = self.lead(isr, min_insync)
            if 2 in isr:
                self.fetch(leadership, 2, 9, 9)
            self.assertEqual(self.committed(leadership, 9), expected)

    def test_asked_does_not_count_for_the_minimum(self) -> None:
        """A member that is asked for is not there yet: the minimum is that of the written state."""
        leadership = self.lead((1,), 2)
        self.fetch(leadership, 2, 9, 9)
        leadership.ask((1, 2))
        self.assertEqual(self.committed(leadership, 9), UNKNOWN)

    def test_eligible(self) -> None:
        """It stands still while there are eligible replicas: these have all that is committed."""
        leadership = self.lead((1, 2), 2, eligible=(3,))
        self.fetch(leadership, 2, 9, 9)
        self.assertEqual(self.committed(leadership, 9), UNKNOWN)

    def test_joining(self) -> None:
        """A member that is asked for counts from the asking on, until that is settled (maximal ISR)."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 2, 9, 9)
        self.fetch(leadership, 3, 5, 5)
        asked = leadership.ask((1, 2, 3))
        self.now_s += 2 * LAG_S
        self.assertEqual(self.committed(leadership, 9), 5)
        leadership.settle(asked, True)
        self.assertEqual(self.committed(leadership, 9), 9)

    def test_leaving(self) -> None:
        """A member that is to leave counts until its leaving is written."""
        leadership = self.lead((1, 2, 3))
        self.fetch(leadership, 2, 9, 9)
        self.fetch(leadership, 3, 5, 9)
        self.now_s += 2 * LAG_S
        leadership.ask((1, 2))
        self.assertEqual(self.committed(leadership, 9), 5)
        leadership.apply(state_of((1, 2), partition_epoch=8), 1, self.now_s)
        self.assertEqual(self.committed(leadership, 9), 9)

    def test_about_to_join(self) -> None:
        """It waits for a replica that is caught up and may join, and for no other."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 2, 9, 9)
        self.fetch(leadership, 3, 5, 5)
        self.assertEqual(self.committed(leadership, 9), 5)
        self.cluster.unfit = {3}
        self.assertEqual(self.committed(leadership, 9), 9)
        self.cluster.unfit = set()
        self.now_s += LAG_S + 1
        self.assertEqual(self.committed(leadership, 9), 9)

    def test_lives(self) -> None:
        """The fetches of a broker's past life do not count once it has registered again (KIP-903)."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 2, 9, 9)
        self.cluster.epochs[2] = 22
        leadership.forget_lives(self.cluster.epoch_of)
        self.assertEqual(self.committed(leadership, 9), UNKNOWN)
        self.fetch(leadership, 2, 7, 9)
        self.assertEqual(self.committed(leadership, 9), 7)

    def test_fetch_of_another_life(self) -> None:
        """A fetch of a new life counts alone, even before the leader has heard of the registration."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 2, 9, 9)
        leadership.fetched(2, 22, 3, 0, 9, self.now_s)
        self.assertEqual(self.committed(leadership, 9), 3)

    def test_joins_in_another_life(self) -> None:
        """A replica joins with the life that has fetched, not with one from before."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 3, 9, 9)
        self.cluster.epochs[3] = 23
        self.fetch(leadership, 3, 9, 9)
        self.assertEqual(self.next_isr(leadership, 9), (1, 2, 3))
        self.assertEqual(leadership.followers[3].broker_epoch, 23)

    def test_dead_member(self) -> None:
        """A member that has died keeps its end: it had that much."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 2, 6, 9)
        del self.cluster.epochs[2]
        leadership.forget_lives(self.cluster.epoch_of)
        self.assertEqual(self.committed(leadership, 9), 6)

    def test_no_replica(self) -> None:
        """The fetches of a broker that is no replica count for nothing."""
        leadership = self.lead((1, 2))
        self.assertIsNone(leadership.fetched(4, 14, 9, 0, 9, self.now_s))
        self.assertEqual(sorted(leadership.followers), [2, 3])


class CutTests(LeadershipTestCase):
    def test_cut(self) -> None:
        """After a cut nothing counts that followers have told before; a change under way stays."""
        leadership = self.lead((1, 2, 3))
        self.fetch(leadership, 2, 10, 10)
        self.fetch(leadership, 3, 10, 10)
        self.assertEqual(self.committed(leadership, 10), 10)
        asked = leadership.ask((1, 2))
        leadership.log_was_cut(7)
        self.assertEqual(self.committed(leadership, 10), -1)
        follower = leadership.followers[2]
        self.assertEqual((follower.broker_epoch, follower.caught_up_s), (self.cluster.epochs[2], self.now_s))
        self.assertEqual(leadership.epoch_start_offset, 7)
        self.assertIs(leadership.asked, asked)


class NextIsrTests(LeadershipTestCase):
    def test_joins(self) -> None:
        """A replica joins with all that is committed or from before the epoch, and if it is caught up."""
        for offset, own_end, high_watermark, start, expected in (
            (9, 9, 9, 0, (1, 2, 3)),
            (9, 9, 9, 9, (1, 2, 3)),
            (8, 8, 9, 0, None),
            (8, 8, 5, 9, None),
            (6, 9, 5, 0, None),  # never caught up
        ):
            leadership = self.lead((1, 2), start=start)
            self.fetch(leadership, 2, own_end, own_end)
            self.fetch(leadership, 3, offset, own_end)
            self.assertEqual(self.next_isr(leadership, own_end, high_watermark), expected)

    def test_not_known(self) -> None:
        """A replica that has not fetched does not join, not even where there are no records."""
        leadership = self.lead((1, 2))
        self.assertIsNone(self.next_isr(leadership, 0))
        self.fetch(leadership, 3, 0, 0)
        self.assertEqual(self.next_isr(leadership, 0), (1, 2, 3))

    def test_unfit(self) -> None:
        """A replica does not join whose broker is dead, stopping, or in another life (KIP-841, KIP-903)."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 3, 9, 9)
        self.cluster.unfit = {3}
        self.assertIsNone(self.next_isr(leadership, 9))
        self.cluster.unfit = set()
        self.cluster.epochs[3] = 23
        self.assertIsNone(self.next_isr(leadership, 9))
        del self.cluster.epochs[3]
        self.assertIsNone(self.next_isr(leadership, 9))

    def test_leaves(self) -> None:
        """A member leaves that has not caught up for the time, counted from the beginning of the epoch."""
        leadership = self.lead((1, 2, 3))
        self.now_s += LAG_S
        self.fetch(leadership, 2, 9, 9)
        self.assertIsNone(self.next_isr(leadership, 9))
        self.now_s += 0.1
        self.assertEqual(self.next_isr(leadership, 9), (1, 2))

    def test_last_one(self) -> None:
        """The leader stays when all others leave, also below min.insync.replicas."""
        leadership = self.lead((1, 2, 3), 2)
        self.now_s += LAG_S + 1
        self.assertEqual(self.next_isr(leadership, 9), (1,))

    def test_dead_member(self) -> None:
        """A member that is dead leaves with the next change; it no reason for one: the controller acts."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 2, 9, 9)
        del self.cluster.epochs[2]
        self.assertIsNone(self.next_isr(leadership, 9))
        self.fetch(leadership, 3, 9, 9)
        self.assertEqual(self.next_isr(leadership, 9), (1, 3))

    def test_member_whose_machine_went_down(self) -> None:
        """A new state does not vouch for a member whose machine went down, whatever it has by now."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 2, 9, 9)
        self.cluster.epochs[2], self.cluster.went_down[2] = 122, 122
        leadership.forget_lives(self.cluster.epoch_of)
        self.fetch(leadership, 3, 9, 9)
        self.assertEqual(self.next_isr(leadership, 9, 9), (1, 3))
        self.fetch(leadership, 2, 9, 9)
        self.assertEqual(self.next_isr(leadership, 9, 9), (1, 3))
        leadership.apply(state_of((1, 3), partition_epoch=8, revision=130), 1, self.now_s)
        self.assertEqual(self.next_isr(leadership, 9, 9), (1, 3, 2))

    def test_one_at_a_time(self) -> None:
        """Nothing is asked for during a change, nor after a refusal, until something has changed."""
        leadership = self.lead((1,))
        self.fetch(leadership, 2, 9, 9)
        asked = leadership.ask((1, 2))
        self.assertIsNone(self.next_isr(leadership, 9))
        leadership.settle(asked, True)
        self.assertIsNone(self.next_isr(leadership, 9))
        for event in (
            leadership.retry,
            lambda: leadership.forget_lives(self.cluster.epoch_of),
            lambda: leadership.apply(state_of((1,), partition_epoch=8), 1, self.now_s),
        ):
            leadership.refused = True
            event()
            self.assertEqual(self.next_isr(leadership, 9), (1, 2))

    def test_settled_by_the_state(self) -> None:
        """A later state settles the change, whatever the answer says afterwards; an equal one does not."""
        leadership = self.lead((1,))
        self.fetch(leadership, 2, 9, 9)
        asked = leadership.ask((1, 2))
        leadership.apply(state_of((1,)), 1, self.now_s)
        self.assertIs(leadership.asked, asked)
        leadership.apply(state_of((1,), partition_epoch=8), 1, self.now_s)
        self.assertIsNone(leadership.asked)
        second = leadership.ask((1, 2))
        leadership.settle(asked, True)
        self.assertEqual((leadership.asked, leadership.refused), (second, False))

    def test_again(self) -> None:
        """The same members are asked for again to clear ``recovering``, or ``eligible`` if they suffice."""
        for changes, min_insync, expected in (
            ({"recovering": True}, 1, (1, 2)),
            ({"eligible": (3,)}, 2, (1, 2)),
            ({"eligible": (3,)}, 3, None),
            ({}, 2, None),
        ):
            leadership = self.lead((1, 2), min_insync, **changes)
            self.fetch(leadership, 2, 9, 9)
            self.assertEqual(self.next_isr(leadership, 9), expected)

    def test_new_replicas(self) -> None:
        """Replicas that a reassignment adds may join; those that it has removed are forgotten."""
        leadership = self.lead((1, 2, 3))
        leadership.apply(state_of((1, 2), replicas=(1, 2, 4), partition_epoch=8), 1, self.now_s)
        self.assertEqual(sorted(leadership.followers), [2, 4])
        leadership.forget_lives(self.cluster.epoch_of)
        self.fetch(leadership, 4, 9, 9)
        self.assertEqual(self.next_isr(leadership, 9), (1, 2, 4))

    def test_leading_again(self) -> None:
        """After a pause of leading in the same epoch the members have the full time again."""
        leadership = self.lead((1, 2))
        self.now_s += 10 * LAG_S
        leadership.begin(self.now_s)
        self.assertIsNone(self.next_isr(leadership, 9))

    def test_log_start(self) -> None:
        """A replica joins only when its log starts where the leader's does: what was deleted stays so."""
        leadership = self.lead((1, 2))
        self.fetch(leadership, 3, 9, 9, start=4)
        self.assertIsNone(self.next_isr(leadership, 9, start=5))
        self.fetch(leadership, 3, 9, 9, start=5)
        self.assertEqual(self.next_isr(leadership, 9, start=5), (1, 2, 3))

    def test_low_watermark(self) -> None:
        """It is the smallest log start of the live or electable replicas, unknown until they tell theirs."""
        leadership = self.lead((1,))
        self.fetch(leadership, 2, 9, 9, start=4)
        alive = self.cluster.epochs.__contains__
        self.assertEqual(leadership.low_watermark(6, alive), -1)
        self.fetch(leadership, 3, 9, 9, start=5)
        self.assertEqual(leadership.low_watermark(6, alive), 4)
        del self.cluster.epochs[2]
        self.assertEqual(leadership.low_watermark(6, alive), 5)
        self.assertEqual(leadership.low_watermark(3, alive), 3)
        for changes in ({"isr": (1, 2)}, {"eligible": (2,)}):
            leadership.apply(attrs.evolve(state_of((1,)), **changes), 1, self.now_s)
            self.assertEqual(leadership.low_watermark(6, alive), 4)


@attrs.define
class Model:
    """All that has happened, from which each answer is found anew.

    :ivar fetches: (replica, life, time, offset, leader's end) of each fetch, oldest first.
    :ivar given: (replica, time): it was given the full time.
    """

    state: PartitionState
    min_insync: int
    start: int
    lives: dict[int, int]
    fetches: list[tuple[int, int, float, int, int]] = attrs.Factory(list)
    given: list[tuple[int, float]] = attrs.Factory(list)
    asked: tuple[int, ...] | None = None

    def of(self, replica: int) -> list[tuple[float, int, int]]:
        """Return (time, offset, leader's end) of the fetches of a replica in its present life."""
        return [(t, o, e) for r, life, t, o, e in self.fetches if (r, life) == (replica, self.lives[r])]

    def end(self, replica: int) -> int:
        """Return the end of a replica."""
        return self.of(replica)[-1][1] if self.of(replica) else -1

    def is_caught_up(self, replica: int, end: int, now_s: float) -> bool:
        """Return True if a replica is caught up, by the whole history of its life."""
        of = self.of(replica)
        times = [t for t, offset, leader_end in of if offset >= leader_end]
        for i in range(1, len(of)):
            if of[i][1] >= max(leader_end for _, _, leader_end in of[:i]):
                times.append(of[i - 1][0])
        times += [t for r, t in self.given if r == replica]
        return self.end(replica) == end or (bool(times) and now_s - max(times) <= LAG_S)

    def committed(self, end: int, now_s: float) -> int:
        """Return the committed end."""
        if len(self.state.isr) < self.min_insync or self.state.eligible:
            return -1
        counted = {*self.state.isr, *(self.asked or ())} - {1}
        for replica in set(self.state.replicas) - {1} - counted:
            if self.of(replica) and self.is_caught_up(replica, end, now_s):
                counted.add(replica)
        return min([end, *(self.end(replica) for replica in counted)])

    def next_isr(self, end: int, high_watermark: int, now_s: float) -> set[int] | None:
        """Return the in-sync replicas to ask for."""
        if self.asked is not None:
            return None
        isr = {r for r in self.state.isr if r == 1 or self.is_caught_up(r, end, now_s)}
        isr |= {
            r
            for r in set(self.state.replicas) - set(self.state.isr)
            if self.of(r)
            and self.end(r) >= max(high_watermark, self.start)
            and self.is_caught_up(r, end, now_s)
        }
        again = self.state.eligible and len(self.state.isr) >= self.min_insync
        return isr if isr != set(self.state.isr) or again else None


class RandomTests(SynchronousTestCase):
    def test_random(self) -> None:
        """Random histories of fetches, new lives, changes and states have the answers of the plain model."""
        asked = moved = 0
        for seed in range(60):
            chance = random.Random(seed)
            cluster = FakeCluster()
            now_s, end, high_watermark = 1000.0, chance.randrange(5), 0
            replicas = (1, 2, 3, 4)[: chance.choice((2, 3, 4))]
            isr = (1, *(r for r in replicas[1:] if chance.random() < 0.7))
            state = PartitionState(1, 5, replicas, isr, partition_epoch=0)
            min_insync = chance.randrange(1, len(replicas) + 1)
            leadership = Leadership(1, state, min_insync, end, now_s)
            leadership.forget_lives(cluster.epoch_of)
            model = Model(state, min_insync, end, cluster.epochs)
            model.given += [(r, now_s) for r in isr]
            for _ in range(120):
                now_s += chance.choice((0.0, 0.1, 5.0, 20.0))
                end += chance.choice((0, 0, 1, 5))
                what, replica = chance.random(), chance.choice(replicas[1:])
                if what < 0.6:
                    offset = min(end, max(0, model.end(replica)) + chance.choice((0, 1, 5, 20)))
                    leadership.fetched(replica, cluster.epochs[replica], offset, 0, end, now_s)
                    model.fetches.append((replica, cluster.epochs[replica], now_s, offset, end))
                elif what < 0.65:
                    cluster.epochs[replica] += 100
                    if replica not in model.state.isr:  # members keep the time that they were given
                        model.given = [one for one in model.given if one[0] != replica]
                    else:
                        model.given.append((replica, leadership.followers[replica].caught_up_s))
                    leadership.forget_lives(cluster.epoch_of)
                elif model.asked is not None and what < 0.85:
                    settled, model.asked = model.asked, None
                    joined = set(settled) - set(model.state.isr)
                    left = [r for r in model.state.isr if r not in settled]
                    eligible = tuple(left) if len(settled) < min_insync else ()
                    model.state = attrs.evolve(
                        model.state,
                        isr=settled,
                        eligible=eligible,
                        partition_epoch=model.state.partition_epoch + 1,
                    )
                    model.given += [(r, now_s) for r in joined]
                    leadership.apply(model.state, min_insync, now_s)
                proposed = leadership.next_isr(0, end, high_watermark, now_s, LAG_S, cluster)
                expected = model.next_isr(end, high_watermark, now_s)
                self.assertEqual(None if proposed is None else set(proposed), expected, seed)
                if proposed is not None and chance.random() < 0.5:
                    leadership.ask(proposed)
                    model.asked = proposed
                    asked += 1
                committed = leadership.committed_end(end, now_s, LAG_S, cluster)
                self.assertEqual(committed, model.committed(end, now_s), seed)
                moved += committed > high_watermark
                high_watermark = max(high_watermark, committed)
        self.assertGreater(min(asked, moved), 300)
