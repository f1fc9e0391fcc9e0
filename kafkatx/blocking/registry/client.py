"""Requests to a schema registry with :mod:`http.client`; the addresses are tried one after the other."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar

from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable, tls_reason
from kafkatx.clientcore.registry.plans import Plan
from kafkatx.clientcore.registry.requests import ACCEPT, CONTENT_TYPE, MAX_REPLY_BYTES, Request
from kafkatx.clientcore.registry.settings import Address, RegistrySettings
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.tls.extra import check_installed

T = TypeVar("T")


class BlockingRegistry:
    """A client for one thread; it keeps one connection."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Read the certificates if an address is one of https.

        :raises SettingError: one cannot be used, or the extra ``tls`` is not installed.
        """
        self.settings = settings
        self._tls = _context(settings) if settings.uses_tls else None
        self._at = 0
        self._connection: http.client.HTTPConnection | None = None

    @classmethod
    def of(cls, values: Mapping[str, object]) -> BlockingRegistry:
        """Make a client by the names of a producer's settings.

        :raises SettingError: one is unknown or wrong, or ``schema.registry.url`` is not set.
        """
        return cls(RegistrySettings.of(ClientSettings.load("producer", values)))

    def __enter__(self) -> BlockingRegistry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, plan: Plan[T]) -> T:
        """Carry a plan out, and return its result.

        :raises KafkaTXError: as :meth:`send`, or an error of the plan.
        """
        try:
            request = next(plan)
            while True:
                try:
                    result = self.send(request)
                except Exception as error:
                    request = plan.throw(error)
                else:
                    request = plan.send(result)
        except StopIteration as done:
            found: T = done.value
            return found

    def send(self, request: Request[T]) -> T:
        """Send a request, and return its result.

        :raises RegistryError: the registry answers with an error.
        :raises RegistryUnavailable: none answers.
        """
        addresses = self.settings.addresses
        why: list[str] = []
        last: RegistryError | None = None
        for _ in addresses:
            address = addresses[self._at]
            try:
                return request.reply(*self._exchange(address, request))
            except RegistryError as error:
                if not error.retriable:
                    raise
                last = error
            except (OSError, http.client.HTTPException) as error:
                why.append(f"{address.url}: {_reason(error, address)}")
            self.close()
            self._at = (self._at + 1) % len(addresses)
        if last is not None:
            raise last
        raise RegistryUnavailable(f"no schema registry answers: {'; '.join(why)}")

    def _exchange(self, address: Address, request: Request[Any]) -> tuple[int, bytes]:
        """Send a request over the open connection, or a new one if the registry has closed that."""
        kept, self._connection = self._connection, None
        if kept is not None:
            try:
                return self._ask(kept, address, request)
            except (OSError, http.client.HTTPException):
                kept.close()
        return self._ask(self._connect(address), address, request)

    def _connect(self, address: Address) -> http.client.HTTPConnection:
        timeout_s = self.settings.connect_timeout_s
        if address.tls:
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                address.host, address.port, timeout=timeout_s, context=self._tls
            )
        else:
            made = http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
        made.connect()
        made.sock.settimeout(self.settings.read_timeout_s)
        return made

    def _ask(
        self, connection: http.client.HTTPConnection, address: Address, request: Request[Any]
    ) -> tuple[int, bytes]:
        headers = {"Accept": ACCEPT, "User-Agent": "kafkatx"}
        if address.authorization:
            headers["Authorization"] = address.authorization
        if request.body is not None:
            headers["Content-Type"] = CONTENT_TYPE
        connection.request(request.method, address.path + request.path, request.body, headers)
        response = connection.getresponse()
        body = response.read(MAX_REPLY_BYTES + 1)
        if len(body) > MAX_REPLY_BYTES:
            connection.close()
            raise RegistryUnavailable(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
        if response.will_close:
            connection.close()
        else:
            self._connection = connection
        return response.status, body

    def close(self) -> None:
        """Close the connection."""
        kept, self._connection = self._connection, None
        if kept is not None:
            kept.close()


def _context(settings: RegistrySettings) -> ssl.SSLContext:
    if not settings.tls.given:
        return ssl.create_default_context()  # which needs no further library
    check_installed()
    from kafkatx.tls.plain_socket import client_context
    from kafkatx.tls.settings import load_tls

    return client_context(load_tls(settings.tls))


def _reason(error: BaseException, address: Address) -> str:
    if isinstance(error, TimeoutError):
        return "no reply in time"
    if isinstance(error, ssl.SSLError):
        unverified = getattr(error, "verify_message", None)
        told = f"certificate verify failed: {unverified}" if unverified else str(error)
        return tls_reason(told, address.host)
    strerror = getattr(error, "strerror", None)
    return str(strerror).lower() if strerror else f"{type(error).__name__}: {error}"
