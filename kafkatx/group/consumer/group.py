"""A group of KIP-848, whole: what :class:`~kafkatx.group.actions.Group` promises to the broker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action, Client, LogLine, Record, Replace
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer import heartbeat
from kafkatx.group.consumer.classic.conversion import take_over
from kafkatx.group.consumer.classic.requests import ClassicServing
from kafkatx.group.consumer.deadlines import Wait
from kafkatx.group.consumer.description import DEAD, described, described_as_classic
from kafkatx.group.consumer.member import LEAVING_FOR_A_WHILE_EPOCH, MemberState
from kafkatx.group.consumer.records import Change, Kind
from kafkatx.group.consumer.request_queue import Asked
from kafkatx.group.consumer.subscription.topics import topics_of
from kafkatx.group.protocol import PROTOCOL_TYPE
from kafkatx.wire.messages.consumer_group_describe import DescribedGroup
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.describe_groups import DescribedGroup as ClassicDescribedGroup

MEMBER_EPOCHS_SINCE = 9
"""The first version of OffsetCommit that knows member epochs."""

TRY_AGAIN_MS = 500
"""So long after it could not be written that a member is gone it is tried again, as Apache Kafka does."""


class ConsumerGroup(ClassicServing):
    """The group that ConsumerGroupHeartbeat is about; members of the classic protocol may be in it, too."""

    kind = "consumer"
    protocol_type = PROTOCOL_TYPE

    # --- what it is

    @property
    def state(self) -> str:
        """As Apache Kafka's ``ConsumerGroupState``: Empty, Assigning, Reconciling, Stable, Dead."""
        return DEAD if self._is_replaced else self._rebalance.state.name

    @property
    def has_members(self) -> bool:
        """Whether there are members."""
        return bool(self._rebalance.state.members)

    @property
    def held_bytes(self) -> int:
        """About how much memory members, with what they subscribe to, take."""
        return self._rebalance.state.held_bytes

    def bytes_of(self, member_id: str, group_instance_id: str | None) -> int:
        """How much of that is a member's."""
        state = self._rebalance.state
        known = member_id if member_id in state.members else state.static.get(group_instance_id or "", "")
        return state.bytes_of(known)

    @property
    def empty_since_ms(self) -> int:
        """When it lost its last member, on the wall clock; after a restart, when it was loaded."""
        return -1 if self.has_members else self._emptied_ms

    @property
    def deadline_ms(self) -> int:
        """When a member may have been silent too long; it may be too early."""
        return NEVER_MS if self._writing is not None else self._rebalance.deadlines.earliest_ms

    def subscribes(self, topic: str) -> bool:
        """Whether a member subscribes to the topic."""
        state = self._rebalance.state
        return any(topic in topics_of(member, state) for member in state.members.values())

    def describe(self) -> ClassicDescribedGroup:
        """What DescribeGroups says."""
        return described_as_classic(self.group_id)

    def consumer_describe(self) -> DescribedGroup:
        """What ConsumerGroupDescribe says."""
        return described(self._rebalance)

    def tombstones(self) -> list[Record]:
        """The records that take the group out of ``__consumer_offsets``."""
        return self._encoded(self._rebalance.state.tombstones())

    # --- after a restart

    def replay(self, change: Change) -> None:
        """Take over what a record of the group says; their order does not matter."""
        self._rebalance.state.apply(change)

    def loaded(self, now_ms: int) -> list[Action]:
        """All records are replayed: sessions begin now, and nobody need rebalance for it."""
        state, deadlines = self._rebalance.state, self._rebalance.deadlines
        self._drop_fragments()
        for member_id, member in state.members.items():
            session_ms = self._rebalance.settings.consumer_session_timeout_ms
            if member.classic is not None:
                session_ms = member.classic.session_timeout_ms
            elif state.where(member_id).state is MemberState.UNREVOKED_PARTITIONS:
                deadlines.set(Wait.REVOCATION, member_id, now_ms + member.rebalance_timeout_ms)
            deadlines.set(Wait.SESSION, member_id, now_ms + session_ms)
        if state.epoch and not state.members:
            self._emptied_ms = self._wall_ms()
        return []

    def _drop_fragments(self) -> None:
        """Forget what is left of members of whom records are missing, as of a damaged log."""
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
        """Remove members that were silent, or slow, for too long."""
        if self._writing is not None:
            return []
        deadlines, members = self._rebalance.deadlines, self._rebalance.state.members
        expired = {one: wait for one, wait in deadlines.expire(now_ms).items() if one in members}
        if not expired:
            return []
        why = {member_id: wait.value for member_id, wait in expired.items()}
        return self._remove(why, lambda _: [], lambda _: self._try_again(expired, now_ms), now_ms, warn=True)

    def _try_again(self, expired: Mapping[str, Wait], now_ms: int) -> list[Action]:
        for member_id, wait in expired.items():
            self._rebalance.deadlines.set(wait, member_id, now_ms + TRY_AGAIN_MS)
        return []

    # --- members of KIP-848

    def consumer_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        token: object,
        now_ms: int,
    ) -> list[Action]:
        """A ConsumerGroupHeartbeatRequest."""
        work = partial(self._beat, request, version, client)
        return self._ask(token, heartbeat.refused, work, now_ms)

    def _beat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        asked: Asked,
        now_ms: int,
    ) -> list[Action]:
        rebalance = self._rebalance
        heartbeat.check_request(request, version, rebalance.settings)
        if not heartbeat.is_leaving(request):
            member_id = request.member_id or self._new_member_id(client.client_id)
            response = heartbeat.stay(rebalance, request, member_id, client, now_ms)
        elif request.member_epoch == LEAVING_FOR_A_WHILE_EPOCH:
            response = heartbeat.leave_for_a_while(rebalance, request)
        else:
            gone = {heartbeat.who_leaves(rebalance, request): "it has left"}
            return self._remove(gone, lambda _: asked.answer(heartbeat.left(request)), asked.refused, now_ms)
        return self._write(lambda _: asked.answer(response), asked.refused)

    def take_over(
        self,
        classic: ClassicGroup,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        token: object,
        now_ms: int,
    ) -> list[Action]:
        """A member of KIP-848 joins a classic group: this group, a new one, takes its place with its members.

        It is in its place while that is being written, and the classic group is again if it cannot be.
        """

        def work(asked: Asked, at_ms: int) -> list[Action]:
            heartbeat.check_request(request, version, self._rebalance.settings)
            take_over(self._rebalance, classic, at_ms)
            return self._beat(request, version, client, asked, at_ms)

        actions = self._ask(token, heartbeat.refused, work, now_ms)
        if self._writing is None:
            return actions  # it was refused
        then, failed = self._writing
        converted: list[Action] = [LogLine("group {group} goes on with the consumer protocol", {})]
        records = [*classic.tombstones(), *self._encoded(self._rebalance.state.changes)]
        store = self._store(
            records,
            lambda at_ms: [*classic.unload(ErrorCode.REBALANCE_IN_PROGRESS, at_ms), *converted, *then(at_ms)],
            lambda error: [self._replace(classic), *failed(error)],
        )
        return [Replace(self), *store]

    # --- offsets

    def check_commit(
        self, member_id: str, group_instance_id: str | None, generation: int, version: int, now_ms: int
    ) -> ErrorCode:
        """Whether offsets may be committed so (``ConsumerGroup.validateOffsetCommit``).

        Without an epoch only a group without members takes them. It is no sign of life: that are heartbeats.
        """
        state = self._rebalance.state
        if generation < 0 and not state.members:
            return ErrorCode.NONE
        member = state.members.get(member_id)
        if member is not None and member.classic is None and version < MEMBER_EPOCHS_SINCE:
            return ErrorCode.UNSUPPORTED_VERSION
        return self._check_epoch(member_id, generation)

    def check_fetch(self, member_id: str | None, member_epoch: int, now_ms: int) -> ErrorCode:
        """Whether offsets may be fetched so: by nobody in particular, or by a member that is up to date."""
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE
        return self._check_epoch(member_id or "", member_epoch)

    def _check_epoch(self, member_id: str, epoch: int) -> ErrorCode:
        member = self._rebalance.state.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if epoch == self._rebalance.state.where(member_id).epoch:
            return ErrorCode.NONE
        return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
