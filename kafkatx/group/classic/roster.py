"""The members of a classic group: by member id and instance id, the leader, and pending member ids. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.classic.member import Member, Protocols
from kafkatx.group.sizes import text_bytes

PENDING_BYTES = 200
"""Memory of a pending member id beside its characters."""


class Roster:
    """The members of a group. There is a leader whenever there are members.

    :ivar members: the members by member id, in the order in which they joined.
    :ivar instances: member ids of static members, by group instance id.
    :ivar pending: member ids that were given out and not joined with yet (KIP-394), with their end time.
    :ivar leader: the id of the member that assigns partitions, or None.
    :ivar held_bytes: approximate memory of members and pending ids, without assignments.
    """

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self.members: dict[str, Member] = {}
        self.instances: dict[str, str] = {}
        self.pending: dict[str, int] = {}
        self.leader: str | None = None
        self.held_bytes = 0
        self._offering: Counter[str] = Counter()
        for member in members:
            self.add(member)

    def add(self, member: Member) -> None:
        """Add a member; the first one becomes the leader."""
        self.forget(member.member_id)
        self.held_bytes += member.held_bytes
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.instances[member.group_instance_id] = member.member_id
        self._offering.update(name for name, _ in member.protocols)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member: Member) -> None:
        """Remove a member; if it was the leader, the earliest of the other members becomes the leader."""
        del self.members[member.member_id]
        self.held_bytes -= member.held_bytes
        if member.group_instance_id is not None:
            del self.instances[member.group_instance_id]
        self._withdraw(member.protocols)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)

    def expect(self, member_id: str, until_ms: int) -> None:
        """Add a pending member id, which is valid until then."""
        if member_id not in self.pending:
            self.held_bytes += _pending_bytes(member_id)
        self.pending[member_id] = until_ms

    def forget(self, member_id: str) -> bool:
        """Remove a pending member id; return False if there is none."""
        if self.pending.pop(member_id, None) is None:
            return False
        self.held_bytes -= _pending_bytes(member_id)
        return True

    def replace(self, old: Member, new: Member) -> None:
        """Put *new* in the place of *old*, leadership included; both have the same instance id."""
        led = self.leader == old.member_id
        self.remove(old)
        self.add(new)
        if led:
            self.leader = new.member_id

    def instance(self, group_instance_id: str | None) -> Member | None:
        """Return the static member with this group instance id, or None."""
        return (
            None if group_instance_id is None else self.members.get(self.instances.get(group_instance_id, ""))
        )

    def offer(self, member: Member, protocols: Protocols) -> None:
        """Set the protocols that a member offers."""
        self._withdraw(member.protocols)
        self.held_bytes -= member.held_bytes
        member.protocols = protocols
        self.held_bytes += member.held_bytes
        self._offering.update(name for name, _ in protocols)

    def _withdraw(self, protocols: Protocols) -> None:
        for name, _ in protocols:
            self._offering[name] -= 1
            if not self._offering[name]:
                del self._offering[name]

    def offered_by_all(self, name: str) -> bool:
        """Return True if every member offers this protocol."""
        return self._offering[name] == len(self.members)

    def select_protocol(self) -> str:
        """Return the protocol with the most votes among those that all members offer.

        Each member votes for its preferred one. On a draw the first that got a vote wins. There must be
        members.
        """
        candidates = {name for name in self._offering if self.offered_by_all(name)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=lambda name: votes[name])

    @property
    def all_joined(self) -> bool:
        """True if all members wait for the end of the join phase, and no member id is pending."""
        return not self.pending and all(m.join_token is not None for m in self.members.values())

    @property
    def joined(self) -> int:
        """The number of members that wait for the end of the join phase."""
        return sum(m.join_token is not None for m in self.members.values())

    def elect(self) -> bool:
        """Choose another leader if the current one has not joined.

        :return: False if there are members and none of them has joined.
        """
        if self.leader is not None and self.members[self.leader].join_token is None:
            joined = (m.member_id for m in self.members.values() if m.join_token is not None)
            chosen = next(joined, None)
            if chosen is None:
                return False
            self.leader = chosen
        return True

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance time-out among the members; 0 without members."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    @property
    def expires_ms(self) -> int:
        """The time to remove the next member or pending member id."""
        members = min((m.expires_ms for m in self.members.values()), default=NEVER_MS)
        return min(members, min(self.pending.values(), default=NEVER_MS))


def _pending_bytes(member_id: str) -> int:
    return PENDING_BYTES + text_bytes(member_id)
