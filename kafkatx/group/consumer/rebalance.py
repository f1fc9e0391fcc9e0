"""The steps of every change of a consumer group, for members of both protocols. Pure.

1.  A member is new or has changed: its metadata is updated.
2.  If subscriptions or their topics have changed, the group epoch is increased.
3.  If the group epoch is above the assignment epoch, a new target assignment is made for all members.
4.  The member takes one step towards its target (:mod:`kafkatx.group.consumer.reconcile`).

This is Apache Kafka's ``GroupMetadataManager.consumerGroupHeartbeat``. Each other member takes its step with
its own next request; members do not wait for each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Client
from kafkatx.group.consumer.assignment.assignors import ASSIGNORS, Subscriber
from kafkatx.group.consumer.assignment.partitions import Assignment
from kafkatx.group.consumer.deadlines import Deadlines, Wait
from kafkatx.group.consumer.member import Current, MemberState, Metadata
from kafkatx.group.consumer.reconcile import reconcile
from kafkatx.group.consumer.records import Kind
from kafkatx.group.consumer.state import GroupState
from kafkatx.group.consumer.subscription.topics import (
    facts_of,
    ids_of,
    remove_unused_regexes,
    resolve_regexes,
    topics_of,
)
from kafkatx.group.settings import GroupSettings
from kafkatx.types import ClusterState


class Rebalance:
    """The state of one group and the steps that change it. The caller commits the changes or rolls them back.

    :ivar cluster: returns the current topics.
    :ivar wall_ms: returns the time of the wall clock.
    :ivar later: calls to make after the changes are committed, mostly to set deadlines.
    """

    def __init__(
        self,
        group_id: str,
        settings: Callable[[], GroupSettings],
        cluster: Callable[[], ClusterState],
        wall_ms: Callable[[], int],
    ) -> None:
        self.group_id = group_id
        self._settings = settings
        self.cluster = cluster
        self.wall_ms = wall_ms
        self.state = GroupState()
        self.deadlines = Deadlines()
        self.later: list[Callable[[], object]] = []
        self._seen: ClusterState | None = None
        self._matched: ClusterState | None = None

    @property
    def settings(self) -> GroupSettings:
        """The current settings."""
        return self._settings()

    # --- members

    def check_room(self, member_id: str) -> None:
        """Check that the group may have this member.

        :raises RequestError: GROUP_MAX_SIZE_REACHED.
        """
        most = self.settings.consumer_max_size
        if len(self.state.members) >= most and member_id not in self.state.members:
            raise RequestError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {most} members.",
            )

    def member(self, member_id: str) -> Metadata:
        """Return a member of the group.

        :raises RequestError: UNKNOWN_MEMBER_ID.
        """
        found = self.state.members.get(member_id)
        if found is None:
            raise RequestError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return found

    def static_member(self, instance_id: str, member_id: str) -> Metadata:
        """Return the static member with an instance id and a member id.

        :raises RequestError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID: the instance has another member id now.
        """
        owner = self.state.static.get(instance_id)
        if owner is None:
            raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if owner != member_id:
            raise RequestError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {owner}.",
            )
        return self.state.members[owner]

    def replace_static(self, old_id: str, new_id: str) -> None:
        """Give a static member another member id; it keeps its assignment and starts at epoch 0."""
        state = self.state
        metadata, target = state.members[old_id], state.target_of(old_id)
        current = attrs.evolve(state.current_of(old_id), epoch=0, previous_epoch=0)
        self._remove(old_id)
        state.put(Kind.MEMBER, new_id, metadata)
        state.put(Kind.TARGET, new_id, target)
        state.put(Kind.CURRENT, new_id, current)
        self.later.append(partial(self.deadlines.forget, old_id))

    def _remove(self, member_id: str) -> None:
        for kind in (Kind.CURRENT, Kind.TARGET, Kind.MEMBER):
            self.state.put(kind, member_id, None)

    def fence(self, member_ids: Iterable[str]) -> None:
        """Remove members; the others are told with their next requests."""
        for member_id in member_ids:
            self._remove(member_id)
            self.later.append(partial(self.deadlines.forget, member_id))
        self._update_topics(moved=True)

    # --- the steps

    def update_member(
        self,
        member_id: str,
        wanted: Metadata,
        owned: Assignment | None,
        now_ms: int,
        client: Client | None = None,
    ) -> Current:
        """Take all steps for a current or new member; return its new current assignment.

        :param wanted: its new metadata.
        :param owned: the partitions that it reports as owned; None if it did not report them.
        :param client: the client, with its rights on topics that regular expressions match; None: they are
            not matched.
        :raises RequestError: INVALID_REGULAR_EXPRESSION, FENCED_MEMBER_EPOCH.
        """
        state = self.state
        before = state.members.get(member_id)
        if wanted != before:
            state.put(Kind.MEMBER, member_id, wanted)
        moved = state.epoch == 0 or before is None or _wants_other_topics(before, wanted)
        self.update_topics(moved, client)
        if state.epoch > state.assignment_epoch:
            self._make_target()
        return self._step(member_id, owned, now_ms)

    def update_topics(self, moved: bool = False, client: Client | None = None) -> None:
        """Increase the group epoch if *moved*, or if subscribed topics were created, deleted or extended.

        :param client: as for :meth:`update_member`.
        :raises RequestError: INVALID_REGULAR_EXPRESSION.
        """
        cluster = self.cluster()
        if moved or cluster is not self._seen or (client is not None and cluster is not self._matched):
            self._update_topics(moved, client)

    def _update_topics(self, moved: bool, client: Client | None = None) -> None:
        state, cluster = self.state, self.cluster()
        if client is None:
            remove_unused_regexes(state)
        else:
            resolve_regexes(state, cluster, self._matched, self.wall_ms(), client.may_describe)
            self.later.append(partial(self._have_matched, cluster))
        facts = facts_of(state, cluster)
        if facts != state.topics:
            state.put(Kind.TOPICS, "", facts)
            moved = True
        if moved:
            state.put(Kind.GROUP_EPOCH, "", state.epoch + 1)
        self.later.append(partial(self._saw, cluster))

    def _saw(self, cluster: ClusterState) -> None:
        self._seen = cluster

    def _have_matched(self, cluster: ClusterState) -> None:
        self._matched = cluster

    def _make_target(self) -> None:
        state = self.state
        assign = ASSIGNORS[self.assignor]
        subscribers = {
            member_id: Subscriber(
                member.instance_id,
                ids_of(topics_of(member, state), state.topics),
                state.target_of(member_id),
            )
            for member_id, member in state.members.items()
        }
        partitions = {facts.topic_id: facts.partitions for facts in state.topics.values()}
        for member_id, target in assign(subscribers, partitions).items():
            if target != state.target.get(member_id):
                state.put(Kind.TARGET, member_id, target)
        state.put(Kind.TARGET_EPOCH, "", state.epoch)

    @property
    def assignor(self) -> str:
        """The assignor that most members ask for, or the first one in the settings if none does."""
        offered = self.settings.consumer_assignors
        votes = Counter(member.server_assignor for member in self.state.members.values())
        return max(offered, key=lambda name: votes[name])

    def _step(self, member_id: str, owned: Assignment | None, now_ms: int) -> Current:
        state = self.state
        current = state.current_of(member_id)
        if current.has_reached(state.assignment_epoch):
            return current
        target = state.target_of(member_id)
        after = reconcile(current, target, state.assignment_epoch, owned, state.is_free)
        if after != current:
            state.put(Kind.CURRENT, member_id, after)
            self.later.append(partial(self._time_revocation, member_id, after, now_ms))
        return after

    def _time_revocation(self, member_id: str, current: Current, now_ms: int) -> None:
        """Set or cancel the deadline to revoke partitions; classic members have one to join instead."""
        member = self.state.members[member_id]
        if member.classic is None and current.state is MemberState.UNREVOKED_PARTITIONS:
            self.deadlines.set(Wait.REVOCATION, member_id, now_ms + member.rebalance_timeout_ms)
        else:
            self.deadlines.cancel(Wait.REVOCATION, member_id)


def _wants_other_topics(before: Metadata, wanted: Metadata) -> bool:
    regex, regex_before = wanted.topic_regex or None, before.topic_regex or None
    return wanted.topic_names != before.topic_names or regex != regex_before
