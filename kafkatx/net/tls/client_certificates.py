"""The keys and certificates of a client that lives long: read again when their files have changed."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, execute, succeed
from twisted.internet.interfaces import IReactorThreads, IReactorTime
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import SettingError
from kafkatx.tls.settings import Files, TlsSettings, Values, files_of, load_tls


class ClientCertificates:
    """The keys and certificates that the settings of a client name.

    :ivar current: those in use; files that cannot be used change nothing.
    """

    _log = Logger()

    def __init__(self, values: Values) -> None:
        """Read them.

        :raises SettingError: they cannot be read, or do not fit.
        """
        self._values = values
        self._files = files_of(values)
        self.current = load_tls(values)

    def refresh(self, reactor: IReactorTime) -> Deferred[None]:
        """Read the files again if they have changed, in a thread of the reactor; never fails."""
        if not self._files:
            return succeed(None)
        looking: Deferred[Any]
        if IReactorThreads.providedBy(reactor):
            pool: Any = reactor.getThreadPool()
            looking = deferToThreadPool(reactor, pool, self._look)
        else:
            looking = execute(self._look)
        return looking.addCallback(self._looked)

    def _look(self) -> tuple[Files, TlsSettings | Failure] | None:
        files = files_of(self._values)
        if files == self._files:
            return None
        try:
            return files, load_tls(self._values)
        except SettingError:
            return files, Failure()

    def _looked(self, found: tuple[Files, TlsSettings | Failure] | None) -> None:
        if found is None:
            return
        self._files, read = found
        if isinstance(read, TlsSettings):
            self.current = read
            self._log.info("the client uses the keys and certificates that were read again")
        else:
            self._log.error(
                "the client keeps its keys and certificates, the new ones cannot be used: {error}",
                error=read.value,
            )
