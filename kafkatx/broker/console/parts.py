"""The parts that the console's routes use. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from kafkatx.acls import CLUSTER_NAME, AclOperation, ResourceType
from kafkatx.broker.authorization.http_guard import HttpGuard
from kafkatx.broker.broker import Broker
from kafkatx.broker.console.actions import Actions
from kafkatx.broker.console.cluster.cluster import Cluster
from kafkatx.broker.console.kafka_requests import KafkaRequests, peer_of
from kafkatx.broker.console.views import ViewProcesses
from kafkatx.broker.peers import Peers
from kafkatx.web.calls import Call
from kafkatx.web.event_stream import EventStreams

if TYPE_CHECKING:
    from kafkatx.broker.registry.holder import RegistryHolder
    from kafkatx.net.server import KafkaServerFactory


@attrs.frozen(eq=False)
class ConsoleParts:
    """The parts of a broker's console.

    :ivar server: the connections of Kafka's protocol.
    :ivar registry: the schema registry.
    :ivar kafka: makes Kafka requests as the user.
    :ivar actions: the audit; each change is made through it.
    :ivar streams: the event streams of all pages.
    :ivar guard: asks for what is no Kafka request.
    :ivar cluster: figures of the whole cluster, which do not know the rights of users.
    :ivar views: the processes that look at messages.
    :ivar peers: connections to other brokers, for messages.
    :ivar decoders: installed decoders: paths of their factories by name.
    """

    broker: Broker
    server: KafkaServerFactory
    registry: RegistryHolder
    kafka: KafkaRequests
    actions: Actions
    streams: EventStreams
    guard: HttpGuard
    cluster: Cluster
    views: ViewProcesses
    peers: Peers
    decoders: Mapping[str, str] = MappingProxyType({})

    def sees(
        self, call: Call, operation: AclOperation, resource_type: ResourceType, name: str = CLUSTER_NAME
    ) -> bool:
        """Return True if an answer may tell the user something; without an authorizer it may tell all."""
        authorization = self.broker.authorization
        return authorization is None or authorization.sees(peer_of(call), operation, resource_type, name)

    def look(self) -> None:
        """Take note that a page shows what the broker samples."""
        self.broker.samples.look(self.broker.clock.seconds())
