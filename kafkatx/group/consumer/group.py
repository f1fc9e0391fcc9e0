"""A group of the consumer protocol (KIP-848), which serves its requests through its parts. Pure.

A group owns a :class:`~kafkatx.group.consumer.rebalance.Rebalance` (its state and the steps that change it)
and a :class:`~kafkatx.group.consumer.request_queue.RequestQueue`, which stores the changes.
:class:`~kafkatx.group.consumer.classic.requests.ClassicRequests` serves its members of the classic protocol;
:class:`~kafkatx.group.consumer.classic.removal.MemberRemoval` removes members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action, Client, LogLine, Record, Replace
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer import heartbeat
from kafkatx.group.consumer.classic.conversion import take_over
from kafkatx.group.consumer.classic.removal import MemberRemoval
from kafkatx.group.consumer.classic.requests import ClassicRequests
from kafkatx.group.consumer.deadlines import Wait
from kafkatx.group.consumer.description import DEAD, described, described_as_classic
from kafkatx.group.consumer.member import LEAVING_FOR_A_WHILE_EPOCH, MemberState
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.consumer.records import Change, Kind
from kafkatx.group.consumer.request_queue import PendingRequest, RequestQueue
from kafkatx.group.consumer.subscription.topics import topics_of
from kafkatx.group.protocol import PROTOCOL_TYPE
from kafkatx.group.settings import GroupSettings
from kafkatx.types import ClusterState
from kafkatx.wire.messages.consumer_group_describe import DescribedGroup
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.describe_groups import DescribedGroup as ClassicDescribedGroup
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.leave_group import LeaveGroupRequest
from kafkatx.wire.messages.sync_group import SyncGroupRequest

MEMBER_EPOCHS_SINCE = 9
"""The first version of OffsetCommit that has member epochs."""

RETRY_MS = 500
"""Time before the removal of a member is tried again if it could not be stored, as in Apache Kafka."""


class ConsumerGroup:
    """The group of ConsumerGroupHeartbeat; provides :class:`~kafkatx.group.actions.Group`.

    Members of the classic protocol may be in it, too.
    """

    kind = "consumer"
    protocol_type = PROTOCOL_TYPE

    def __init__(
        self,
        group_id: str,
        settings: Callable[[], GroupSettings],
        cluster: Callable[[], ClusterState],
        new_member_id: Callable[[str], str],
        wall_ms: Callable[[], int],
    ) -> None:
        """Make a group without members.

        :param settings: returns the current settings.
        :param cluster: returns the current topics.
        :param new_member_id: returns a new member id that begins with its argument.
        :param wall_ms: the wall clock, for times that are stored.
        """
        self.group_id = group_id
        self._new_member_id = new_member_id
        self._wall_ms = wall_ms
        self._rebalance = Rebalance(group_id, settings, cluster, wall_ms)
        self._queue = RequestQueue(self._rebalance)
        self._removal = MemberRemoval(self._queue, new_member_id, wall_ms)
        self._classic = ClassicRequests(self._queue, self._removal, new_member_id, wall_ms)

    # --- properties

    @property
    def state(self) -> str:
        """Name of the state, as in Apache Kafka's ``ConsumerGroupState``, or Dead."""
        return DEAD if self._queue.is_replaced else self._rebalance.state.name

    @property
    def has_members(self) -> bool:
        """True if there are members."""
        return bool(self._rebalance.state.members)

    @property
    def member_count(self) -> int:
        """The number of members."""
        return len(self._rebalance.state.members)

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the members and their subscriptions."""
        return self._rebalance.state.held_bytes

    def bytes_of(self, member_id: str, group_instance_id: str | None) -> int:
        """Return a member's part of :attr:`held_bytes`; 0 if it is unknown."""
        state = self._rebalance.state
        known = member_id if member_id in state.members else state.static.get(group_instance_id or "", "")
        return state.bytes_of(known)

    @property
    def empty_since_ms(self) -> int:
        """The time when the last member left, or when the group was loaded, on the wall clock."""
        return -1 if self.has_members else self._queue.emptied_ms

    @property
    def deadline_ms(self) -> int:
        """The time of the next call of :meth:`advance`; nothing may be due yet when it comes."""
        return NEVER_MS if self._queue.waiting is not None else self._rebalance.deadlines.earliest_ms

    def subscribes(self, topic: str) -> bool:
        """Return True if a member subscribes to the topic."""
        state = self._rebalance.state
        return any(topic in topics_of(member, state) for member in state.members.values())

    def describe(self) -> ClassicDescribedGroup:
        """Return the group for DescribeGroups."""
        return described_as_classic(self.group_id)

    def consumer_describe(self) -> DescribedGroup:
        """Return the group for ConsumerGroupDescribe."""
        return described(self._rebalance)

    def tombstones(self) -> list[Record]:
        """Return the records that remove the group from ``__consumer_offsets``."""
        return self._queue.encoded(self._rebalance.state.tombstones())

    # --- loading

    def replay(self, change: Change) -> None:
        """Apply a stored record of the group; records may come in any order."""
        self._rebalance.state.apply(change)

    def loaded(self, now_ms: int) -> list[Action]:
        """Start all sessions after the last record was replayed; no rebalance is needed."""
        state, deadlines = self._rebalance.state, self._rebalance.deadlines
        self._drop_fragments()
        for member_id, member in state.members.items():
            session_ms = self._rebalance.settings.consumer_session_timeout_ms
            if member.classic is not None:
                session_ms = member.classic.session_timeout_ms
            elif state.current_of(member_id).state is MemberState.UNREVOKED_PARTITIONS:
                deadlines.set(Wait.REVOCATION, member_id, now_ms + member.rebalance_timeout_ms)
            deadlines.set(Wait.SESSION, member_id, now_ms + session_ms)
        if state.epoch and not state.members:
            self._queue.emptied_ms = self._wall_ms()
        return []

    def _drop_fragments(self) -> None:
        """Remove members with missing records, as after damage to the log."""
        state = self._rebalance.state
        if not state.epoch:
            for name in [*state.members]:
                state.apply(Change(Kind.MEMBER, name, None))
        for kind, names in ((Kind.CURRENT, [*state.current]), (Kind.TARGET, [*state.target])):
            for name in names:
                if name not in state.members:
                    state.apply(Change(kind, name, None))

    # --- time

    def advance(self, now_ms: int) -> list[Action]:
        """Remove members whose deadlines have passed."""
        if self._queue.waiting is not None:
            return []
        deadlines, members = self._rebalance.deadlines, self._rebalance.state.members
        expired = {one: wait for one, wait in deadlines.expire(now_ms).items() if one in members}
        if not expired:
            return []
        reasons = {member_id: wait.value for member_id, wait in expired.items()}
        return self._removal.remove(
            reasons, lambda _: [], lambda _: self._retry(expired, now_ms), now_ms, warn=True
        )

    def _retry(self, expired: Mapping[str, Wait], now_ms: int) -> list[Action]:
        for member_id, wait in expired.items():
            self._rebalance.deadlines.set(wait, member_id, now_ms + RETRY_MS)
        return []

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """Continue after the :class:`~kafkatx.group.actions.Store` that was under way."""
        return self._queue.stored(error, now_ms)

    # --- requests of classic members

    def join(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> list[Action]:
        """Serve a JoinGroup."""
        return self._classic.join(request, version, client, token, now_ms)

    def sync(self, request: SyncGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a SyncGroup."""
        return self._classic.sync(request, version, token, now_ms)

    def heartbeat(self, request: HeartbeatRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a Heartbeat."""
        return self._classic.heartbeat(request, version, token, now_ms)

    def leave(self, request: LeaveGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a LeaveGroup."""
        return self._classic.leave(request, version, token, now_ms)

    # --- requests of consumer members

    def consumer_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        token: object,
        now_ms: int,
    ) -> list[Action]:
        """Serve a ConsumerGroupHeartbeat."""
        work = partial(self._heartbeat, request, version, client)
        return self._queue.submit(token, heartbeat.refused, work, now_ms)

    def _heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        pending: PendingRequest,
        now_ms: int,
    ) -> list[Action]:
        rebalance = self._rebalance
        heartbeat.check_request(request, version, rebalance.settings)
        if not heartbeat.is_leaving(request):
            member_id = request.member_id or self._new_member_id(client.client_id)
            response = heartbeat.join_or_stay(rebalance, request, member_id, client, now_ms)
        elif request.member_epoch == LEAVING_FOR_A_WHILE_EPOCH:
            response = heartbeat.leave_for_a_while(rebalance, request)
        else:
            reasons = {heartbeat.leaving_member(rebalance, request): "it has left"}
            return self._removal.remove(
                reasons, lambda _: pending.answer(heartbeat.left(request)), pending.refused, now_ms
            )
        return self._queue.write(lambda _: pending.answer(response), pending.refused)

    def take_over(
        self,
        classic: ClassicGroup,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        token: object,
        now_ms: int,
    ) -> list[Action]:
        """Take the place and the members of a classic group that a member of the consumer protocol joins.

        This group must be new. It replaces the classic group while that is being stored; if storing fails,
        the classic group is put back.
        """

        def work(pending: PendingRequest, at_ms: int) -> list[Action]:
            heartbeat.check_request(request, version, self._rebalance.settings)
            take_over(self._rebalance, classic, at_ms)
            return self._heartbeat(request, version, client, pending, at_ms)

        queue = self._queue
        actions = queue.submit(token, heartbeat.refused, work, now_ms)
        if queue.waiting is None:
            return actions  # the request was refused
        then, failed = queue.waiting
        line: list[Action] = [LogLine("group {group} goes on with the consumer protocol", {})]
        store = queue.store(
            [*classic.tombstones(), *queue.encoded(self._rebalance.state.changes)],
            lambda at_ms: [*classic.unload(ErrorCode.REBALANCE_IN_PROGRESS, at_ms), *line, *then(at_ms)],
            lambda error: [queue.replace(classic), *failed(error)],
        )
        return [Replace(self), *store]

    # --- offsets

    def check_commit(
        self, member_id: str, group_instance_id: str | None, generation: int, version: int, now_ms: int
    ) -> ErrorCode:
        """Return the error of an offset commit, NONE if it is allowed (``validateOffsetCommit``).

        Without an epoch only a group without members accepts commits. A commit does not extend the session,
        unlike a heartbeat.
        """
        state = self._rebalance.state
        if generation < 0 and not state.members:
            return ErrorCode.NONE
        member = state.members.get(member_id)
        if member is not None and member.classic is None and version < MEMBER_EPOCHS_SINCE:
            return ErrorCode.UNSUPPORTED_VERSION
        return self._check_epoch(member_id, generation)

    def check_fetch(self, member_id: str | None, member_epoch: int, now_ms: int) -> ErrorCode:
        """Return the error of an offset fetch, NONE if it is allowed: without a member, or in its epoch."""
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE
        return self._check_epoch(member_id or "", member_epoch)

    def _check_epoch(self, member_id: str, epoch: int) -> ErrorCode:
        member = self._rebalance.state.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if epoch == self._rebalance.state.current_of(member_id).epoch:
            return ErrorCode.NONE
        return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
