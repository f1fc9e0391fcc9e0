"""The group coordinator: it connects the state machines of groups with requests, records and timers.

A machine (``kafkatx.group``) takes requests and the time, and returns actions; the coordinator performs them.
It writes records to ``__consumer_offsets``, answers requests, and keeps a timer for each group. It touches
the clock, and the disk through :class:`kafkatx.broker.coordinator.offsets_topic.OffsetsTopic`.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.coordinator.memory import GroupMemory
from kafkatx.broker.coordinator.offset_commits import OffsetCommitter
from kafkatx.broker.coordinator.offsets_topic import OffsetsTopic
from kafkatx.broker.coordinator.record_store import RecordStore, flushed
from kafkatx.broker.coordinator.timers import GroupTimers
from kafkatx.broker.coordinator.work_queue import GroupWorkQueue
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.requests.quotation import quoted
from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import NEVER_MS, Action, Answer, Group, LogLine, Replace, Store
from kafkatx.group.offsets import Offsets
from kafkatx.group.settings import GroupSettings
from kafkatx.interfaces import IMetadataStore, Workers
from kafkatx.wire.schema import Message

if TYPE_CHECKING:  # the machines are imported with the first group, not at the start
    from kafkatx.group.classic.group import ClassicGroup
    from kafkatx.group.consumer.group import ConsumerGroup


ResponseT = TypeVar("ResponseT", bound=Message)


class _PendingRequest(Generic[ResponseT]):
    """The token of one request: it holds the response, or the Deferred that waits for it."""

    __slots__ = ("response", "waiting")

    def __init__(self) -> None:
        self.response: ResponseT | None = None
        self.waiting: Deferred[ResponseT] | None = None


def new_member_id(prefix: str) -> str:
    """Return a member id as Apache Kafka makes it: the id of the client, or of the instance, and a UUID."""
    return f"{prefix}-{uuid.uuid4()}"


class GroupCoordinator:
    """The groups that this broker coordinates.

    :ivar groups: the groups by id.
    :ivar offsets: the committed offsets of all groups.
    :ivar topic: ``__consumer_offsets``.
    :ivar commits: writes committed offsets.
    :ivar settings: for the machines.
    :ivar memory: how much memory the groups take, and may take.
    :ivar work_queue: shares the reactor's time between joining members and all other requests.
    :ivar loading: True while there may be groups that are not known yet.
    :ivar on_loaded: called when ``__consumer_offsets`` has been loaded.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        replicas: ReplicaManager,
        clock: IReactorTime,
        workers: Workers,
        now_ms: Callable[[], int],
    ) -> None:
        self._metadata = metadata
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.topic = OffsetsTopic(topics, replicas, clock, workers, now_ms)
        self.commits = OffsetCommitter(self.topic, replicas, self.offsets)
        self.loading = False
        self.on_loaded: Callable[[], None] | None = None
        self._wall_ms = now_ms
        self._timers = GroupTimers(clock, self._deadline_passed)
        self.now_ms = self._timers.now_ms
        self.memory = GroupMemory(clock)
        self.work_queue = GroupWorkQueue(clock)
        self._records = RecordStore(self.topic, self._stored)
        self._load: Deferred[None] = succeed(None)
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._config = config
        self.settings = GroupSettings.of(config)

    def check(self, group_id: str, may_be_empty: bool = False) -> ErrorCode:
        """Check that this broker serves a group now.

        :param may_be_empty: True allows the empty id, as Apache Kafka does for offsets, DescribeGroups and
            DeleteGroups (GroupCoordinator.isValidGroupId). An id may be as long as a request can carry.
        :return: NONE, INVALID_GROUP_ID, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
        """
        if not group_id and not may_be_empty:
            return ErrorCode.INVALID_GROUP_ID
        return self.topic.check(group_id)

    def find(self, group_id: str) -> Group | None:
        """Return a group, or None if there is none."""
        return self.groups.get(group_id)

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
        """Coordinate a new group of the classic protocol, without members."""
        group = self.new_classic(group_id)
        self.add(group)
        return group

    def add(self, group: Group) -> None:
        """Coordinate a group; it replaces one with the same id (a change of protocol)."""
        self._timers.drop(group.group_id)
        self.groups[group.group_id] = group
        self._timers.set(group)

    def remove(self, group_id: str) -> None:
        """Forget a group, if it exists."""
        self.groups.pop(group_id, None)
        self._timers.drop(group_id)
        self.memory.drop(group_id)

    def _count(self, group: Group) -> None:
        self.memory.count(group, bool(self.offsets.of(group.group_id)))

    async def delete(self, group: Group) -> ErrorCode:
        """Delete a group without members, and its offsets; return NONE or the error."""
        group_id = group.group_id
        try:
            flushing = self.topic.append(group_id, [*self.offsets.tombstones(group_id), *group.tombstones()])
        except RequestError as error:
            return error.code
        self.offsets.remove(group_id)
        self.remove(group_id)
        self._log.info("group {group} was deleted", group=quoted(group_id))
        return await flushed(flushing)

    # --- requests

    def ask(
        self, group: Group, call: Callable[[object, int], list[Action]]
    ) -> ResponseT | Deferred[ResponseT]:
        """Pass a request to a group, and return its response; the caller knows the type.

        :param call: calls the machine with a token and the time; returns its actions.
        :return: the response if there is one at once, else a Deferred of it. Cancelling that drops the
            response, and changes nothing in the group.
        """
        asked: _PendingRequest[ResponseT] = _PendingRequest()
        self.perform(group, call(asked, self.now_ms()))
        if asked.response is None:
            asked.waiting = Deferred()
            return asked.waiting
        return asked.response

    def perform(self, group: Group, actions: list[Action]) -> None:
        """Perform a machine's actions in order, then set the group's timer.

        Waiting requests are answered last: the next request of their connection may follow at once, and must
        not find the group in the middle of a change.
        """
        waited: list[tuple[Deferred[Message], Message]] = []
        todo = deque(actions)
        while todo:
            action = todo.popleft()
            if isinstance(action, Answer):
                asked: _PendingRequest[Message] = action.token
                asked.response = action.response
                if asked.waiting is not None:
                    waited.append((asked.waiting, action.response))
            elif isinstance(action, Store):
                error = self._records.store(group, action.records)
                if error is not None:
                    todo.extendleft(reversed(group.stored(error, self.now_ms())))
            elif isinstance(action, Replace):
                group = action.group
                self.add(group)
            else:
                self._write_log(group, action)
        if self.groups.get(group.group_id) is group:
            self._timers.set(group)
            self._count(group)
            self._drop_unused(group)
        for waiting, response in waited:
            waiting.callback(response)

    def _deadline_passed(self, group: Group) -> None:
        self.perform(group, group.advance(self.now_ms()))

    def _stored(self, group: Group, error: ErrorCode) -> None:
        self.perform(group, group.stored(error, self.now_ms()))

    def _drop_unused(self, group: Group) -> None:
        """Forget a group that a request created, but that was never used: none of its records was stored."""
        never_used = not group.has_members and group.empty_since_ms < 0 and group.deadline_ms == NEVER_MS
        if never_used and not self.offsets.of(group.group_id):
            self.remove(group.group_id)

    def _write_log(self, group: Group, line: LogLine) -> None:
        values = {name: quoted(v) if isinstance(v, str) else v for name, v in line.values.items()}
        write = self._log.warn if line.warn else self._log.info
        write(line.text, group=quoted(group.group_id), **values)

    # --- start and stop

    async def open(self) -> None:
        """Begin to load ``__consumer_offsets`` in the background; see :meth:`check`."""
        self.loading = True
        self._load = Deferred.fromCoroutine(self._load_all()).addErrback(self._not_loaded)

    async def _load_all(self) -> None:
        if self.topic.exists:
            from kafkatx.broker.coordinator.replay import GroupReplayer

            replayer = GroupReplayer(self)
            await self.topic.load(replayer, replayer.loaded)
            if self.on_loaded is not None:
                self.on_loaded()
        self.loading = False

    def _not_loaded(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("loading __consumer_offsets failed", failure)

    def stop(self) -> None:
        """Stop the timers and the loading. Waiting requests get no answer: their connections are closed."""
        self._load.cancel()
        self._timers.stop()
        self.work_queue.stop()
