"""Writes replies to a TLS connection: slices of files are read, since they have to be encrypted."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IPushProducer, ITransport
from zope.interface import implementer

from kafkatx.net.sender import Chunk, Load, PlainSender, in_memory
from kafkatx.types import FileSlice


@implementer(IPushProducer)
class TlsSender(PlainSender):
    """Sends a piece after the other until the transport's buffer is full, and goes on when it is empty."""

    def __init__(self, transport: ITransport, drained: Callable[[], None], load: Load = in_memory) -> None:
        super().__init__(transport, drained, load)
        self._paused = self._pumping = False

    def send(self, chunks: list[Chunk]) -> None:
        """Send *chunks* after all that was given before."""
        self._queue.extend(chunks)
        if not self.busy:
            self._wait()

    def _wait(self) -> None:
        self.busy, self._paused = True, False
        self._transport.registerProducer(self, True)  # type: ignore[attr-defined]
        self._begin_round()
        self._pump()

    def pauseProducing(self) -> None:
        """Wait: the transport's buffer is full."""
        self._paused = True

    def resumeProducing(self) -> None:
        """Go on: the transport's buffer is empty."""
        self._paused = False
        self._begin_round()
        self._pump()

    def _go_on(self) -> None:
        self._pump()

    def _pump(self) -> None:
        if self._pumping or not self.busy:
            return
        self._pumping = True
        try:
            self._write_pieces()
        except OSError as error:
            self._give_up(error)
            return
        finally:
            self._pumping = False
        if self.busy and not self._queue and not self._paused and self._loading is None:
            self._finish()

    def _write_pieces(self) -> None:
        while self._queue and not self._paused:
            if self._must_load(next((chunk for chunk in self._queue if isinstance(chunk, FileSlice)), None)):
                return
            self._transport.write(b"".join(self._next_piece()))
