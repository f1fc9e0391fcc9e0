"""The parts of the admin client for threads."""

from __future__ import annotations

from kafkatx.client.facades.forwarder import BlockingFacade
from kafkatx.client.facades.methods import (
    AclsMethods,
    ConfigsMethods,
    CredentialsMethods,
    GroupsMethods,
    QuotasMethods,
    TransactionsMethods,
)


class _Part(BlockingFacade):
    """A part of :class:`kafkatx.client.threads.Admin`."""

    def __init__(self, client: object, whole: BlockingFacade) -> None:
        self.client = client
        self.thread = whole.thread
        self.timeout_s = whole.timeout_s


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
