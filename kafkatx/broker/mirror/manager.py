"""The mirror manager: which partitions this broker mirrors, by which link; imported only if there is one.

It touches the cluster's metadata, the clock, and the sources of links (:mod:`~kafkatx.broker.mirror.link`).
Roles and records of topics come from :mod:`kafkatx.broker.replica.topics`, links from the broker's settings.
Each partition is mirrored by its leader. In the state ``promoting`` the leader raises its epoch above all
that the log has: so what producers write after the promotion is told apart from what the source writes.
What was open then, :mod:`~kafkatx.broker.mirror.promotion_markers` ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.broker.mirror.leader_epochs import LeaderEpochs
from kafkatx.broker.mirror.link import Link, client_settings
from kafkatx.broker.mirror.mirrored_partition import MirroredPartition
from kafkatx.broker.mirror.promotion_markers import PromotionMarkers
from kafkatx.broker.mirror.status import IMirrorStatus, LinkStatus, MirrorStatus
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import Leading
from kafkatx.broker.replica.topics import Topics
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.tables.common import ENDPOINT
from kafkatx.config import BrokerConfig
from kafkatx.config.links import LinkSettings, link_settings
from kafkatx.config.mirror_record import MirrorState
from kafkatx.errors import SettingError
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.limited_log import LimitedLog
from kafkatx.networkclient.connection import MakeEndpoint

AGAIN_S = 1.0
"""Pause between attempts to raise the leader epochs of partitions that are promoted."""

PRODUCERS_S = 60.0
"""Interval of a look at the producers of all mirrored logs."""

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 100, 5000
"""The pauses of a partition after errors; they double from the first to the longest."""


@implementer(IMirrorStatus)
class MirrorManager:
    """The links of this broker, and the mirrored partitions that it leads.

    :param make_endpoint: makes the endpoints of the sources' brokers; None: TCP.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        replicas: ReplicaManager,
        clock: IReactorTime,
        now_ms: Callable[[], int],
        limited_log: LimitedLog,
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._topics = topics
        self._replicas = replicas
        self._clock = clock
        self._limited_log = limited_log
        self._make_endpoint = make_endpoint
        self._broker_id: int = config.get("broker.id")
        self._epochs = LeaderEpochs(metadata, self._broker_id)
        self._markers = PromotionMarkers(replicas, clock, now_ms, limited_log)
        self._backoff = Backoff(first_ms=FIRST_PAUSE_MS, longest_ms=LONGEST_PAUSE_MS)
        self._mirrored: dict[Partition, MirroredPartition] = {}
        self._links: dict[str, Link] = {}
        self._placed: dict[MirroredPartition, Link] = {}
        self._promoting: dict[MirroredPartition, None] = {}
        self._raising: Deferred[None] | None = None
        self._closing: list[Deferred[None]] = []
        self._stopped = False
        self._timer = LoopingCall(self._look_at_producers)
        self._timer.clock = clock
        self._timer.start(PRODUCERS_S, now=False)
        self.use(config)
        for name in list(topics.partitions):
            for partition in topics.of(name):
                self.look_at(partition)

    # --- links

    def use(self, config: BrokerConfig) -> None:
        """Use other settings: links may have come, gone or changed."""
        if self._stopped:
            return
        wanted = link_settings(config)
        for name, link in list(self._links.items()):
            after = wanted.get(name)
            if after is not None and _is_same_source(link.settings, after):
                link.use(after)
            else:
                self._close(self._links.pop(name))
        for name, settings in wanted.items():
            if name not in self._links and settings.bootstrap_servers:
                self._open(settings)
        for one in list(self._mirrored.values()):
            self._place(one)

    def _open(self, settings: LinkSettings) -> None:
        objects: dict[str, object] = {}
        if self._make_endpoint is not None:
            objects[ENDPOINT.name] = self._make_endpoint
        try:
            client = client_settings(settings, self._broker_id, objects)
            self._links[settings.name] = Link(settings, client, self._epochs, self._clock, self._limited_log)
        except SettingError as error:
            self._log.error("the mirror link {link} does nothing: {error}", link=settings.name, error=error)

    def _close(self, link: Link) -> None:
        for one in [one for one, placed in self._placed.items() if placed is link]:
            del self._placed[one]
        closing = link.stop()
        self._closing.append(closing)
        closing.addBoth(lambda _: self._closing.remove(closing))

    # --- partitions

    def look_at(self, partition: Partition) -> None:
        """Mirror a partition as its role and its topic's record say: both may have changed."""
        if self._stopped:
            return
        self._markers.look_at(partition)
        record, known = partition.mirror, self._mirrored.get(partition)
        if record is None or not isinstance(partition.role, Leading):
            if known is not None:
                del self._mirrored[partition]
                self._take_away(known)
            return
        if known is None:
            known = self._mirrored[partition] = MirroredPartition(
                partition, record, self._replicas, self._clock, self._backoff, self._limited_log
            )
        elif known.record.link != record.link or known.record.source_id != record.source_id:
            self._take_away(known)
        known.record = record
        self._place(known)

    def _place(self, one: MirroredPartition) -> None:
        """Give a partition to its link, or take it away, as its record says."""
        record = one.record
        link = self._links.get(record.link) if record.fetched else None
        if self._placed.get(one) is not link:
            self._take_away(one)
            if link is not None:
                self._placed[one] = link
                link.add(one)
        if record.fetched and link is None:
            one.explain(f"there is no link {record.link} in the settings, or it has no bootstrap.servers")
        elif not record.fetched:
            one.recover()
        if record.state is MirrorState.PROMOTING and not one.is_stopped:
            self._promoting[one] = None
            self._raise_soon()
        else:
            self._promoting.pop(one, None)

    def _take_away(self, one: MirroredPartition) -> None:
        link = self._placed.pop(one, None)
        self._promoting.pop(one, None)
        if link is not None:
            link.remove(one)

    # --- promotion

    def _raise_soon(self, pause_s: float = 0.0) -> None:
        if self._raising is None and not self._stopped:
            self._raising = Deferred()
            self._clock.callLater(pause_s, self._raise)

    def _raise(self) -> None:
        """Lead partitions that are promoted in epochs above all that their logs have."""
        wanted = {one.partition: one.partition.log.latest_epoch + 1 for one in self._promoting}
        self._promoting.clear()
        if self._stopped or not wanted:
            self._raising = None
            return
        Deferred.fromCoroutine(self._epochs.raise_to(wanted)).addBoth(self._raised, wanted)

    def _raised(self, result: object, wanted: dict[Partition, int]) -> None:
        self._raising = None
        if isinstance(result, Failure):
            self._limited_log.failure("raising the leader epochs of promoted topics failed", result)
        for partition in wanted:
            known = self._mirrored.get(partition)
            if known is not None and known.record.state is MirrorState.PROMOTING and not known.is_stopped:
                self._promoting[known] = None
        if self._promoting:
            self._raise_soon(AGAIN_S)

    # --- status

    def status(self) -> Sequence[MirrorStatus]:
        """Return the status of each mirrored partition that this broker leads."""
        return [one.status() for one in self._mirrored.values()]

    def links(self) -> Sequence[LinkStatus]:
        """Return the status of each link."""
        return [link.status() for link in self._links.values()]

    def _look_at_producers(self) -> None:
        for link in self._links.values():
            link.look_at_producers()

    # --- the end

    def stop(self) -> Deferred[None]:
        """End all fetches; fires when every connection is closed. Nothing is appended any more."""
        self._stopped = True
        self._markers.stop()
        if self._timer.running:
            self._timer.stop()
        for link in list(self._links.values()):
            self._close(link)
        self._links.clear()
        self._mirrored.clear()
        self._promoting.clear()
        return gatherResults(list(self._closing)).addCallback(lambda _: None)


def _is_same_source(before: LinkSettings, after: LinkSettings) -> bool:
    return (before.bootstrap_servers, before.client) == (after.bootstrap_servers, after.client)
