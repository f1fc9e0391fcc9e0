"""The parts of the console, joined; imported with the first request."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, gatherResults

from kafkatx.broker.authorization.http_guard import HttpGuard
from kafkatx.broker.broker import Broker
from kafkatx.broker.console.actions import Actions
from kafkatx.broker.console.application import ConsoleApplication
from kafkatx.broker.console.cluster.cluster import Cluster
from kafkatx.broker.console.kafka_requests import KafkaRequests
from kafkatx.broker.console.login.access import Access
from kafkatx.broker.console.login.sessions import Sessions
from kafkatx.broker.console.pages.static_files import StaticFiles
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.table import make_routes
from kafkatx.broker.console.views import ViewProcesses
from kafkatx.config.table import network as n
from kafkatx.types import ClusterDelta
from kafkatx.web.event_stream import EventStreams

if TYPE_CHECKING:
    from kafkatx.broker.registry.holder import RegistryHolder
    from kafkatx.net.server import KafkaServerFactory
    from kafkatx.web.logins import Certificates, Logins


class Console:
    """The console of a broker: its listeners share everything but the sessions of users.

    :ivar parts: the parts.
    """

    def __init__(
        self,
        broker: Broker,
        server: KafkaServerFactory,
        registry: RegistryHolder,
        decoders: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        config = broker.config
        self._peers = broker.peers.apart("console-figures")  # records of messages must not delay them
        self.parts = ConsoleParts(
            broker,
            server,
            registry,
            KafkaRequests(broker, self._peers),
            Actions(broker.now_ms, config[n.CONSOLE_READ_ONLY]),
            EventStreams(broker.clock, config[n.CONSOLE_MAX_STREAMS], n.CONSOLE_MAX_STREAMS.name),
            HttpGuard(broker.authorization),
            Cluster.of(broker, self._peers),
            ViewProcesses(broker.workers, broker.clock),
            broker.peers.apart("console"),
            decoders,
        )
        self._files = StaticFiles(broker.workers("console"))
        self._sessions: list[Sessions] = []
        self._routes = make_routes(self.parts)
        broker.metadata.subscribe(self._changed)

    def application(self, logins: Logins | Certificates | None, has_tls: bool) -> ConsoleApplication:
        """Return what answers the requests of a listener."""
        broker = self.parts.broker
        sessions = Sessions(broker.clock.seconds, broker.config[n.CONSOLE_SESSION_IDLE_MS] / 1000)
        self._sessions.append(sessions)
        access = Access(logins, sessions, broker.node_id, has_tls)
        return ConsoleApplication(self.parts, self._routes, access, self._files)

    def _changed(self, delta: ClusterDelta) -> None:
        """End the sessions of users whose credentials have changed."""
        before, after = delta.before.scram_credentials, delta.after.scram_credentials
        if before is after:
            return
        users = [user for user in before if before[user] != after.get(user)]
        for sessions in self._sessions:
            sessions.end_of(users)

    def stop(self) -> Deferred[None]:
        """End all event streams, the processes and the connections."""
        self.parts.streams.stop()
        self.parts.views.stop()
        stopping = [self.parts.peers.stop(), self._peers.stop()]
        return gatherResults(stopping).addCallback(lambda _: None)
