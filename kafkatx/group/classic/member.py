"""A member of a classic group, and what it waits for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

import attrs

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.sizes import MEMBER_BYTES, protocols_bytes, text_bytes
from kafkatx.wire.messages.join_group import JoinGroupRequest

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""(name, metadata) of each protocol that a member offers, the one that it likes best first."""


def protocols_of(request: JoinGroupRequest) -> Protocols:
    """The protocols that a request offers; of those with the same name the last counts."""
    return tuple({p.name: bytes(p.metadata) for p in request.protocols}.items())


def rebalance_timeout_of(rebalance_timeout_ms: int, session_timeout_ms: int) -> int:
    """How long a member has to join again: its session time-out if it does not say.

    JoinGroup v0 and version 0 of the stored record have no field for it (-1).
    """
    return rebalance_timeout_ms if rebalance_timeout_ms > 0 else session_timeout_ms


@attrs.define(eq=False)
class Member:
    """One member: what it said of itself, what it was assigned, and the requests of it that wait.

    :ivar deadline_ms: when its session ends, unless a sign of life moves it.
    :ivar is_new: it has never been told its generation. Until then it can send no heartbeat.
    :ivar join_token: of the JoinGroup that waits for the others, or None.
    :ivar sync_token: of the SyncGroup that waits for the leader's assignment, or None.
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
    join_token: Any = None
    sync_token: Any = None

    @property
    def is_static(self) -> bool:
        """Whether it has a group instance id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def expires_ms(self) -> int:
        """When it is to be removed for its silence.

        Who waits for us cannot be silent, so its session does not end. A new member's does, later: its
        connection may be gone, and the client may have come back as yet another new member.
        """
        waits = self.join_token is not None or self.sync_token is not None
        return NEVER_MS if waits and not self.is_new else self.deadline_ms

    @property
    def held_bytes(self) -> int:
        """About how much memory it takes, without its assignment."""
        texts = text_bytes(self.member_id, self.group_instance_id, self.client_id, self.client_host)
        return MEMBER_BYTES + texts + protocols_bytes(self.protocols)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Its metadata for a protocol; empty if it does not offer that."""
        return dict(self.protocols).get(protocol_name or "", b"")

    def vote(self, candidates: Collection[str]) -> str:
        """The protocol that it likes best among *candidates*, one of which it offers."""
        return next(name for name, _ in self.protocols if name in candidates)
