"""The server's end of a connection: frames in, replies out in the order of the requests.

As Apache Kafka does, a request starts when the one before it has been answered; only produce requests
and offset commits may start while others of them are unanswered, for their order is kept by the log. All of
them that arrive in one read are staged and then written together (the design's first journey).

What a peer can make us hold is bounded: while its replies do not drain, nothing of it is served; while
more than ``HELD_BYTES`` of its requests wait, nothing is read from it; and when all connections together
hold ``queued.max.request.bytes``, the :class:`kafkatx.net.pool.Pool` says who may read on.

A peer that has exceeded a quota is muted after the answer that tells it so (KIP-219): until the time is up
nothing is read from it, and what it has sent waits. It may be closed meanwhile, as any other.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from twisted.internet import protocol
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure

from kafkatx.errors import ProtocolViolation
from kafkatx.net.pool import Pool
from kafkatx.net.requests import ExclusiveReply, Peer, Reply, Staged
from kafkatx.net.sender import Chunk, PlainSender, make_sender
from kafkatx.wire.frames import FrameDecoder

if TYPE_CHECKING:
    from kafkatx.net.server import KafkaServerFactory

READ_BYTES = 1 << 20
"""Size of one read. Large reads let many small produce requests share one write to the log."""

SHORT_READ_BYTES = 16 << 10
"""Size of one read while memory is short."""

HELD_BYTES = 1 << 20
"""How many bytes of requests may wait behind one that is being served before reading pauses."""

REPLIED_BYTES = 1 << 20
"""How many bytes of replies are made before they are sent and others have their turn."""


class _Owed:
    """A reply that is owed: ``deferred`` is None once ``chunks`` holds it."""

    __slots__ = ("chunks", "deferred")

    def __init__(self) -> None:
        self.chunks: Reply = None
        self.deferred: Deferred[Reply] | None = None


class KafkaConnection(protocol.Protocol):
    """One client's connection."""

    factory: KafkaServerFactory
    peer: Peer
    _sender: PlainSender

    def __init__(self, factory: KafkaServerFactory) -> None:
        self.factory = factory
        self._requests = factory.requests
        self._frames = FrameDecoder(factory.limits.max_request_bytes)
        self._inbox: deque[memoryview] = deque()
        self._inbox_bytes = 0
        self._alone_bytes = 0  # of a request that is done in parts
        self._owed: deque[_Owed] = deque()
        self._owed_are_ordered = True
        self._out: list[Chunk] = []
        self._fault: Exception | None = None  # why the connection closes when what came before is answered
        self._serving = self._closing = self._reading_paused = False
        self._held = False
        self._muted: IDelayedCall | None = None  # what ends it
        self._rounds = 0
        self._last_active_s = 0.0

    def connectionMade(self) -> None:
        """Set the socket up."""
        transport: Any = self.transport
        if hasattr(transport, "fileno") and transport.fileno() >= self.factory.most_descriptors:
            self._refuse(transport)
        if hasattr(transport, "setTcpNoDelay"):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        self.factory.set_buffers(transport)
        remote, local = transport.getPeer(), transport.getHost()
        self.peer = Peer(remote.host, remote.port, local.host, local.port)
        self._sender = make_sender(transport, self._drained, self.factory.load)
        self.peer.rounds, self.peer.abort = self._sent_rounds, self.abort
        self._last_active_s = self.factory.clock.seconds()
        self.factory.connections.add(self)
        self.reconsider()

    def _refuse(self, transport: Any) -> None:
        """Close at once: more connections would leave no files for the logs."""
        self.factory.log.warn(
            "refused {host}: the process has nearly as many files open as it may; raise its limit (ulimit -n)"
            " or lower max.connections",
            host=transport.getPeer().host,
        )
        self._closing = True
        transport.abortConnection()

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
        before = self._inbox_bytes
        try:
            for frame in self._frames.feed(data):
                self._inbox.append(frame)
                self._inbox_bytes += len(frame)
        except ProtocolViolation as violation:
            self._fault = violation
        if self._held and self._inbox_bytes != before:
            # the unfinished request is complete: its turn is over
            self.factory.pool.hold(self, self._inbox_bytes + self._alone_bytes, 0)
        self._serve()
        if self._inbox or self._held or self._frames.buffered_bytes:
            self._balance()

    def _serve(self) -> None:
        """Serve the waiting requests as far as their order, and what the peer takes of replies, allow."""
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
            if not self._owed and not self._sender.busy:
                self._go_on_soon()
        elif self._fault is not None and not self._owed:
            self.close(self._fault)

    def _serve_inbox(self) -> bool:
        """Serve a round of requests; say whether anything was written to a log.

        A round ends when its replies are ``REPLIED_BYTES`` large: small requests may have large ones.
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
                if self._owed and not (is_ordered and self._owed_are_ordered):
                    break
                frame = inbox.popleft()
                self._inbox_bytes -= len(frame)
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
                        room -= sum(map(len, answer))
                    elif isinstance(answer, ExclusiveReply):
                        self._take_alone(answer.reply, len(frame))
                        break
                    else:
                        self._take(answer, is_ordered)
            if staged:
                wrote = True
                self._finish(staged)
        except Exception as error:
            if not isinstance(error, ProtocolViolation):
                self.factory.log.failure("a request from {peer} could not be served", peer=self.peer)
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
        """Send a reply, in its turn, when it is there."""
        if not self._owed and (reply is None or type(reply) is list):
            self._out += reply or ()  # a Deferred is an abstract class: to ask for it first would be slow
        elif isinstance(reply, Deferred):
            self._owed_are_ordered = is_ordered and (self._owed_are_ordered or not self._owed)
            owed = _Owed()
            self._owed.append(owed)
            owed.deferred = reply
            reply.addCallbacks(self._settle, self._fail, (owed,), {}, (owed,))
        elif self._owed:
            owed = _Owed()
            owed.chunks = reply
            self._owed.append(owed)

    def _take_alone(self, reply: Deferred[Reply], size: int) -> None:
        """Send a reply when it is there; until then nothing else is served."""
        self._alone_bytes = size
        reply.addBoth(self._end_alone)
        self._take(reply, False)
        self._owed_are_ordered = False
        self._balance()

    def _end_alone(self, result: Any) -> Any:
        self._alone_bytes = 0
        if not self._closing:
            self._balance()
        return result

    def _settle(self, chunks: Reply, owed: _Owed) -> None:
        owed.chunks, owed.deferred = chunks, None
        while self._owed and self._owed[0].deferred is None:
            self._out += self._owed.popleft().chunks or ()
        if not self._serving and not self._closing:
            self._flush()
            if self.peer.throttle_time_ms:
                self._mute()
            if self._inbox or self._fault is not None:
                self._go_on_soon()

    def _mute(self) -> None:
        """Begin to leave the peer alone."""
        seconds, self.peer.throttle_time_ms = self.peer.throttle_time_ms / 1000, 0
        self._muted = self.factory.clock.callLater(seconds, self._unmute)
        self._balance()

    def _unmute(self) -> None:
        self._muted = None
        self._last_active_s = self.factory.clock.seconds()  # so far, it could not send
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
                self._say_sent()

    def _say_sent(self) -> None:
        calls = self.peer.when_sent[:]
        self.peer.when_sent.clear()
        for call in calls:
            call()

    def _sent_rounds(self) -> int:
        return self._sender.rounds

    def _drained(self) -> None:
        """The peer has taken its replies."""
        if self.peer.when_sent and not self._out:
            self._say_sent()
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
            self.close(failure.value)
        else:
            self.factory.log.failure("a reply to {peer} could not be made", failure, peer=self.peer)
            self.close(None)

    def close(self, fault: Exception | None) -> None:
        """Close for good; what was answered before is still sent."""
        if self._closing:
            return
        self._closing = True
        if isinstance(fault, ProtocolViolation):
            self.factory.log.warn("closed the connection from {peer}: {reason}", peer=self.peer, reason=fault)
        self._let_go()
        assert self.transport is not None
        self.transport.loseConnection()

    def _let_go(self) -> None:
        self._stop_muting()
        self._alone_bytes = 0
        self._inbox.clear()
        self._inbox_bytes = 0
        self._frames = FrameDecoder(0)
        self._balance()
        owed, self._owed = self._owed, deque()
        for reply in owed:
            if reply.deferred is not None:
                reply.deferred.cancel()

    def _balance(self) -> None:
        """Account for what is held, and stop or start reading accordingly."""
        unfinished = self._frames.buffered_bytes
        held_bytes = self._inbox_bytes + self._alone_bytes + unfinished
        self._held = bool(held_bytes)
        # the turn of a connection that is not read from for another reason would keep the others waiting
        may_go_on = unfinished and self._muted is None and self._inbox_bytes <= HELD_BYTES
        missing = self._frames.missing_bytes if may_go_on else 0
        self.factory.pool.hold(self, held_bytes, missing)
        self.reconsider()

    def reconsider(self) -> None:
        """Stop or start reading as what is held, here and elsewhere, allows."""
        if self._closing:
            return
        pool: Pool = self.factory.pool
        transport: Any = self.transport
        if hasattr(transport, "bufferSize"):
            transport.bufferSize = SHORT_READ_BYTES if pool.exhausted else READ_BYTES
        pause = self._muted is not None or self._inbox_bytes > HELD_BYTES or not pool.may_read(self)
        if pause != self._reading_paused:
            self._reading_paused = pause
            (transport.pauseProducing if pause else transport.resumeProducing)()

    def close_idle(self) -> None:
        """Close because nothing came or went for connections.max.idle.ms."""
        self._abort()

    def give_up(self, reason: str) -> None:
        """Close because others wait for the memory that this one's unfinished request holds."""
        limit = self.factory.limits.max_queued_bytes
        self.abort(f"{reason} while memory is short (queued.max.request.bytes={limit})")

    def abort(self, reason: str) -> None:
        """Close at once, with a line in the log."""
        self.factory.log.warn("closed the connection from {peer}: {reason}", peer=self.peer, reason=reason)
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
        self._say_sent()
        self.factory.lost(self)
