"""Writes replies to a transport: bytes by ``send``, slices of files by ``sendfile``.

On plain TCP the sender writes to the socket at once and involves the transport only when the socket's
buffer is full: then it registers as a pull producer, and the transport calls ``resumeProducing`` when
the socket is writable. So the transport's own write buffer is always empty, and nothing is copied into it.
Elsewhere (TLS, a test's transport) slices are read in pieces and written as any producer would.

No slice is sent, or read, before it is in the page cache: :data:`Load` reads it in a worker. A slice that was
in the cache a moment ago is not checked again, unless the peer has kept the sender waiting since.
"""

from __future__ import annotations

import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic
from typing import cast

from twisted.internet import tcp
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IPullProducer, ITransport
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.types import FileSlice

Chunk = bytes | bytearray | memoryview | FileSlice

PIECE_BYTES = 256 * 1024
"""Bytes of a file that are read at a time where there is no ``sendfile``."""

WINDOW_BYTES = 1 << 20
"""Bytes of a slice that are probed, and loaded, at a time."""

Load = Callable[[FileSlice], "Deferred[None] | None"]
"""Reads the first window of a slice into the page cache: see :class:`kafkatx.net.readahead.ReadAhead`."""

TURN_BYTES = 256 * 1024
"""Bytes of a file that are sent before the other connections get their turn."""

WARM_S = 1.0
"""For how long a slice that was seen in the page cache is taken to be there, seconds."""

COPIED_BYTES = 32 * 1024
"""Slices up to this size are read and sent together with their neighbours: cheaper than three calls."""

BROKEN = frozenset(
    {
        errno.EPIPE,
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.ENOTCONN,
        errno.ESHUTDOWN,
        errno.ETIMEDOUT,
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
    }
)
"""The errors of a connection that breaks."""

JOINED_BYTES = 128 * 1024
"""Bytes that are joined for one call."""

_TURN_CALLS = range(8)
"""Calls to the socket before the other connections get their turn."""

MORE = getattr(socket, "MSG_MORE", 0)


def in_memory(piece: FileSlice) -> None:
    """Return None: the file is never cold."""


def make_sender(transport: ITransport, drained: Callable[[], None], load: Load = in_memory) -> PlainSender:
    """Return the fastest sender that *transport* allows.

    :param drained: called when everything was handed to the socket after a wait.
    :param load: asked about a slice, and about what is left of it, before anything of it is sent.
    """
    # A TLS wrapper passes unknown attributes on to the socket below it: only the exact kind will do.
    if isinstance(transport, tcp.Connection) and not transport.TLS and hasattr(os, "sendfile"):
        return SocketSender(transport, drained, load)
    own: Callable[..., PlainSender] | None = getattr(transport, "make_sender", None)  # TLS of a listener
    if own is not None:
        return own(drained, load)
    return PlainSender(transport, drained, load)


@implementer(IPullProducer)
class PlainSender:
    """Sends through ``transport.write``, a piece whenever the transport asks for more.

    :ivar busy: True while not all is sent; stays True once sending has failed.
    :ivar rounds: how often the peer has made room for more.
    """

    _log = Logger()

    def __init__(self, transport: ITransport, drained: Callable[[], None], load: Load = in_memory) -> None:
        self._transport = transport
        self._drained = drained
        self._load = load
        self._loading: Deferred[None] | None = None
        self._just_loaded = False
        self._queue: deque[Chunk] = deque()
        self._waiting_since_s = 0.0
        self.busy = False
        self.rounds = 0

    def send(self, chunks: list[Chunk]) -> None:
        """Send *chunks* after all that was given before."""
        self._queue.extend(chunks)
        if not self.busy:
            self._wait()

    def _wait(self) -> None:
        self.busy = True
        self._waiting_since_s = monotonic()
        # calls resumeProducing at once
        self._transport.registerProducer(self, False)  # type: ignore[attr-defined]

    def resumeProducing(self) -> None:
        """Send the next piece: the transport has room."""
        self._begin_round()
        if self._must_load(next((chunk for chunk in self._queue if isinstance(chunk, FileSlice)), None)):
            # a transport that found its producer idle would ask it again and again
            self._transport.unregisterProducer()  # type: ignore[attr-defined]
            return
        try:
            piece = b"".join(self._next_piece())
        except OSError as error:
            self._give_up(error)
            return
        self._transport.write(piece)
        if not self._queue:
            self._finish()

    def _begin_round(self) -> None:
        """Count it; after a long wait what was seen in the page cache before it may be gone."""
        self.rounds += 1
        now_s = monotonic()
        if now_s - self._waiting_since_s > WARM_S:
            for chunk in self._queue:
                if isinstance(chunk, FileSlice):
                    chunk.warm = 0
        self._waiting_since_s = now_s

    def _must_load(self, first: FileSlice | None) -> bool:
        """Return True if the first slice is being read from the disk; :meth:`_loaded` goes on then."""
        if self._loading is None and first is not None and first.warm < min(first.size, TURN_BYTES):
            if self._just_loaded:  # so that it makes progress however short of memory the machine is
                self._just_loaded = False
                return False
            loading = self._load(first)
            if loading is not None and not loading.called:
                self._loading = loading
                loading.addCallbacks(self._loaded, self._not_loaded)
            else:
                first.warm = min(first.size, WINDOW_BYTES)
        return self._loading is not None

    def _loaded(self, _: None) -> None:
        self._loading, self._just_loaded = None, True
        self._go_on()

    def _not_loaded(self, failure: Failure) -> None:
        self._loading = None
        if not failure.check(CancelledError):
            failure.trap(OSError)
            self._give_up(cast(OSError, failure.value))

    def _go_on(self) -> None:
        self._wait()

    def _give_up(self, error: OSError) -> None:
        """Abort the connection: after part of a reply nothing else can tell the peer."""
        # connections break every day; a failing disk, or a file shorter than its slice (no errno), is news
        if error.errno not in BROKEN:
            peer = self._transport.getPeer()
            self._log.error("sending to {peer} failed: {error}", peer=peer, error=error)
        if self.busy:
            self._transport.unregisterProducer()  # type: ignore[attr-defined]
        self.busy = True
        self._queue.clear()
        self._transport.abortConnection()  # type: ignore[attr-defined]

    def _finish(self) -> None:
        self.busy = False
        self._transport.unregisterProducer()  # type: ignore[attr-defined]
        self._drained()

    def _next_piece(self) -> Iterable[bytes | bytearray | memoryview]:
        size, slices = 0, 0
        while self._queue and size < PIECE_BYTES:
            if slices and isinstance(self._queue[0], FileSlice):
                break  # it may have to be loaded first
            chunk = self._queue.popleft()
            if isinstance(chunk, FileSlice):
                slices += 1
                piece = FileSlice(chunk.file, chunk.position, min(chunk.size, PIECE_BYTES))
                if piece.size < chunk.size:
                    self._queue.appendleft(_rest(chunk, piece.size))
                chunk = piece.tobytes()
            size += len(chunk)
            yield chunk

    def stopProducing(self) -> None:
        """Drop what is queued: the connection is closed."""
        self._queue.clear()
        if self._loading is not None:
            self._loading.cancel()


class SocketSender(PlainSender):
    """Sends to a TCP socket without the transport's buffer in between."""

    def __init__(
        self, transport: tcp.Connection, drained: Callable[[], None], load: Load = in_memory
    ) -> None:
        super().__init__(transport, drained, load)
        self._tcp = transport
        self._socket = transport.getHandle()

    def send(self, chunks: list[Chunk]) -> None:
        """Send *chunks* after all that was given before; at once as far as the socket takes it."""
        self._queue.extend(chunks)
        if not self.busy and self._pump() and self._queue:
            self.busy = True
            self._waiting_since_s = monotonic()
            self._tcp.registerProducer(self, False)  # tries once more, then waits

    def resumeProducing(self) -> None:
        """Go on sending: the socket is writable."""
        self._begin_round()
        if not self._pump() or self._loading is not None:
            return
        if self._queue:
            self._tcp.startWriting()
        else:
            self._finish()

    def _go_on(self) -> None:
        self.resumeProducing()

    def _pump(self) -> bool:
        """Send until all is sent, the socket is full, a slice cold or it is the others' turn.

        :return: False if the connection is broken.
        """
        queue = self._queue
        try:
            for _ in _TURN_CALLS:
                if not queue:
                    break
                head = queue[0]
                if not isinstance(head, FileSlice):
                    went = self._send_memory()
                elif self._must_load(head):
                    break
                else:
                    went = self._send_file(head) if head.size > COPIED_BYTES else self._send_memory()
                if not went:
                    break
        except BlockingIOError:
            pass
        except OSError as error:
            self._give_up(error)
            return False
        return True

    def _send_memory(self) -> bool:
        """Send chunks in one call, up to the next long or cold slice; return True if all were sent."""
        queue = self._queue
        taken = [queue.popleft()]
        room = JOINED_BYTES - len(taken[0])
        while queue and room > 0:
            head = queue[0]
            if not isinstance(head, FileSlice):
                room -= len(head)
            elif head.size <= COPIED_BYTES and head.warm >= head.size:
                room -= head.size
            else:
                break
            taken.append(queue.popleft())
        data = _in_memory(taken[0]) if len(taken) == 1 else b"".join(map(_in_memory, taken))
        try:
            sent = self._socket.send(data, MORE if queue else 0)
        except BlockingIOError:
            sent = 0
        if sent == len(data):
            return True
        self._put_back(taken, len(data) - sent)
        return False

    def _put_back(self, taken: list[Chunk], left: int) -> None:
        """Queue the last *left* bytes of some chunks again; those of files do not stay in memory."""
        for chunk in reversed(taken):
            sent = len(chunk) - left
            if sent > 0:
                if left:
                    rest = _rest(chunk, sent) if isinstance(chunk, FileSlice) else memoryview(chunk)[sent:]
                    self._queue.appendleft(rest)
                return
            self._queue.appendleft(chunk)
            left -= len(chunk)

    def _send_file(self, head: FileSlice) -> bool:
        """Send some of the file slice at the head; return True if all of it was sent."""
        window = min(head.size, TURN_BYTES)
        sent = os.sendfile(self._socket.fileno(), head.file.fileno(), head.position, window)
        if not sent:
            raise OSError(f"{head.file.path} ends {head.size} bytes early")
        self._queue.popleft()
        if sent == head.size:
            return True
        self._queue.appendleft(_rest(head, sent))
        return False


def _rest(piece: FileSlice, sent: int) -> FileSlice:
    """Return the rest of a slice."""
    return FileSlice(piece.file, piece.position + sent, piece.size - sent, piece.warm - sent)


def _in_memory(chunk: Chunk) -> bytes | bytearray | memoryview:
    return chunk.tobytes() if isinstance(chunk, FileSlice) else chunk
