"""The state of a consumer group; every change of it goes through one table. Pure.

The state is exactly that of the group's records, so it is the same after a restart. The changes of a request
are made at once and stored; then they are committed, or rolled back if storing failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Any

from kafkatx.group.consumer.assignment.partitions import NOTHING, Assignment
from kafkatx.group.consumer.member import Current, Metadata
from kafkatx.group.consumer.records import Change, Kind, Resolved, TopicFacts
from kafkatx.group.sizes import STRING_BYTES, text_bytes

EMPTY, ASSIGNING, RECONCILING, STABLE = "Empty", "Assigning", "Reconciling", "Stable"

_NEW = Current()


class GroupState:
    """The state of one group.

    :ivar members: the metadata of each member, by member id.
    :ivar current: the current assignment of each member; a new member has none.
    :ivar target: the target assignment of each member, for ``assignment_epoch``.
    :ivar regexes: the topics that each subscribed regular expression matches.
    :ivar static: member ids by instance id.
    :ivar held_bytes: approximate memory of the members and their subscriptions.
    :ivar changes: the changes that are not committed yet, in order.
    """

    def __init__(self) -> None:
        self._epochs: dict[str, int] = {}
        self._assignment_epochs: dict[str, int] = {}
        self._topics: dict[str, dict[str, TopicFacts]] = {}
        self.members: dict[str, Metadata] = {}
        self.current: dict[str, Current] = {}
        self.target: dict[str, Assignment] = {}
        self.regexes: dict[str, Resolved] = {}
        self.static: dict[str, str] = {}
        self.held_bytes = 0
        self.changes: list[Change] = []
        self._undo: list[Change] = []
        self._owners: dict[uuid.UUID, dict[int, str]] = {}
        self._table: dict[Kind, tuple[dict[str, Any], Callable[[str, Any, Any], None] | None]] = {
            Kind.GROUP_EPOCH: (self._epochs, None),
            Kind.TOPICS: (self._topics, None),
            Kind.MEMBER: (self.members, self._index_member),
            Kind.TARGET_EPOCH: (self._assignment_epochs, None),
            Kind.TARGET: (self.target, None),
            Kind.CURRENT: (self.current, self._index_owners),
            Kind.REGEX: (self.regexes, self._weigh_regex),
        }

    # --- changing

    def put(self, kind: Kind, name: str, value: Any) -> None:
        """Make a change, to be committed by :meth:`commit` or undone by :meth:`roll_back`."""
        change = Change(kind, name, value)
        self._undo.append(Change(kind, name, self.apply(change)))
        self.changes.append(change)

    def apply(self, change: Change) -> Any:
        """Make a change that cannot be rolled back, as when records are replayed; return the former value."""
        pieces, index = self._table[change.kind]
        before = pieces.get(change.name)
        if change.value is None:
            pieces.pop(change.name, None)
        else:
            pieces[change.name] = change.value
        if index is not None:
            index(change.name, before, change.value)
        return before

    def commit(self) -> None:
        """Keep all changes."""
        self.changes, self._undo = [], []

    def roll_back(self) -> None:
        """Undo all changes since the last commit."""
        for change in reversed(self._undo):
            self.apply(change)
        self.commit()

    def _index_member(self, member_id: str, before: Metadata | None, after: Metadata | None) -> None:
        self.held_bytes += self._weight(member_id, after) - self._weight(member_id, before)
        if before is not None and before.instance_id and self.static.get(before.instance_id) == member_id:
            del self.static[before.instance_id]
        if after is not None and after.instance_id:
            self.static[after.instance_id] = member_id

    def bytes_of(self, member_id: str) -> int:
        """Return a member's part of :attr:`held_bytes`; 0 if there is no such member."""
        return self._weight(member_id, self.members.get(member_id))

    def _weight(self, member_id: str, member: Metadata | None) -> int:
        return 0 if member is None else text_bytes(member_id) + member.held_bytes

    def _weigh_regex(self, regex: str, before: Resolved | None, after: Resolved | None) -> None:
        for sign, resolved in ((-1, before), (1, after)):
            if resolved is not None:  # the cluster's state holds the names themselves
                self.held_bytes += sign * (text_bytes(regex) + STRING_BYTES * len(resolved.topics))

    def _index_owners(self, member_id: str, before: Current | None, after: Current | None) -> None:
        for topic, numbers in _held(before or _NEW):
            owners = self._owners.get(topic, {})
            for number in numbers:
                if owners.get(number) == member_id:
                    del owners[number]
            if not owners:
                self._owners.pop(topic, None)
        for topic, numbers in _held(after or _NEW):
            self._owners.setdefault(topic, {}).update(dict.fromkeys(numbers, member_id))

    # --- reading

    @property
    def epoch(self) -> int:
        """The group epoch: it increases with every change of subscriptions or of their topics."""
        return self._epochs.get("", 0)

    @property
    def assignment_epoch(self) -> int:
        """The group epoch of the target assignment."""
        return self._assignment_epochs.get("", 0)

    @property
    def topics(self) -> dict[str, TopicFacts]:
        """The subscribed topics, as of the last increase of the group epoch."""
        return self._topics.get("", {})

    def current_of(self, member_id: str) -> Current:
        """Return the current assignment of a member."""
        return self.current.get(member_id, _NEW)

    def target_of(self, member_id: str) -> Assignment:
        """Return the target assignment of a member."""
        return self.target.get(member_id, NOTHING)

    def is_free(self, topic: uuid.UUID, partition: int) -> bool:
        """Return True if no member owns a partition or has yet to revoke it."""
        owners = self._owners.get(topic)
        return owners is None or partition not in owners

    @property
    def name(self) -> str:
        """Name of the state, as in Apache Kafka's ``ConsumerGroupState``."""
        if not self.members:
            return EMPTY
        epoch = self.assignment_epoch
        if self.epoch > epoch:
            return ASSIGNING
        return STABLE if all(self.current_of(m).has_reached(epoch) for m in self.members) else RECONCILING

    def tombstones(self) -> list[Change]:
        """Return the changes that remove the group from ``__consumer_offsets``, in Apache Kafka's order."""
        ids = list(self.members)
        return [
            *(Change(Kind.CURRENT, one, None) for one in ids),
            *(Change(Kind.TARGET, one, None) for one in ids),
            Change(Kind.TARGET_EPOCH, "", None),
            *(Change(Kind.MEMBER, one, None) for one in ids),
            *(Change(Kind.REGEX, regex, None) for regex in self.regexes),
            Change(Kind.TOPICS, "", None),
            Change(Kind.GROUP_EPOCH, "", None),
        ]


def _held(current: Current) -> Iterable[tuple[uuid.UUID, frozenset[int]]]:
    yield from current.assigned.items()
    yield from current.revoking.items()
