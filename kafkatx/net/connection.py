"""The server's end of a connection: frames in, replies out in the order of the requests.

As in Apache Kafka, a request starts when the one before it has been answered. Only produce requests and
offset commits may start while others of them are unanswered, because the log keeps their order. All of them
that arrive in one read are staged and then written together (the design's first journey).

The memory that a peer can occupy is bounded: while it does not read its replies, none of its requests is
served; while more than ``HELD_BYTES`` of its requests wait, nothing is read from it; and while all
connections together hold ``queued.max.request.bytes``, the :class:`kafkatx.net.pool.MemoryPool` decides which
of them may read.

A peer that has exceeded a quota is muted after the reply that says so (KIP-219): until the time is up nothing
is read from it, and its requests wait. A muted connection may be closed like any other.

It touches its transport and the clock. :mod:`kafkatx.net.server` makes connections, and
:mod:`kafkatx.net.sender` writes the replies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from twisted.internet import protocol
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

from kafkatx.errors import KafkaTXError, ProtocolViolation
from kafkatx.net.admission.limits import network_of
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.pool import MemoryPool
from kafkatx.net.requests import ExclusiveReply, Peer, PendingReply, Reply, Requests, Session, Staged
from kafkatx.net.sender import Chunk, Load, PlainSender, make_sender
from kafkatx.wire.frames import DeafDecoder, FrameDecoder

T = TypeVar("T")

READ_BYTES = 1 << 20
"""Size of one read. Large reads let many small produce requests share one write to the log."""

SHORT_READ_BYTES = 16 << 10
"""Size of one read while memory is short."""

HELD_BYTES = 1 << 20
"""Reading pauses while more bytes of requests than this wait to be served."""

FRAME_BYTES = 192
"""Memory of a waiting request beside its bytes; many tiny requests take more of it than of bytes."""

PINNED_BYTES = 64 << 10
"""Requests that wait are copied if the reads that they are parts of are larger by this and twice as large."""

REPLIED_BYTES = 1 << 20
"""A round of requests ends when its replies have this size."""

REPLY_BYTES = REPLIED_BYTES // 8
"""Counted for each reply besides its bytes: however small, no more of them are made while others wait."""

MOST_PENDING = 1000
"""Requests of a connection that may be unanswered: the replies wait for the disk, or for other brokers."""


class Server(Protocol):
    """The server as its connections see it: see :class:`kafkatx.net.server.KafkaServerFactory`."""

    load: Load
    clock: IReactorTime
    log: LimitedLog
    connections: set[KafkaConnection]
    pool: MemoryPool
    login_pool: MemoryPool

    @property
    def max_request_bytes(self) -> int:
        """The largest request (socket.request.max.bytes)."""

    def set_up(self, transport: object) -> bool:
        """Set the options of a connection's socket; return False if there are too many connections."""

    def lost(self, connection: KafkaConnection) -> None:
        """Forget a connection that has ended."""


class KafkaConnection(protocol.Protocol):
    """The connection of a client; *on_made* is called when it has a peer."""

    peer: Peer
    on_made: Callable[[], None] | None = None
    _sender: PlainSender
    _transport: Any  # TCP, TLS or a test's, which have no type in common that says all that is used here

    def __init__(self, server: Server, requests: Requests, listener: str) -> None:
        self._server = server
        self._requests = requests
        self._listener = listener
        self._frames = FrameDecoder(server.max_request_bytes)
        self._inbox: deque[memoryview] = deque()
        self._inbox_bytes = 0
        self._pinned_bytes = 0  # of the reads that requests in the inbox are parts of
        self._exclusive_bytes = 0  # of a request that is served in parts
        self._pending: deque[PendingReply] = deque()
        self._pending_are_ordered = True
        self._out: list[Chunk] = []
        self._fault: Exception | None = None  # closes the connection once the requests before it are answered
        self._serving = self._closing = self._reading_paused = False
        self._held = False
        self._pool = server.pool
        self._muted: IDelayedCall | None = None  # the timer that ends it
        self._rounds = 0
        self._last_active_s = 0.0

    def connectionMade(self) -> None:
        """Prepare the socket, and begin to read."""
        self._transport = self.transport
        transport = self._transport
        if not self._server.set_up(transport):
            self._closing = True
            transport.abortConnection()
        remote, local = transport.getPeer(), transport.getHost()
        self.peer = Peer(remote.host, remote.port, local.host, local.port, Session(listener=self._listener))
        self._sender = make_sender(transport, self._drained, self._server.load)
        self.peer.rounds, self.peer.abort = lambda: self._sender.rounds, self.abort
        self._last_active_s = self._server.clock.seconds()
        self._server.connections.add(self)
        if self.on_made is not None:
            self.on_made()
        self.reconsider()

    @property
    def address(self) -> str:
        """The address of the peer, as fair shares count it."""
        return network_of(self.peer.host)

    def use(self, requests: Requests, max_bytes: int, has_login: bool = True) -> None:
        """Pass later requests to *requests*; accept frames of at most *max_bytes*.

        :param has_login: False: it shares the little memory of all connections before their login.
        """
        self._requests = requests
        self._frames.max_bytes = max_bytes
        pool = self._server.pool if has_login else self._server.login_pool
        if pool is not self._pool:
            self._pool.hold(self, 0, 0)
            self._pool = pool
            self._balance()

    def end(self, reason: str) -> None:
        """Close once what was asked so far is answered, and serve no later request; log why now."""
        self._say_closed(reason)  # the peer may leave before that
        self._fault = KafkaTXError(reason)
        self._inbox.clear()
        self._inbox_bytes = 0
        self._frames = DeafDecoder()

    @property
    def serving(self) -> bool:
        """True if a request of this connection is being served."""
        return bool(self._pending)

    def idle_s(self) -> float:
        """Return the seconds since the peer last sent something, or read some of its replies."""
        now_s = self._server.clock.seconds()
        if self._sender.rounds != self._rounds:
            self._rounds, self._last_active_s = self._sender.rounds, now_s
        return now_s - self._last_active_s

    def dataReceived(self, data: bytes) -> None:
        """Feed a piece of the stream, and serve the requests that it completes."""
        if self._closing:
            return
        self._last_active_s = self._server.clock.seconds()
        before = self._inbox_bytes
        try:
            for frame in self._frames.feed(data):
                self._inbox.append(frame)
                self._inbox_bytes += len(frame) + FRAME_BYTES
        except ProtocolViolation as violation:
            self._fault = violation
        if self._held and self._inbox_bytes != before:
            # the unfinished request is complete: its turn in the pool is over
            self._pool.hold(self, self._inbox_bytes + self._exclusive_bytes, 0)
        self.peer.hurry()
        self._serve()
        if self._inbox or self._held or self._frames.buffered_bytes:
            self._pinned_bytes += len(data)
            self._balance()

    def _serve(self) -> None:
        """Serve the waiting requests as far as their order and the unsent replies allow."""
        if self._serving or self._closing or self._muted is not None:
            return
        self._serving = True
        try:
            wrote = self._serve_inbox()
        finally:
            self._serving = False
            self._flush()
        if self.peer.throttle_time_ms and not self._closing:
            self._mute()
        if wrote:
            self._requests.wake_waiting()
        if self._inbox:
            if not self._pending and not self._sender.busy:
                self._go_on_soon()
        elif self._fault is not None and not self._pending:
            self.close(self._fault)

    def _serve_inbox(self) -> bool:
        """Serve a round of requests; return True if anything was written to a log.

        A round ends when its replies are ``REPLIED_BYTES`` large, or many: small requests may have large
        replies, and other connections have their turns in between.
        """
        inbox, answer_one, peer = self._inbox, self._requests.answer, self.peer
        ordered = self._requests.ordered
        staged: list[Staged] = []
        wrote, room = False, REPLIED_BYTES
        try:
            while inbox and room > 0 and not self._sender.busy and not peer.throttle_time_ms:
                is_ordered = inbox[0][:2] in ordered
                if staged and not is_ordered:
                    wrote = True
                    self._finish(staged)
                if self._pending and not (
                    is_ordered
                    and self._pending_are_ordered
                    and len(self._pending) + len(staged) < MOST_PENDING
                ):
                    break
                frame = inbox.popleft()
                self._inbox_bytes -= len(frame) + FRAME_BYTES
                answer = answer_one(frame, peer)
                if isinstance(answer, Staged):
                    staged.append(answer)
                    if answer.alone:
                        break
                else:
                    if staged:
                        wrote = True
                        self._finish(staged)  # their replies come first
                    if isinstance(answer, list):
                        self._take(answer, is_ordered)
                        room -= sum(map(len, answer)) + REPLY_BYTES
                    elif isinstance(answer, ExclusiveReply):
                        self._take_exclusive(answer.reply, len(frame))
                        break
                    else:
                        self._take(answer, is_ordered)
            if staged:
                wrote = True
                self._finish(staged)
        except Exception as error:
            if not isinstance(error, ProtocolViolation):
                self._server.log.failure("a request from {peer} could not be served", peer=self.peer)
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
            self._take(answer.finish(failed), not answer.alone)

    def _take(self, reply: Reply | Deferred[Reply], is_ordered: bool) -> None:
        """Send a reply in its turn, once it is ready."""
        if not self._pending and (reply is None or type(reply) is list):
            self._out += reply or ()  # asking for Deferred first would be slow: it is an abstract class
        elif isinstance(reply, Deferred):
            self._pending_are_ordered = is_ordered and (self._pending_are_ordered or not self._pending)
            pending = PendingReply()
            self._pending.append(pending)
            pending.deferred = reply
            reply.addCallbacks(self._settle, self._fail, (pending,), {}, (pending,))
        elif self._pending:
            self._pending.append(PendingReply(reply))

    def _take_exclusive(self, reply: Deferred[Reply], size: int) -> None:
        """Send a reply once it is ready; until then no other request is served."""
        self._exclusive_bytes = size
        reply.addBoth(self._end_exclusive)
        self._take(reply, False)
        self._pending_are_ordered = False
        self._balance()

    def _end_exclusive(self, result: T) -> T:
        self._exclusive_bytes = 0
        if not self._closing:
            self._balance()
        return result

    def _settle(self, chunks: Reply, pending: PendingReply) -> None:
        pending.chunks, pending.deferred = chunks, None
        while self._pending and self._pending[0].deferred is None:
            self._out += self._pending.popleft().chunks or ()
        if not self._serving and not self._closing:
            self._flush()
            if self.peer.throttle_time_ms:
                self._mute()
            if self._inbox or self._fault is not None:
                self._go_on_soon()

    def _mute(self) -> None:
        """Mute the peer for its throttle time."""
        seconds, self.peer.throttle_time_ms = self.peer.throttle_time_ms / 1000, 0
        self._muted = self._server.clock.callLater(seconds, self._unmute)
        self._balance()

    def _unmute(self) -> None:
        self._muted = None
        self._last_active_s = self._server.clock.seconds()  # it could not send until now
        self._go_on()

    def _stop_muting(self) -> None:
        if self._muted is not None:
            self._muted.cancel()
            self._muted = None

    def _flush(self) -> None:
        """Send the replies whose turn has come."""
        if self._out:
            out, self._out = self._out, []
            self._sender.send(out)
            if self.peer.when_sent and not self._sender.busy:
                self.peer.sent()

    def _drained(self) -> None:
        """Go on serving: the peer has read its replies."""
        if self.peer.when_sent and not self._out:
            self.peer.sent()
        if self._inbox or self._fault is not None:
            self._go_on_soon()

    def _go_on_soon(self) -> None:
        # not at once: the write of another connection may have woken this one, and so on without end
        self._server.clock.callLater(0, self._go_on)

    def _go_on(self) -> None:
        self._serve()
        self._balance()

    def _fail(self, failure: Failure, pending: PendingReply) -> None:
        if failure.check(CancelledError) and self._closing:
            pending.deferred = None
        elif isinstance(failure.value, ProtocolViolation):
            self.close(failure.value)
        else:
            self._server.log.failure("a reply to {peer} could not be made", failure, peer=self.peer)
            self.close(None)

    def close(self, fault: Exception | None) -> None:
        """Close; replies that were made before are still sent."""
        if self._closing:
            return
        self._closing = True
        if isinstance(fault, ProtocolViolation):
            self._say_closed(fault)
        self._let_go()
        self._transport.loseConnection()

    def _let_go(self) -> None:
        self._stop_muting()
        self._exclusive_bytes = 0
        self._inbox.clear()
        self._inbox_bytes = 0
        self._frames = FrameDecoder(0)
        self._balance()
        pending, self._pending = self._pending, deque()
        for reply in pending:
            if reply.deferred is not None:
                reply.deferred.cancel()

    def _balance(self) -> None:
        """Report the held memory to the pool, and stop or start reading accordingly."""
        if not self._inbox:
            self._pinned_bytes = 0
        elif not self._serving and self._pinned_bytes > 2 * self._inbox_bytes + PINNED_BYTES:
            self._inbox = deque(memoryview(bytes(frame)) for frame in self._inbox)
            self._pinned_bytes = self._inbox_bytes
        unfinished = self._frames.buffered_bytes
        held_bytes = self._inbox_bytes + self._exclusive_bytes + unfinished
        self._held = bool(held_bytes)
        # a connection that is not read from for another reason would waste its turn
        may_go_on = unfinished and self._muted is None and self._inbox_bytes <= HELD_BYTES
        missing = self._frames.missing_bytes if may_go_on else 0
        self._pool.hold(self, held_bytes, missing)
        self.reconsider()

    def reconsider(self) -> None:
        """Stop or start reading as the memory held by this and the other connections allows."""
        if self._closing:
            return
        pool, transport = self._pool, self._transport
        if hasattr(transport, "bufferSize"):
            is_short = pool.exhausted or pool is not self._server.pool
            transport.bufferSize = SHORT_READ_BYTES if is_short else READ_BYTES
        pause = self._muted is not None or self._inbox_bytes > HELD_BYTES or not pool.may_read(self)
        if pause != self._reading_paused:
            self._reading_paused = pause
            (transport.pauseProducing if pause else transport.resumeProducing)()

    def close_idle(self) -> None:
        """Close an idle connection (connections.max.idle.ms)."""
        self._abort()

    def abort(self, reason: str) -> None:
        """Close at once and log why."""
        self._say_closed(reason)
        self._abort()

    def _say_closed(self, reason: object) -> None:
        self._server.log.warn("closed the connection from {peer}: {reason}", peer=self.peer, reason=reason)

    def _abort(self) -> None:
        """Close at once; replies that are not sent yet are lost."""
        self._closing = True
        self._let_go()
        self._transport.abortConnection()

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Cancel all that this connection waits for."""
        self._closing = True
        self._let_go()
        self.peer.lost()
        self._server.lost(self)
