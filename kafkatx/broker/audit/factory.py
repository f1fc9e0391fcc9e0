"""Makes the audit of a broker from its parts; imported only if the settings ask for it."""

from __future__ import annotations

from kafkatx.broker.audit.auditor import BrokerAuditor
from kafkatx.broker.audit.channel import AuditChannel
from kafkatx.broker.broker import Broker
from kafkatx.clientcore.bootstrap import Address
from kafkatx.config.table.broker import KAFKATX_AUDIT_TOPIC
from kafkatx.networkclient.connection import MakeEndpoint


def make_auditor(
    broker: Broker, own_address: Address, make_endpoint: MakeEndpoint | None = None
) -> BrokerAuditor:
    """Return the auditor of a broker, not started.

    :param own_address: host and port at which the broker can reach itself.
    """
    channel = AuditChannel(
        broker.config[KAFKATX_AUDIT_TOPIC],
        broker.node_id,
        own_address,
        broker.metadata,
        broker.topic_commands,
        broker.groups.topic,
        broker.clock,
        broker.now_ms,
        make_endpoint,
    )
    return BrokerAuditor(
        broker.config,
        broker.metadata,
        broker.topics,
        channel,
        broker.clock,
        broker.workers("audit"),
        broker.now_ms,
        broker.limited_log,
    )
