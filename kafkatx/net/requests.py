"""What the server's connections and the broker's dispatch agree on: who asks, and what an answer is."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import attrs
from twisted.internet.defer import Deferred

from kafkatx.net.sender import Chunk

Reply: TypeAlias = "list[Chunk] | None"
"""A whole frame in chunks; None: the request gets no reply."""


class Staged:
    """The answer to a produce request or an offset commit, due when the round's appends are written.

    :ivar alone: no later request of the connection starts before this one is answered: it is to be staged
        before them.
    """

    __slots__ = ()
    alone = False

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """Make the reply.

        :param failed: the logs whose write failed in this round.
        :raises ProtocolViolation: the connection must be closed (an error with acks=0).
        """
        raise NotImplementedError


Answer: TypeAlias = "Reply | Staged | Deferred[Reply]"


class Requests(Protocol):
    """Who answers: the broker's dispatch.

    :ivar ordered: how requests begin (their API key) whose order the log keeps: they may start while others
        of them are unanswered. A tuple, for that is the fastest to look into; the most frequent comes first.
    """

    ordered: tuple[bytes, ...]

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer one request.

        :raises ProtocolViolation: the frame is no request; its connection must be closed.
        """

    def write_staged(self) -> dict[object, OSError]:
        """Write what requests have staged; give the logs where that failed."""

    def wake_waiting(self) -> None:
        """Let fetches go on that waited for what was written."""


@attrs.define(eq=False)
class Peer:
    """Who is at the other end, as handlers and log lines know it.

    :ivar throttle_time_ms: set by whoever answers, with an answer: for so long after it, nothing more is read
        of the peer or served to it (KIP-219). The connection takes it, and sets it back to 0.
    """

    host: str
    port: int
    local_host: str
    local_port: int
    client_software: str = ""
    told_address: bool = False
    throttle_time_ms: int = 0

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"
