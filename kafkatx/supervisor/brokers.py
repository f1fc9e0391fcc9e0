"""The brokers of one machine: started together, started again when they end, stopped together.

It knows processes only as :class:`Process`, and time by a clock.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from kafkatx.errors import SettingError
from kafkatx.supervisor.backoff import Backoff
from kafkatx.supervisor.status import Report

MOST_ATTEMPTS = 5
"""Attempts of a broker's first start that end without a reason: the process was killed, for example."""
REMINDER_S = 10.0
"""Seconds between two lines that name the brokers which have not stopped yet."""


class Process(Protocol):
    """The process of one broker.

    :ivar pid: its id.
    """

    pid: int

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""


Start = Callable[[int, Callable[[Report], None], Callable[[str], None]], Process]
"""Starts the broker of an index; it is told of the broker's report, and of the process's end. May raise
OSError."""


@define(eq=False)
class _Member:
    """One broker.

    :ivar process: its process, if there is one.
    :ivar ready_at_s: since when it serves; None if it does not.
    :ivar why: why its start failed, if the process has said so.
    :ivar attempts: processes that have ended before it was ready for the first time.
    :ivar timer: starts it again.
    """

    index: int
    name: str
    process: Process | None = None
    ready_at_s: float | None = None
    why: str | None = None
    attempts: int = 0
    timer: IDelayedCall | None = None
    backoff: Backoff = field(factory=Backoff)


class Brokers:
    """All brokers of a machine.

    :param names: their names in the log.
    :ivar started: fires when all of them serve at the same time, for the first time; fails with SettingError
        if one says that it cannot, or ends again and again.
    :ivar http_url: URL of the HTTP listener of the first one; None if it has none, or does not serve yet.
    """

    _log = Logger()

    def __init__(self, names: Sequence[str], start: Start, clock: IReactorTime) -> None:
        self.started: Deferred[None] = Deferred()
        self.http_url: str | None = None
        self._members = [_Member(index, name) for index, name in enumerate(names)]
        self._start = start
        self._clock = clock
        self._stopped: Deferred[None] | None = None
        self._reminder: IDelayedCall | None = None

    @property
    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [member.process.pid for member in self._members if member.process is not None]

    def start(self) -> None:
        """Start all of them."""
        for member in self._members:
            self._begin(member)

    def stop(self) -> Deferred[None]:
        """Stop all of them; fires when the last process has ended."""
        if self._stopped is None:
            self._stopped = Deferred()
            for member in self._members:
                if member.timer is not None:
                    member.timer.cancel()
                    member.timer = None
            self.signal(signal.SIGTERM)
            self._reminder = self._clock.callLater(REMINDER_S, self._remind)
            self._check_stopped()
        return self._stopped

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all of them."""
        for member in self._members:
            if member.process is not None:
                member.process.signal(number)

    def _begin(self, member: _Member) -> None:
        member.timer = None
        member.why = None

        def reported(report: Report) -> None:
            self._reported(member, report)

        def ended(how: str) -> None:
            self._ended(member, how)

        try:
            member.process = self._start(member.index, reported, ended)
        except OSError as error:
            self._ended(member, f"it cannot be started: {error}")

    def _reported(self, member: _Member, report: Report) -> None:
        if report.failure is not None:
            member.why = report.failure
            return
        member.ready_at_s = self._clock.seconds()
        if member.index == 0:
            self.http_url = report.http
        pid = None if member.process is None else member.process.pid
        self._log.info(
            "broker {name} is ready: {address} (process {pid})",
            name=member.name,
            address=report.address,
            pid=pid,
        )
        if not self.started.called and all(each.ready_at_s is not None for each in self._members):
            self.started.callback(None)

    def _ended(self, member: _Member, how: str) -> None:
        process, member.process = member.process, None
        ready_at_s, member.ready_at_s = member.ready_at_s, None
        if self._stopped is not None:
            self._check_stopped()
            return
        why = how if member.why is None else member.why
        if not self.started.called and self._cannot_start(member, process, ready_at_s):
            self.started.errback(SettingError(f"broker {member.name} cannot start: {why}"))
            return
        ready_s = None if ready_at_s is None else self._clock.seconds() - ready_at_s
        pause_s = member.backoff.pause_s(ready_s)
        self._log.error(
            "broker {name} (process {pid}) has ended: {why}; it is started again in {pause_s:g} s",
            name=member.name,
            pid=None if process is None else process.pid,
            why=why,
            pause_s=pause_s,
        )
        member.timer = self._clock.callLater(pause_s, self._begin, member)

    def _cannot_start(self, member: _Member, process: Process | None, ready_at_s: float | None) -> bool:
        """Return True if the end of a process ends the start of all: it is not that a process was killed."""
        if ready_at_s is not None:
            return False
        member.attempts += 1
        return process is None or member.why is not None or member.attempts >= MOST_ATTEMPTS

    def _remind(self) -> None:
        names = [member.name for member in self._members if member.process is not None]
        self._log.warn(
            "still stopping: broker {names}; the logs are written to the disk", names=", ".join(names)
        )
        self._reminder = self._clock.callLater(REMINDER_S, self._remind)

    def _check_stopped(self) -> None:
        if self._stopped is not None and not self.pids:
            reminder, self._reminder = self._reminder, None
            if reminder is not None:
                reminder.cancel()
            if not self._stopped.called:
                self._stopped.callback(None)
