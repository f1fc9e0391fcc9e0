"""The invariants of changes of in-sync replicas, which leaders make.

*   A leader writes a state only for a change that it was told to make, for the topic of that id, and in the
    life in which the state was given to it. The leader stays; its epoch is the one that the change names.
*   A replica joins in the life in which the leader has counted it, and not while it is stopping. One that
    stays has not registered again since.
*   The outcome of a change is true: a state was written as it says, and none if the change was refused,
    unless it is another by then.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from kafkatx.errors import ErrorCode
from kafkatx.metadata.layout import paths, topics
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.types import IsrChange, PartitionState, TopicPartition
from tests.simulation.server import OPERATOR, SimulatedServer, Transaction


class Violation(AssertionError):
    """An invariant does not hold."""


class IsrRules:
    """Checks the writes of leaders, and the outcomes of the changes that they were told to make.

    :ivar moved: leader epochs that have ended while the leader was live: topic id, partition and epoch. The
        leader may not know of it yet.
    """

    def __init__(self, server: SimulatedServer) -> None:
        self.moved: set[tuple[uuid.UUID | None, int, int]] = set()
        self._server = server
        self._asked: dict[tuple[str, TopicPartition], IsrChange] = {}
        self._made: dict[tuple[str, TopicPartition], StateNode] = {}
        self._states: dict[TopicPartition, tuple[int, StateNode]] = {}
        self._written: dict[tuple[uuid.UUID | None, TopicPartition, int], StateNode] = {}

    def ask(self, owner: str, changes: Sequence[IsrChange]) -> list[IsrChange]:
        """Note the changes that a process is told to make.

        :return: those of partitions for which it is making no other change.
        """
        free = [change for change in changes if (owner, change.topic_partition) not in self._asked]
        for change in free:
            self._asked[owner, change.topic_partition] = change
        return free

    def check(
        self, transaction: Transaction, states: Mapping[TopicPartition, StateNode], leads: bool
    ) -> None:
        """Check the states of a transaction.

        :param leads: True if a leader has made it.
        :raises Violation: an invariant does not hold any more.
        """
        nodes = self._server.nodes
        for one, state in states.items():
            topic_id = topics.decode("", nodes[paths.topic(one.topic)].data).topic_id
            if leads and transaction.session_id != OPERATOR:
                self._check_write(transaction, one, topic_id, state)
            revision, before = self._states.get(one, (0, state))
            leader = nodes.get(paths.broker(before.leader))
            if state.leader_epoch > before.leader_epoch and leader is not None and leader.czxid < revision:
                self.moved.add((topic_id, one.partition, before.leader_epoch))
            self._states[one] = transaction.zxid, state
            self._written[topic_id, one, nodes[paths.state(*one)].version] = state

    def _check_write(
        self, transaction: Transaction, one: TopicPartition, topic_id: uuid.UUID | None, state: StateNode
    ) -> None:
        nodes = self._server.nodes
        owner = self._server.owners[transaction.session_id]
        version = nodes[paths.state(*one)].version
        revision, before = self._states[one]
        change = self._asked.get((owner, one))
        if change is None or (change.isr, change.state.partition_epoch) != (state.isr, version - 1):
            raise Violation(f"{one} gets {state}, but was asked for {change}")
        _require(
            change.topic_id == topic_id,
            f"{one} gets {state}, which was asked for in another topic of its name",
        )
        _require(
            (state.leader, state.leader_epoch) == (before.leader, change.next_leader_epoch),
            f"{one}: its leader writes {state} after {before}",
        )
        own = nodes.get(paths.broker(state.leader))
        _require(
            own is not None and own.owner == transaction.session_id and own.czxid < revision,
            f"{one}: a past life of its leader writes {state}",
        )
        _require(
            self._counts(change, before),
            f"{one} gets {state} after {before}: a member has registered again, or is stopping",
        )
        self._made[owner, one] = state

    def _counts(self, change: IsrChange, before: StateNode) -> bool:
        """Return True if all members live in the lives in which the leader has counted them."""
        nodes = self._server.nodes
        for member, epoch in change.epochs.items():
            if member == before.leader:
                continue
            node, incarnation = nodes.get(paths.broker(member)), nodes[paths.incarnation(member)]
            if node is not None and node.czxid != epoch:
                return False
            if member not in before.isr and incarnation.mzxid != epoch:
                return False
        return True

    def ended(
        self, owner: str, changes: Sequence[IsrChange], outcomes: Sequence[PartitionState | ErrorCode]
    ) -> None:
        """Check the outcomes of changes.

        :raises Violation: an outcome is not true.
        """
        for change, outcome in zip(changes, outcomes, strict=True):
            one = change.topic_partition
            what = f"{one} for {change.isr} after {change.state}"
            del self._asked[owner, one]
            made = self._made.pop((owner, one), None)
            version = change.state.partition_epoch + 1
            if isinstance(outcome, PartitionState):
                # the controller may have written the same while the reply was lost
                written = self._written.get((change.topic_id, one, version))
                _require(
                    (outcome.isr, outcome.partition_epoch) == (change.isr, version)
                    and written is not None
                    and (written.isr, written.leader_epoch) == (change.isr, change.next_leader_epoch),
                    f"{what} ends with {outcome}, but {written} was written",
                )
            else:
                node = self._server.nodes.get(paths.state(*one))
                _require(
                    made is None or node is None or node.version != version,
                    f"{what} is refused with {outcome.name}, but was made",
                )


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Violation(otherwise)
