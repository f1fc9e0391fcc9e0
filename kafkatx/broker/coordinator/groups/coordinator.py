"""The group coordinator: it connects the state machines of groups with requests, records and timers.

A machine (``kafkatx.group``) takes requests and the time, and returns actions; the coordinator performs them.
It writes records to ``__consumer_offsets``, answers requests, and keeps a timer for each group. What it knows
is kept per partition of that topic (:class:`kafkatx.broker.coordinator.groups.shard.GroupShard`); the
runtime tells it which partitions to load and to forget. It touches the clock, and the disk through
:class:`kafkatx.broker.coordinator.runtime.record_writer.RecordWriter`.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.coordinator.groups.memory import GroupMemory
from kafkatx.broker.coordinator.groups.offset_commits import OffsetCommitter
from kafkatx.broker.coordinator.groups.record_store import RecordStore
from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.broker.coordinator.groups.timers import GroupTimers
from kafkatx.broker.coordinator.groups.work_queue import GroupWorkQueue
from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.coordinator.runtime.partition_hash import partition_for
from kafkatx.broker.coordinator.runtime.pending_request import AnswerT, PendingRequest
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter, outcome
from kafkatx.broker.coordinator.runtime.runtime import CoordinatorRuntime, Replay
from kafkatx.broker.replica.commit_waiters import CommitTimeouts
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.requests.quotation import quoted
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.config import BrokerConfig
from kafkatx.config.table import groups as g
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import NEVER_MS, Action, Answer, Group, LogLine, Replace, Store
from kafkatx.group.offsets import Offsets
from kafkatx.group.settings import GroupSettings
from kafkatx.interfaces import IMetadataStore, Workers
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.wire.schema import Message

if TYPE_CHECKING:  # the machines are imported with the first group, not at the start
    from kafkatx.group.classic.group import ClassicGroup
    from kafkatx.group.consumer.group import ConsumerGroup

NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR


def new_member_id(prefix: str) -> str:
    """Return a member id as Apache Kafka makes it: the id of the client, or of the instance, and a UUID."""
    return f"{prefix}-{uuid.uuid4()}"


class GroupCoordinator:
    """The groups that this broker coordinates: those of the partitions that it leads.

    :ivar topic: ``__consumer_offsets``.
    :ivar runtime: follows the partitions that this broker leads.
    :ivar writer: writes records to them.
    :ivar shards: what is known of each loaded partition, by its number.
    :ivar commits: writes committed offsets.
    :ivar settings: for the machines.
    :ivar memory: how much memory the groups take, and may take.
    :ivar work_queue: shares the reactor's time between joining members and all other requests.
    :ivar on_loaded: called with each shard that has been loaded.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        topic_commands: TopicCommands,
        replicas: ReplicaManager,
        timeouts: CommitTimeouts,
        clock: IReactorTime,
        workers: Workers,
        now_ms: Callable[[], int],
    ) -> None:
        self._metadata = metadata
        self.shards: dict[int, GroupShard] = {}
        self._homes: dict[str, GroupShard] = {}  # of each group: no hash is needed where it exists
        self.topic = InternalTopic(
            CONSUMER_OFFSETS, config.get("broker.id"), metadata, topics, topic_commands, clock
        )
        self.writer = RecordWriter(replicas, clock, now_ms, timeouts)
        self.runtime = CoordinatorRuntime(self.topic, self.writer, self, clock, lambda: workers("offsets"))
        topics.role_listeners.append(self.runtime.role_changed)
        self.commits = OffsetCommitter(self.writer, replicas)
        self.on_loaded: Callable[[GroupShard], None] | None = None
        self._wall_ms = now_ms
        self._timers = GroupTimers(clock, self._deadline_passed)
        self.now_ms = self._timers.now_ms
        self.memory = GroupMemory(clock)
        self.work_queue = GroupWorkQueue(clock)
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._config = config
        self.settings = GroupSettings.of(config)
        self.writer.timeout_s = config[g.OFFSETS_COMMIT_TIMEOUT_MS] / 1000

    def check(self, group_id: str, may_be_empty: bool = False) -> ErrorCode:
        """Check that this broker serves a group now.

        :param may_be_empty: True allows the empty id, as Apache Kafka does for offsets, DescribeGroups and
            DeleteGroups (GroupCoordinator.isValidGroupId). An id may be as long as a request can carry.
        :return: NONE, INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
            COORDINATOR_NOT_AVAILABLE.
        """
        if not group_id and not may_be_empty:
            return ErrorCode.INVALID_GROUP_ID
        return ErrorCode.NONE if group_id in self._homes else self.runtime.check(group_id)

    def shard_of(self, group_id: str) -> GroupShard | None:
        """Return the shard of a group; None if this broker does not serve it."""
        home = self._homes.get(group_id)
        if home is not None:
            return home
        topic = self.topic.state
        return None if topic is None else self.shards.get(partition_for(group_id, len(topic.partitions)))

    def served_shard(self, group_id: str) -> GroupShard:
        """Return the shard of a group.

        :raises RequestError: NOT_COORDINATOR: this broker does not serve the group.
        """
        shard = self.shard_of(group_id)
        if shard is None:
            raise RequestError(ErrorCode.NOT_COORDINATOR)
        return shard

    def find(self, group_id: str) -> Group | None:
        """Return a group, or None if there is none, or if this broker does not serve it."""
        shard = self._homes.get(group_id)
        return None if shard is None else shard.groups[group_id]

    def offsets_of(self, group_id: str) -> Offsets:
        """Return the committed offsets among which those of a group are; empty if it is not served."""
        shard = self.shard_of(group_id)
        return Offsets() if shard is None else shard.offsets

    def all(self) -> Iterator[Group]:
        """Return the groups that this broker coordinates; they must not change meanwhile."""
        for shard in self.shards.values():
            yield from shard.groups.values()

    def new_classic(self, group_id: str) -> ClassicGroup:
        """Return a new group of the classic protocol, without members, that is not coordinated yet."""
        from kafkatx.group.classic.group import ClassicGroup

        return ClassicGroup(group_id, self.settings, new_member_id, self._wall_ms)

    def new_consumer(self, group_id: str) -> ConsumerGroup:
        """Return a new group of KIP-848, without members, that is not coordinated yet."""
        from kafkatx.group.consumer.group import ConsumerGroup

        return ConsumerGroup(
            group_id,
            lambda: self.settings_of(group_id),
            lambda: self._metadata.state,
            new_member_id,
            self._wall_ms,
        )

    def settings_of(self, group_id: str) -> GroupSettings:
        """Return the settings of one group: its own configs, over the broker's settings."""
        configs = self._metadata.state.group_configs.get(group_id)
        if not configs:
            return self.settings
        return self.settings.with_group_configs(self._config, configs)

    def make(self, group_id: str) -> Group:
        """Coordinate a new group of the classic protocol, without members.

        :raises RequestError: NOT_COORDINATOR, as :meth:`served_shard`.
        """
        group = self.new_classic(group_id)
        self.add(group)
        return group

    def add(self, group: Group) -> None:
        """Coordinate a group; it replaces one with the same id (a change of protocol).

        :raises RequestError: NOT_COORDINATOR, as :meth:`served_shard`.
        """
        shard = self.served_shard(group.group_id)
        shard.groups[group.group_id] = group
        self._homes[group.group_id] = shard
        self._timers.drop(group.group_id)
        self._timers.set(group)

    def remove(self, group_id: str) -> None:
        """Forget a group, if it exists."""
        shard = self._homes.pop(group_id, None)
        if shard is not None:
            del shard.groups[group_id]
        self._timers.drop(group_id)
        self.memory.drop(group_id)

    async def delete(self, group: Group) -> ErrorCode:
        """Delete a group without members, and its offsets; return NONE or the error.

        While a store of the group is under way the error is COORDINATOR_LOAD_IN_PROGRESS, so that clients try
        again: what the group stores next would bring it back after its tombstone.
        """
        group_id = group.group_id
        try:
            shard = self.served_shard(group_id)
            if shard.records.is_storing(group_id):
                return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            records = [*shard.offset_tombstones(group_id), *group.tombstones()]
            committed = self.writer.append(shard.partition, records)
        except RequestError as error:
            return error.code
        shard.remove_offsets(group_id)
        self.remove(group_id)
        self._log.info("group {group} was deleted", group=quoted(group_id))
        return await outcome(committed)

    # --- requests

    def ask(self, group: Group, call: Callable[[object, int], list[Action]]) -> AnswerT | Deferred[AnswerT]:
        """Pass a request to a group, and return its response; the caller knows the type.

        :param call: calls the machine with a token and the time; returns its actions.
        :return: the response if there is one at once, else a Deferred of it, which fails with RequestError
            NOT_COORDINATOR if this broker ceases to coordinate the group. Cancelling that drops the
            response, and changes nothing in the group.
        """
        asked: PendingRequest[AnswerT] = PendingRequest()
        self.perform(group, call(asked, self.now_ms()))
        if asked.response is None:
            return asked.wait(self.served_shard(group.group_id))
        return asked.response

    def perform(self, group: Group, actions: list[Action]) -> None:
        """Perform a machine's actions in order, then set the group's timer.

        Waiting requests are answered last: the next request of their connection may follow at once, and must
        not find the group in the middle of a change.
        """
        shard = self.shard_of(group.group_id)
        waited: list[tuple[Deferred[Message], Message]] = []
        todo = deque(actions)
        while todo:
            action = todo.popleft()
            if isinstance(action, Answer):
                asked: PendingRequest[Message] = action.token
                asked.response = action.response
                if asked.waiting is not None:
                    asked.leave()
                    waited.append((asked.waiting, action.response))
            elif isinstance(action, Store):
                error = NOT_COORDINATOR if shard is None else shard.records.store(group, action.records)
                if error is not None:
                    todo.extendleft(reversed(group.stored(error, self.now_ms())))
            elif isinstance(action, Replace):
                group = action.group
                self.add(group)
            else:
                self._write_log(group, action)
        if shard is not None and shard.groups.get(group.group_id) is group and not shard.dropped:
            self._timers.set(group)
            self.memory.count(group, shard.has_offsets(group.group_id))
            self._drop_unused(group, shard)
        for waiting, response in waited:
            waiting.callback(response)

    def _deadline_passed(self, group: Group) -> None:
        self.perform(group, group.advance(self.now_ms()))

    def _stored(self, group: Group, error: ErrorCode) -> None:
        """Tell a group the result of a store, once it is known.

        Records that are written and not committed in time may be committed later: a group that took them back
        would differ from what the next coordinator reads. So the partition is loaded again, with them.
        """
        shard = self.shard_of(group.group_id)
        if error == ErrorCode.COORDINATOR_NOT_AVAILABLE and shard is not None:
            self._log.warn(
                "records of group {group} are late on in-sync replicas: {partition} is loaded again",
                group=quoted(group.group_id),
                partition=shard.partition.topic_partition,
            )
            self.runtime.reload(shard.partition)
        else:
            self.perform(group, group.stored(error, self.now_ms()))

    def _drop_unused(self, group: Group, shard: GroupShard) -> None:
        """Forget a group that a request created, but that was never used: none of its records was stored.

        While a store is under way that is not known; a consumer group whose last member leaves is empty only
        when that is stored.
        """
        if shard.records.is_storing(group.group_id):
            return
        never_used = not group.has_members and group.empty_since_ms < 0 and group.deadline_ms == NEVER_MS
        if never_used and not shard.has_offsets(group.group_id):
            self.remove(group.group_id)

    def _write_log(self, group: Group, line: LogLine) -> None:
        values = {name: quoted(v) if isinstance(v, str) else v for name, v in line.values.items()}
        write = self._log.warn if line.warn else self._log.info
        write(line.text, group=quoted(group.group_id), **values)

    # --- partitions

    def make_shard(self, partition: Partition) -> GroupShard:
        """Return an empty shard of a partition; it is not served before :meth:`serve`."""
        return GroupShard(
            partition, RecordStore(lambda records: self.writer.append(partition, records), self._stored)
        )

    def replay(self, partition: Partition) -> Replay:
        """Return what takes the records of a partition that is being loaded."""
        from kafkatx.broker.coordinator.groups.replay import GroupReplayer

        return GroupReplayer(self, self.make_shard(partition))

    def serve(self, shard: GroupShard) -> None:
        """Serve the groups of a partition from now on."""
        self.shards[shard.number] = shard

    def loaded(self, shard: GroupShard) -> None:
        """Finish the load of a partition: its groups are coordinated from now on."""
        if shard.groups:
            self._log.info(
                "this broker coordinates {partition} now, with {count} groups",
                count=len(shard.groups),
                partition=shard.partition.topic_partition,
            )
        if self.on_loaded is not None and not shard.dropped:
            self.on_loaded(shard)

    def unload(self, number: int) -> None:
        """Forget the groups of a partition, and answer their waiting requests with NOT_COORDINATOR."""
        shard = self.shards.pop(number, None)
        if shard is None:
            return
        for group_id in shard.groups:
            del self._homes[group_id]
            self._timers.drop(group_id)
            self.memory.drop(group_id)
        if shard.groups:
            self._log.info(
                "this broker does not coordinate {partition} any more; it had {count} groups",
                count=len(shard.groups),
                partition=shard.partition.topic_partition,
            )
        self.commits.drop(shard.partition)
        shard.drop()

    # --- start and stop

    async def open(self) -> None:
        """Begin to load the partitions that this broker leads, in the background; see :meth:`check`."""
        self.runtime.open()

    def stop(self) -> None:
        """Stop the timers and the loading. Waiting requests get no answer: their connections are closed."""
        self.runtime.stop()
        self._timers.stop()
        self.work_queue.stop()
