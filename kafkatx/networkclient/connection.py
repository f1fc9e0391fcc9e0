"""The connection to one broker: opened for the first request, and reopened after it was lost.

:class:`twisted.application.internet.ClientService` does not fit: it stays connected to brokers that get no
requests, and negotiating versions with an old broker takes several connections. The bytes are
:mod:`kafkatx.networkclient.protocol`'s; which broker is at which address,
    :mod:`~kafkatx.networkclient.nodes`'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.bootstrap import Address, format_address
from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed
from kafkatx.clientcore.login import ClientLogin, has_tls, login_of
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.negotiation import connect_and_negotiate, log_in
from kafkatx.networkclient.protocol import BrokerProtocol, ConnectionLimits
from kafkatx.networkclient.waiters import Waiters
from kafkatx.tls.extra import check_installed
from kafkatx.wire.schema import Message

MakeEndpoint = Callable[[IReactorTime, str, int], IStreamClientEndpoint]
"""Makes a client endpoint of (reactor, host, port)."""


class SaslEndpoints:
    """Makes client endpoints of brokers at which a client has to log in.

    :param below: makes the endpoints; None: TCP.
    :ivar login: the login, which each connection begins with.
    """

    def __init__(self, login: ClientLogin, below: MakeEndpoint | None = None) -> None:
        self.login = login
        self._below = below

    def __call__(self, reactor: IReactorTime, host: str, port: int) -> IStreamClientEndpoint:
        """Return the endpoint of a broker."""
        return self._below(reactor, host, port) if self._below else HostnameEndpoint(reactor, host, port)


def endpoint_maker(settings: ClientSettings) -> MakeEndpoint | None:
    """Return what makes the endpoints of brokers as a client's settings say; None: TCP.

    :raises SettingError: a keystore or a truststore cannot be used, the extra ``tls`` is not installed, or a
        setting of the login is missing or wrong.
    """
    own: MakeEndpoint | None = settings.objects.get(common.ENDPOINT.name)
    if has_tls(settings):
        check_installed()
        from kafkatx.net.tls.client_certificates import ClientCertificates
        from kafkatx.net.tls.endpoints import TlsEndpoints

        certificates = ClientCertificates(settings)
        own = TlsEndpoints(lambda: certificates.current, own, certificates.refresh)
    login = login_of(settings)
    return own if login is None else SaslEndpoints(login, own)


class BrokerConnection:
    """Requests to one broker at one address.

    A request that is made while disconnected waits for the next attempt to connect, and fails if that fails.
    The attempt starts when the pause after the last failure is over.

    :param on_failure: called when the broker cannot be reached or the connection to it was lost.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: IReactorTime,
        address: Address,
        *,
        client_id: str,
        limits: ConnectionLimits,
        connect_s: float,
        backoff: Backoff,
        make_endpoint: MakeEndpoint | None = None,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        host, port = address
        self.address = format_address(address)
        self._reactor = reactor
        self._client_id = client_id
        self._limits = limits
        self._connect_s = connect_s
        self._backoff = backoff
        self._endpoint = (make_endpoint or self._tcp)(reactor, host, port)
        self._login = make_endpoint.login if isinstance(make_endpoint, SaslEndpoints) else None
        self._on_failure = on_failure
        self._protocol: BrokerProtocol | None = None
        self._waiting: Waiters[BrokerProtocol] = Waiters()
        self._opening: Deferred[None] | None = None
        self._failures = 0
        self._not_before_s = 0.0
        self._closed: Deferred[None] | None = None
        self._error: KafkaTXError = ClientClosed(f"the connection to {self.address} is closed")

    def _tcp(self, reactor: IReactorTime, host: str, port: int) -> HostnameEndpoint:
        return HostnameEndpoint(reactor, host, port, timeout=self._connect_s)

    @property
    def connected(self) -> bool:
        """True if the connection is open."""
        return self._protocol is not None

    @property
    def failing(self) -> bool:
        """True if the last attempt to connect failed."""
        return self._failures > 0

    @property
    def in_flight(self) -> int:
        """The number of requests that await a reply."""
        return self._protocol.in_flight if self._protocol is not None else 0

    def request(self, message: Message, **options: Any) -> Deferred[Any]:
        """Send a request as :meth:`BrokerProtocol.request` does; connect first if disconnected."""
        if self._protocol is not None:
            return self._protocol.request(message, **options)
        return self.ready().addCallback(lambda protocol: protocol.request(message, **options))

    def ready(self) -> Deferred[BrokerProtocol]:
        """Connect if disconnected; fires with the protocol, fails with ConnectionFailed."""
        if self._closed is not None:
            return fail(self._error)
        if self._protocol is not None:
            return succeed(self._protocol)
        waiting = self._waiting.wait()
        if self._opening is None:
            self._opening = Deferred()  # the coroutine may end before fromCoroutine() returns
            opening = Deferred.fromCoroutine(self._open())
            if self._opening is not None:
                self._opening = opening
        return waiting

    async def _open(self) -> None:
        try:
            pause_s = self._not_before_s - self._reactor.seconds()
            if pause_s > 0:
                await deferLater(self._reactor, pause_s)
            protocol = await connect_and_negotiate(self._connect, self.address)
            if self._login is not None:
                await log_in(protocol, self._login, self._reactor)
        except CancelledError:
            raise
        except KafkaTXError as error:
            self._opening = None
            self._connect_failed(error)
        except Exception as error:
            self._opening = None
            self._log.failure("connecting to {address} failed", address=self.address)
            self._connect_failed(error)
        else:
            self._opening = None
            self._connect_succeeded(protocol)

    def _connect(self) -> Deferred[BrokerProtocol]:
        def make() -> BrokerProtocol:
            return BrokerProtocol(self._reactor, self.address, self._client_id, self._limits)

        factory: Any = Factory.forProtocol(make)
        factory.noisy = False
        connecting: Deferred[Any] = self._endpoint.connect(factory)
        return connecting.addTimeout(self._connect_s, self._reactor, self._timed_out)

    def _timed_out(self, value: object, timeout_s: float) -> NoReturn:
        raise TimedOut(f"no connection within {timeout_s:g} s")

    def _connect_succeeded(self, protocol: BrokerProtocol) -> None:
        self._failures = 0
        self._protocol = protocol
        protocol.on_lost = self._lost
        self._log.debug("connected to {address}", address=self.address)
        self._waiting.fire(protocol)

    def _connect_failed(self, error: Exception) -> None:
        self._not_before_s = self._reactor.seconds() + self._backoff.pause_s(self._failures)
        self._failures += 1
        self._log.debug("{error}", error=error)
        self._on_failure()
        self._waiting.fail(error)

    def _lost(self) -> None:
        error = self._protocol.error if self._protocol is not None else None
        self._protocol = None
        if self._closed is None and isinstance(error, ConnectionFailed):
            self._log.debug("{error}", error=error)
            self._on_failure()

    def close(self, error: KafkaTXError | None = None) -> Deferred[None]:
        """Close the connection for good; waiting requests fail with *error*, or ClientClosed.

        Fires when it is closed.
        """
        if self._closed is None:
            self._closed = succeed(None)
            self._error = error = error or self._error
            opening, protocol = self._opening, self._protocol
            self._opening = None
            if opening is not None:
                opening.addErrback(lambda failure: failure.trap(CancelledError, ConnectionFailed))
                opening.cancel()
            if protocol is not None:
                self._closed = protocol.close(error)
            self._waiting.fail(error)
        return self._closed
