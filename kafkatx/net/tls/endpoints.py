"""Endpoints of brokers over TLS. Imported only where ``security.protocol`` asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from OpenSSL import SSL
from service_identity.pyopenssl import verify_hostname, verify_ip_address
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.defer import Deferred, succeed
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import (
    IOpenSSLClientConnectionCreator,
    IProtocolFactory,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.net.tls.contexts import client_context
from kafkatx.tls.settings import TlsSettings

MakeEndpoint = Callable[[IReactorTime, str, int], IStreamClientEndpoint]
"""Makes an endpoint of (reactor, host, port)."""


class TlsEndpoints:
    """Makes endpoints over TLS of (reactor, host, port).

    :param settings: returns the current keys and certificates; each connection begins with those.
    :param below: makes the endpoints below TLS; None: TCP.
    :param refresh: brings the settings up to date before a connection; its Deferred never fails.
    :param connect_timeout_s: the time-out of connecting over TCP.
    """

    def __init__(
        self,
        settings: Callable[[], TlsSettings],
        below: MakeEndpoint | None = None,
        refresh: Callable[[IReactorTime], Deferred[None]] = lambda reactor: succeed(None),
        connect_timeout_s: float = 30.0,
    ) -> None:
        self.refresh = refresh
        self._settings = settings
        self._below = below
        self._connect_timeout_s = connect_timeout_s
        self._made_of: TlsSettings | None = None
        self._made: dict[str, ConnectionCreator] = {}

    def __call__(self, reactor: IReactorTime, host: str, port: int) -> IStreamClientEndpoint:
        """Return the endpoint of a broker."""
        if self._below is not None:
            below = self._below(reactor, host, port)
        else:
            below = HostnameEndpoint(reactor, host, port, self._connect_timeout_s)
        return _TlsEndpoint(self, below, reactor, host)

    def creator(self, host: str) -> ConnectionCreator:
        """Return what makes the OpenSSL side of a connection to a host."""
        settings = self._settings()
        if self._made_of is not settings:
            self._made_of, self._made = settings, {}
        made = self._made.get(host)
        if made is None:
            made = self._made[host] = ConnectionCreator(client_context(settings), host, settings.checks_host)
        return made


@implementer(IStreamClientEndpoint)
class _TlsEndpoint:
    def __init__(self, endpoints: TlsEndpoints, below: Any, reactor: IReactorTime, host: str) -> None:
        self._endpoints = endpoints
        self._below = below
        self._reactor = reactor
        self._host = host

    def connect(self, factory: IProtocolFactory) -> Deferred[Any]:
        """Connect with the certificates of now."""
        return self._endpoints.refresh(self._reactor).addCallback(lambda _: self._connect(factory))

    def _connect(self, factory: IProtocolFactory) -> Deferred[Any]:
        creator = self._endpoints.creator(self._host)
        wrapper = TLSMemoryBIOFactory(creator, True, factory, self._reactor)
        wrapper.protocol = TLSMemoryBIOProtocol  # its default waits for the global reactor's next turn
        wrapper.noisy = False
        connecting: Deferred[Any] = self._below.connect(wrapper)
        return connecting.addCallback(lambda connected: connected.wrappedProtocol)


@implementer(IOpenSSLClientConnectionCreator)
class ConnectionCreator:
    """Makes the OpenSSL side of connections to a host, and checks that the certificate is for it."""

    def __init__(self, context: SSL.Context, host: str, checks_host: bool) -> None:
        self._context = context
        self._host = host
        self._is_address = isIPAddress(host) or isIPv6Address(host)
        if checks_host:
            context.set_info_callback(self._shaken)

    def clientConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        """Return the OpenSSL side of a new connection."""
        connection = SSL.Connection(self._context, None)
        connection.set_app_data(protocol)
        if not self._is_address:
            connection.set_tlsext_host_name(self._host.encode("idna"))
        return connection

    def _shaken(self, connection: SSL.Connection, where: int, code: int) -> None:
        if where & SSL.SSL_CB_HANDSHAKE_DONE:
            try:
                (verify_ip_address if self._is_address else verify_hostname)(connection, self._host)
            except Exception:  # OpenSSL's C code cannot pass it on
                protocol: Any = connection.get_app_data()
                protocol.failVerification(Failure())
