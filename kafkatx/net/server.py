"""The server's end of a connection: frames in, replies out in the order of the requests.

As Apache Kafka does, a request starts when the one before it has been answered; only produce requests
may start while others are unanswered, for their order is kept by the log. All produce requests that
arrive in one read are staged and then written together (the design's first journey).

What a peer can make us hold is bounded: while its replies do not drain, nothing of it is served; while
more than ``HELD_BYTES`` of its requests wait, nothing is read from it; and when all connections together
hold ``queued.max.request.bytes``, the :class:`kafkatx.net.pool.Pool` says who may read on.
"""

from __future__ import annotations

import socket
from collections import deque
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

import attrs
from twisted.internet import protocol
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import ProtocolViolation
from kafkatx.net.pool import Pool
from kafkatx.net.sender import Chunk, Load, PlainSender, in_memory, make_sender
from kafkatx.wire.frames import Frames

READ_BYTES = 1 << 20
"""Size of one read. Large reads let many small produce requests share one write to the log."""

SHORT_READ_BYTES = 16 << 10
"""Size of one read while memory is short."""

STALLED_S = 30.0
"""How long one may stop in the middle of a request while others wait for the memory that it holds."""

HELD_BYTES = 1 << 20
"""How many bytes of requests may wait behind one that is being served before reading pauses."""

REPLIED_BYTES = 1 << 20
"""How many bytes of replies are made before they are sent and others have their turn."""

PRODUCE = b"\x00\x00"
"""The first two bytes of a produce request: its API key."""

Reply: TypeAlias = "list[Chunk] | None"
"""A whole frame in chunks; None: the request gets no reply."""


class Staged:
    """The answer to a produce request, due when the round's appends are written."""

    __slots__ = ()

    def finish(self, failed: dict[object, OSError]) -> Reply | Deferred[Reply]:
        """Make the reply.

        :param failed: the logs whose write failed in this round.
        :raises ProtocolViolation: the connection must be closed (an error with acks=0).
        """
        raise NotImplementedError


Answer: TypeAlias = "Reply | Staged | Deferred[Reply]"


class Requests(Protocol):
    """Who answers: the broker's dispatch."""

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer one request.

        :raises ProtocolViolation: the frame is no request; its connection must be closed.
        """

    def write_staged(self) -> dict[object, OSError]:
        """Write what produce requests have staged; give the logs where that failed."""

    def wake_waiting(self) -> None:
        """Let fetches go on that waited for what was written."""


@attrs.define(eq=False)
class Peer:
    """Who is at the other end, as handlers and log lines know it."""

    host: str
    port: int
    local_host: str
    local_port: int
    client_software: str = ""
    told_address: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class _Owed:
    """A reply that is owed: ``deferred`` is None once ``chunks`` holds it."""

    __slots__ = ("chunks", "deferred")

    def __init__(self) -> None:
        self.chunks: Reply = None
        self.deferred: Deferred[Reply] | None = None


class KafkaConnection(protocol.Protocol):
    """One client's connection."""

    _log = Logger()
    factory: KafkaServerFactory
    peer: Peer
    _sender: PlainSender

    def __init__(self, factory: KafkaServerFactory) -> None:
        self.factory = factory
        self._requests = factory.requests
        self._frames = Frames(factory.limits.max_request_bytes)
        self._inbox: deque[memoryview] = deque()
        self._inbox_bytes = 0
        self._owed: deque[_Owed] = deque()
        self._owed_are_produce = True
        self._out: list[Chunk] = []
        self._fault: Exception | None = None  # why the connection closes when what came before is answered
        self._serving = self._closing = self._reading_paused = False
        self._held = False
        self._rounds = 0
        self._last_active_s = 0.0

    def connectionMade(self) -> None:
        """Set the socket up."""
        transport: Any = self.transport
        if hasattr(transport, "setTcpNoDelay"):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        self.factory.set_buffers(transport)
        remote, local = transport.getPeer(), transport.getHost()
        self.peer = Peer(remote.host, remote.port, local.host, local.port)
        self._sender = make_sender(transport, self._drained, self.factory.load)
        self._last_active_s = self.factory.clock.seconds()
        self.factory.connections.add(self)
        self.reconsider()

    @property
    def serving(self) -> bool:
        """Whether a request of this connection is being served."""
        return bool(self._owed)

    def idle_s(self) -> float:
        """Seconds since the peer last sent something, or took something of its replies."""
        now_s = self.factory.clock.seconds()
        if self._sender.rounds != self._rounds:
            self._rounds, self._last_active_s = self._sender.rounds, now_s
        return now_s - self._last_active_s

    def dataReceived(self, data: bytes) -> None:
        """Take in a piece of the stream and serve what it completes."""
        if self._closing:
            return
        self._last_active_s = self.factory.clock.seconds()
        try:
            for frame in self._frames.feed(data):
                self._inbox.append(frame)
                self._inbox_bytes += len(frame)
        except ProtocolViolation as violation:
            self._fault = violation
        self._serve()
        if self._inbox or self._held or self._frames.buffered_bytes:
            self._balance()

    def _serve(self) -> None:
        """Serve the waiting requests as far as their order, and what the peer takes of replies, allow."""
        if self._serving or self._closing:
            return
        self._serving = True
        try:
            wrote = self._serve_inbox()
        finally:
            self._serving = False
            self._flush()
        if wrote:
            self._requests.wake_waiting()
        if self._inbox:
            if not self._owed and not self._sender.busy:
                self._go_on_soon()
        elif self._fault is not None and not self._owed:
            self._close(self._fault)

    def _serve_inbox(self) -> bool:
        """Serve a round of requests; say whether anything was written to a log.

        A round ends when its replies are ``REPLIED_BYTES`` large: small requests may have large ones.
        """
        inbox, answer_one = self._inbox, self._requests.answer
        staged: list[Staged] = []
        wrote, room = False, REPLIED_BYTES
        try:
            while inbox and room > 0 and not self._sender.busy:
                is_produce = inbox[0][:2] == PRODUCE
                if staged and not is_produce:
                    wrote = True
                    self._finish(staged)
                if self._owed and not (is_produce and self._owed_are_produce):
                    break
                frame = inbox.popleft()
                self._inbox_bytes -= len(frame)
                answer = answer_one(frame, self.peer)
                if isinstance(answer, Staged):
                    staged.append(answer)
                else:
                    self._take(answer, is_produce)
                    if isinstance(answer, list):
                        room -= sum(map(len, answer))
            if staged:
                wrote = True
                self._finish(staged)
        except Exception as error:
            if not isinstance(error, ProtocolViolation):
                self._log.failure("a request from {peer} could not be served", peer=self.peer)
            self._fault = error
            inbox.clear()
            self._inbox_bytes = 0
            if staged:
                wrote = True
                with suppress(ProtocolViolation):
                    self._finish(staged)
        return wrote

    def _finish(self, staged: list[Staged]) -> None:
        """Write what the round has staged, and reply to it."""
        answers, staged[:] = staged[:], []
        failed = self._requests.write_staged()
        for answer in answers:
            self._take(answer.finish(failed), True)

    def _take(self, reply: Reply | Deferred[Reply], is_produce: bool) -> None:
        """Send a reply, in its turn, when it is there."""
        if isinstance(reply, Deferred):
            if not self._owed:
                self._owed_are_produce = is_produce
            owed = _Owed()
            self._owed.append(owed)
            owed.deferred = reply
            reply.addCallbacks(self._settle, self._fail, (owed,), {}, (owed,))
        elif self._owed:
            owed = _Owed()
            owed.chunks = reply
            self._owed.append(owed)
        elif reply:
            self._out += reply

    def _settle(self, chunks: Reply, owed: _Owed) -> None:
        owed.chunks, owed.deferred = chunks, None
        while self._owed and self._owed[0].deferred is None:
            self._out += self._owed.popleft().chunks or ()
        if not self._serving and not self._closing:
            self._flush()
            if self._inbox or self._fault is not None:
                self._go_on_soon()

    def _flush(self) -> None:
        """Send the replies whose turn has come."""
        if self._out:
            out, self._out = self._out, []
            self._sender.send(out)

    def _drained(self) -> None:
        """The peer has taken its replies."""
        if self._inbox or self._fault is not None:
            self._go_on_soon()

    def _go_on_soon(self) -> None:
        # not at once: one connection's writes may be what woke us, and so on without end
        self.factory.clock.callLater(0, self._go_on)

    def _go_on(self) -> None:
        self._serve()
        self._balance()

    def _fail(self, failure: Failure, owed: _Owed) -> None:
        if failure.check(CancelledError) and self._closing:
            owed.deferred = None
        elif isinstance(failure.value, ProtocolViolation):
            self._close(failure.value)
        else:
            self._log.failure("a reply to {peer} could not be made", failure, peer=self.peer)
            self._close(None)

    def _close(self, fault: Exception | None) -> None:
        """Close for good; what was answered before is still sent."""
        if self._closing:
            return
        self._closing = True
        if isinstance(fault, ProtocolViolation):
            self._log.warn("closed the connection from {peer}: {reason}", peer=self.peer, reason=fault)
        self._let_go()
        assert self.transport is not None
        self.transport.loseConnection()

    def _let_go(self) -> None:
        self._inbox.clear()
        self._inbox_bytes = 0
        self._frames = Frames(0)
        self._balance()
        owed, self._owed = self._owed, deque()
        for reply in owed:
            if reply.deferred is not None:
                reply.deferred.cancel()

    def _balance(self) -> None:
        """Account for what is held, and stop or start reading accordingly."""
        unfinished = self._frames.buffered_bytes
        self._held = bool(self._inbox_bytes or unfinished)
        self.factory.pool.hold(self, self._inbox_bytes + unfinished, bool(unfinished))
        self.reconsider()

    def reconsider(self) -> None:
        """Stop or start reading as what is held, here and elsewhere, allows."""
        if self._closing:
            return
        pool: Pool = self.factory.pool
        transport: Any = self.transport
        if hasattr(transport, "bufferSize"):
            transport.bufferSize = SHORT_READ_BYTES if pool.exhausted else READ_BYTES
        pause = self._inbox_bytes > HELD_BYTES or not pool.may_read(self)
        if pause != self._reading_paused:
            self._reading_paused = pause
            (transport.pauseProducing if pause else transport.resumeProducing)()

    def close_idle(self) -> None:
        """Close because nothing came or went for connections.max.idle.ms."""
        self._log.debug("closed the idle connection from {peer}", peer=self.peer)
        self._abort()

    def close_stalled(self) -> None:
        """Close because others wait for the memory that this one's unfinished request holds."""
        self._log.warn(
            "closed the connection from {peer}: it stopped in the middle of a request while memory is short"
            " (queued.max.request.bytes={limit})",
            peer=self.peer,
            limit=self.factory.limits.max_queued_bytes,
        )
        self._abort()

    def _abort(self) -> None:
        """Close at once: the peer may not even take what it is owed."""
        self._closing = True
        self._let_go()
        transport: Any = self.transport
        transport.abortConnection()

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Let go of all that this connection waited for."""
        self._closing = True
        self._let_go()
        self.factory.lost(self)


@attrs.frozen
class Limits:
    """What connections may cost (the settings' names in brackets)."""

    max_request_bytes: int  #: socket.request.max.bytes
    max_queued_bytes: int  #: queued.max.request.bytes; -1 for no limit
    max_idle_ms: int  #: connections.max.idle.ms; -1 for no limit
    max_connections: int  #: max.connections
    max_connections_per_ip: int  #: max.connections.per.ip
    send_buffer_bytes: int = -1  #: socket.send.buffer.bytes; -1 for the system's choice
    receive_buffer_bytes: int = -1  #: socket.receive.buffer.bytes; -1 for the system's choice


class KafkaServerFactory(protocol.ServerFactory):
    """Makes connections and keeps the limits that hold for all of them together.

    :param load: see :data:`kafkatx.net.sender.Load`.
    """

    _log = Logger()
    noisy = False

    def __init__(
        self, requests: Requests, limits: Limits, clock: IReactorTime, load: Load = in_memory
    ) -> None:
        self.load = load
        self.requests = requests
        self.limits = limits
        self.clock = clock
        self.connections: set[KafkaConnection] = set()
        self.pool = Pool(limits.max_queued_bytes, self._reconsider)
        self._per_ip: dict[str, int] = {}

    def buildProtocol(self, addr: IAddress | None) -> protocol.Protocol | None:
        """A connection, or None where one more would be too many."""
        host: str = getattr(addr, "host", "")
        count = self._per_ip.get(host, 0)
        for name, now, most in (
            ("max.connections", sum(self._per_ip.values()), self.limits.max_connections),
            ("max.connections.per.ip", count, self.limits.max_connections_per_ip),
        ):
            if now >= most:
                self._log.warn("refused {host}: {name}={most} reached", host=host, name=name, most=most)
                return None
        self._per_ip[host] = count + 1
        return KafkaConnection(self)

    def set_buffers(self, transport: Any) -> None:
        """Give a connection's socket the buffers that the settings name."""
        for option, size in (
            (socket.SO_SNDBUF, self.limits.send_buffer_bytes),
            (socket.SO_RCVBUF, self.limits.receive_buffer_bytes),
        ):
            if size >= 0:
                transport.getHandle().setsockopt(socket.SOL_SOCKET, option, size)

    def lost(self, connection: KafkaConnection) -> None:
        """A connection has ended."""
        self.connections.discard(connection)
        host = connection.peer.host
        self._per_ip[host] -= 1
        if not self._per_ip[host]:
            del self._per_ip[host]

    def _reconsider(self) -> None:
        for connection in list(self.connections):
            connection.reconsider()

    def close_idle(self) -> None:
        """Close connections where nothing came or went for connections.max.idle.ms, or that stall others."""
        most_s = self.limits.max_idle_ms / 1000
        for connection in [c for c in self.connections if c.idle_s() > most_s >= 0 and not c.serving]:
            connection.close_idle()
        turn = self.pool.turn
        if self.pool.exhausted and isinstance(turn, KafkaConnection) and turn.idle_s() > STALLED_S:
            turn.close_stalled()

    def close_all(self) -> None:
        """Close every connection."""
        for connection in list(self.connections):
            connection._close(None)
