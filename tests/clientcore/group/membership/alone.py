"""A member for tests of its state machine; the test answers its requests."""

from __future__ import annotations

from typing import Any

from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY
from kafkatx.wire.messages.join_group import (
    JoinGroupResponse,
)
from kafkatx.wire.messages.sync_group import SyncGroupResponse
from tests.clientcore.group.membership.world import Actor, World

COOPERATIVE: dict[str, Any] = {"assignors": (COOPERATIVE_STICKY,)}
"""Settings of a cooperative member."""


class Alone(Actor):
    """A member whose requests go nowhere: the test answers them."""

    def __init__(self, **settings: Any) -> None:
        self.silent = World({"t": 2})
        super().__init__(self.silent, **settings)
        self.silent.members.append(self)
        self.silent.send = lambda actor, ask: None  # type: ignore[method-assign]

    def answer(self, response: Any, back: int = 1) -> None:
        """Answer the last request, or one before."""
        self.hear(self.asked[-back].token, response)

    def refuse(self, error: Exception) -> None:
        """Fail the last request."""
        self.do(self.machine.request_failed(self.asked[-1].token, error, self.world.now_ms))

    @property
    def last(self) -> Any:
        """Return the last request."""
        return self.asked[-1].request

    def join(self, generation: int = 1, leader: str = "other", protocol: str | None = "range") -> None:
        """Answer a JoinGroup."""
        response = JoinGroupResponse(
            generation_id=generation,
            protocol_type="consumer",
            protocol_name=protocol,
            leader=leader,
            member_id="me",
        )
        self.answer(response)

    def sync(self, *numbers: int, topic: str = "t") -> None:
        """Answer a SyncGroup."""
        body = b"".join(number.to_bytes(4, "big") for number in numbers)
        name = len(topic).to_bytes(2, "big") + topic.encode()
        head = b"\0\1\0\0\0\1" + name + len(numbers).to_bytes(4, "big")
        self.answer(SyncGroupResponse(assignment=head + body + b"\xff\xff\xff\xff"))

    def stable(self, *numbers: int, generation: int = 1) -> Alone:
        """Subscribe, join and sync."""
        self.subscribe("t")
        self.join(generation)
        self.sync(*numbers)
        return self

    def pass_ms(self, ms: int) -> None:
        """Advance the world's clock."""
        self.world.pass_ms(ms)
