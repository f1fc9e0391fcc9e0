"""A listener with TLS: it accepts connections with the current certificate, and takes over changed ones.

Certificates are read again when their files or the settings have changed, in a worker. Connections keep the
context that they began with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from cryptography import x509
from OpenSSL import SSL
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IOpenSSLServerConnectionCreator
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.config.table.security import tls as t
from kafkatx.errors import SettingError
from kafkatx.interfaces import Worker
from kafkatx.net.admission.held_off import HeldOff
from kafkatx.net.requests import NOBODY
from kafkatx.net.tls.connection import Below, TlsConnection
from kafkatx.net.tls.contexts import days_left, end_s, server_context
from kafkatx.net.tls.handshakes import HandshakeLimits, Handshakes
from kafkatx.tls.principals import PrincipalMapper, distinguished_name, parse_rules
from kafkatx.tls.settings import Files, TlsSettings, Values, files_of, load_tls

CHECK_S = 10.0
"""Seconds between two looks at the files."""

WARNED_DAYS = 30
"""Days before the end of a certificate from which on the log says so, once a day."""

_DAY_S = 86_400


@implementer(IOpenSSLServerConnectionCreator)
class Certificates:
    """The current certificates of one listener.

    :param values: returns the current settings of the listener.
    :ivar listener: the name of the listener.
    :ivar settings: the keys and certificates in use.
    """

    _log = Logger()

    def __init__(
        self, listener: str, values: Callable[[], Values], now_s: Callable[[], float] = time.time
    ) -> None:
        """Read the certificates.

        :raises SettingError: they cannot be read, or do not fit.
        """
        self.listener = listener
        self._values = values
        self._now_s = now_s
        self._files = files_of(values())
        self._reading = False
        self._warned_s = 0.0
        self.settings, self._context = self._read()
        self._use(self.settings, self._context)

    def _read(self) -> tuple[TlsSettings, SSL.Context]:
        return self.read(self._values())

    def read(self, values: Values) -> tuple[TlsSettings, SSL.Context]:
        """Read the certificates of some settings; this blocks.

        :raises SettingError: they cannot be read, or do not fit.
        """
        settings = load_tls(values)
        context = server_context(settings, values[t.SSL_CLIENT_AUTH])
        context.set_info_callback(_shaken)
        return settings, context

    def _use(self, settings: TlsSettings, context: SSL.Context) -> None:
        self.settings, self._context = settings, context
        self._warned_s = 0.0
        self.mapper: PrincipalMapper = parse_rules(self._values()[t.SSL_PRINCIPAL_MAPPING_RULES])
        self.check_expiry()

    def serverConnectionForTLS(self, protocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        """Return the OpenSSL side of a new connection."""
        connection = SSL.Connection(self._context, None)
        connection.set_app_data(protocol)
        return connection

    def check_files(self, worker: Worker) -> Deferred[None]:
        """Read the certificates again if their files have changed; warn once a day of their end."""
        self.check_expiry()
        looking = worker(partial(files_of, self._values()))
        return looking.addCallback(self._looked, worker)

    def _looked(self, files: Files, worker: Worker) -> Deferred[None] | None:
        if files == self._files:
            return None
        self._files = files
        return self.reload(worker)

    def reload(self, worker: Worker) -> Deferred[None] | None:
        """Read the certificates again; those in use stay if the new ones cannot be used."""
        if self._reading:
            return None
        self._reading = True
        reading: Deferred[Any] = worker(self._read)
        return reading.addCallbacks(self._renewed, self._not_renewed)

    def _renewed(self, made: tuple[TlsSettings, SSL.Context]) -> None:
        self._reading = False
        self._use(*made)
        self._log.info(
            "the listener {listener} uses the certificates that were read again", listener=self.listener
        )

    def _not_renewed(self, failure: Failure) -> None:
        self._reading = False
        failure.trap(SettingError)
        self._log.error(
            "the listener {listener} keeps its certificates, the new ones cannot be used: {error}",
            listener=self.listener,
            error=failure.value,
        )

    def check_expiry(self) -> None:
        """Say when the certificates end: once when they are read, and once a day when it is soon."""
        now_s = self._now_s()
        if now_s - self._warned_s < _DAY_S or self.settings.identity is None:
            return
        days, first = days_left(self.settings.identity, now_s), not self._warned_s
        self._warned_s = now_s
        if days < 0:
            self._log.error("the certificate of the listener {listener} has expired", listener=self.listener)
        elif days < WARNED_DAYS or first:
            say = self._log.warn if days < WARNED_DAYS else self._log.info
            say(
                "the certificate of the listener {listener} is valid for {days} more days",
                listener=self.listener,
                days=int(days),
            )


class TlsFactory(TLSMemoryBIOFactory):
    """Accepts the connections of a listener with TLS."""

    protocol = TlsConnection
    noisy = False

    def __init__(self, certificates: Certificates, below: Below, limits: HandshakeLimits) -> None:
        self.handshakes = Handshakes(limits)
        self.certificates = certificates
        self.below = below
        wrapped: Any = below
        super().__init__(certificates, False, wrapped, below.clock)

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Return a connection, one that is held off, or None if there are too many."""
        connection = self.below.buildProtocol(addr)
        if connection is None or isinstance(connection, HeldOff):
            return connection
        return TlsConnection(self, connection)

    def principal_of(self, certificate: x509.Certificate) -> tuple[str, str | None]:
        """Return the distinguished name of a client's certificate, and its principal if a rule matches."""
        name = distinguished_name(certificate)
        return name, self.certificates.mapper.principal(name)


class TlsListeners:
    """All listeners with TLS of a broker.

    :param values: returns the current settings of a listener.
    """

    def __init__(self, values: Callable[[str], Values], worker: Worker) -> None:
        self._values = values
        self._worker = worker
        self._certificates: list[Certificates] = []
        self._checks: LoopingCall | None = None

    def wrap(self, below: Below) -> TlsFactory:
        """Return the factory of a listener with TLS.

        :raises SettingError: its certificates cannot be used.
        """
        values = self._values(below.listener)
        try:
            certificates = Certificates(below.listener, lambda: self._values(below.listener))
        except SettingError as error:
            raise SettingError(f"listener {below.listener}: {error}") from None
        self._certificates.append(certificates)
        limits = HandshakeLimits(
            values[t.KAFKATX_TLS_HANDSHAKE_TIMEOUT_MS] / 1000,
            values[t.KAFKATX_TLS_HANDSHAKES_MAX],
            values[t.KAFKATX_TLS_HANDSHAKES_PER_SECOND],
        )
        if self._checks is None:
            self._checks = LoopingCall(self._check)
            self._checks.clock = below.clock
            self._checks.start(CHECK_S, now=False)
        return TlsFactory(certificates, below, limits)

    def _check(self) -> None:
        for each in self._certificates:
            each.check_files(self._worker)

    def reload(self) -> None:
        """Read all certificates again: the settings have changed, or a person asks for it."""
        for each in self._certificates:
            each.reload(self._worker)

    def check(self, values: Callable[[str], Values]) -> Deferred[None]:
        """Check that the certificates of other settings can be used; fails with SettingError.

        :param values: returns the settings of a listener.
        """

        def read() -> None:
            for each in self._certificates:
                each.read(values(each.listener))
                parse_rules(values(each.listener)[t.SSL_PRINCIPAL_MAPPING_RULES])

        return self._worker(read)

    def settings(self, listener: str) -> TlsSettings:
        """Return the keys and certificates that a listener uses now."""
        return next(each.settings for each in self._certificates if each.listener == listener)

    def principal(self, listener: str) -> str | None:
        """Return the principal of a listener's own certificate; None if no rule matches."""
        found = next(each for each in self._certificates if each.listener == listener)
        assert found.settings.identity is not None
        return found.mapper.principal(distinguished_name(found.settings.identity.chain[0]))

    def own_principal(self, listener: str) -> str | None:
        """Return the principal of a listener's own certificate, as it is when it is shown as a client's."""
        if self._values(listener)[t.SSL_CLIENT_AUTH] == "none":
            return NOBODY.principal
        return self.principal(listener)

    def ends(self) -> list[tuple[str, float]]:
        """Return when each listener's certificate expires, the first of a chain: seconds since 1970."""
        return [
            (each.listener, end_s(each.settings.identity))
            for each in self._certificates
            if each.settings.identity is not None
        ]

    def stop(self) -> None:
        """Look at the files no more."""
        if self._checks is not None and self._checks.running:
            self._checks.stop()


def _shaken(connection: SSL.Connection, where: int, code: int) -> None:
    if where & SSL.SSL_CB_HANDSHAKE_DONE:
        protocol: Any = connection.get_app_data()
        try:
            protocol.handshake_done(connection)
        except Exception:  # OpenSSL's C code cannot pass it on
            protocol.failVerification(Failure())
