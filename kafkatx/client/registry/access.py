"""The registry of one client: made when the first encoder or decoder needs it, closed with the client."""

from __future__ import annotations

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from kafkatx.client.registry.client import RegistryClient
from kafkatx.clientcore.registry.settings import RegistrySettings
from kafkatx.clientcore.settings import ClientSettings


class RegistryAccess:
    """Makes a :class:`RegistryClient` when it is asked for one, and then gives the same."""

    def __init__(self, settings: ClientSettings, reactor: IReactorTime) -> None:
        self._settings = settings
        self._reactor = reactor
        self._client: RegistryClient | None = None

    def client(self) -> RegistryClient:
        """Return the client of the registry.

        :raises SettingError: ``schema.registry.url`` is not set, or wrong.
        """
        if self._client is None:
            self._client = RegistryClient(RegistrySettings.of(self._settings), self._reactor)
        return self._client

    def close(self) -> Deferred[None]:
        """Close it, if there is one."""
        return succeed(None) if self._client is None else self._client.close()
