"""Changes of in-sync replicas, and of leader epochs, that the leaders of partitions make. Touches the tree.

One transaction changes the states of many partitions. It sets each state's node with its version, and checks

- ``/kafkatx/deletions``, with the version that the image covers: so no state of a deleted topic is written
  into another topic of its name;
- the incarnations of all leaders, members and eligible brokers, with the versions of the lives that the image
  shows: so no member is trusted that has registered again, nor one that has been told to stop.

A transaction that fails is planned again with what has changed, without the partitions at fault. If its reply
is lost, the image is read again as a whole when the connection is back; the state of a partition is then the
one that was asked for, the one before, or another, and so tells the outcome.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.errors import ErrorCode
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    Check,
    ConnectionLost,
    Create,
    NodeStat,
    Operation,
    OperationError,
    Refused,
    SessionExpired,
    SetData,
)
from kafkatx.metadata.cluster.state.image import Image
from kafkatx.metadata.cluster.state.requests import each
from kafkatx.metadata.cluster.state.view import Condition, View
from kafkatx.metadata.controller.isr import incarnation_checks, is_lost, next_eligible
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord, StateChange
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.types import ClusterState, IsrChange, PartitionState

MOST_STATES = 500
"""Partitions that one transaction may change."""
MOST_BYTES = 512 * 1024
"""Size of the states of a transaction; they are in its record, too (ZooKeeper refuses more than 1 MiB)."""
ATTEMPTS = 20
"""Transactions in a row that may fail without an outcome for any partition."""
PAUSE_S = 0.05
"""Seconds more between such attempts after each."""
SEEN_S = 5.0
"""Seconds for which a failed attempt waits until the image shows the reason."""
READY_S = 30.0
"""Seconds between looks if the store has stopped."""

_OPERATION_BYTES = 160

Outcome = PartitionState | ErrorCode


@attrs.frozen
class _Write:
    """A state that is to be written.

    :ivar number: index of the change.
    :ivar state: the new state.
    """

    number: int
    change: IsrChange
    state: PartitionState
    data: StateNode

    @property
    def path(self) -> str:
        """The node of the state."""
        return paths.state(*self.change.topic_partition)


@attrs.define
class _Call:
    """The changes of one call.

    :ivar left: those without an outcome, by their index.
    :ivar doubtful: indexes of those whose transactions have had no reply.
    :ivar failures: transactions that have failed since there was an outcome.
    """

    left: dict[int, IsrChange]
    outcomes: dict[int, Outcome] = attrs.field(factory=dict)
    doubtful: set[int] = attrs.field(factory=set)
    failures: int = 0

    def settle(self, number: int, outcome: Outcome) -> None:
        """Note an outcome."""
        del self.left[number]
        self.doubtful.discard(number)
        self.outcomes[number] = outcome
        self.failures = 0


class IsrCommands:
    """Changes in-sync replicas.

    :param read_brokers: reads the live brokers again, and shows them.
    :param read_all: begins to read everything again.
    :ivar broker_id: the id of this broker.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        view: View,
        read_brokers: Callable[[], Awaitable[None]],
        read_all: Callable[[], None],
    ) -> None:
        self.broker_id = -1
        self._tree = tree
        self._view = view
        self._read_brokers = read_brokers
        self._read_all = read_all
        self._controller_epoch = 0

    async def alter(self, changes: Sequence[IsrChange]) -> list[PartitionState | ErrorCode]:
        """Change the in-sync replicas of partitions that this broker leads.

        :return: as :meth:`kafkatx.interfaces.IMetadataStore.alter_isr`.
        :raises CancelledError: the store stops.
        """
        call = _Call(dict(enumerate(changes)))
        while call.left:
            await self._until(lambda: self._view.ready)
            try:
                image = self._view.image
                for part in _parts(self._plan(call, image)):
                    if not await self._make(call, part, image):
                        break
            except (ConnectionLost, SessionExpired):
                continue
            if call.failures >= ATTEMPTS:
                for number in list(call.left):
                    call.settle(number, ErrorCode.REQUEST_TIMED_OUT)
        return [call.outcomes[number] for number in range(len(changes))]

    async def _until(self, condition: Condition) -> None:
        while not await self._view.until(condition, READY_S):
            if self._view.stopped:
                raise CancelledError("the metadata store has stopped")

    # --- the plan

    def _plan(self, call: _Call, image: Image) -> list[_Write]:
        """Return what is to be written; settle the changes that need no write, or cannot be made."""
        writes = []
        if image.controller is not None:
            self._controller_epoch = image.controller.epoch
        for number, change in list(call.left.items()):
            topic = image.topics.get(change.topic_partition.topic)
            partition = change.topic_partition.partition
            if topic is None or topic.topic_id != change.topic_id or partition >= len(topic.partitions):
                call.settle(number, ErrorCode.UNKNOWN_TOPIC_ID)
                continue
            state = topic.partitions[partition]
            if number in call.doubtful and is_made(change, state):
                call.settle(number, state)
                continue
            code = refusal(image.state, self.broker_id, change, state)
            if code is not None:
                call.settle(number, code)
                continue
            after = next_state(image.state, change, state)
            writes.append(_Write(number, change, after, StateNode.of(after, self._controller_epoch)))
        return writes

    # --- transactions

    async def _make(self, call: _Call, part: Sequence[_Write], image: Image) -> bool:
        """Make one transaction; return False if all must be planned again.

        :raises ConnectionLost: or SessionExpired: the outcome is not known.
        """
        checks = self._checks(part, image)
        states = [
            StateChange(*write.change.topic_partition, write.data, write.state.partition_epoch)
            for write in part
        ]
        record = ChangeRecord(f"b{self.broker_id}", states=states)
        operations: list[Operation] = [
            *checks,
            *(SetData(one.path, one.data.encode(), one.change.state.partition_epoch) for one in part),
            Create(paths.CHANGE_PREFIX, record.encode(), sequential=True),
        ]
        numbers = [write.number for write in part]
        call.doubtful.update(numbers)
        try:
            made = await self._tree.multi(operations)
        except OperationError as error:
            call.doubtful.difference_update(numbers)
            call.failures += 1
            await self._failed(call, part, image, error)
            return False
        sequence = paths.parse_change(str(made[-1])) or 0
        await self._until(lambda: self._view.image.applied >= sequence)
        for write, stat in zip(part, made[len(checks) :], strict=False):
            assert isinstance(stat, NodeStat)
            call.settle(write.number, attrs.evolve(write.state, revision=stat.mzxid))
        return True

    def _checks(self, part: Sequence[_Write], image: Image) -> list[Check]:
        named = {one for write in part for one in (*write.state.isr, *write.state.eligible)}
        checks = incarnation_checks(image.incarnations, named)
        return [Check(paths.DELETIONS, image.deletions), *checks]

    async def _failed(self, call: _Call, part: Sequence[_Write], image: Image, error: OperationError) -> None:
        """Find the reason of a failure: settle changes, or wait until the image shows it."""
        view = self._view
        if isinstance(error, Refused):
            self._log.error("changes of in-sync replicas were refused: {error}", error=error)
            for write in part:
                call.settle(write.number, ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        self._log.debug("changes of in-sync replicas are planned again: {error}", error=error)
        if error.path == paths.DELETIONS:
            known = image.deletions
            if not await view.until(lambda: view.image.deletions != known, SEEN_S) and view.ready:
                self._read_all()  # another program has set it
        elif isinstance(error.operation, Check):
            await self._read_brokers()
        else:
            stats = await each(self._tree.exists, [write.path for write in part])
            for write, stat in zip(part, stats, strict=True):
                if stat is None or stat.version != write.change.state.partition_epoch:
                    call.settle(write.number, ErrorCode.INVALID_UPDATE_VERSION)
        if call.failures > 1:
            await view.until(_never, PAUSE_S * call.failures)


def is_made(change: IsrChange, state: PartitionState) -> bool:
    """Return True if a state is the one that a change has asked for."""
    before = change.state
    return (
        state.partition_epoch == before.partition_epoch + 1
        and (state.leader, state.leader_epoch) == (before.leader, change.next_leader_epoch)
        and state.isr == tuple(change.isr)
    )


def refusal(
    cluster: ClusterState, broker_id: int, change: IsrChange, state: PartitionState
) -> ErrorCode | None:
    """Return why a change cannot be made in a state; None if it can.

    :param broker_id: this broker.
    :param state: the state of the partition now.
    """
    own = cluster.brokers.get(broker_id)
    if (
        own is None
        or state.partition_epoch != change.state.partition_epoch
        or state.leader != broker_id
        or state.revision <= own.epoch  # not given to this broker since it has registered
        or broker_id not in change.isr
    ):
        return ErrorCode.INVALID_UPDATE_VERSION
    for member in change.isr:
        if member != broker_id and not _is_member(cluster, member, change, state):
            return ErrorCode.INELIGIBLE_REPLICA
    return None


def _is_member(cluster: ClusterState, member: int, change: IsrChange, state: PartitionState) -> bool:
    """Return True if a follower lives the life in which the leader has counted it."""
    node = cluster.brokers.get(member)
    if node is None or node.incarnation < 0 or member not in state.replicas:
        return False
    epoch = change.epochs.get(member, -1)
    if member in state.isr:
        if is_lost(member, state, cluster):
            return False  # the controller takes it out; it may come back when it has all records again
        # one that has not fetched yet must have been there when the state was written
        return node.epoch < state.revision if epoch < 0 else node.epoch == epoch
    joins = not node.stopping and cluster.has_live(member, change.topic_partition)
    return joins and node.epoch == epoch


def next_state(cluster: ClusterState, change: IsrChange, state: PartitionState) -> PartitionState:
    """Return the state after a change; its ``revision`` is 0, since it is not known before."""
    lost = {each for each in (*state.isr, *state.eligible) if is_lost(each, state, cluster)}
    eligible = next_eligible(state, change.isr, change.min_insync)
    return attrs.evolve(
        state,
        leader_epoch=max(change.leader_epoch, state.leader_epoch),
        isr=tuple(change.isr),
        eligible=tuple(each for each in eligible if each not in lost),
        partition_epoch=state.partition_epoch + 1,
        revision=0,
        recovering=False,
    )


def _parts(writes: Sequence[_Write]) -> Iterator[list[_Write]]:
    """Yield the writes of each transaction."""
    part: list[_Write] = []
    size = 0
    for write in writes:
        own = len(write.data.encode()) + len(write.path) + _OPERATION_BYTES
        if part and (len(part) >= MOST_STATES or size + own > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(write)
        size += own
    if part:
        yield part


def _never() -> bool:
    return False
