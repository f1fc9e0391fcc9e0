"""Tests of reassignments: their begin, their end, and those that are refused."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.metadata.controller.isr import TopicRules
from kafkatx.metadata.controller.leaders import Replicas
from kafkatx.metadata.controller.reassignments import ended, reassign, target
from kafkatx.metadata.controller.reconcile import reconcile
from kafkatx.metadata.controller.writes import StateWrite, TopicWrite
from kafkatx.types import NO_LEADER, BrokerNode, PartitionState, TopicPartition
from tests.metadata.controller.cases import ONE, broker, cluster, missing, topic

FOUR = tuple(broker(each) for each in (1, 2, 3, 4))
RULES = TopicRules(min_insync=2)


def led(
    replicas: Sequence[int],
    isr: Sequence[int],
    adding: Sequence[int] = (),
    removing: Sequence[int] = (),
    leader: int = 1,
) -> PartitionState:
    """Return a partition in leader epoch 4."""
    return PartitionState(leader, 4, tuple(replicas), tuple(isr), 7, 50, tuple(adding), tuple(removing))


class BeginTests(SynchronousTestCase):
    def begin(
        self, old: PartitionState, wanted: Sequence[int] | None, *brokers: BrokerNode
    ) -> TopicWrite | ErrorCode | None:
        """Return the write, or the error."""
        state = cluster([topic("T", old)], *(brokers or FOUR))
        writes, answers = reassign(state, (), {ONE: wanted}, lambda _: RULES)
        (error,) = answers.values()
        if error is not None:
            self.assertEqual(writes, [])
            return error.code
        return writes[0] if writes else None

    def test_stale(self) -> None:
        """A partition whose replicas have the logs of earlier lives is neither reassigned nor released."""
        old = led([1, 2], [1], removing=[2], leader=NO_LEADER)
        state = attrs.evolve(cluster([topic("T", old)], broker(1, 60), broker(2)), stale_epochs={1: 60})
        writes, answers = reassign(state, (), {ONE: [1, 2]}, lambda _: RULES)
        error = answers[ONE]
        assert error is not None
        self.assertEqual((writes, error.code), ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT))
        self.assertEqual(reconcile(state, ()), [])

    def check(
        self,
        old: PartitionState,
        wanted: Sequence[int] | None,
        replicas: tuple[Sequence[int], Sequence[int], Sequence[int]],
        state: PartitionState | None = None,
    ) -> None:
        """Compare replicas, adding and removing that a request makes, and the state if one is written."""
        write = self.begin(old, wanted)
        assert isinstance(write, TopicWrite), write
        (found,) = write.topic.partitions
        self.assertEqual((found.replicas, found.adding, found.removing), tuple(map(tuple, replicas)))
        self.assertEqual((write.changed, write.topic.version), ((0,), 0))
        self.assertEqual(write.states, () if state is None else (StateWrite("T", 0, state),))

    def test_begin(self) -> None:
        """The replicas of the target come first; the others stay until it is in sync."""
        self.check(led([1, 2], [1, 2]), [3, 2], ([3, 2, 1], [3], [1]))
        self.check(missing(1, 2), [3], ([3, 1, 2], [3], [1, 2]))

    def test_order(self) -> None:
        """Another order of the same replicas is just written."""
        self.check(led([1, 2], [1, 2]), [2, 1], ([2, 1], [], []))

    def test_same(self) -> None:
        """The replicas that a partition has need no write; neither do those that it is given already."""
        self.assertIsNone(self.begin(led([1, 2], [1, 2]), [1, 2]))
        self.assertIsNone(self.begin(led([3, 2, 1], [1, 2], [3], [1]), [3, 2]))

    def test_cancel(self) -> None:
        """A cancelled reassignment leaves the replicas that were there before, and the ISR with them."""
        old = led([3, 2, 1], [1, 2, 3], [3], [1])
        new = attrs.evolve(
            old, replicas=(2, 1), isr=(1, 2), adding=(), removing=(), partition_epoch=8, revision=0
        )
        self.check(old, None, ([2, 1], [], []), new)

    def test_cancel_fences(self) -> None:
        """A cancelled reassignment writes the state, though no added replica is in sync yet."""
        old = led([3, 2, 1], [1, 2], [3], [1])
        new = attrs.evolve(old, replicas=(2, 1), adding=(), removing=(), partition_epoch=8, revision=0)
        self.check(old, None, ([2, 1], [], []), new)

    def test_cancel_moves_the_leader(self) -> None:
        """An added replica that leads gives the leadership back, in the next epoch."""
        old = led([3, 2, 1], [1, 2, 3], [3], [1], leader=3)
        new = attrs.evolve(
            old,
            leader=2,
            leader_epoch=5,
            replicas=(2, 1),
            isr=(1, 2),
            adding=(),
            removing=(),
            partition_epoch=8,
            revision=0,
        )
        self.check(old, None, ([2, 1], [], []), new)

    def test_cancel_unclean(self) -> None:
        """A reassignment cannot be cancelled if only added replicas are in sync."""
        old = led([3, 4, 1], [3], [3, 4], [1], leader=3)
        self.assertIs(self.begin(old, None), ErrorCode.INVALID_REPLICA_ASSIGNMENT)

    def test_override(self) -> None:
        """Another target drops what the first one has added; replicas that both add stay."""
        old = led([3, 4, 1], [1, 3], [3, 4], [1])
        new = attrs.evolve(
            old, replicas=(4, 2, 1), isr=(1,), adding=(4, 2), removing=(1,), partition_epoch=8, revision=0
        )
        self.check(old, [4, 2], ([4, 2, 1], [4, 2], [1]), attrs.evolve(new, eligible=()))

    def test_eligible(self) -> None:
        """Brokers that are no replicas any more are not eligible; members that stay behind are."""
        old = attrs.evolve(led([4, 3, 1, 2], [1, 4], [4, 3], [1, 2]), eligible=(2, 3))
        new = attrs.evolve(
            old,
            replicas=(1, 2),
            isr=(1,),
            adding=(),
            removing=(),
            partition_epoch=8,
            revision=0,
            eligible=(2,),
        )
        self.check(old, None, ([1, 2], [], []), new)

    def test_refused(self) -> None:
        """Requests that make no sense get Apache Kafka's errors."""
        invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        for wanted in ([], [2, 2], [-1], [1, 9]):
            self.assertIs(self.begin(led([1], [1]), wanted), invalid, wanted)
        self.assertIs(self.begin(led([1], [1]), None), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        away = self.begin(led([1, 9], [1]), [9, 2])
        self.assertIsInstance(away, TopicWrite)  # a replica that is away may stay

    def test_unknown(self) -> None:
        """Partitions that do not exist, or are being deleted, are unknown; the others are reassigned."""
        state = cluster([topic("T", led([1], [1])), topic("U", led([1], [1]))], *FOUR)
        asked = [TopicPartition("V", 0), TopicPartition("T", 1), TopicPartition("T", -1), ONE]
        asked.append(TopicPartition("U", 0))
        writes, answers = reassign(state, {"U"}, {one: [2] for one in asked}, lambda _: RULES)
        self.assertEqual({one for one, error in answers.items() if error is not None}, set(asked) - {ONE})
        self.assertEqual([write.topic.name for write in writes], ["T"])

    def test_many(self) -> None:
        """Many partitions of one topic are written in several versions of its node, one after the other."""
        many = topic("T", *[led([1], [1])] * 450)
        state = cluster([many], *FOUR)
        changes = {TopicPartition("T", number): [2] for number in range(450)}
        writes, _ = reassign(state, (), changes, lambda _: RULES)
        self.assertEqual([len(write.changed) for write in writes], [200, 200, 50])
        self.assertEqual([write.topic.version for write in writes], [0, 1, 2])
        counts = [sum(bool(each.adding) for each in write.topic.partitions) for write in writes]
        self.assertEqual(counts, [200, 400, 450])


class EndTests(SynchronousTestCase):
    def end(self, old: PartitionState, *brokers: BrokerNode) -> PartitionState | None:
        """Return the state at the end of a reassignment."""
        return ended(old, old, ONE, Replicas(cluster((), *(brokers or FOUR))))

    def test_not_yet(self) -> None:
        """A reassignment goes on while a replica of the target is not in sync."""
        self.assertIsNone(self.end(led([3, 4, 1], [1, 3], [3, 4], [1])))
        self.assertIsNone(self.end(led([1, 2], [1, 2])))
        self.assertIsNone(self.end(led([1], [1], [], [1])))

    def test_leader_moves(self) -> None:
        """The first live replica of the target leads at the end, in the next epoch."""
        old = led([3, 4, 1], [4, 1, 3], [3, 4], [1])
        new = attrs.evolve(old, leader=3, leader_epoch=5, replicas=(3, 4), isr=(4, 3), adding=(), removing=())
        self.assertEqual(self.end(old), attrs.evolve(new, partition_epoch=8, revision=0))
        found = self.end(old, broker(4), broker(3, stopping=True))
        assert found is not None
        self.assertEqual((found.leader, found.leader_epoch), (4, 5))

    def test_leader_stays(self) -> None:
        """A leader that is in the target leads on in its epoch; the state is written all the same."""
        old = led([2, 1, 3], [1, 2], [2], [3])
        new = attrs.evolve(old, replicas=(2, 1), adding=(), removing=(), partition_epoch=8, revision=0)
        self.assertEqual(self.end(old), new)

    def test_none_live(self) -> None:
        """A reassignment to replicas of which none is live goes on."""
        self.assertIsNone(self.end(led([3, 1], [3], [3], [1], leader=NO_LEADER), broker(1)))

    def test_after_an_election(self) -> None:
        """The end after an election of the same moment has the election's epoch, and one state."""
        old = led([3, 1, 2], [1, 3, 2], [3], [1, 2])
        for elected in (2, 3):
            state = attrs.evolve(old, leader=elected, leader_epoch=5, isr=(3, 2), partition_epoch=8)
            found = ended(old, state, ONE, Replicas(cluster((), broker(2), broker(3))))
            assert found is not None
            self.assertEqual((found.leader, found.leader_epoch, found.partition_epoch), (3, 5, 8))

    def test_target(self) -> None:
        """The target is what is not removed, in order."""
        self.assertEqual(target(led([3, 1, 2], [1], [3], [1])), (3, 2))
