"""Joining a generation: JoinGroup, the assignment if this member is the leader, SyncGroup.

The rules are those of ``AbstractCoordinator`` and ``ConsumerCoordinator`` of Apache Kafka's clients.
"""

from __future__ import annotations

from kafkatx.clientcore.group.membership.actions import RequestPartitionCounts, WatchTopics
from kafkatx.clientcore.group.membership.coordinator_errors import (
    COORDINATOR_MOVED,
    MEMBERSHIP_LOST,
    fatal_error,
)
from kafkatx.clientcore.group.membership.leader import GroupLeader
from kafkatx.clientcore.group.membership.member_state import MemberState, Partitions
from kafkatx.clientcore.group.membership.states import Event
from kafkatx.errors import ErrorCode, KafkaTXError, ProtocolViolation
from kafkatx.group.protocol import (
    NEWEST,
    PROTOCOL_TYPE,
    ConsumerProtocolSubscription,
    TopicPartitions,
    encode_subscription,
    parse_assignment,
)
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kafkatx.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

JOIN_TIMEOUT_LAPSE_MS = 5000
"""Time that a JoinGroup may take beyond the rebalance timeout (JOIN_GROUP_TIMEOUT_LAPSE)."""

MAX_REASON_LENGTH = 255
"""The longest reason that brokers accept (KIP-800)."""


class JoiningMember(MemberState):
    """The part of the state machine that joins a generation."""

    def _join(self, topics: frozenset[str], now_ms: int) -> None:
        """Send JoinGroup. Heartbeats stop: a waiting JoinGroup keeps the member alive."""
        self._transition(Event.JOIN)
        self._heartbeat.stop()
        self._group_leader = None
        self._joined_topics = topics
        settings = self.settings
        request = JoinGroupRequest(
            group_id=settings.group_id,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=settings.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=self._protocols(topics),
            reason=(self._join_reason or "")[:MAX_REASON_LENGTH],
        )
        self._token = self._send(request, settings.max_poll_interval_ms + JOIN_TIMEOUT_LAPSE_MS)

    def _protocols(self, topics: frozenset[str]) -> list[JoinGroupRequestProtocol]:
        """Return a subscription for each assignor, with the owned partitions and their generation."""
        owned: dict[str, list[int]] = {}
        for topic, number in sorted(self.owned):
            owned.setdefault(topic, []).append(number)
        subscription = ConsumerProtocolSubscription(
            topics=sorted(topics),
            owned_partitions=[TopicPartitions(topic, numbers) for topic, numbers in owned.items()],
            generation_id=self.generation,
            rack_id=self.settings.rack,
        )
        offered = []
        for assignor in self.settings.assignors:
            subscription.user_data = assignor.user_data(*self._last_assignment)
            offered.append(JoinGroupRequestProtocol(assignor.name, encode_subscription(subscription, NEWEST)))
        return offered

    def _joined(self, response: JoinGroupResponse, now_ms: int) -> None:
        code = ErrorCode.of(response.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._transition(Event.REFUSED)
            self._schedule_rejoin("need to re-join with the given member-id", now_ms, at_once=True)
        elif code:
            self._join_failed(code, now_ms, at_once=code is not ErrorCode.REBALANCE_IN_PROGRESS)
        elif not self._agrees(response.protocol_type, response.protocol_name):
            self._fail(fatal_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, self.settings))
        else:
            self._transition(Event.JOINED)
            self.generation, self.member_id = response.generation_id, response.member_id
            self._heartbeat.start(now_ms)
            self._log(
                "{member} has joined group {group}, generation {generation}", generation=self.generation
            )
            if response.leader == response.member_id:
                self._become_leader(response)
            else:
                self._actions.append(WatchTopics(frozenset()))
                self._sync([])

    def _agrees(self, protocol_type: str | None, protocol_name: str | None) -> bool:
        """Return True if the group's protocol is one of ours; older versions tell no protocol type."""
        self._assignor = next((a for a in self.settings.assignors if a.name == protocol_name), None)
        return protocol_type in (None, PROTOCOL_TYPE) and self._assignor is not None

    def _become_leader(self, response: JoinGroupResponse) -> None:
        """Request the partition counts of all topics of the group, in order to assign them."""
        assert self._assignor is not None
        self._group_leader = lead = GroupLeader.of(self._assignor, response.members, response.skip_assignment)
        for other in lead.unreadable:
            self._log(
                "{other} of group {group} has a malformed subscription and is assigned nothing",
                True,
                other=other,
            )
        self._tokens += 1
        self._token = self._tokens
        self._actions += (WatchTopics(lead.topics), RequestPartitionCounts(self._tokens, lead.topics))

    def _assign(self, lead: GroupLeader, counts: dict[str, int]) -> None:
        try:
            assignments = lead.assign(counts)
        except KafkaTXError as error:
            self._fail(error)
            return
        lead.changed_while_away = lead.skip_assignment and self._assigned_counts not in (None, lead.counts)
        self._assigned_counts = lead.counts
        self._sync(assignments)

    def _sync(self, assignments: list[SyncGroupRequestAssignment]) -> None:
        assert self._assignor is not None
        self._token = self._send(
            SyncGroupRequest(
                group_id=self.settings.group_id,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.settings.group_instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=self._assignor.name,
                assignments=assignments,
            )
        )

    def _synced(self, response: SyncGroupResponse, now_ms: int) -> None:
        code = ErrorCode.of(response.error_code)
        if code:
            self._join_failed(code, now_ms, at_once=True)
            return
        try:
            assigned = _assigned(bytes(response.assignment))
        except ProtocolViolation as error:
            self._log(
                "the leader of group {group} sent {member} a malformed assignment: {error}", True, error=error
            )
            self._transition(Event.REFUSED)
            self._schedule_rejoin("the assignment is malformed", now_ms, at_once=False)
            return
        self._transition(Event.SYNCED)
        self._join_reason, self._failures, self._retry_ms = None, 0, now_ms
        if self._accept_topics(assigned):
            self._last_assignment = (assigned, self.generation)
            self._new_assignment = assigned
            if self._group_leader is not None and self._group_leader.changed_while_away:
                self._join_reason = "cached metadata has changed"
        else:
            self._join_reason = "received assignment does not match the current subscription"

    def _accept_topics(self, assigned: Partitions) -> bool:
        """Return True if all assigned topics are subscribed to, or match the pattern.

        The leader may have seen a new matching topic first.
        """
        topics = self._topics or frozenset()
        more = {at.topic for at in assigned} - topics
        if more and (self._matches is None or not all(map(self._matches, more))):
            return False
        self._topics = topics | more
        self._joined_topics |= more
        return True

    def _join_failed(self, code: ErrorCode, now_ms: int, *, at_once: bool) -> None:
        """Handle an error of JoinGroup or SyncGroup."""
        reason = f"rebalance failed due to {code.name}"
        if code in MEMBERSHIP_LOST:
            self._reset(reason, forget_id=code is ErrorCode.UNKNOWN_MEMBER_ID)
            self._schedule_rejoin(reason, now_ms, at_once=True)
        elif code is ErrorCode.REBALANCE_IN_PROGRESS or code.retriable:
            if code in COORDINATOR_MOVED:
                self._forget_coordinator()
            self._transition(Event.REFUSED)
            self._schedule_rejoin(reason, now_ms, at_once=at_once and not code.retriable)
        else:
            self._fail(fatal_error(code, self.settings))


def _assigned(data: bytes) -> Partitions:
    """Decode an assignment; no bytes mean no partitions: some leaders leave out members without any.

    :raises ProtocolViolation: it is malformed.
    """
    if not data:
        return frozenset()
    topics = parse_assignment(data).assigned_partitions
    return frozenset(TopicPartition(t.topic, number) for t in topics for number in t.partitions)
