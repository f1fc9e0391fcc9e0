"""Transactions for the controller's writes: the operations of each, with its change record. Pure.

Each begins with the check of ``/controller_epoch``, so that none is made once another broker is the
controller, and ends with its record in ``/kafkatx/changes``, so that every broker learns of it. It checks the
incarnation of each broker that its states name, so that no state trusts a broker that has registered again
meanwhile. The first state of a partition is made together with its missing parents. A large topic is deleted
in several transactions: its partitions with their states first; the last partition together with the parent
of all partitions, the config, the topic's node and, last of all, the mark. A transaction that completes
deletions sets ``/kafkatx/deletions`` once.

They are made in order, and the first that fails ends the run. If nodes were there that are not expected, or
the other way round, a retry needs the nodes of the topic as they are: the argument *nodes*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import attrs

from kafkatx.interfaces.nodes import Check, Create, Delete, Operation, SetData
from kafkatx.metadata.controller.isr import incarnation_checks
from kafkatx.metadata.controller.writes import MarkRemoval, StateWrite, TopicDeletion, TopicWrite, Write
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord, StateChange, TopicChange
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.metadata.layout.topics import NO_TOPIC_ID, TopicNode
from kafkatx.types import PartitionState, Topic

MOST_STATES = 500
"""Partitions that one transaction may change."""
MOST_BYTES = 512 * 1024
"""Size of a transaction's operations and record; ZooKeeper refuses more than 1 MiB (``jute.maxbuffer``).

The states in a record are less than half of that, since they are in the operations, too: so a record stays
within ``layout.changes.MOST_BYTES``.
"""

_OPERATION_BYTES = 80
"""Size of an operation beside its path and data: headers, lengths and the ACL."""
_ENTRY_BYTES = 24
"""Size of a state's entry in a record beside the topic's name and the state."""


@attrs.frozen
class TopicNodes:
    """The nodes of a topic below its own, as they were read.

    :ivar config: True if ``/config/topics/T`` exists.
    :ivar parent: True if ``/brokers/topics/T/partitions`` exists.
    :ivar partitions: its children by number; True for those that have a state.
    """

    config: bool = True
    parent: bool = False
    partitions: Mapping[int, bool] = MappingProxyType({})


@attrs.frozen
class Piece:
    """One transaction.

    :ivar record: the change record in it. A mark without a topic is in ``deleted`` with the id NO_TOPIC_ID.
    :ivar writes: the writes that are complete with it.
    :ivar topics: names of the topics that it concerns; after a failure the state of these is read again.
    """

    operations: tuple[Operation, ...]
    record: ChangeRecord
    writes: tuple[Write, ...]
    topics: frozenset[str]


@attrs.frozen
class _Step:
    """Operations that belong into one transaction.

    :ivar partitions: number of partitions that it changes.
    :ivar deletes: True if the topic must be marked for deletion.
    :ivar named: brokers that the states name.
    :ivar write: the write that is complete with it, if there is one.
    """

    topic: str
    operations: tuple[Operation, ...]
    partitions: int = 0
    states: tuple[StateChange, ...] = ()
    changed: TopicChange | None = None
    deletes: bool = False
    named: frozenset[int] = frozenset()
    write: Write | None = None
    record_bytes: int = 0

    @property
    def size(self) -> int:
        """The size of operations and record in bytes, at most."""
        size = self.record_bytes
        if self.deletes:
            size += _OPERATION_BYTES + len(paths.deleted_topic(self.topic))
        for each in self.operations:
            data = each.data if isinstance(each, Create | SetData) else b""
            size += _OPERATION_BYTES + len(each.path) + len(data)
        return size


def pieces(
    writes: Iterable[Write],
    topics: Mapping[str, Topic],
    epoch: int,
    epoch_version: int,
    nodes: Mapping[str, TopicNodes] = MappingProxyType({}),
    versions: Mapping[int, int] = MappingProxyType({}),
    most_states: int | None = None,
) -> Iterator[Piece]:
    """Yield the transactions of some writes, each when it is asked for.

    :param topics: the topics of the state for which the writes were found.
    :param epoch: epoch of this controller.
    :param epoch_version: version of ``/controller_epoch`` with this epoch.
    :param nodes: topics whose nodes were read. Of another topic, its partitions with a state and their parent
        are expected to exist, and its config.
    :param versions: versions of the incarnations of the brokers that the writes name (:func:`named`); a
        broker without one is not checked.
    :param most_states: partitions that the first transaction may change, the next twice as many, and so on up
        to :data:`MOST_STATES`; None for that.
    """
    most = MOST_STATES if most_states is None else most_states
    steps: list[_Step] = []
    size = partitions = 0
    for step in _steps(writes, topics, epoch, nodes):
        if steps and (partitions + step.partitions > most or size + step.size > MOST_BYTES):
            yield _piece(steps, epoch, epoch_version, versions)
            steps, size, partitions = [], 0, 0
            most = min(MOST_STATES, 2 * most)
        steps.append(step)
        size += step.size
        partitions += step.partitions
    if steps:
        yield _piece(steps, epoch, epoch_version, versions)


def named(writes: Iterable[Write]) -> frozenset[int]:
    """Return the brokers that the states of some writes name."""
    found: set[int] = set()
    for write in writes:
        if isinstance(write, StateWrite):
            found |= _named(write.state)
        elif isinstance(write, TopicWrite):
            found.update(*(_named(each.state) for each in write.states))
    return frozenset(found)


def _named(state: PartitionState) -> frozenset[int]:
    """Return the leader, the in-sync replicas and the eligible brokers."""
    return frozenset((state.leader, *state.isr, *state.eligible))


def _piece(steps: list[_Step], epoch: int, epoch_version: int, versions: Mapping[int, int]) -> Piece:
    operations: list[Operation] = [Check(paths.CONTROLLER_EPOCH, epoch_version)]
    operations += incarnation_checks(versions, frozenset().union(*(step.named for step in steps)))
    deletions = dict.fromkeys(step.topic for step in steps if step.deletes)
    operations += [Check(paths.deleted_topic(name)) for name in deletions]
    operations += [operation for step in steps for operation in step.operations]
    done = [step.write for step in steps if step.write is not None]
    deleted = {write.topic.name: write.topic.topic_id for write in done if isinstance(write, TopicDeletion)}
    if deleted:
        operations.append(SetData(paths.DELETIONS, b""))
    deleted |= {write.topic: NO_TOPIC_ID for write in done if isinstance(write, MarkRemoval)}
    record = ChangeRecord(
        by=f"c{epoch}",
        topics={step.topic: step.changed for step in steps if step.changed is not None},
        states=[state for step in steps for state in step.states],
        deleted=list(deleted.items()),
        deleting=[name for name in deletions if name not in deleted],
    )
    operations.append(Create(paths.CHANGE_PREFIX, record.encode(), sequential=True))
    return Piece(tuple(operations), record, tuple(done), frozenset(step.topic for step in steps))


def _steps(
    writes: Iterable[Write], topics: Mapping[str, Topic], epoch: int, nodes: Mapping[str, TopicNodes]
) -> Iterator[_Step]:
    made: dict[str, set[int]] = {}  # partitions whose nodes exist; the topic's parent node is there, too
    for write in writes:
        if isinstance(write, StateWrite):
            if write.replaces < 0:
                _expect(write.topic, topics, nodes, made)
            yield _state_step(write, epoch, made)
        elif isinstance(write, TopicWrite):
            if any(each.replaces < 0 for each in write.states):
                _expect(write.topic.name, topics, nodes, made)
            yield _topic_step(write, epoch, made)
        elif isinstance(write, TopicDeletion):
            yield from _deletion_steps(write, nodes.get(write.topic.name) or expected_nodes(write.topic))
        else:
            yield _Step(write.topic, (Delete(paths.deleted_topic(write.topic)),), deletes=True, write=write)


def _expect(
    name: str, topics: Mapping[str, Topic], nodes: Mapping[str, TopicNodes], made: dict[str, set[int]]
) -> None:
    """Add the nodes of a topic, which are known to exist, to those that are made."""
    if name not in made:
        found = nodes.get(name) or expected_nodes(topics[name])
        if found.parent:
            made[name] = set(found.partitions)


def expected_nodes(topic: Topic) -> TopicNodes:
    """Return the nodes of a topic that only kafkatx has changed."""
    known = {number: True for number, each in enumerate(topic.partitions) if each.partition_epoch >= 0}
    return TopicNodes(True, bool(known), known)


def _state_step(write: StateWrite, epoch: int, made: dict[str, set[int]]) -> _Step:
    state, name, number = write.state, write.topic, write.partition
    node = StateNode.of(state, epoch)
    data, path = node.encode(), paths.state(name, number)
    operations: list[Operation] = []
    if write.replaces >= 0:
        operations.append(SetData(path, data, write.replaces))
    else:
        if name not in made:
            operations.append(Create(paths.partitions(name)))
            made[name] = set()
        if number not in made[name]:
            operations.append(Create(paths.partition(name, number)))
            made[name].add(number)
        operations.append(Create(path, data))
    change = StateChange(name, number, node, state.partition_epoch)
    size = len(data) + len(name) + _ENTRY_BYTES
    return _Step(name, tuple(operations), 1, (change,), named=_named(state), write=write, record_bytes=size)


def _topic_step(write: TopicWrite, epoch: int, made: dict[str, set[int]]) -> _Step:
    topic = write.topic
    node = TopicNode.of(topic)
    data = node.encode()
    states = [_state_step(each, epoch, made) for each in write.states]
    operation = SetData(paths.topic(topic.name), data, topic.version)
    return _Step(
        topic.name,
        (operation, *(each for step in states for each in step.operations)),
        len(states),
        tuple(each for step in states for each in step.states),
        TopicChange.of(node, topic.topic_id, topic.version + 1),
        named=frozenset().union(*(step.named for step in states)),
        write=write,
        record_bytes=len(data) + sum(step.record_bytes for step in states),
    )


def _deletion_steps(write: TopicDeletion, found: TopicNodes) -> Iterator[_Step]:
    name = write.topic.name
    rest: list[Operation] = []
    for number, has_state in sorted(found.partitions.items()):
        if rest:
            yield _Step(name, tuple(rest), 1, deletes=True)
        rest = [Delete(paths.state(name, number))] if has_state else []
        rest.append(Delete(paths.partition(name, number)))
    partitions = 1 if rest else 0
    if found.parent:
        rest.append(Delete(paths.partitions(name)))
    if found.config:
        rest.append(Delete(paths.config(f"topics/{name}")))
    rest += [Delete(paths.topic(name), write.topic.version), Delete(paths.deleted_topic(name))]
    size = len(name) + _ENTRY_BYTES
    yield _Step(name, tuple(rest), partitions, deletes=True, write=write, record_bytes=size)
