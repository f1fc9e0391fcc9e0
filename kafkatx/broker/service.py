"""The service of a broker: it opens the logs, registers the broker and listens; and stops in reverse order.

It touches sockets, through the reactor, and starts worker threads. The parts are made by
:mod:`kafkatx.broker.broker`, and :mod:`kafkatx.broker.background` does what is done at intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.authorization.own_principal import check_own_principal
from kafkatx.broker.background import BackgroundTasks
from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Dispatch, Served
from kafkatx.broker.handlers import OFFERED, SERVED
from kafkatx.broker.listeners.limits import limits_of
from kafkatx.broker.listeners.ports import Listeners
from kafkatx.broker.replica.controlled_shutdown import ControlledShutdown
from kafkatx.broker.replica.logs.boot_id import BootRecord
from kafkatx.broker.replica.logs.broker_life import ProcessLife
from kafkatx.broker.replica.partition import Partition
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import bracketed
from kafkatx.config.table import broker as settings
from kafkatx.config.table import zookeeper
from kafkatx.config.table.security import acls
from kafkatx.errors import RequestError, SettingError
from kafkatx.interfaces import IAuthorizer, ILogStore, IMetadataStore, IRetentionPolicy, Workers
from kafkatx.metadata.layout.restorations import described
from kafkatx.net.reactors import WallClock
from kafkatx.net.readahead import ReadAhead
from kafkatx.net.server import KafkaServerFactory
from kafkatx.net.workers import ThreadWorkers
from kafkatx.nodes import Endpoint
from kafkatx.types import BrokerNode

if TYPE_CHECKING:
    from kafkatx.broker.audit.auditor import BrokerAuditor
    from kafkatx.broker.http.endpoint import HttpEndpoint
    from kafkatx.broker.logins.checkers import FindChecker
    from kafkatx.broker.registry.holder import RegistryHolder
    from kafkatx.networkclient.connection import MakeEndpoint

SETTLE_S = 5.0
"""Seconds that the stop of a cluster's broker waits for changes of topics that clients have asked for."""


@attrs.frozen
class Parts:
    """The factories that settings choose by name; ``kafkatx.interfaces`` describes their arguments.

    :ivar served: the APIs, with their handlers.
    :ivar make_endpoint: makes the endpoints of other brokers; None: TCP.
    :ivar find_checker: finds installed checkers of user names and passwords; None: there are none.
    :ivar authorizer: decides what principals may do; None: everything is allowed.
    :ivar list_decoders: returns the paths of the factories of installed decoders by name.
    """

    log_store: Callable[..., ILogStore]
    metadata: Callable[..., IMetadataStore]
    find_retention: Callable[[str], IRetentionPolicy]
    served: tuple[Served, ...] = SERVED
    make_endpoint: MakeEndpoint | None = None
    find_checker: FindChecker | None = None
    authorizer: Callable[[BrokerConfig], IAuthorizer] | None = None
    list_decoders: Callable[[], Mapping[str, str]] = dict


class BrokerService(Service):
    """One broker.

    :ivar started: fires with this service when clients can connect, or fails with the reason: with
        ``SettingError`` if a person can fix it.
    :ivar halted: fires with the reason, for a person, when every log dir has failed: the broker can serve
        nothing any more, and its owner should stop the service.
    :ivar bootstrap: ``host:port`` that a client on this machine can use; set when started.
    :ivar advertised: ``host:port`` that clients are told to connect to; set when started.
    :ivar http: the HTTP listener; None if the settings ask for none, and before the start.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, parts: Parts, reactor: Any) -> None:
        self.config = config
        self.started: Deferred[BrokerService] = Deferred()
        self.bootstrap = self.advertised = ""
        self._reactor = reactor
        self._threads = ThreadWorkers(reactor)
        self._boot = BootRecord(self._threads)
        self._find_checker = parts.find_checker
        self._list_decoders = parts.list_decoders
        self._listeners = Listeners(config, self._threads, reactor, parts.find_checker)
        self._peer_endpoint = self._listeners.make_endpoint(parts.make_endpoint)
        self.broker = _make_broker(config, parts, reactor, self._threads, self._peer_endpoint)
        self.halted = self.broker.replicas.halted
        self._life = ProcessLife(
            self.broker.store.dirs,
            self._threads,
            self.broker.topics.distrust,
            anew=config[settings.KAFKATX_START_ANEW],
        )
        self._dispatch = Dispatch(self.broker, parts.served)
        self._served = parts.served
        self._factory = KafkaServerFactory(
            self._dispatch, limits_of(config), reactor, ReadAhead(self._threads)
        )
        self.broker.quotas.when_addresses_change(self._factory.admission.limit_addresses)
        self._tasks = BackgroundTasks(self.broker, reactor, self._factory.close_idle)
        self.broker.config_listeners.append(self._use)
        self._opening: Deferred[None] | None = None
        self._connecting = self._opened = False
        self._giving_up: Deferred[None] | None = None
        self._auditor: BrokerAuditor | None = None
        self.http: HttpEndpoint | None = None
        self._registry: RegistryHolder | None = None
        self.broker.validator.check_schemas = self._check_schemas
        self.broker.check_listeners = self._listeners.check

    def startService(self) -> None:
        """Start; :attr:`started` fires when that has succeeded or failed."""
        super().startService()
        for warning in self.config.warnings:
            self._log.warn("{complaint}", complaint=warning)
        self._warn_of_open_listeners()
        self._opening = Deferred.fromCoroutine(self._start())

    def _warn_of_open_listeners(self) -> None:
        """Tell of listeners through which everyone in the network may read, write and delete everything."""
        open_to_all = [str(each) for each in self.config.listeners() if each.host in ("", "0.0.0.0", "::")]
        if open_to_all and self.broker.authorization is None:
            self._log.warn(
                "listeners={listeners}: everyone who reaches this machine can read, change and delete"
                " everything: set authorizer.class.name, or listen on an address of a closed network",
                listeners=",".join(open_to_all),
            )

    async def _start(self) -> None:
        """Open, and fire :attr:`started`, whose callbacks may stop the broker at once."""
        try:
            await self._open()
        except GeneratorExit:
            raise  # its owner has let go of it while it waited
        except BaseException:
            self._failed(Failure())
        else:
            self.started.callback(self)

    async def _open(self) -> None:
        try:
            ports = self._listeners.bind(self.broker, self._served, self._factory)
            host, port = self.config.advertised(ports)
            rack, internal = self.config.get("broker.rack"), self.config.internal(ports)
            http = self._listen_for_http(internal[0] if internal else host)
            endpoints = self.config.endpoints(ports)
            node = BrokerNode(
                self.broker.node_id, host, port, rack, internal=internal, http=http, endpoints=endpoints
            )
            self.broker.inter_broker_port = self.config.inter_broker_port(ports)
            self._connecting = True
            await self._unless_stopped(self.broker.metadata.start(node))
            await self.broker.open()
            self._opened = True  # not before: logs that are not ours must get no marker from us
            await self._register()
            self.broker.fetchers.start()
            listener = self.config.listeners()[0]
            local = "127.0.0.1" if listener.host in ("", "0.0.0.0", "::") else listener.host
            self.broker.mirrors.start(self._own_address(node, local, ports))
            await self.broker.groups.open()
            self.broker.transactions.open()
            self._share_bootstrap_port()
            if self.broker.authorization is not None and self.broker.metadata.lease_remaining_s is not None:
                check_own_principal(self.config, self._listeners.own_principal())
        except BaseException:
            await self._stop_listening()
            raise
        self.bootstrap = f"{bracketed(local)}:{ports[0]}"
        self.advertised = f"{bracketed(node.host)}:{node.port}"
        if self.http is not None:
            self.http.health.ready = True
        self.accept()
        self._tasks.start()
        self.broker.topics.placements.on_change = self._tasks.record_soon
        self._start_audit(self._own_address(node, local, ports))
        self._log.info(
            "kafkatx is ready: broker {id} at {bootstrap}{http}, {topics} topics, cluster {cluster}",
            id=self.broker.node_id,
            bootstrap=self.bootstrap,
            http="" if self.http is None else f", HTTP at {', '.join(self.http.urls)}",
            topics=len(self.broker.topics.partitions),
            cluster=self.broker.metadata.state.cluster_id,
        )

    @property
    def http_url(self) -> str | None:
        """The URL of the HTTP listener for programs on this machine; None if there is none."""
        return None if self.http is None else self.http.urls[0]

    def _listen_for_http(self, host: str) -> Endpoint | None:
        """Bind the ports of the HTTP listener, if there is one; return its address for other brokers.

        :param host: the host by which they reach this broker.
        :raises SettingError: a port is in use, or not permitted; or certificates cannot be used.
        """
        if not self.config.http_listeners():
            return None
        from kafkatx.broker.console.holder import ConsoleHolder
        from kafkatx.broker.http.endpoint import HttpEndpoint  # most brokers have none
        from kafkatx.broker.metrics.holder import MetricsHolder

        tls = self._listeners.tls
        metrics = MetricsHolder(self.broker, self._factory, tls, self._reactor)
        registry = self._registry_holder()
        console = ConsoleHolder(self.broker, self._factory, metrics, registry, self._list_decoders)
        self.http = HttpEndpoint(
            self.broker, registry, metrics, console, self._reactor, tls, self._find_checker
        )
        self.http.listen()
        self.broker.http_urls = self.http.urls
        return self.config.http_advertised([port for _, port in self.http.bound], host)

    def _registry_holder(self) -> RegistryHolder:
        if self._registry is None:
            from kafkatx.broker.registry.holder import RegistryHolder  # most brokers have none

            self._registry = RegistryHolder(self.broker, self._listeners.http_endpoints())
        return self._registry

    def _check_schemas(self, partition: Partition, records: memoryview | bytes) -> Deferred[None]:
        return self._registry_holder().check_schemas(partition, records)

    def _own_address(self, node: BrokerNode, local: str, ports: Sequence[int]) -> tuple[str, int]:
        """Return host and port at which the broker can reach itself: over TLS those of its certificate."""
        if self.config.inter_broker.has_tls:
            return node.internal or (node.host, node.port)
        return local, self.config.inter_broker_port(ports)

    def _start_audit(self, own_address: tuple[str, int]) -> None:
        """Begin to count committed records if the settings ask for it."""
        if self.config[settings.KAFKATX_AUDIT_INTERVAL_MS]:
            from kafkatx.broker.audit.factory import make_auditor  # with a client: not for every start

            self._auditor = make_auditor(self.broker, own_address, self._peer_endpoint)
            self._auditor.start()

    async def _register(self) -> None:
        """Announce this broker, and whether its logs may lack records that it has acknowledged."""
        broker = self.broker
        log_dirs = [one for one in broker.store.dirs if one.error is None]
        ids, paths = [one.directory_id for one in log_dirs], [one.path for one in log_dirs]
        if broker.metadata.lease_remaining_s is None:  # there are no other brokers
            await self._unless_stopped(broker.metadata.register(ids))
            return
        clean = broker.store.closed_cleanly or await self._boot.is_same(paths)
        if self.config[settings.KAFKATX_START_ANEW] or broker.topics.placements.started_empty:
            clean = False
        if not clean:
            broker.topics.distrust()
        await self._unless_stopped(Deferred.fromCoroutine(self._raise_producer_ids()))
        await self._unless_stopped(broker.metadata.register(ids, clean, self._life, self._seen()))
        broker.log_ends.start()
        await self._boot.note(paths)  # not before: the cluster must have been told

    async def _raise_producer_ids(self) -> None:
        """Raise the producer ids of the cluster above those of the logs here: an older state may repeat them.

        :raises SettingError: the cluster could not be reached.
        """
        try:
            await self.broker.producer_ids.raise_above(self.broker.highest_producer_id())
        except RequestError as error:
            raise SettingError(f"the producer ids could not be raised: {error}") from error

    def _seen(self) -> int:
        """Return the highest generation of the cluster's state that the logs show; say it if it is higher."""
        broker = self.broker
        if self.config[settings.KAFKATX_START_ANEW]:
            return 0
        now = broker.metadata.generation
        seen = max((one.noted for one in broker.store.dirs if one.error is None), default=0)
        ahead = None if seen > now else broker.topics.ahead()
        if seen <= now and ahead is None:
            return 0
        self._log.warn(
            "the cluster's state is an older copy, {evidence}: each of its partitions is led again when all"
            " of its replicas have told where their logs end, by the longest one",
            evidence=f"at change {described(now)}, and these log dirs have noted change {described(seen)}"
            if ahead is None
            else f"since the log of {ahead} has later leader epochs",
        )
        return max(seen, now + 1)

    def _unless_stopped(self, step: Deferred[None]) -> Deferred[None]:
        """Wait for a step of the start that may take as long as the cluster is away, or for the stop.

        :return: fails with SettingError if the service is stopped meanwhile; the step goes on.
        """
        waiting: Deferred[None] = Deferred()
        self._giving_up = waiting

        def done(result: Failure | None) -> None:
            if not waiting.called:
                self._giving_up = None
                waiting.callback(result)

        step.addBoth(done)
        return waiting

    def _share_bootstrap_port(self) -> None:
        """Listen at the port of all brokers of this machine; not before this one can answer.

        :raises SettingError: another program uses the port.
        """
        port = self.config[zookeeper.KAFKATX_BOOTSTRAP_PORT]
        if port is not None:
            self._listeners.share(port)

    def _failed(self, failure: Failure) -> None:
        if not failure.check(SettingError):
            self._log.failure("the broker could not start", failure)
        self.started.errback(failure)

    def isolate(self) -> None:
        """Close all connections, and leave new ones in the kernel until :meth:`accept`."""
        self._listeners.shut()
        self._factory.close_all()
        if self.http is not None:
            self.http.isolate()

    def accept(self) -> None:
        """Accept connections."""
        self._listeners.accept()
        if self.http is not None:
            self.http.accept()

    def load_rest(self) -> Deferred[None]:
        """Import what a start leaves for later; fires when that is done."""
        return self._tasks.cooperate(self._load_rest_each())

    def _load_rest_each(self) -> Iterator[None]:
        yield from self._dispatch.load_rest()
        if self.http is not None:
            yield from self.http.load_rest()

    def _use(self, config: BrokerConfig) -> None:
        """Use settings that have changed while the broker runs."""
        self._factory.use(limits_of(config))
        self._listeners.use(config)

    def reload(self, read: BrokerConfig) -> None:
        """Use settings that were read again, and read the certificates again."""
        self.broker.reload(read)
        self.broker.mirrors.use(self.broker.config)  # a link whose files could not be used may be usable now
        self._listeners.reload()

    def stopService(self) -> Deferred[None]:
        """Close the connections, flush the logs and release everything; fires when that is done."""
        super().stopService()
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        giving_up, self._giving_up = self._giving_up, None
        if giving_up is not None:
            giving_up.errback(SettingError("the broker was stopped before it had started"))
        if self._opening is not None:
            await self._opening  # the threads that open logs cannot be interrupted
        if self.http is not None:
            self.http.health.ready = False
        if self._opened:
            await ControlledShutdown(self.broker.config, self.broker.metadata, self._reactor).run()
        self._tasks.stop()
        self.broker.log_ends.stop()
        if self.broker.learned is not None:
            await self.broker.learned.write()
        if self._auditor is not None:
            await self._auditor.stop()
        await self._stop_listening()
        self._factory.close_all()
        try:
            if self._opened:
                self.broker.groups.stop()
                await self.broker.mirrors.stop()
                await self.broker.transactions.stop()
                await self.broker.peers.stop()
                await self.broker.fetchers.stop()
                await self._changes_settled()
                await self.broker.topics.settled()
                self.broker.flushes.stop()
                self.broker.commit_timeouts.stop()
                await self._tasks.record()
                await self._tasks.checkpoint_high_watermarks()
                await self.broker.store.close()
                await self._life.end()
                self.broker.topics.partitions.clear()  # the files are closed with their last reference
                if not self.broker.replicas.halted.called:
                    self._log.info("kafkatx has stopped: every log is flushed")
        finally:
            if self._connecting:
                await self.broker.metadata.stop()
            self._threads.stop()

    def _changes_settled(self) -> Deferred[None]:
        """Wait until no change of topics is in progress; in a cluster, which may be away, not for long."""
        settled = self.broker.topic_commands.settled()
        if self.broker.metadata.lease_remaining_s is None:
            return settled
        waited: Deferred[None] = Deferred()
        timer = self._reactor.callLater(SETTLE_S, waited.callback, None)

        def done(result: object) -> None:
            if timer.active():
                timer.cancel()
                waited.callback(None)

        settled.addBoth(done)
        return waited

    async def _stop_listening(self) -> None:
        if self.http is not None:
            await self.http.stop()
        if self._registry is not None:
            await self._registry.stop()
        await self._listeners.close()


def _make_broker(
    config: BrokerConfig, parts: Parts, reactor: Any, workers: Workers, peer_endpoint: MakeEndpoint | None
) -> Broker:
    chosen = config[acls.AUTHORIZER_CLASS_NAME]
    if chosen and parts.authorizer is None:  # without it every client would have full access
        raise SettingError(f"{acls.AUTHORIZER_CLASS_NAME.name}={chosen}: the broker was given no authorizer")
    store = parts.log_store(config, workers, WallClock(reactor), parts.find_retention)
    metadata = parts.metadata(config, workers, store.durable, reactor)
    broker = Broker(
        config,
        metadata,
        store,
        reactor,
        workers,
        make_endpoint=parts.make_endpoint,
        peer_endpoint=peer_endpoint,
        authorizer=None if parts.authorizer is None else parts.authorizer(config),
    )
    broker.offered = dict(OFFERED)
    return broker
