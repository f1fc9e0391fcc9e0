"""One running broker: it makes the parts, hands each what it needs, and joins their write rounds.

It does no I/O itself. Handlers are given the broker and use its parts; the parts (``replica``,
``coordinator``, ``requests``) do not know it. :mod:`kafkatx.broker.service` starts and stops it,
:mod:`kafkatx.broker.dispatch` brings requests to the handlers.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.coordinator.groups.coordinator import GroupCoordinator
from kafkatx.broker.coordinator.groups.offset_expiry import OffsetExpiry
from kafkatx.broker.coordinator.transactions.coordinator import TransactionCoordinator
from kafkatx.broker.mirror.mirrors import Mirrors
from kafkatx.broker.peers import Peers
from kafkatx.broker.produce.record_validation import RecordValidator
from kafkatx.broker.producer_ids import ProducerIds
from kafkatx.broker.quotas.manager import QuotaManager
from kafkatx.broker.replica.commit_waiters import CommitTimeouts
from kafkatx.broker.replica.fetcher.manager import ReplicaFetcherManager
from kafkatx.broker.replica.flushes import FlushScheduler
from kafkatx.broker.replica.log_ends import LogEnds
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.throttles import ReplicationThrottles
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.requests.down_conversion import DownConversions
from kafkatx.broker.requests.quotation import quoted
from kafkatx.broker.requests.slices import Slices
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.config import BrokerConfig
from kafkatx.config.alter import usable_broker_configs
from kafkatx.config.table import network, replication
from kafkatx.config.table.security import acls
from kafkatx.counts import RequestCounts
from kafkatx.interfaces import IAuthorizer, ILogStore, IMetadataStore, Workers
from kafkatx.net.limited_log import LimitedLog
from kafkatx.types import ALL_BROKERS, ClusterDelta

if TYPE_CHECKING:
    from kafkatx.broker.authorization.audit_topic import AuditTopic
    from kafkatx.broker.authorization.authorization import Authorization
    from kafkatx.broker.authorization.learned_file import LearnedFile
    from kafkatx.broker.coordinator.transactions.marker_writer import MarkerWriter
    from kafkatx.broker.coordinator.transactions.markers import MarkerSender
    from kafkatx.broker.coordinator.transactions.verification import TransactionVerifier
    from kafkatx.broker.history.samples import Samples
    from kafkatx.broker.requests.fetch_sessions import FetchSessions
    from kafkatx.broker.telemetry.telemetry import ClientTelemetry
    from kafkatx.net.fair_turns import FairTurns
    from kafkatx.networkclient.connection import MakeEndpoint


async def _no_listeners(config: BrokerConfig) -> None:
    """Check nothing: there are no listeners."""


class Broker:
    """The parts of a broker, as handlers use them.

    :ivar config: the current settings; replaced as a whole when a dynamic setting changes.
    :ivar config_listeners: called with the new settings after each change, in order.
    :ivar metadata: the cluster's metadata.
    :ivar store: the logs.
    :ivar topics: the topics that have a partition here, and these partitions.
    :ivar topic_commands: creates, changes and deletes topics.
    :ivar replicas: the write rounds.
    :ivar fetchers: copy the partitions that other brokers lead.
    :ivar commit_timeouts: gives up writers that wait for replicas.
    :ivar groups: the groups that this broker coordinates.
    :ivar expiry: deletes old committed offsets.
    :ivar validator: validates produced records in a worker.
    :ivar throttles: how much other brokers may copy from here, and this one from them.
    :ivar quotas: how much clients may do.
    :ivar transactions: the transactional ids that this broker coordinates.
    :ivar peers: connections to the other brokers.
    :ivar mirrors: links to other clusters, and the partitions that are mirrored here.
    :ivar slices: answers long lists a slice at a time.
    :ivar down_conversions: converts fetched records for old clients.
    :ivar limited_log: for lines that clients can cause.
    :ivar offered: the versions of each API key that ApiVersions shows.
    :ivar inter_broker_port: the port of the listener at which other brokers may fetch as replicas; None: any.
    :ivar reads_by_rack: consumers are sent to replicas in their racks (KIP-392).
    :ivar authorization: what principals may do; None: everything.
    :ivar began_s: the time of its making, by the clock.
    :ivar explained: explanations of slow groups and clients that are under way.
    :ivar http_urls: the addresses at which this broker answers HTTP, for programs on this machine.
    :ivar cold_reads: reads of fetch requests that had to wait for the disk.
    :ivar request_counts: counts for each version of each API at each listener that was used.
    :ivar features_epoch: the epoch of the finalized features; it rises with each start of the broker.
    :param make_endpoint: makes the endpoints of brokers of other clusters; None: TCP.
    :param peer_endpoint: makes those of this cluster's brokers; None: as *make_endpoint*.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        store: ILogStore,
        clock: IReactorTime,
        workers: Workers,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
        make_endpoint: MakeEndpoint | None = None,
        peer_endpoint: MakeEndpoint | None = None,
        authorizer: IAuthorizer | None = None,
    ) -> None:
        peer_endpoint = peer_endpoint or make_endpoint
        self.config = config
        self.metadata = metadata
        self.store = store
        self.clock = clock
        self.workers = workers
        self.now_ms = now_ms
        self.node_id: int = config.get("broker.id")
        self.offered: dict[int, range] = {}
        self.inter_broker_port: int | None = None
        self.features_epoch = now_ms()
        self.began_s = clock.seconds()
        self.cold_reads = 0
        self.explained = 0
        self.http_urls: Sequence[str] = ()
        self.check_listeners: Callable[[BrokerConfig], Awaitable[None]] = _no_listeners
        self.request_counts: list[RequestCounts] = []
        selector = config[replication.REPLICA_SELECTOR_CLASS]
        self.reads_by_rack = selector is not None and selector.endswith(replication.BY_RACK)
        self.flushes = FlushScheduler(clock)
        self.commit_timeouts = CommitTimeouts(clock)
        self.topics = Topics(config, metadata, store, self.flushes, clock)
        self.topic_commands = TopicCommands(config, metadata, store, self.topics)
        self.replicas = ReplicaManager(metadata, self.topics, store, self.flushes, clock)
        self.topics.before_roles = self._write_early
        self.log_ends = LogEnds(metadata, self.topics, clock)
        self.validator = RecordValidator(config, self.topics, self.replicas, workers, now_ms)
        self.groups = GroupCoordinator(
            config,
            metadata,
            self.topics,
            self.topic_commands,
            self.replicas,
            self.commit_timeouts,
            clock,
            workers,
            now_ms,
        )
        self.expiry = OffsetExpiry(config, metadata, self.groups)
        self.config_listeners: list[Callable[[BrokerConfig], None]] = [
            self.topics.use,
            self.topic_commands.use,
            store.reconfigure,
            self.validator.use,
            self.groups.use,
            self.expiry.use,
        ]
        self.peers = Peers(config, metadata, clock, peer_endpoint)
        self.transactions = TransactionCoordinator(
            config,
            metadata,
            self.topics,
            self.topic_commands,
            self.replicas,
            self.commit_timeouts,
            clock,
            workers,
            now_ms,
            self._make_markers,
        )
        self.config_listeners.append(self.transactions.use)
        self.producer_ids = ProducerIds(metadata, self.highest_producer_id)
        self.transactions.raise_producer_ids = self.producer_ids.raise_above
        self.quotas = QuotaManager(config, metadata, clock)
        self.slices = Slices(clock)
        self.limited_log = LimitedLog(self._log, clock, config.get("kafkatx.log.lines.per.minute"))
        self.mirrors = Mirrors(
            config,
            metadata,
            self.topics,
            self.replicas,
            self.topic_commands,
            self.groups.topic,
            clock,
            now_ms,
            self.limited_log,
            make_endpoint,
            peer_endpoint,
        )
        self.config_listeners.append(self.mirrors.use)
        self.throttles = ReplicationThrottles(config, metadata, clock.seconds)
        self.config_listeners.append(self.throttles.use)
        self.fetchers = ReplicaFetcherManager(
            config,
            metadata,
            self.topics,
            store,
            self.flushes,
            clock,
            self.limited_log,
            self.throttles.follower,
            peer_endpoint,
        )
        self.authorization = None if authorizer is None else self._make_authorization(authorizer)
        self.down_conversions = DownConversions(
            clock, lambda: workers("down-conversion"), config.get("kafkatx.downconversion.max.bytes")
        )
        metadata.subscribe(self._cluster_changed)

    def _make_authorization(self, authorizer: IAuthorizer) -> Authorization:
        from kafkatx.broker.authorization.authorization import Authorization  # most brokers have none
        from kafkatx.broker.authorization.denials import Denials

        denials = Denials(self.clock, self.config.get("kafkatx.log.lines.per.minute"))
        if self.config[acls.KAFKATX_AUTHORIZER_AUDIT_TOPIC]:
            denials.listeners.append(self._make_audit_topic().note)
        most = self.config[acls.KAFKATX_AUTHORIZER_CACHE_MAX]
        return Authorization(authorizer, self.metadata, denials, most)

    def _make_audit_topic(self) -> AuditTopic:
        from kafkatx.broker.authorization.audit_topic import AuditTopic, Ways  # few brokers have one

        ways = Ways(
            self.topic_commands.ensure, self.topics.find, self.groups.writer.append, self.peers.request
        )
        return AuditTopic(
            self.config[acls.KAFKATX_AUTHORIZER_AUDIT_TOPIC],
            self.node_id,
            self.metadata,
            ways,
            self.clock,
            self.now_ms,
            self.limited_log,
        )

    @cached_property
    def learned(self) -> LearnedFile | None:
        """The file of what a learning authorizer has learned; None if there is none."""
        path = self.config[acls.KAFKATX_AUTHORIZER_LEARN_FILE]
        if self.authorization is None or path is None:
            return None
        from kafkatx.broker.authorization.learned_file import make_file  # few brokers learn

        return make_file(path, self.authorization.authorizer, self.workers)

    def highest_producer_id(self) -> int:
        """Return the highest producer id in the logs of this broker and in its coordinator; -1: none."""
        found = [one.producer_id for log in self.store.logs.values() for one in log.active_producers()]
        return max(max(found, default=-1), self.transactions.highest_producer_id())

    async def open(self) -> None:
        """Open every log, and schedule a flush where a crash left records unflushed."""
        await self.topics.open()
        for name in self.topics.partitions:
            for partition in self.topics.of(name):
                self.flushes.reschedule(partition)

    @cached_property
    def fetch_sessions(self) -> FetchSessions:
        """The partitions that clients have named once."""
        from kafkatx.broker.requests.fetch_sessions import FetchSessions  # not needed for a start

        return FetchSessions(self.config[replication.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS])

    @cached_property
    def password_turns(self) -> FairTurns:
        """The turns of checks of passwords, at all listeners."""
        from kafkatx.broker.password_turns import password_turns  # not needed without logins

        return password_turns()

    @cached_property
    def samples(self) -> Samples:
        """The samples of the past; there are none without a console."""
        from kafkatx.broker.history.samples import Samples  # not needed without one

        return Samples()

    @cached_property
    def telemetry(self) -> ClientTelemetry:
        """The metrics that clients push."""
        from kafkatx.broker.telemetry.telemetry import ClientTelemetry  # with the first client that asks

        return ClientTelemetry(
            self.metadata,
            self.clock,
            lambda: self.workers("telemetry"),
            self.limited_log,
            self.config[network.TELEMETRY_MAX_BYTES],
            self.config[network.TELEMETRY_MAX_VALUES],
        )

    @cached_property
    def marker_writer(self) -> MarkerWriter:
        """The writer of markers to the partitions that this broker leads."""
        from kafkatx.broker.coordinator.transactions.marker_writer import MarkerWriter  # with the first one

        return MarkerWriter(
            self.topics, self.groups, self.replicas, self.transactions.writer, self.verifier.pending
        )

    @cached_property
    def verifier(self) -> TransactionVerifier:
        """The verifier of transactions before their first batch in a partition."""
        from kafkatx.broker.coordinator.transactions.verification import TransactionVerifier

        return TransactionVerifier(self.node_id, self.transactions, self.peers, self.clock)

    def _make_markers(self) -> MarkerSender:
        from kafkatx.broker.coordinator.transactions.marker_requests import MarkerRequests
        from kafkatx.broker.coordinator.transactions.markers import MarkerSender

        return MarkerSender(
            self.node_id,
            self.metadata,
            self.marker_writer,
            MarkerRequests(self.peers),
            self.transactions.markers_written,
            self.clock,
            self.limited_log,
        )

    def write_staged(self) -> dict[object, OSError]:
        """Write all that requests have staged; return the partitions where that failed, and why.

        Offset commits are put together into one batch per partition of ``__consumer_offsets`` first.
        """
        commits = self.groups.commits
        if not commits.pending:
            return self.replicas.write_staged()
        staged = commits.stage()
        self.replicas.staged.update(dict.fromkeys(staged))
        failed = self.replicas.write_staged()
        commits.settle(staged, failed)
        return failed

    def _write_early(self) -> None:
        """Write what is staged before roles change; the round that staged it is told later what failed."""
        self.replicas.failed_early.update(self.write_staged())

    # --- dynamic settings

    def _cluster_changed(self, delta: ClusterDelta) -> None:
        """Use the dynamic settings of the cluster's new state, at the start as well."""
        new = delta.after
        if new.broker_configs == delta.before.broker_configs:
            return
        dynamic = []
        for whose in (ALL_BROKERS, str(self.node_id)):
            usable, complaints = usable_broker_configs(new.broker_configs.get(whose, {}))
            for complaint in complaints:
                self._log.warn("a stored setting is not used: {complaint}", complaint=quoted(complaint))
            dynamic.append(usable)
        self._use(self.config.with_dynamic(*dynamic))

    def _use(self, config: BrokerConfig) -> None:
        self.config = config
        for listener in self.config_listeners:
            listener(config)

    async def check_dynamic(self, name: str, new: Mapping[str, str]) -> None:
        """Check that the listeners can use other dynamic settings, if these are about this broker.

        :param name: the id of the broker that they are about, or ALL_BROKERS.
        :raises SettingError: a keystore cannot be read, for example.
        """
        stored = {**self.metadata.state.broker_configs, name: new}
        layers = [
            usable_broker_configs(stored.get(whose, {}))[0] for whose in (ALL_BROKERS, str(self.node_id))
        ]
        await self.check_listeners(self.config.with_dynamic(*layers))

    def reload(self, read: BrokerConfig) -> None:
        """Use settings that were read again as far as they may change at run time; log those that may not."""
        reloaded = self.config.reloaded(read)
        if reloaded.fixed:
            self._log.warn(
                "settings were read again; these have changed and need a restart: {names}",
                names=", ".join(reloaded.fixed),
            )
        if reloaded.changed:
            self._use(reloaded.config)
        self._log.info(
            "settings were read again: {changes}",
            changes=f"{', '.join(reloaded.changed)} changed"
            if reloaded.changed
            else "nothing that may change while the broker runs has changed",
        )
