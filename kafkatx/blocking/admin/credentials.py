"""SCRAM credentials of users (KIP-554): describe, set and delete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkatx.clientcore.admin.security import credentials as messages
from kafkatx.clientcore.admin.security.credentials import DEFAULT_ITERATIONS, UserCredential

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest


class Credentials:
    """Describes and alters credentials through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def describe(self, users: Iterable[str] = ()) -> list[UserCredential]:
        """Return the credentials of some users; without names, of all.

        :raises RequestError: RESOURCE_NOT_FOUND: a user has none; ...
        """
        request = messages.describe_request(users)
        self._cluster.brokers()
        return self._cluster.retrying(
            lambda: messages.user_credentials(self._cluster.any_broker().request(request))
        )

    def set_password(
        self, user: str, password: str, mechanism: str, iterations: int = DEFAULT_ITERATIONS
    ) -> None:
        """Set the password of a user for one mechanism; brokers get its salted hash.

        :raises SettingError: there is no such mechanism.
        :raises RequestError: UNACCEPTABLE_CREDENTIAL, ...
        """
        chosen = messages.mechanism_of(mechanism)
        self._alter(messages.set_request(user, password, chosen, iterations))

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete credentials of a user, who loses the connections that used them.

        :raises SettingError: there is no such mechanism.
        :raises RequestError: RESOURCE_NOT_FOUND: the user does not have one of them; ...
        """
        self._alter(messages.delete_request(user, map(messages.mechanism_of, mechanisms)))

    def _alter(self, request: AlterUserScramCredentialsRequest) -> None:
        self._cluster.brokers()
        self._cluster.retrying(lambda: messages.check_altered(self._cluster.any_broker().request(request)))
