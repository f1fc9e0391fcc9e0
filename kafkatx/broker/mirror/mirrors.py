"""The mirrors of a broker: nothing is imported, nor done, unless it has a link or leads a mirrored partition.

It touches nothing itself; :mod:`kafkatx.broker.mirror.manager` does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.broker.mirror.status import IMirrorStatus, LinkStatus, MirrorStatus
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.config import BrokerConfig
from kafkatx.config.table.mirror.rows import LINKS
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.limited_log import LimitedLog

if TYPE_CHECKING:
    from kafkatx.broker.mirror.manager import MirrorManager
    from kafkatx.networkclient.connection import MakeEndpoint


@implementer(IMirrorStatus)
class Mirrors:
    """The links of this broker, and the mirrored partitions that it leads.

    :param make_endpoint: makes the endpoints of the sources' brokers; None: TCP.
    """

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        replicas: ReplicaManager,
        clock: IReactorTime,
        limited_log: LimitedLog,
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._config = config
        self._parts = (metadata, topics, replicas, clock, limited_log, make_endpoint)
        self._topics = topics
        self._manager: MirrorManager | None = None
        self._is_running = False
        topics.replica_listeners.append(self._look_at)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings: links may have come, gone or changed."""
        self._config = config
        if self._manager is not None:
            self._manager.use(config)
        elif config[LINKS]:
            self._begin()

    def start(self) -> None:
        """Begin to mirror: this broker is registered."""
        self._is_running = True
        mirrored = any(one.mirror for name in self._topics.partitions for one in self._topics.of(name))
        if mirrored or self._config[LINKS]:
            self._begin()

    def stop(self) -> Deferred[None]:
        """End all fetches; fires when every connection is closed. Nothing is appended any more."""
        self._is_running = False
        manager, self._manager = self._manager, None
        return succeed(None) if manager is None else manager.stop()

    def _look_at(self, partition: Partition) -> None:
        if self._manager is not None:
            self._manager.look_at(partition)
        elif partition.mirror is not None:
            self._begin()

    def _begin(self) -> None:
        if self._is_running and self._manager is None:
            from kafkatx.broker.mirror.manager import MirrorManager

            self._manager = MirrorManager(self._config, *self._parts)

    def status(self) -> Sequence[MirrorStatus]:
        """Return the status of each mirrored partition that this broker leads."""
        return () if self._manager is None else self._manager.status()

    def links(self) -> Sequence[LinkStatus]:
        """Return the status of each link."""
        return () if self._manager is None else self._manager.links()
