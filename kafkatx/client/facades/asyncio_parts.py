"""The parts of the admin client for asyncio."""

from __future__ import annotations

from kafkatx.client.facades.forwarder import AsyncioFacade
from kafkatx.client.facades.methods import (
    AclsMethods,
    ConfigsMethods,
    CredentialsMethods,
    GroupsMethods,
    QuotasMethods,
    TransactionsMethods,
)


class _Part(AsyncioFacade):
    """A part of :class:`kafkatx.client.aio.Admin`."""

    def __init__(self, client: object) -> None:
        self.client = client


class Groups(_Part, GroupsMethods):
    """See :class:`kafkatx.client.admin.groups.Groups`."""


class Configs(_Part, ConfigsMethods):
    """See :class:`kafkatx.client.admin.configs.Configs`."""


class Quotas(_Part, QuotasMethods):
    """See :class:`kafkatx.client.admin.quotas.Quotas`."""


class Transactions(_Part, TransactionsMethods):
    """See :class:`kafkatx.client.admin.transactions.Transactions`."""


class Acls(_Part, AclsMethods):
    """See :class:`kafkatx.client.admin.acls.Acls`."""


class Credentials(_Part, CredentialsMethods):
    """See :class:`kafkatx.client.admin.credentials.Credentials`."""
