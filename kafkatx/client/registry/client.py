"""The client of a schema registry for Twisted programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.registry.plans import Plan, carry_out
from kafkatx.clientcore.registry.requests import Request
from kafkatx.clientcore.registry.settings import RegistrySettings
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.tls.extra import check_installed

if TYPE_CHECKING:
    from kafkatx.client.registry.transport import Transport
    from kafkatx.net.tls.endpoints import TlsEndpoints

T = TypeVar("T")


class RegistryClient:
    """A client of a schema registry::

        client = RegistryClient.of({"schema.registry.url": "http://127.0.0.1:8081"}, reactor)
        await client.send(requests.subjects())
        await client.run(plans.schema_of_id(7))
        await client.close()

    Nothing is connected, and Twisted's HTTP client is not imported, before the first request. To be used in
    the reactor thread only.
    """

    def __init__(self, settings: RegistrySettings, reactor: IReactorTime) -> None:
        """Read the certificates if an address is one of https.

        :raises SettingError: one cannot be used, or the extra ``tls`` is not installed.
        """
        self.settings = settings
        self.reactor = reactor
        self._tls = _tls_endpoints(settings) if settings.uses_tls else None
        self._transport: Transport | None = None
        self._running: set[Deferred[object]] = set()
        self._closed = False

    @classmethod
    def of(cls, values: Mapping[str, object], reactor: IReactorTime) -> RegistryClient:
        """Make a client by the names of a producer's settings.

        :raises SettingError: one is unknown or wrong, or ``schema.registry.url`` is not set.
        """
        return cls(RegistrySettings.of(ClientSettings.load("producer", values)), reactor)

    def send(self, request: Request[T]) -> Deferred[T]:
        """Send a request; fires with its result.

        Fails with RegistryError, RegistryUnavailable, or ClientClosed.
        """
        return self._start(self._send(request))

    def run(self, plan: Plan[T]) -> Deferred[T]:
        """Carry a plan out; fires with its result. Fails as :meth:`send`, or with an error of the plan."""
        return self._start(carry_out(plan, self._send))

    def _start(self, work: object) -> Deferred[T]:
        running: Deferred[T] = Deferred.fromCoroutine(work)  # type: ignore[arg-type]
        held: Deferred[object] = running  # type: ignore[assignment]
        self._running.add(held)

        def ended(result: T) -> T:
            self._running.discard(held)
            return result

        return running.addBoth(ended)

    async def _send(self, request: Request[T]) -> T:
        if self._closed:
            raise ClientClosed("the client of the schema registry is closed")
        if self._transport is None:
            from kafkatx.client.registry.transport import Transport

            self._transport = Transport(self.settings, self.reactor, self._tls)
        try:
            return await self._transport.send(request)
        except CancelledError:
            if self._closed:
                raise ClientClosed("the client of the schema registry is closed") from None
            raise

    def close(self) -> Deferred[None]:
        """Cancel the requests in flight, and close the connections."""
        self._closed = True
        for running in list(self._running):
            running.addErrback(lambda failure: None)
            running.cancel()
        return succeed(None) if self._transport is None else self._transport.close()


def _tls_endpoints(settings: RegistrySettings) -> TlsEndpoints:
    check_installed()
    from kafkatx.net.tls.endpoints import TlsEndpoints
    from kafkatx.tls.settings import load_tls

    loaded = load_tls(settings.tls)
    return TlsEndpoints(lambda: loaded, connect_timeout_s=settings.connect_timeout_s)
