"""The interface between the server's connections and the broker's dispatch. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import attrs
from twisted.internet.defer import Deferred

from kafkatx.net.sender import Chunk

if TYPE_CHECKING:
    from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateResponse
    from kafkatx.wire.messages.sasl_handshake import SaslHandshakeResponse

Reply: TypeAlias = "list[Chunk] | None"
"""A whole frame in chunks; None: the request gets no reply."""


class Staged:
    """The answer to a produce request or an offset commit, ready when the round's appends are written.

    :ivar alone: True if no later request of the connection may start before this one is answered, because
        its records must be staged before theirs.
    """

    __slots__ = ()
    alone = False

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """Make the reply.

        :param failed: the logs whose write failed in this round.
        :raises ProtocolViolation: the connection must be closed (an error with acks=0).
        """
        raise NotImplementedError


@attrs.frozen(eq=False)
class ExclusiveReply:
    """The answer to a request that is served in parts: no other request may start before it has ended.

    :ivar reply: fires with the reply; while the request is under way its frame counts as held.
    """

    reply: Deferred[Reply]


class PendingReply:
    """A reply whose turn has not come: ``deferred`` is None once ``chunks`` holds it."""

    __slots__ = ("chunks", "deferred")

    def __init__(self, chunks: Reply = None) -> None:
        self.chunks = chunks
        self.deferred: Deferred[Reply] | None = None


Answer: TypeAlias = "Reply | Staged | ExclusiveReply | Deferred[Reply]"


class Requests(Protocol):
    """The broker's dispatch: it answers requests.

    :ivar ordered: the first bytes (the API key) of requests whose order the log keeps: they may start while
        others of them are unanswered. A tuple is the fastest to search; the most frequent comes first.
    """

    @property
    def ordered(self) -> tuple[bytes, ...]:
        """The first bytes of such requests."""

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer one request.

        :raises ProtocolViolation: the frame is not a request; its connection must be closed.
        """

    @property
    def write_staged(self) -> Callable[[], dict[object, OSError]]:
        """Writes what requests have staged; returns the logs where that failed."""

    @property
    def wake_waiting(self) -> Callable[[], None]:
        """Wakes the fetches that waited for what was written."""


def _nothing(reason: str) -> None:
    """Do nothing: the peer has no connection."""


def no_hurry() -> None:
    """Do nothing: no reply waits that could come earlier."""


class Login(Protocol):
    """The SASL login of a connection, for the handlers of its two requests."""

    def handshake(self, mechanism: str, version: int) -> SaslHandshakeResponse:
        """Answer a SaslHandshake request of a version."""

    def authenticate(self, token: bytes) -> Deferred[SaslAuthenticateResponse]:
        """Answer a SaslAuthenticate request."""


class Session(NamedTuple):
    """The principal of a peer, and the listener that it has connected to.

    ``principal`` is Kafka's text, ``User:CN=alice``; a peer that is not authenticated is ``User:ANONYMOUS``.
    """

    principal: str = "User:ANONYMOUS"
    listener: str = ""


NOBODY = Session()
"""A peer that is not authenticated, at no listener."""


@attrs.define(eq=False)
class Peer:
    """The other end of a connection, as handlers and log lines know it.

    :ivar session: its principal and its listener; replaced once it is authenticated.
    :ivar login: its login, where its listener has SASL.
    :ivar throttle_time_ms: set with an answer: the connection mutes the peer for this long after it
        (KIP-219), and sets it back to 0.
    :ivar when_sent: called once when all replies up to now are sent, or the connection is closed.
    :ivar when_lost: called once when the connection has ended.
    :ivar rounds: returns a number that grows when the peer has read some of its replies.
    :ivar hurry: called when the peer sends more; a reply that waits for something may come at once then.
    :ivar abort: closes the connection at once and logs the reason.
    :ivar number: grows from one connection of this process to the next.
    """

    host: str
    port: int
    local_host: str
    local_port: int
    session: Session = NOBODY
    login: Login | None = None
    client_software: str = ""
    told_address: bool = False
    throttle_time_ms: int = 0
    when_sent: list[Callable[[], None]] = attrs.Factory(list)
    when_lost: list[Callable[[], None]] = attrs.Factory(list)
    rounds: Callable[[], int] = int
    hurry: Callable[[], None] = no_hurry
    abort: Callable[[str], None] = _nothing
    number: int = attrs.Factory(partial(next, count(1)))

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def sent(self) -> None:
        """Call what waits for the replies up to now."""
        calls, self.when_sent = self.when_sent, []
        for call in calls:
            call()

    def lost(self) -> None:
        """Call what waits for the replies, or for the end of the connection."""
        self.sent()
        calls, self.when_lost = self.when_lost, []
        for call in calls:
            call()
