"""A consumer's membership in its group: the shim around the sans-I/O :class:`MemberMachine`.

It sends the machine's requests, calls it when its deadline is due, and calls the application's listeners.
Heartbeats are sent from the reactor: they go on while the application processes records, as long as it awaits
or works in a thread. A function that blocks the reactor for ``session.timeout.ms`` makes the coordinator
remove the member, as does a stopped process.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from kafkatx.client.consumer.group.commits import OffsetCommits
from kafkatx.client.consumer.group.coordinator_requests import CoordinatorRequests
from kafkatx.client.consumer.group.subscription import Subscription
from kafkatx.client.plugins import assignor
from kafkatx.clientcore.errors import ClientClosed
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
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import TopicPartition

T = TypeVar("T")
Listener = Callable[[set[TopicPartition]], Awaitable[object]]
LEAVE_S = 30.0
"""The longest that leaving may take (the timeout of ``close`` in Apache Kafka's clients)."""


class Membership:
    """One member of one group; it joins once it has subscribed and was started.

    :param assigned: called after each rebalance with the newly assigned partitions, even if there are none;
        they are in :attr:`assignment` already.
    :param revoked: called before partitions are revoked: their offsets can still be committed. Commits in
        progress are waited for afterwards.
    :param lost: called when partitions were lost: other members may have them.
    :param failed: called when the membership has failed for good, after ``lost``.

    The next step of the membership waits for the awaitable of a listener; no two listeners are called at
    once.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        assigned: Listener,
        revoked: Listener,
        unresolved: Listener,
        failed: Callable[[KafkaTXError], None] | None = None,
    ) -> None:
        """Create it; nothing is sent yet.

        :raises SettingError: there is no ``group.id``, or a setting of groups is invalid.
        """
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._settings = MemberSettings.of(settings, partial(assignor, settings=settings))
        self._machine = MemberMachine(self._settings)
        self._listeners = {
            AssignmentChange.ASSIGNED: assigned,
            AssignmentChange.REVOKED: revoked,
            AssignmentChange.LOST: unresolved,
        }
        self._failed = failed
        self._requests = CoordinatorRequests(cluster, self._settings)
        self._commits = OffsetCommits(
            cluster, self._settings.group_id, self.group_metadata, self._commit_refused
        )
        self._subscription = Subscription(
            cluster,
            internal=not settings[consumer.EXCLUDE_INTERNAL_TOPICS],
            refresh_s=settings[consumer.PATTERN_REFRESH_MS] / 1000,
        )
        self._queue: deque[Action] = deque()
        self._busy = False
        self._timer: IDelayedCall | None = None
        self._work: set[Deferred[None]] = set()
        self._leaving: Waiters[None] = Waiters()
        self._unlisten: Callable[[], None] | None = None
        self._closed = False

    # State

    @property
    def generation(self) -> int:
        """The group's generation of :attr:`assignment`; -1 if none."""
        return self._machine.generation

    @property
    def member_id(self) -> str:
        """The id that the coordinator has given this member; "" if none."""
        return self._machine.member_id

    @property
    def group_instance_id(self) -> str | None:
        """``group.instance.id`` of a static member."""
        return self._settings.group_instance_id

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that the application has now."""
        return self._machine.owned

    @property
    def error(self) -> KafkaTXError | None:
        """The error that ended the membership, if any."""
        return self._machine.error

    @property
    def rebalancing(self) -> bool:
        """True while the member joins a generation; offsets cannot be committed then."""
        return self._machine.state in (State.JOINING, State.SYNCING)

    # Called by the application

    def start(self) -> None:
        """Start: join the group if there is a subscription."""
        if self._unlisten is None:
            self._unlisten = self._cluster.on_metadata(self._metadata_changed)
            if self._subscription:
                self._subscribe()

    def subscribe(
        self, topics: Iterable[str] | None = None, pattern: str | re.Pattern[str] | None = None
    ) -> None:
        """Subscribe to topics, or to all topics whose whole name matches a pattern, in place of earlier ones.

        New matching topics are joined for when metadata shows them (``metadata.max.age.ms``).

        :raises ValueError: both are given, or neither (see :meth:`unsubscribe`), or the pattern is malformed.
        :raises ClientClosed: the membership was closed.
        """
        if self._closed:
            raise ClientClosed("the consumer is closed")
        self._subscription.set(topics, pattern)
        if self._unlisten is not None:
            self._subscribe()

    def unsubscribe(self) -> Deferred[None]:
        """Leave the group if joined; fires when that is done. The member may subscribe again."""
        self._subscription.clear()
        return self._leave(self._machine.unsubscribe)

    async def leave(self, timeout_s: float = LEAVE_S) -> None:
        """Give up all partitions and leave the group for good; disconnect only, if that takes too long.

        Static members send no LeaveGroup: their place is kept for a session.
        """
        try:
            await self._leave(self._machine.close).addTimeout(timeout_s, self._reactor)
        except TimedOut:
            self._log.warn("group {group}: disconnected without LeaveGroup", group=self._settings.group_id)
        finally:
            self.close()

    def close(self) -> None:
        """End at once without LeaveGroup; cancel pending work."""
        self._closed = True
        self._queue.clear()
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        self._subscription.clear()
        self._stop_timer()
        for work in list(self._work):
            work.cancel()
        self._leaving.fire(None)

    def poll(self, waiting: bool = False, since_s: float | None = None) -> None:
        """Restart the timer of ``max.poll.interval.ms``, because the application asks for records.

        It does not run before the first call.

        :param waiting: the application waits for records: the timer stops until the next call.
        :param since_s: start of the timer, by the reactor's clock: since when the application has been
            processing.
        """
        since_ms = None if since_s is None else int(since_s * 1000)
        self._do(self._machine.polled(waiting, self._now_ms(), since_ms))

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit offsets as this member; fails as :meth:`OffsetCommits.commit`."""
        await self._commits.commit(offsets)

    async def fetch_committed(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's committed offsets; fails as :meth:`OffsetCommits.fetch`."""
        return await self._commits.fetch(partitions)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the identity to commit with.

        :raises CommitFailed: the member is joining a generation.
        """
        generation, member_id = self._machine.commit_identity()
        instance_id = self.group_instance_id if member_id else None
        return ConsumerGroupMetadata(self._settings.group_id, generation, member_id, instance_id)

    def _commit_refused(self, code: ErrorCode, committer: ConsumerGroupMetadata) -> None:
        now_ms = self._now_ms()
        self._do(self._machine.commit_failed(code, committer.generation, committer.member_id, now_ms))

    def _leave(self, leave: Callable[[int], list[Action]]) -> Deferred[None]:
        if self._closed:
            return succeed(None)
        waiting = self._leaving.wait()
        self._do(leave(self._now_ms()))
        return waiting

    # Topics

    def _subscribe(self) -> None:
        self._subscription.track()
        if self._subscription.pattern is None:
            self._do(self._machine.subscribe(self._subscription.names, self._now_ms()))
        else:
            self._run(self._subscribe_by(self._subscription.pattern))

    async def _subscribe_by(self, pattern: re.Pattern[str]) -> None:
        """Refresh metadata before the first join, so that all existing topics are matched."""
        await self._cluster.refreshed()
        if self._subscription.pattern is pattern:
            self._match()

    def _match(self) -> None:
        matched = self._subscription.matching_topics()
        self._do(self._machine.subscribe(matched, self._now_ms(), self._subscription.matches))

    def _metadata_changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        if self._subscription.pattern is not None and self._machine.subscribed:
            self._match()
        self._do(self._machine.metadata_changed(self._subscription.partition_counts(), self._now_ms()))

    # The machine's actions

    def _now_ms(self) -> int:
        return int(self._reactor.seconds() * 1000)

    def _do(self, actions: list[Action]) -> None:
        """Perform actions in order; actions that follow from one of them come after the others."""
        if self._closed:
            return
        self._queue.extend(actions)
        if not self._busy:
            self._busy = True
            try:
                while self._queue:
                    self._act(self._queue.popleft())
            finally:
                self._busy = False
            self._set_timer()

    def _act(self, action: Action) -> None:
        if isinstance(action, SendRequest):
            self._run(self._send(action))
        elif isinstance(action, RequestPartitionCounts):
            self._run(self._report_partition_counts(action))
        elif isinstance(action, NotifyApplication):
            self._run(self._notify(action))
        elif isinstance(action, WatchTopics):
            self._subscription.watch(action.topics)
        elif isinstance(action, ForgetCoordinator):
            self._cluster.forget_coordinator(self._settings.group_id)
        elif isinstance(action, LeaveCompleted):
            self._leaving.fire(None)
        elif isinstance(action, ReportFailure):
            self._fail(action.error)
        else:
            self._log_message(action)

    def _run(self, work: Coroutine[Deferred[Any], Any, None]) -> None:
        """Run a coroutine until it ends or the membership is closed."""
        running = Deferred.fromCoroutine(work)
        self._work.add(running)

        def done(result: T) -> T:
            self._work.discard(running)
            return result

        running.addBoth(done)
        running.addErrback(lambda failure: failure.trap(CancelledError) and None)
        running.addErrback(lambda failure: self._log.failure("group membership", failure))

    async def _send(self, action: SendRequest) -> None:
        try:
            response = await self._requests.send(action)
        except CancelledError:
            raise
        except Exception as error:
            if not isinstance(error, KafkaTXError):
                self._log.failure("group membership")
            self._do(self._machine.request_failed(action.token, error, self._now_ms()))
        else:
            self._do(self._machine.response_received(action.token, response, self._now_ms()))

    async def _report_partition_counts(self, action: RequestPartitionCounts) -> None:
        """Pass on partition counts; refresh metadata first if a topic is unknown."""
        if not action.topics <= self._subscription.partition_counts().keys():
            await self._cluster.refreshed()
        self._do(
            self._machine.partition_counts_received(
                action.token, self._subscription.partition_counts(), self._now_ms()
            )
        )

    async def _notify(self, call: NotifyApplication) -> None:
        try:
            await self._listeners[call.change](set(call.partitions))
        except CancelledError:
            if self._closed:
                raise
        except Exception:
            self._log.failure("the callback for {change} partitions", change=call.change.value)
        if call.change is AssignmentChange.REVOKED:  # commits in progress would fail after the rebalance
            await self._commits.wait_idle()
        self._do(self._machine.application_notified(self._now_ms()))

    def _fail(self, error: KafkaTXError) -> None:
        self._log.error(
            "membership in group {group} ends: {error}", group=self._settings.group_id, error=error
        )
        if self._failed is not None:
            self._failed(error)

    def _log_message(self, message: LogMessage) -> None:
        emit = self._log.warn if message.warn else self._log.info
        emit(
            message.format,
            group=self._settings.group_id,
            member=self.member_id or "a member",
            **message.values,
        )

    # Time

    def _set_timer(self) -> None:
        self._stop_timer()
        if not self._closed and self._machine.deadline_ms != NEVER_MS:
            wait_s = max(0.0, self._machine.deadline_ms / 1000 - self._reactor.seconds())
            self._timer = self._reactor.callLater(wait_s, self._wake)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def _wake(self) -> None:
        self._timer = None
        self._do(self._machine.advance(self._now_ms()))
