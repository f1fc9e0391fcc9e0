"""A reactor for the tests of a broker's process."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.error import ReactorNotRunning
from twisted.internet.task import Clock


class FakeReactor(Clock):
    """A clock that runs at :meth:`run`: *script* is called then, and stands for all that happens."""

    def __init__(self) -> None:
        super().__init__()
        self.running = False
        self.stops = 0
        self.script: Callable[[], object] = lambda: None
        self.when_running: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        self.triggers: list[Callable[..., object]] = []

    def callFromThread(self, function: Callable[..., object], *arguments: object) -> None:
        """Call it."""
        function(*arguments)

    def callWhenRunning(self, function: Callable[..., object], *arguments: object) -> None:
        """Call it now if the reactor runs."""
        if self.running:
            function(*arguments)
        else:
            self.when_running.append((function, arguments))

    def addSystemEventTrigger(self, phase: str, eventType: str, callable: Callable[..., object]) -> None:
        """Remember what is called at the end."""
        self.triggers.append(callable)

    def run(self) -> None:
        """Run the script."""
        self.running = True
        for function, arguments in self.when_running:
            function(*arguments)
        self.script()
        for function in self.triggers:
            function()

    def stop(self) -> None:
        """Count."""
        self.stops += 1
        if self.stops > 1:
            raise ReactorNotRunning
