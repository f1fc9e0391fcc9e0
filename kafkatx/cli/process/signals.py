"""Signals that ask a command to end, taken at a place where nothing is half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import attrs

from kafkatx.cli.output.terminal import say


def interrupt(number: int) -> None:
    """Break off whatever the main thread waits for."""
    raise KeyboardInterrupt


def die(number: int) -> None:
    """End the process as the signal does where nobody takes it: nothing more is done, nothing tidied."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


@attrs.define
class Stop:
    """What a signal asks for: the first to end when the work at hand is done, the second to end now.

    :ivar message: said at the first, if it is not empty.
    :ivar now: called with the second one's number.
    :ivar event: set since the first.
    """

    message: str = ""
    now: Callable[[int], None] = interrupt
    event: threading.Event = attrs.field(factory=threading.Event)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Called by the interpreter, in the main thread; what that waits for goes on unless this raises."""
        if self.event.is_set():
            self.now(number)
            return
        self.event.set()
        if self.message:
            say(self.message)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM meanwhile, whoever had them before. In the main thread only."""
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)
