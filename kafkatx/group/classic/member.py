"""A member of a classic group, and its requests that are not answered yet. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import attrs

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.sizes import MEMBER_BYTES, protocols_bytes, text_bytes
from kafkatx.wire.messages.join_group import JoinGroupRequest

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""(name, metadata) of each protocol that a member offers, the preferred one first."""


def protocols_of(request: JoinGroupRequest) -> Protocols:
    """Return the protocols that a request offers; the last one of a name counts."""
    return tuple({p.name: bytes(p.metadata) for p in request.protocols}.items())


def rebalance_timeout_of(rebalance_timeout_ms: int, session_timeout_ms: int) -> int:
    """Return the time in which a member must join again: its session time-out if it sent none.

    JoinGroup v0 and version 0 of the stored record have no such field (-1).
    """
    return rebalance_timeout_ms if rebalance_timeout_ms > 0 else session_timeout_ms


@attrs.define(eq=False)
class Member:
    """One member: its metadata, its assignment, and its waiting requests.

    :ivar deadline_ms: the end of the session, unless a heartbeat moves it.
    :ivar is_new: the member has not been told its generation yet. Until then it can send no heartbeat.
    :ivar join_token: token of the JoinGroup that waits for the other members, or None.
    :ivar sync_token: token of the SyncGroup that waits for the leader's assignment, or None.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    deadline_ms: int = NEVER_MS
    is_new: bool = False
    join_token: object = None
    sync_token: object = None

    @property
    def is_static(self) -> bool:
        """True if it has a group instance id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def expires_ms(self) -> int:
        """The time to remove the member if it sends nothing.

        A member that waits for an answer cannot send heartbeats, so its session does not end. That of a new
        member does, later: its connection may be closed, and the client may have joined as another member.
        """
        waits = self.join_token is not None or self.sync_token is not None
        return NEVER_MS if waits and not self.is_new else self.deadline_ms

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the member, without its assignment."""
        texts = text_bytes(self.member_id, self.group_instance_id, self.client_id, self.client_host)
        return MEMBER_BYTES + texts + protocols_bytes(self.protocols)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return its metadata for a protocol; empty if it does not offer the protocol."""
        return dict(self.protocols).get(protocol_name or "", b"")

    def vote(self, candidates: Collection[str]) -> str:
        """Return its preferred protocol among *candidates*, at least one of which it offers."""
        return next(name for name, _ in self.protocols if name in candidates)
