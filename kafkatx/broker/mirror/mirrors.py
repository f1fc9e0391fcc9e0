"""The mirrors of a broker: nothing is imported, nor done, unless the cluster has a link or a mirrored topic.

It touches nothing itself: :mod:`kafkatx.broker.mirror.manager` copies records, and
:mod:`kafkatx.broker.mirror.control.controller` does all else if this broker is the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.mirror.status import IMirrorStatus, LinkStatus, MirrorStatus
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.config import BrokerConfig
from kafkatx.config.table.mirror.rows import LINKS
from kafkatx.interfaces import IMetadataStore
from kafkatx.names import KAFKATX_MIRROR
from kafkatx.net.limited_log import LimitedLog
from kafkatx.types import ClusterDelta, Topic

if TYPE_CHECKING:
    from kafkatx.broker.mirror.control.controller import MirrorController
    from kafkatx.broker.mirror.manager import MirrorManager
    from kafkatx.clientcore.bootstrap import Address
    from kafkatx.config.links import LinkSettings
    from kafkatx.networkclient.connection import MakeEndpoint


@implementer(IMirrorStatus)
class Mirrors:
    """The links of this broker, and the mirrored partitions that it leads.

    :param make_endpoint: makes the endpoints of the sources' brokers; None: TCP.
    :param peer_endpoint: makes those of this cluster's brokers; None: TCP.
    """

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        replicas: ReplicaManager,
        commands: TopicCommands,
        offsets: InternalTopic,
        clock: IReactorTime,
        now_ms: Callable[[], int],
        limited_log: LimitedLog,
        make_endpoint: MakeEndpoint | None = None,
        peer_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._topics = topics
        self._replicas = replicas
        self._commands = commands
        self._offsets = offsets
        self._clock = clock
        self._now_ms = now_ms
        self._limited_log = limited_log
        self._make_endpoint = make_endpoint
        self._peer_endpoint = peer_endpoint
        self._manager: MirrorManager | None = None
        self._controller: MirrorController | None = None
        self._own_address: Address | None = None
        self._is_running = False
        topics.replica_listeners.append(self._look_at)
        metadata.subscribe(self._follow)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings: links may have come, gone or changed."""
        self._config = config
        if self._manager is not None:
            self._manager.use(config)
            if self._controller is not None:
                self._controller.use(config)
        elif config[LINKS]:
            self._begin()

    def start(self, own_address: Address | None = None) -> None:
        """Begin to mirror: this broker is registered.

        :param own_address: host and port at which the broker can reach itself; None: it controls no links.
        """
        self._own_address = own_address
        self._is_running = True
        if self._config[LINKS] or any(map(_is_mirror, self._metadata.state.topics.values())):
            self._begin()

    def stop(self) -> Deferred[None]:
        """End all work; fires when every connection is closed. Nothing is appended any more."""
        self._is_running = False
        ends = [part.stop() for part in (self._controller, self._manager) if part is not None]
        self._manager = self._controller = None
        return gatherResults(ends).addCallback(lambda _: None)

    def _look_at(self, partition: Partition) -> None:
        if self._manager is not None:
            self._manager.look_at(partition)

    def _follow(self, delta: ClusterDelta) -> None:
        """Begin with the first mirrored topic of the cluster."""
        if self._manager is None and any(
            _is_mirror(topic) for name in delta.topics if (topic := delta.after.topics.get(name)) is not None
        ):
            self._begin()

    def _begin(self) -> None:
        if not self._is_running or self._manager is not None:
            return
        from kafkatx.broker.mirror.manager import MirrorManager

        clock, log, endpoints = self._clock, self._limited_log, self._make_endpoint
        config, metadata = self._config, self._metadata
        self._manager = MirrorManager(
            config, metadata, self._topics, self._replicas, clock, self._now_ms, log, endpoints
        )
        if self._own_address is None:
            return
        from kafkatx.broker.mirror.control.controller import MirrorController
        from kafkatx.broker.mirror.control.own_brokers import OwnBrokers

        target = OwnBrokers(
            config.get("broker.id"), self._own_address, metadata, self._offsets, clock, self._peer_endpoint
        )
        self._controller = MirrorController(
            config, metadata, self._commands, target, self._manager.status, clock, log, endpoints
        )

    def status(self) -> Sequence[MirrorStatus]:
        """Return the status of each mirrored partition that this broker leads."""
        return () if self._manager is None else self._manager.status()

    def links(self) -> Sequence[LinkStatus]:
        """Return the status of each link; the controller's broker tells of topics and groups as well."""
        if self._manager is None:
            return ()
        known = {link.name: link for link in self._known_links(self._manager)}
        from kafkatx.config.links import link_settings

        unusable = [
            _unusable(link) for link in link_settings(self._config).values() if link.name not in known
        ]
        return [*known.values(), *unusable]

    def _known_links(self, manager: MirrorManager) -> Sequence[LinkStatus]:
        controlled = {} if self._controller is None else self._controller.links()
        return [_joined(link, controlled.get(link.name)) for link in manager.links()]


def _is_mirror(topic: Topic) -> bool:
    return KAFKATX_MIRROR in topic.configs


def _unusable(link: LinkSettings) -> LinkStatus:
    why = "its settings cannot be used: see the broker's log"
    if not link.bootstrap_servers:
        why = f"mirror.{link.name}.bootstrap.servers is not set"
    return LinkStatus(link.name, ",".join(link.bootstrap_servers), why)


def _joined(link: LinkStatus, controlled: LinkStatus | None) -> LinkStatus:
    if controlled is None:
        return link
    return attrs.evolve(controlled, error=link.error or controlled.error)
