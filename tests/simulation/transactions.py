"""The invariants of the nodes, checked with each transaction.

*   One session writes in each epoch of the controller: that which was elected into it, with ``/controller``
    and the next epoch in one transaction.
*   A partition has at most one leader in each leader epoch. Its leader epoch never decreases, and increases
    when its leader changes. The leader is a replica and in the ISR; the ISR is never empty.
*   A transaction that writes states has one change record with these states.
*   A topic is there with its config, or neither is; each of its partitions with its state, or neither.
*   A topic is only deleted while it is marked, together with its mark. A controller that was elected after
    a broker has marked it gives none of its partitions a leader.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from attrs import define, field

from kafkatx.interfaces.nodes import Create, Delete, Operation, SetData
from kafkatx.metadata.layout import changes, partition_states, paths, topics
from kafkatx.metadata.layout.controller import decode_epoch
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.types import NO_LEADER, TopicPartition
from tests.simulation.isr_rules import IsrRules
from tests.simulation.isr_rules import Violation as Violation
from tests.simulation.life_rules import LifeRules
from tests.simulation.server import OPERATOR, SimulatedServer, Transaction

CONFIGS = "/config/topics/"
NEVER = 2**62
"""A transaction after all others."""


@define
class _Topic:
    """The past of a topic.

    :ivar states: the last state of each partition.
    :ivar leaders: the leader of each partition in each leader epoch.
    """

    topic_id: uuid.UUID | None
    states: dict[int, StateNode] = field(factory=dict)
    leaders: dict[tuple[int, int], int] = field(factory=dict)


class TransactionRules:
    """Checks each transaction of a server.

    :ivar elected: the session that was elected into each epoch of the controller, with the transaction.
    :ivar created: the ids of all topics that ever were.
    """

    def __init__(self, server: SimulatedServer, isr: IsrRules, lives: LifeRules) -> None:
        self._server = server
        self._isr = isr
        self._lives = lives
        self._topics: dict[str, _Topic] = {}
        self._marks: dict[str, int] = {}
        self.elected: dict[int, tuple[int, int]] = {}
        self.created: set[uuid.UUID] = set()

    def check(self, transaction: Transaction) -> None:
        """Check a transaction that has been made.

        :raises Violation: an invariant does not hold any more.
        """
        written = [each for each in transaction.operations if isinstance(each, Create | SetData | Delete)]
        by_controller = any(_is_controllers(each) for each in written)
        self._check_election(transaction, written)
        leads = _writer(written).startswith("b")
        if by_controller and transaction.session_id != OPERATOR and not leads:
            self._check_controller(transaction)
        self._check_states(transaction, written, leads)
        self._check_topics(transaction, written)

    def _epoch(self) -> int:
        return decode_epoch(self._server.nodes[paths.CONTROLLER_EPOCH].data)

    def _check_election(self, transaction: Transaction, written: Sequence[Operation]) -> None:
        created = any(isinstance(each, Create) and each.path == paths.CONTROLLER for each in written)
        raised = any(each.path == paths.CONTROLLER_EPOCH for each in written)
        if created:
            epoch = self._epoch()
            _require(raised, "a controller was elected without a new epoch")
            _require(epoch not in self.elected, f"a second controller was elected into epoch {epoch}")
            _require(
                epoch > max(self.elected, default=0), f"epoch {epoch} follows {max(self.elected, default=0)}"
            )
            self.elected[epoch] = (transaction.session_id, transaction.zxid)

    def _check_controller(self, transaction: Transaction) -> None:
        epoch = self._epoch()
        _require(epoch in self.elected, f"a controller writes in epoch {epoch}, into which none was elected")
        elected, _ = self.elected[epoch]
        owners = self._server.owners
        _require(
            transaction.session_id == elected,
            f"{owners[transaction.session_id]} writes as the controller in epoch {epoch}, which is that of"
            f" {owners[elected]}",
        )

    def _check_states(self, transaction: Transaction, written: Sequence[Operation], leads: bool) -> None:
        states: dict[TopicPartition, StateNode] = {}
        records = []
        for operation in written:
            partition = paths.parse_state(operation.path)
            if isinstance(operation, Create | SetData):
                if operation.path == paths.CHANGE_PREFIX:
                    records.append(changes.decode(operation.path, operation.data))
                elif partition is not None:
                    state = partition_states.decode(operation.path, operation.data)
                    states[partition] = state
                    self._check_state(transaction, partition.topic, partition.partition, state, leads)
        if states:
            self._isr.check(transaction, states, leads)
            self._lives.check(transaction, states, leads)
            _require(len(records) == 1, f"{len(records)} change records with {len(states)} states")
            recorded = {
                (each.topic, each.partition): (each.node, each.partition_epoch) for each in records[0].states
            }
            expected = {
                (each.topic, each.partition): (state, self._server.nodes[paths.state(*each)].version)
                for each, state in states.items()
            }
            _require(recorded == expected, f"the record has {recorded}, the nodes {expected}")

    def _check_state(
        self, transaction: Transaction, name: str, number: int, state: StateNode, leads: bool
    ) -> None:
        what = f"{name}-{number}"
        topic = self._topics.get(name)
        if topic is None:
            raise Violation(f"{what} gets a state, but there is no such topic")
        node = topics.decode("", self._server.nodes[paths.topic(name)].data)
        epoch = self._epoch()
        _require(number < len(node.partitions), f"{what} gets a state, but there is no such partition")
        _require(bool(state.isr), f"{what} has no ISR: {state}")
        _require(
            state.controller_epoch <= epoch, f"{what} has a later controller than epoch {epoch}: {state}"
        )
        before = topic.states.get(number)
        if before is not None:
            _require(state.leader_epoch >= before.leader_epoch, f"{what}: {state} follows {before}")
            if state.leader != before.leader:
                _require(state.leader_epoch > before.leader_epoch, f"{what}: {state} follows {before}")
        if state.leader != NO_LEADER:
            _require(state.leader in node.partitions[number], f"{what} is led by no replica: {state}")
            _require(state.leader in state.isr, f"{what} is led from outside of its ISR: {state}")
            leader = topic.leaders.setdefault((number, state.leader_epoch), state.leader)
            _require(
                leader == state.leader,
                f"{what}: {leader} and {state.leader} lead in epoch {state.leader_epoch}",
            )
            if transaction.session_id != OPERATOR and not leads:
                _, elected = self.elected[epoch]
                marked = self._marks.get(name)
                _require(
                    marked is None or marked > elected,
                    f"{what} gets a leader, but was marked before controller {epoch} was elected",
                )
        topic.states[number] = state

    def _check_topics(self, transaction: Transaction, written: Sequence[Operation]) -> None:
        nodes = self._server.nodes
        names: dict[str, None] = {}
        for operation in written:
            name = _topic_of(operation.path)
            if name is None:
                continue
            names[name] = None
            if operation.path == paths.deleted_topic(name) and isinstance(operation, Create):
                # brokers learn of the marks of other tools a moment later
                by_tool = transaction.session_id == OPERATOR
                self._marks[name] = NEVER if by_tool else transaction.zxid
            elif operation.path == paths.topic(name) and isinstance(operation, Delete):
                _require(name in self._marks, f"topic {name} is deleted, but was not marked")
                _require(paths.deleted_topic(name) not in nodes, f"the mark of {name} is left")
                del self._topics[name]
            elif operation.path == paths.topic(name):
                found = topics.decode(operation.path, nodes[paths.topic(name)].data)
                if isinstance(operation, Create):
                    _require(
                        found.topic_id not in self.created or found.topic_id is None,
                        f"the id of {name} is not new",
                    )
                    self._topics[name] = _Topic(found.topic_id)
                elif self._topics[name].topic_id is None:
                    self._topics[name].topic_id = found.topic_id
                _require(found.topic_id == self._topics[name].topic_id, f"{name} has got another id")
                if found.topic_id is not None:
                    self.created.add(found.topic_id)
        for name in names:
            if paths.deleted_topic(name) not in nodes:
                self._marks.pop(name, None)
            self._check_whole(name)

    def _check_whole(self, name: str) -> None:
        """Check that no topic is half made."""
        nodes = self._server.nodes
        there = paths.topic(name) in nodes
        _require(
            (CONFIGS + name in nodes) == there, f"of topic {name} there is only the config, or only the node"
        )
        parent = nodes.get(paths.partitions(name))
        if parent is not None:
            _require(bool(parent.children), f"topic {name} has a parent of partitions and no partition")
            for number in parent.children:
                _require(paths.state(name, int(number)) in nodes, f"{name}-{number} has a node and no state")


def _is_controllers(operation: Operation) -> bool:
    """Return True for an operation that only the controller may make."""
    if operation.path.startswith(f"{paths.TOPICS}/"):
        return "/partitions" in operation.path or isinstance(operation, Delete)
    return operation.path.startswith(f"{paths.DELETE_TOPICS}/") and isinstance(operation, Delete)


def _writer(written: Sequence[Operation]) -> str:
    """Return who has written the change record of a transaction; an empty text if there is none."""
    for operation in written:
        if isinstance(operation, Create) and operation.path == paths.CHANGE_PREFIX:
            return changes.decode(operation.path, operation.data).by
    return ""


def _topic_of(path: str) -> str | None:
    """Return the topic whose node, mark or config has a path, or whose partitions have."""
    for parent in (paths.TOPICS, paths.DELETE_TOPICS, CONFIGS.rstrip("/")):
        if path.startswith(f"{parent}/"):
            return path[len(parent) + 1 :].split("/")[0]
    return None


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Violation(otherwise)
