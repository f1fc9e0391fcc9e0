"""A group in memory for tests: several of our members, and the broker's own group code."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from kafkatx.clientcore.group.membership import (
    NEVER_MS,
    Action,
    AssignmentChange,
    ForgetCoordinator,
    LeaveCompleted,
    LogMessage,
    MemberMachine,
    MemberSettings,
    NotifyApplication,
    ReportFailure,
    RequestPartitionCounts,
    SendRequest,
    State,
    WatchTopics,
)
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.group.actions import Answer, Client, Store
from kafkatx.group.classic import ClassicGroup
from kafkatx.group.settings import GroupSettings
from kafkatx.types import TopicPartition
from kafkatx.wire import codec
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.leave_group import LeaveGroupRequest
from kafkatx.wire.messages.sync_group import SyncGroupRequest

NOW_MS = 1_000_000
SESSION_MS, BEAT_MS, POLL_MS = 10_000, 3000, 60_000
SETTLED_MS = 2 * POLL_MS
"""Within so long a group comes to rest, whatever has happened to it."""

VERSIONS = {JoinGroupRequest: 9, SyncGroupRequest: 5, HeartbeatRequest: 4, LeaveGroupRequest: 5}


class World:
    """The group, its members, the clock, and the topics.

    :ivar topics: partition counts by topic; call :meth:`tell_topics` after a change.
    :ivar owners: the owner of each partition, as applications see it; two at once are an error, unless the
        first cannot know yet that it is out of the group.
    """

    def __init__(self, topics: Mapping[str, int], delay_ms: int = 0) -> None:
        self.now_ms = NOW_MS
        self.topics = dict(topics)
        self.members: list[Actor] = []
        self.owners: dict[TopicPartition, Actor] = {}
        self._ids = 0
        self._waiting: dict[int, tuple[Actor, int, int]] = {}
        self._requests = 0
        self._later: deque[Callable[[], None]] = deque()
        self._busy = False
        settings = GroupSettings(initial_rebalance_delay_ms=delay_ms, min_session_timeout_ms=1000)
        self.group = ClassicGroup("g", settings, self._new_id, lambda: self.now_ms)

    def _new_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}-{self._ids}"

    def member(self, *topics: str, **settings: Any) -> Actor:
        """Return a new member, which subscribes to topics if some are named."""
        actor = Actor(self, **settings)
        self.members.append(actor)
        if topics:
            actor.subscribe(*topics)
        return actor

    # The broker

    def send(self, actor: Actor, ask: SendRequest) -> None:
        """Pass a request to the group, encoded and decoded as on the way to a broker."""
        kind = type(ask.request)
        version = VERSIONS[kind]
        request: Any = codec.decode(kind, version, codec.encode(ask.request, version))
        self._requests += 1
        self._waiting[self._requests] = (actor, ask.token, version)
        if kind is JoinGroupRequest:
            client = Client("c", "/10.0.0.1")
            actions = self.group.join(request, version, client, self._requests, self.now_ms)
        elif kind is SyncGroupRequest:
            actions = self.group.sync(request, version, self._requests, self.now_ms)
        elif kind is HeartbeatRequest:
            actions = self.group.heartbeat(request, version, self._requests, self.now_ms)
        else:
            actions = self.group.leave(request, version, self._requests, self.now_ms)
        self.perform(actions)

    def perform(self, actions: list[Any]) -> None:
        """Perform the group's actions; waiting members get their answers after all are done."""
        answers = []
        for action in actions:
            if isinstance(action, Answer):
                answers.append((self._waiting.pop(action.token), action.response))
            elif isinstance(action, Store):
                self.perform(self.group.stored(ErrorCode.NONE, self.now_ms))
        for (actor, token, version), response in answers:
            self._answer(actor, token, codec.decode(type(response), version, codec.encode(response, version)))

    def _answer(self, actor: Actor, token: int, response: Any) -> None:
        self.later(lambda: actor.hear(token, response))

    def later(self, happen: Callable[[], None]) -> None:
        """Call a function when all pending events are done; at once if there are none."""
        self._later.append(happen)
        if not self._busy:
            self._busy = True
            try:
                while self._later:
                    self._later.popleft()()
            finally:
                self._busy = False

    # Time

    def pass_ms(self, ms: int) -> None:
        """Advance the clock; call every machine at its deadline."""
        end_ms = self.now_ms + ms
        while (due_ms := self._next_ms()) <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            for actor in self.members:
                actor.wake()
            if self.group.deadline_ms <= self.now_ms:
                self.later(lambda: self.perform(self.group.advance(self.now_ms)))
        self.now_ms = end_ms

    def _next_ms(self) -> int:
        awake = [actor.machine.deadline_ms for actor in self.members if not actor.frozen]
        return min([self.group.deadline_ms, *awake])

    def tell_topics(self) -> None:
        """Give new metadata to all members."""
        for actor in self.members:
            actor.do(actor.machine.metadata_changed(self.topics, self.now_ms))

    @property
    def shared(self) -> dict[str, int]:
        """Return the number of each member's partitions, by name."""
        return {actor.name: len(actor.machine.owned) for actor in self.members}

    def whole(self, *topics: str) -> bool:
        """Return True if all partitions of these topics have an owner, and no others."""
        wanted = {TopicPartition(topic, number) for topic in topics for number in range(self.topics[topic])}
        return set(self.owners) == wanted


class Actor:
    """A member with an application that does nothing.

    :ivar calls: the application's callbacks, in order.
    :ivar patient: the application completes a change when :meth:`finish` is called, not at once.
    :ivar busy: the application has not completed a change.
    :ivar frozen: the member sends and receives nothing, as a stopped process.
    :ivar deaf: the error of every request, none of which arrives.
    """

    def __init__(self, world: World, name: str = "", **settings: Any) -> None:
        self.world = world
        self.name = name or f"m{len(world.members)}"
        values: dict[str, Any] = {
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": BEAT_MS,
            "max_poll_interval_ms": POLL_MS,
            **settings,
        }
        self.machine = MemberMachine(MemberSettings("g", **values))
        self.calls: list[tuple[str, set[tuple[str, int]]]] = []
        self.asked: list[SendRequest] = []
        self.told: list[LogMessage] = []
        self.watched: frozenset[str] = frozenset()
        self.errors: list[KafkaTXError] = []
        self.forgot = self.left = 0
        self.patient = self.frozen = self.busy = False
        self.deaf: Exception | None = None
        self.looks: list[RequestPartitionCounts] = []
        self.late_looks = False
        self._held: list[Callable[[], None]] = []

    # Actions

    def subscribe(self, *topics: str, matches: Callable[[str], bool] | None = None) -> None:
        """Subscribe to topics or a pattern."""
        self.do(self.machine.subscribe(topics, self.world.now_ms, matches))

    def poll(self, waiting: bool = False) -> None:
        """Report a poll for records."""
        self.do(self.machine.polled(waiting, self.world.now_ms))

    def close(self) -> None:
        """Leave the group."""
        self.do(self.machine.close(self.world.now_ms))

    def finish(self) -> None:
        """Complete the last change of the application."""
        call = self._call
        self.world.later(lambda: self._done(call))

    def wake(self) -> None:
        """Call the machine at its deadline."""
        if not self.frozen and self.machine.deadline_ms <= self.world.now_ms:
            self.do(self.machine.advance(self.world.now_ms))

    def hear(self, token: int, response: Any) -> None:
        """Apply an answer."""
        if self.frozen:
            self._held.append(lambda: self.hear(token, response))
        else:
            self.do(self.machine.response_received(token, response, self.world.now_ms))

    def thaw(self) -> None:
        """Continue after being frozen, with all pending events."""
        self.frozen = False
        held, self._held = self._held, []
        for hear in held:
            hear()
        self.wake()

    def do(self, actions: list[Action]) -> None:
        """Perform the machine's actions in order."""
        for action in actions:
            self._do(action)
        self.world.later(lambda: None)

    def _then(self, happen: Callable[[], list[Action]]) -> None:
        self.world.later(lambda: self.do(happen()))

    def _do(self, action: Action) -> None:
        if isinstance(action, SendRequest):
            self.asked.append(action)
            error = self.deaf
            if error is None:
                self.world.later(lambda: self.world.send(self, action))
            else:
                self._then(lambda: self.machine.request_failed(action.token, error, self.world.now_ms))
        elif isinstance(action, NotifyApplication):
            self._hear_of(action)
        elif isinstance(action, RequestPartitionCounts):
            self.looks.append(action)
            if not self.late_looks:
                self._then(
                    lambda: self.machine.partition_counts_received(
                        action.token, self.world.topics, self.world.now_ms
                    )
                )
        elif isinstance(action, ForgetCoordinator):
            self.forgot += 1
        elif isinstance(action, WatchTopics):
            self.watched = action.topics
        elif isinstance(action, LeaveCompleted):
            self.left += 1
        elif isinstance(action, ReportFailure):
            self.errors.append(action.error)
        else:
            action.format.format(group="g", member="m", **action.values)
            self.told.append(action)

    def _hear_of(self, call: NotifyApplication) -> None:
        self._call, self.busy = call, True
        self.calls.append((call.change.value, {(at.topic, at.partition) for at in call.partitions}))
        if call.change is AssignmentChange.ASSIGNED:
            for at in call.partitions:
                other = self.world.owners.get(at)
                assert other is None or other.out, f"{at} has two owners"
                self.world.owners[at] = self
        if not self.patient:
            self.world.later(lambda: self._done(call))

    def _done(self, call: NotifyApplication) -> None:
        self.busy = False
        if call.change is not AssignmentChange.ASSIGNED:
            for at in call.partitions:
                if self.world.owners.get(at) is self:
                    del self.world.owners[at]
        self.do(self.machine.application_notified(self.world.now_ms))

    # Results

    @property
    def state(self) -> State:
        """Return the state of the machine."""
        return self.machine.state

    @property
    def numbers(self) -> list[int]:
        """Return the partitions of all its topics."""
        return sorted(at.partition for at in self.machine.owned)

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of changes that its application saw."""
        return [kind for kind, _ in self.calls]

    def sent(self, kind: type[Any]) -> list[Any]:
        """Return its requests of one kind."""
        return [ask.request for ask in self.asked if isinstance(ask.request, kind)]

    @property
    def out(self) -> bool:
        """True if the group has removed this member or gone on without it, which it may not know yet.

        A static member that does not join in time stays a member, with an ended generation.
        """
        group = self.world.group
        return self.machine.member_id not in group.members or self.machine.generation < group.generation

    @property
    def idle(self) -> bool:
        """True if it waits for nothing."""
        return self.machine.deadline_ms == NEVER_MS
