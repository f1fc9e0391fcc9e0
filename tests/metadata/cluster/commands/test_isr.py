"""Changes of in-sync replicas: their rules, their transactions, and what is done if one fails."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.interfaces.nodes import Check, Create, Delete, Operation, Outcome, Refused, SetData
from kafkatx.metadata.cluster.commands import isr
from kafkatx.metadata.cluster.commands.isr import is_made, next_state, refusal
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.incarnations import decode_incarnation
from kafkatx.testing.contracts.cluster.replicas import ONE, isr_change, state_of
from kafkatx.types import BrokerNode, ClusterState, IsrChange, PartitionState, TopicPartition
from tests.metadata.cluster.cases import RunningCase

ID = uuid.UUID(int=7)
STATE = PartitionState(1, 4, (1, 2, 3), (1, 2), 8, 50)


def change(*members: int, epochs: Mapping[int, int] | None = None, min_insync: int = 1) -> IsrChange:
    """Return a change of STATE, for the brokers of :func:`cluster`."""
    known = {member: member for member in members}
    return IsrChange(ID, ONE, STATE, members, known if epochs is None else epochs, min_insync)


def cluster(*others: BrokerNode, **attributes: Any) -> ClusterState:
    """Return a cluster of three brokers, whose epochs are their ids."""
    nodes = {one: BrokerNode(one, "h", 1, epoch=one, incarnation=0) for one in (1, 2, 3)}
    nodes |= {node.id: node for node in others}
    return evolve(ClusterState("c", 1, nodes), **attributes)


class RefusalTests(SynchronousTestCase):
    def refused(
        self, asked: IsrChange, state: ClusterState | None = None, now: PartitionState = STATE
    ) -> ErrorCode | None:
        """Return the code for a change by broker 1."""
        return refusal(cluster() if state is None else state, 1, asked, now)

    def test_allowed(self) -> None:
        """Live replicas join and stay."""
        for members in ((1,), (1, 2), (1, 3), (1, 2, 3)):
            self.assertIsNone(self.refused(change(*members)))

    def test_another_state(self) -> None:
        """A state that is another by now, or is not this broker's in this life, refuses the change."""
        own = BrokerNode(1, "h", 1, epoch=50, incarnation=1)
        gone = cluster(brokers={2: cluster().brokers[2]})
        for outcome in (
            self.refused(change(1), now=evolve(STATE, partition_epoch=9)),
            self.refused(change(1), now=evolve(STATE, leader=2)),
            self.refused(change(1), cluster(own)),
            self.refused(change(1), gone),
            self.refused(change(2)),
        ):
            self.assertEqual(outcome, ErrorCode.INVALID_UPDATE_VERSION)

    def test_members(self) -> None:
        """A member that is dead, of another life or no replica refuses the change."""
        node = cluster().brokers[2]
        for state, members, epochs in (
            (cluster(brokers={1: cluster().brokers[1]}), (1, 2), None),
            (cluster(evolve(node, epoch=60)), (1, 2), None),
            (cluster(BrokerNode(3, "h", 1, epoch=60, incarnation=1)), (1, 3), None),
            (cluster(BrokerNode(4, "h", 1, epoch=4, incarnation=1)), (1, 4), None),
            (cluster(evolve(node, incarnation=-1)), (1, 2), None),
            (cluster(), (1, 3), {}),
        ):
            self.assertEqual(
                self.refused(change(*members, epochs=epochs), state), ErrorCode.INELIGIBLE_REPLICA
            )

    def test_not_counted(self) -> None:
        """A member that stays need not have fetched, if it has lived since the state was written."""
        for epochs in ({}, {2: -1}):
            self.assertIsNone(self.refused(change(1, 2, epochs=epochs)))
            self.assertEqual(self.refused(change(1, 3, epochs={3: -1})), ErrorCode.INELIGIBLE_REPLICA)
        again = cluster(BrokerNode(2, "h", 1, epoch=60, incarnation=1))
        self.assertEqual(self.refused(change(1, 2, epochs={}), again), ErrorCode.INELIGIBLE_REPLICA)

    def test_stopping_or_offline(self) -> None:
        """A replica that is stopping or offline may stay, but not join."""
        for state in (
            cluster(*(evolve(cluster().brokers[one], stopping=True) for one in (2, 3))),
            cluster(offline={2: frozenset([ONE]), 3: frozenset([ONE])}),
        ):
            self.assertIsNone(self.refused(change(1, 2), state))
            self.assertEqual(self.refused(change(1, 3), state), ErrorCode.INELIGIBLE_REPLICA)

    def test_lost(self) -> None:
        """A member that may have lost records leaves before it joins again."""
        state = cluster(BrokerNode(2, "h", 1, epoch=60, incarnation=1), lost_epochs={2: 60})
        counted = change(1, 2, epochs={2: 60})
        self.assertEqual(self.refused(counted, state), ErrorCode.INELIGIBLE_REPLICA)
        self.assertIsNone(self.refused(counted, state, evolve(STATE, isr=(1,))))


class NextStateTests(SynchronousTestCase):
    def test_leader_epoch(self) -> None:
        """A leader epoch above the state's is taken over, and the change is made only with it."""
        raising = evolve(change(1, 2), leader_epoch=STATE.leader_epoch + 2)
        after = next_state(cluster(), raising, STATE)
        self.assertEqual((after.leader, after.leader_epoch), (STATE.leader, STATE.leader_epoch + 2))
        self.assertTrue(is_made(raising, after))
        self.assertFalse(is_made(raising, evolve(after, leader_epoch=STATE.leader_epoch)))
        lower = evolve(change(1, 2), leader_epoch=STATE.leader_epoch - 1)
        self.assertEqual(next_state(cluster(), lower, STATE).leader_epoch, STATE.leader_epoch)

    def test_next(self) -> None:
        """The leader and its epoch stay; the partition epoch increases; the leader has recovered."""
        state = evolve(STATE, recovering=True, adding=(3,))
        after = next_state(cluster(), change(1, 3), state)
        self.assertEqual(after, evolve(state, isr=(1, 3), partition_epoch=9, revision=0, recovering=False))

    def test_eligible(self) -> None:
        """A broker that leaves too small an ISR stays eligible, unless it may have lost records."""
        before = evolve(STATE, eligible=(3,))
        after = next_state(cluster(), change(1, min_insync=2), before)
        self.assertEqual(after.eligible, (2, 3))
        after = next_state(cluster(lost_epochs={3: 60}), change(1, min_insync=2), before)
        self.assertEqual(after.eligible, (2,))
        self.assertEqual(next_state(cluster(), change(1, 2, min_insync=2), before).eligible, ())

    def test_is_made(self) -> None:
        """A change was made if the next state is what it asked for."""
        made = next_state(cluster(), change(1), STATE)
        self.assertTrue(is_made(change(1), made))
        for other in (
            STATE,
            evolve(made, isr=(1, 3)),
            evolve(made, partition_epoch=10),
            evolve(made, leader=2),
            evolve(made, leader_epoch=5),
        ):
            self.assertFalse(is_made(change(1), other))


class TransactionTests(RunningCase):
    """Broker 1 leads partitions; a test does something just before its next transactions."""

    def setUp(self) -> None:
        """Start two brokers, and create a topic."""
        super().setUp()
        self.store, self.other = self.started(1), self.started(2)
        self.result(self.store.create_topic(ONE.topic, [[1, 2]] * 5, {}))
        self.partitions = [TopicPartition(ONE.topic, number) for number in range(5)]
        self.assertEqual(self.altered(*self.changes(1)), [None] * 5)
        self.made: list[Sequence[Operation]] = []

    def changes(self, *members: int) -> list[IsrChange]:
        """Return the same change for each partition."""
        return [isr_change(self.store, members, one) for one in self.partitions]

    def altered(self, *changes: IsrChange) -> list[ErrorCode | None]:
        """Return the codes of the outcomes; each new state is shown."""
        outcomes = self.result(self.store.alter_isr(changes))
        for one, outcome in zip(changes, outcomes, strict=True):
            if isinstance(outcome, PartitionState):
                self.assertEqual(state_of(self.store, one.topic_partition), outcome)
        return [None if isinstance(outcome, PartitionState) else outcome for outcome in outcomes]

    def before_each(self, function: Callable[[], object], times: int = 1) -> None:
        """Call a function before the next transactions of the store that change states."""
        tree = self.tree(self.store)
        multi = tree.multi

        def called(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            if any(isinstance(each, SetData) and paths.parse_state(each.path) for each in operations):
                self.made.append(operations)
                if len(self.made) <= times:
                    function()
            return multi(operations)

        self.patch(tree, "multi", called)

    def test_one_transaction(self) -> None:
        """One transaction changes all partitions; it checks the deletions and each member once."""
        self.before_each(lambda: None)
        self.assertEqual(self.altered(*self.changes(1, 2)), [None] * 5)
        (operations,) = self.made
        checks = [each.path for each in operations if isinstance(each, Check)]
        self.assertEqual(checks, [paths.DELETIONS, paths.incarnation(1), paths.incarnation(2)])
        self.assertEqual(len(operations), 3 + 5 + 1)

    def test_many(self) -> None:
        """Many changes are several transactions, each within the limits."""
        self.before_each(lambda: None)
        self.patch(isr, "MOST_STATES", 2)
        self.assertEqual(self.altered(*self.changes(1, 2)), [None] * 5)
        self.assertEqual([len(operations) for operations in self.made], [6, 6, 5])
        self.patch(isr, "MOST_STATES", 500)
        self.patch(isr, "MOST_BYTES", 1)
        self.made.clear()
        self.assertEqual(self.altered(*self.changes(1)), [None] * 5)
        self.assertEqual(len(self.made), 5)

    def test_nothing(self) -> None:
        """No changes have no outcomes."""
        self.assertEqual(self.altered(), [])

    def test_member_registers_again(self) -> None:
        """A member whose next life has begun unseen is refused; the others are not."""
        path, own = paths.broker(2), paths.incarnation(2)

        def register() -> None:
            self.write(
                Delete(path), Create(path, self.read(path), ephemeral=True), SetData(own, self.read(own))
            )

        self.before_each(register)
        changes = self.changes(1, 2)
        changes[3] = isr_change(self.store, (1,), self.partitions[3])
        self.assertEqual(
            self.altered(*changes), [*[ErrorCode.INELIGIBLE_REPLICA] * 3, None, ErrorCode.INELIGIBLE_REPLICA]
        )

    def test_member_begins_to_stop(self) -> None:
        """A member that begins to stop unseen does not join."""
        path = paths.incarnation(2)
        stopping = decode_incarnation(path, self.read(path)).stops(0)
        self.before_each(lambda: self.write(SetData(path, stopping.encode())))
        changes = self.changes(1, 2)
        self.assertEqual(self.altered(*changes), [ErrorCode.INELIGIBLE_REPLICA] * 5)

    def test_deletion_unseen(self) -> None:
        """A deletion that the image does not show yet is waited for; one without a record is read."""
        record = ChangeRecord("c1", deleted=[("gone", ID)]).encode()
        told = Create(paths.CHANGE_PREFIX, record, sequential=True)
        self.before_each(lambda: self.write(SetData(paths.DELETIONS, b""), told))
        self.assertEqual(self.altered(*self.changes(1, 2)), [None] * 5)
        self.assertEqual(len(self.made), 2)
        self.made.clear()
        self.before_each(lambda: self.write(SetData(paths.DELETIONS, b"")))
        self.assertEqual(self.altered(*self.changes(1)), [None] * 5)

    def test_topic_created_again(self) -> None:
        """No state is written into a topic that was deleted and created again unseen."""

        def create_again() -> None:
            nodes = [
                Delete(path) for one in self.partitions for path in (paths.state(*one), paths.partition(*one))
            ]
            parents = (paths.partitions(ONE.topic), paths.topic(ONE.topic))
            topic = self.read(paths.topic(ONE.topic))
            states = [self.read(paths.state(*one)) for one in self.partitions]
            self.write(*nodes, *map(Delete, parents), SetData(paths.DELETIONS, b""))
            self.write(Create(parents[1], topic), Create(parents[0]))
            for one, data in zip(self.partitions, states, strict=True):
                path = paths.state(*one)
                self.write(Create(paths.partition(*one)), Create(path, data), SetData(path, data))

        changes = self.changes(1, 2)
        self.before_each(create_again)
        before = self.made
        asked = self.store.alter_isr(changes)
        self.stores.settle()
        self.assertEqual(len(before), 1)
        for one in self.partitions:
            self.assertNotIn(b'"isr":[1,2]', self.read(paths.state(*one)))
        self.result(asked)

    def test_state_changes_unseen(self) -> None:
        """A state that is another by now is refused, and the others are written."""
        path = paths.state(*self.partitions[1])
        self.before_each(lambda: self.write(SetData(path, self.read(path))))
        outcomes = self.altered(*self.changes(1, 2))
        self.assertEqual(outcomes, [None, ErrorCode.INVALID_UPDATE_VERSION, None, None, None])

    def test_overtaken_again_and_again(self) -> None:
        """A change that others overtake all the time ends, and nothing is written."""
        own = paths.incarnation(2)
        self.before_each(lambda: self.write(SetData(own, self.read(own))), times=1000)
        before = state_of(self.store)
        self.assertEqual(self.altered(*self.changes(1, 2)), [ErrorCode.REQUEST_TIMED_OUT] * 5)
        self.assertEqual(len(self.made), isr.ATTEMPTS)
        self.assertEqual(state_of(self.store), before)

    def test_refused(self) -> None:
        """A change that the server does not take fails."""
        path = paths.state(*ONE)
        self.patch(self.tree(self.store), "multi", lambda operations: fail(Refused(path, reason="no")))
        self.assertEqual(self.altered(*self.changes(1, 2)[:1]), [ErrorCode.UNKNOWN_SERVER_ERROR])

    def test_reply_is_lost(self) -> None:
        """A change is made once, whether the connection is lost before or after that."""
        link = self.tree(self.store).link
        for members, made in (((1, 2), True), ((1,), False)):
            epoch = state_of(self.store).partition_epoch
            asked = self.store.alter_isr(self.changes(*members))
            link.cut(apply_requests=made)
            self.stores.settle()
            self.assertNoResult(asked)
            link.heal()
            self.assertEqual(self.result(asked), [state_of(self.store, one) for one in self.partitions])
            self.assertEqual(
                (state_of(self.store).isr, state_of(self.store).partition_epoch), (members, epoch + 1)
            )

    def test_another_state_after_a_lost_reply(self) -> None:
        """A change that was made, and overtaken before its outcome was read, is another state by now."""
        link = self.tree(self.store).link
        path = paths.state(*ONE)
        asked = self.store.alter_isr(self.changes(1, 2)[:1])
        link.cut(apply_requests=True)
        self.stores.settle()
        self.write(SetData(path, self.read(path)))
        link.heal()
        self.assertEqual(self.result(asked), [ErrorCode.INVALID_UPDATE_VERSION])
