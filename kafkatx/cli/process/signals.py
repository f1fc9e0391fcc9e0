"""SIGINT and SIGTERM, handled at a point where no work is half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import attrs

from kafkatx.cli.output.terminal import say


def interrupt(number: int) -> None:
    """Raise KeyboardInterrupt in the main thread."""
    raise KeyboardInterrupt


def die(number: int) -> None:
    """End the process as the signal does by default, without any cleanup."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


@attrs.define
class Stop:
    """A request to stop: after the first signal when the present work is done, after the second one at once.

    :ivar message: printed at the first signal, unless it is empty.
    :ivar now: called with the number of the second signal.
    :ivar event: set by the first signal.
    """

    message: str = ""
    now: Callable[[int], None] = interrupt
    event: threading.Event = attrs.field(factory=threading.Event)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal, in the main thread, whose work goes on unless this raises."""
        if self.event.is_set():
            self.now(number)
            return
        self.event.set()
        if self.message:
            say(self.message)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM inside of this context. In the main thread only."""
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)
