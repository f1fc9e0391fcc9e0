"""A line in the log at the start of a cluster's broker: may the brokers copy from each other?"""

from __future__ import annotations

from twisted.logger import Logger

from kafkatx.config import BrokerConfig
from kafkatx.config.table.security import acls

_log = Logger()


def check_own_principal(config: BrokerConfig, principal: str | None) -> None:
    """Say by which principal other brokers know this one, and warn if that is no super user.

    :param principal: None if it is not known.
    """
    if principal is None:
        return
    if principal in acls.super_users(config[acls.SUPER_USERS]):
        _log.info("brokers of this cluster are {principal}, a super user", principal=principal)
    elif config[acls.AUTHORIZER_CLASS_NAME] == acls.BY_ACLS:
        _log.warn(
            "brokers of this cluster connect to each other as {principal}: {principal} is not in super.users;"
            " unless ACLs allow it ClusterAction on the cluster, no partition is copied",
            principal=principal,
        )
