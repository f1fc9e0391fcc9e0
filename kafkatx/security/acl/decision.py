"""The decision about one access, with the settings beside the ACLs. Pure."""

from __future__ import annotations

from collections.abc import Collection

from kafkatx.acls import Access, Decision, Reason
from kafkatx.security.acl.index import AclIndex

_SUPER_USER = Decision(True, Reason.SUPER_USER)


def decide(index: AclIndex, access: Access, super_users: Collection[str], allow_without: bool) -> Decision:
    """Decide about one access: super users may do everything, others what the ACLs allow.

    :param allow_without: ``allow.everyone.if.no.acl.found``.
    """
    if access.principal in super_users:
        return _SUPER_USER
    return index.decide(access, allow_without)
