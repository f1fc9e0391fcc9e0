"""SCRAM credentials of users (KIP-554): describe, set and delete."""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import deferred
from kafkatx.clientcore.admin.security import credentials as messages
from kafkatx.clientcore.admin.security.credentials import (
    DEFAULT_ITERATIONS,
    DEFAULT_MECHANISM,
    UserCredential,
)
from kafkatx.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest


class Credentials:
    """The part of an admin client for users: :attr:`kafkatx.client.admin.admin.Admin.credentials`."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    @deferred
    async def describe(self, users: Iterable[str] = ()) -> list[UserCredential]:
        """Return the credentials of some users, without their secrets; without names, of all users.

        Fails with RequestError RESOURCE_NOT_FOUND: a user has none; CLUSTER_AUTHORIZATION_FAILED, ...
        """
        request = messages.describe_request(users)

        async def attempt() -> list[UserCredential]:
            return messages.user_credentials(await self._destinations.any(request))

        return await self._destinations.cluster.retrying(attempt)

    @deferred
    async def set_password(
        self,
        user: str,
        password: str,
        mechanism: str = DEFAULT_MECHANISM,
        iterations: int = DEFAULT_ITERATIONS,
    ) -> None:
        """Set the password of a user for one mechanism; the user is added if there is none of this name.

        Brokers get its salted hash, which takes this thread some milliseconds. Connections of the user stay.

        :param mechanism: ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``.
        :param iterations: of the hash, 4096 to 16384.

        Fails with SettingError: there is no such mechanism; RequestError UNACCEPTABLE_CREDENTIAL, ...
        """
        chosen = messages.mechanism_of(mechanism)
        await self._alter(messages.set_request(user, password, chosen, iterations))

    @deferred
    async def delete(self, user: str, mechanisms: Iterable[str] | None = None) -> None:
        """Delete credentials of a user, who loses the connections that used them at once.

        :param mechanisms: None: all that the user has.

        Fails with SettingError: there is no such mechanism; RequestError RESOURCE_NOT_FOUND: the user does
        not have one of them, and keeps the others; ...
        """
        if mechanisms is None:
            mechanisms = [one.mechanism for one in await self.describe([user])]
        await self._alter(messages.delete_request(user, map(messages.mechanism_of, mechanisms)))

    async def _alter(self, request: AlterUserScramCredentialsRequest) -> None:
        async def attempt() -> None:
            messages.check_altered(await self._destinations.any(request))

        await self._destinations.cluster.retrying(attempt)
