"""The quotas by entity, and which of them applies to a client (KIP-546). Pure."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import blake2b
from itertools import product
from typing import Generic, Protocol, TypeAlias, TypeVar

from kafkatx.types import QuotaEntity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"
REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE = "request_percentage", "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"
"""The names of the quotas; that of connections is for addresses, the others for clients."""

MAX_CLIENTS = 10_000
"""Maximum number of clients that have an account; beyond that, the one that is idle longest is forgotten."""

MAX_KEPT_CHARACTERS = 100
"""Longer names of clients and users are replaced by a digest, to bound the memory."""

Shared: TypeAlias = tuple[str, str]
"""The user and client id that share a quota; an empty one does not matter."""


def user_of(principal: str) -> str:
    """Return the name of the user of quotas: that of a principal without its type (``User:ann``)."""
    return principal.partition(":")[2]


def applicable(
    limits: Mapping[QuotaEntity, float], principal: str, client_id: str | None
) -> tuple[float, Shared | None]:
    """Return a client's quota, and who shares it; infinite and None if none applies.

    The order is that of Apache Kafka's ``ClientQuotaManager``. A client without a client id has the quotas of
    the default client id.
    """
    user, name = user_of(principal), client_id or ""
    own_user, any_user = (USER, user), (USER, None)
    client, any_client = (CLIENT_ID, name), (CLIENT_ID, None)
    for entity in (
        (client, own_user),
        (any_client, own_user),
        (own_user,),
        (client, any_user),
        (any_client, any_user),
        (any_user,),
        (client,),
        (any_client,),
    ):
        limit = limits.get(entity)
        if limit is not None:
            of_user, of_client = entity[-1][0] == USER, entity[0][0] == CLIENT_ID
            return limit, (_kept(user) if of_user else "", _kept(name) if of_client else "")
    return math.inf, None


class Account(Protocol):
    """The use of one client, or of several that share a quota."""

    def is_idle(self, now_ms: int) -> bool:
        """Return True if nothing is lost when it is forgotten."""


AccountT = TypeVar("AccountT", bound=Account)


class Accounts(Generic[AccountT]):
    """The accounts of clients under one kind of quota, made when they are first needed.

    :ivar limits: the quotas by entity.
    :param make: makes an account.
    """

    def __init__(self, limits: Mapping[QuotaEntity, float], make: Callable[[], AccountT]) -> None:
        self.limits = limits
        self._make = make
        self._accounts: OrderedDict[Shared, AccountT] = OrderedDict()  # the last used is the last

    def limit(self, principal: str, client_id: str | None) -> float:
        """Return a client's quota; infinite if it has none."""
        return applicable(self.limits, principal, client_id)[0]

    def find(self, principal: str, client_id: str | None, now_ms: int) -> tuple[float, AccountT] | None:
        """Return a client's quota and its account; None if it has no quota."""
        limit, shared = applicable(self.limits, principal, client_id)
        if shared is None:
            return None
        account = self._accounts.get(shared)
        if account is None:
            self._make_room(now_ms)
            account = self._accounts[shared] = self._make()
        else:
            self._accounts.move_to_end(shared)
        return limit, account

    def used(self, client_id: str, users: Collection[str]) -> Iterator[tuple[Shared, float, AccountT]]:
        """Yield the accounts that a client id, or one of some users, shares: who, quota and account."""
        names = {_kept(user) for user in users}
        for (user, client), account in self._accounts.items():
            if client == _kept(client_id) if client else user in names:
                limit = self._shared_limit(user, client)
                if limit is not None:
                    yield (user, client), limit, account

    def _shared_limit(self, user: str, client: str) -> float | None:
        """Return the quota of those who share an account; None if it was removed meanwhile."""
        users = ((USER, user), (USER, None)) if user else ()
        clients = ((CLIENT_ID, client), (CLIENT_ID, None)) if client else ()
        for entity in product(users, clients) if users and clients else zip(users or clients, strict=True):
            limit = self.limits.get(tuple(sorted(entity)))
            if limit is not None:
                return limit
        return None

    def _make_room(self, now_ms: int) -> None:
        """Forget clients that are idle, and one more if there are too many."""
        accounts = self._accounts
        while accounts and (len(accounts) >= MAX_CLIENTS or next(iter(accounts.values())).is_idle(now_ms)):
            accounts.popitem(last=False)


def _kept(name: str) -> str:
    if len(name) <= MAX_KEPT_CHARACTERS:
        return name
    return blake2b(name.encode(), digest_size=16).hexdigest()
