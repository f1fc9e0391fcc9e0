"""A mirror in a process of its own: the reactor, signals, and the end of ``kafkatx mirror run --exit``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

import attrs
from twisted.application.service import IService
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ReactorNotRunning
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.mirror.core.status import Totals, failures
from kafkatx.mirror.service import MirrorService
from kafkatx.mirror.settings import MirrorSettings

LOOK_S = 0.2


class MainReactor(Protocol):
    """The reactor of the process."""

    def run(self) -> None:
        """Run until :meth:`stop`; SIGINT and SIGTERM stop it."""

    def stop(self) -> None:
        """Stop, after the triggers of the shutdown are done."""

    def addSystemEventTrigger(self, phase: str, eventType: str, callable: Any) -> object:
        """Call a function at an event."""


@attrs.frozen
class Outcome:
    """The end of a mirror.

    :ivar failure: why it could not start; None if it did.
    :ivar failed: a line for each partition that was not copied.
    """

    totals: Totals
    failed: list[str]
    failure: str | None = None


class MirrorProcess:
    """Runs a mirror until a signal comes, or with *until_end* until everything is copied."""

    def __init__(self, settings: MirrorSettings, reactor: Any, until_end: bool) -> None:
        """Make the mirror.

        :param until_end: end when all is copied that the sources had at the start.
        :raises SettingError: the settings are wrong.
        """
        self.service = MirrorService(settings, reactor)
        self._reactor = reactor
        self._until_end = until_end
        self._failure: str | None = None
        self._ending: Deferred[None] | None = None

    def run(self) -> Outcome:
        """Run; return the outcome when everything is closed."""
        service: IService = self.service
        service.privilegedStartService()
        service.startService()
        self._reactor.addSystemEventTrigger("before", "shutdown", self._stop)
        self.service.started.addCallbacks(self._started, self._not_started)
        self._reactor.run()
        status = self.service.status_at_end
        return Outcome(Totals.of(status), failures(status), self._failure)

    def _stop(self) -> Deferred[None]:
        if self._ending is not None and not self._ending.called:
            self._ending.cancel()
        return self.service.stopService()

    def _started(self, _: None) -> None:
        if self._until_end:
            ending: Deferred[None] = Deferred.fromCoroutine(self._end())
            ending.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed) and None)
            self._ending = ending

    async def _end(self) -> None:
        try:
            ends = await self.service.source_ends()
            while not await self.service.copied_up_to(ends):
                if self.service.totals().failed:
                    break
                await deferLater(self._reactor, LOOK_S)
        except (CancelledError, ClientClosed):
            raise
        except KafkaTXError as error:
            self._failure = str(error)
        self._end_reactor()

    def _not_started(self, failure: Failure) -> None:
        if failure.check(ClientClosed) is None:
            self._failure = failure.getErrorMessage()
            self._end_reactor()

    def _end_reactor(self) -> None:
        def stop() -> None:
            with suppress(ReactorNotRunning):  # a signal came at the same time
                self._reactor.stop()

        self._reactor.callWhenRunning(stop)


def run(settings: MirrorSettings, until_end: bool) -> Outcome:
    """Run a mirror with the process's reactor.

    :raises SettingError: the settings are wrong.
    """
    import twisted.internet.reactor

    from kafkatx.net.reactors import make_monotonic

    reactor: Any = twisted.internet.reactor
    make_monotonic(reactor)
    return MirrorProcess(settings, reactor, until_end).run()
