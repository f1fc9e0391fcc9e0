"""Who is in a classic group: members, static ones by instance, the leader, and who was only given an id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.classic.member import Member, Protocols
from kafkatx.group.sizes import text_bytes

PENDING_BYTES = 200
"""Of an id that nobody has joined with yet, beside its characters."""


class Roster:
    """The members of a group. There is a leader whenever there are members.

    :ivar members: by member id, in the order in which they came.
    :ivar instances: member ids of static members, by group instance id.
    :ivar pending: ids that were given to members who have yet to join with them (KIP-394), and until when.
    :ivar leader: the id of the member who assigns, or None.
    :ivar held_bytes: about how much memory members and pending ids take, without assignments.
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
        """Take a member in; the first one leads."""
        self.forget(member.member_id)
        self.held_bytes += member.held_bytes
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.instances[member.group_instance_id] = member.member_id
        self._offering.update(name for name, _ in member.protocols)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member: Member) -> None:
        """Take a member out; if it led, the one who came first of the others leads."""
        del self.members[member.member_id]
        self.held_bytes -= member.held_bytes
        if member.group_instance_id is not None:
            del self.instances[member.group_instance_id]
        self._withdraw(member.protocols)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)

    def expect(self, member_id: str, until_ms: int) -> None:
        """An id was given to a member, who is to join with it until then."""
        if member_id not in self.pending:
            self.held_bytes += _pending_bytes(member_id)
        self.pending[member_id] = until_ms

    def forget(self, member_id: str) -> bool:
        """Expect nobody with this id any more; tell whether it was expected."""
        if self.pending.pop(member_id, None) is None:
            return False
        self.held_bytes -= _pending_bytes(member_id)
        return True

    def replace(self, old: Member, new: Member) -> None:
        """Put *new* where *old* was, leadership included; both are the same instance."""
        led = self.leader == old.member_id
        self.remove(old)
        self.add(new)
        if led:
            self.leader = new.member_id

    def instance(self, group_instance_id: str | None) -> Member | None:
        """The static member with this group instance id, if it is there."""
        return (
            None if group_instance_id is None else self.members.get(self.instances.get(group_instance_id, ""))
        )

    def offer(self, member: Member, protocols: Protocols) -> None:
        """The member offers other protocols now."""
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
        """Whether every member offers this protocol."""
        return self._offering[name] == len(self.members)

    def select_protocol(self) -> str:
        """Every member votes for what it likes best among what all offer; the most votes win.

        On a draw it is the one that was voted for first. There must be members.
        """
        candidates = {name for name in self._offering if self.offered_by_all(name)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=lambda name: votes[name])

    @property
    def all_joined(self) -> bool:
        """Whether every member, and everybody who was given an id, waits for the end of the join phase."""
        return not self.pending and all(m.join_token is not None for m in self.members.values())

    @property
    def joined(self) -> int:
        """How many wait for the end of the join phase."""
        return sum(m.join_token is not None for m in self.members.values())

    def elect(self) -> bool:
        """See to it that the leader, if there are members, is one who has joined.

        :return: false if none of them has.
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
        """How long the group waits for its members: as the most patient of them asks; 0 without members."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    @property
    def expires_ms(self) -> int:
        """When the next member, or the next id that nobody joined with, is to be removed."""
        members = min((m.expires_ms for m in self.members.values()), default=NEVER_MS)
        return min(members, min(self.pending.values(), default=NEVER_MS))


def _pending_bytes(member_id: str) -> int:
    return PENDING_BYTES + text_bytes(member_id)
