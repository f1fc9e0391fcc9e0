"""The service of a broker: the order of its start and stop, and the handling of failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, execute, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker import service as service_module
from kafkatx.broker.service import BrokerService, Parts
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.retention import TimeAndSizeRetention
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore


class FakePort:
    """A listening port that records its calls."""

    def __init__(self, port: int, events: list[str]) -> None:
        self._address = IPv4Address("TCP", "127.0.0.1", port or 40_000)
        self._events = events

    def getHost(self) -> IPv4Address:
        """Return the address."""
        return self._address

    def startReading(self) -> None:
        """Accept connections from now on."""
        self._events.append("accept")

    def stopReading(self) -> None:
        """Leave connections in the kernel."""
        self._events.append("bind")

    def stopListening(self) -> Deferred[None]:
        """Close the port."""
        self._events.append("close port")
        return succeed(None)


class FakeReactor(MemoryReactorClock):
    """A reactor whose ports record their calls; *taken* ports cannot be bound."""

    def __init__(self, events: list[str]) -> None:
        super().__init__()
        self.events = events
        self.taken: set[int] = set()
        self.bound: list[tuple[int, str]] = []

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
        """Bind a port."""
        if port in self.taken:
            raise CannotListenError(interface, port, OSError(98, "Address already in use"))
        self.bound.append((port, interface))
        return FakePort(port, self.events)


class FakeThreads:
    """Workers that run their calls at once, and record their stop."""

    def __init__(self, events: list[str]) -> None:
        self._events = events

    def __call__(self, name: str) -> Any:
        """Return a worker."""
        return execute

    def stop(self) -> None:
        """Stop."""
        self._events.append("stop threads")


class ServiceTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Prepare parts that record the order of events."""
        self.events: list[str] = []
        self.reactor = FakeReactor(self.events)
        self.patch(service_module, "ThreadWorkers", lambda reactor: FakeThreads(self.events))

    def make(self, **settings: str) -> BrokerService:
        """Return a service with a memory store; ``_`` in setting names stands for ``.``."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig.load(None, {"kafkatx.storage": "memory", **named})
        service = BrokerService(config, Parts(self.store, self.metadata, self.retention), self.reactor)
        broker = service.broker
        for owner, name in (
            (broker.metadata, "start"),
            (broker, "open"),
            (broker.metadata, "register"),
            (broker.groups, "open"),
            (broker.groups, "stop"),
            (broker.flushes, "stop"),
            (broker.store, "close"),
            (broker.metadata, "stop"),
            (service._tasks, "start"),
            (service._tasks, "stop"),
            (service._tasks, "record"),
            (service._factory, "close_all"),
        ):
            self.note(owner, name)
        return service

    def note(self, owner: object, name: str) -> None:
        """Record the calls of a method."""
        method: Callable[..., Any] = getattr(owner, name)

        def noted(*args: Any) -> Any:
            self.events.append(f"{type(owner).__name__}.{name}")
            return method(*args)

        self.patch(owner, name, noted)

    def store(self, config: Any, workers: Any, clock: Any, find_retention: Any) -> Any:
        """Make a log store."""
        return MemoryLogStore(config, workers, clock, find_retention)

    def metadata(self, config: Any, workers: Any, durable: bool, reactor: Any) -> Any:
        """Make a metadata store in memory."""
        return EmbeddedMetadataStore(config, workers, durable=False)

    def retention(self, name: str) -> Any:
        """Return the policy."""
        return TimeAndSizeRetention()

    def start(self, service: BrokerService) -> None:
        """Start a service, successfully."""
        service.startService()
        self.assertIs(self.successResultOf(service.started), service)

    def stop(self, service: BrokerService) -> None:
        """Stop a service."""
        self.successResultOf(service.stopService())


class StartTests(ServiceTestCase):
    def test_order(self) -> None:
        """Ports are bound first, and accept when logs and groups are open and the broker is registered."""
        self.start(self.make())
        self.assertEqual(
            self.events,
            [
                "bind",
                "EmbeddedMetadataStore.start",
                "Broker.open",
                "EmbeddedMetadataStore.register",
                "GroupCoordinator.open",
                "accept",
                "BackgroundTasks.start",
            ],
        )

    def test_addresses(self) -> None:
        """A client on this machine is given the loopback address, others the advertised one."""
        for listeners, bound, bootstrap in (
            ("PLAINTEXT://0.0.0.0:9092", (9092, "0.0.0.0"), "127.0.0.1:9092"),
            ("PLAINTEXT://localhost:0", (0, "127.0.0.1"), "localhost:40000"),
        ):
            settings = {"listeners": listeners, "advertised.listeners": "PLAINTEXT://example.org:7000"}
            service = self.make(**{name.replace(".", "_"): value for name, value in settings.items()})
            self.start(service)
            self.assertEqual(self.reactor.bound[-1], bound)
            self.assertEqual((service.bootstrap, service.advertised), (bootstrap, "example.org:7000"))
            (node,) = service.broker.metadata.state.brokers.values()
            self.assertEqual((node.host, node.port), ("example.org", 7000))

    def test_ready_line(self) -> None:
        """The log says when and where the broker is ready."""
        with capturedLogs() as events:
            self.start(self.make())
        lines = [formatEvent(event) for event in events if event["log_level"] == LogLevel.info]
        self.assertIn("kafkatx is ready: broker 0 at 127.0.0.1:9092, 0 topics, cluster", lines[-1])

    def test_warnings(self) -> None:
        """Warnings about the settings are logged at the start."""
        with capturedLogs() as events:
            self.start(self.make(num_io_threads="8"))
        warnings = [formatEvent(event) for event in events if event["log_level"] == LogLevel.warn]
        self.assertEqual(len(warnings), 1)
        self.assertIn("num.io.threads", warnings[0])

    def test_open_listener(self) -> None:
        """A listener that all of the network reaches is told of, unless an authorizer decides."""
        for listeners, count in (("PLAINTEXT://0.0.0.0:9092", 1), ("PLAINTEXT://127.0.0.1:9092", 0)):
            with capturedLogs() as events:
                service = self.make(listeners=listeners, advertised_listeners="PLAINTEXT://127.0.0.1:9092")
                self.start(service)
            self.stop(service)
            told = [formatEvent(event) for event in events if event["log_level"] == LogLevel.warn]
            self.assertEqual(len([line for line in told if "can read, change and delete" in line]), count)

    def test_port_in_use(self) -> None:
        """A port that is in use is a SettingError that names the listener; ports bound before are closed."""
        self.reactor.taken.add(9093)
        service = self.make(
            listeners="A://127.0.0.1:9092,B://127.0.0.1:9093",
            listener_security_protocol_map="A:PLAINTEXT,B:PLAINTEXT",
        )
        service.startService()
        error = self.failureResultOf(service.started, SettingError).value
        self.assertIn("9093: cannot listen there", str(error))
        self.assertEqual(self.events, ["bind", "close port"])

    def test_logs_cannot_be_opened(self) -> None:
        """The port is closed if the logs cannot be opened, and a bug is logged with its traceback."""
        service = self.make()
        self.patch(service.broker, "open", lambda: 1 / 0)
        service.startService()
        self.failureResultOf(service.started, ZeroDivisionError)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(self.events, ["bind", "EmbeddedMetadataStore.start", "close port"])

    def test_person_can_fix_it(self) -> None:
        """A SettingError is not logged: the owner of the service shows it."""
        service = self.make()
        self.patch(service.broker.metadata, "start", lambda node: execute(self.refuse))
        service.startService()
        self.failureResultOf(service.started, SettingError)
        self.assertEqual(self.flushLoggedErrors(), [])

    def refuse(self) -> None:
        """Fail as a part does whose settings are wrong."""
        raise SettingError("log.dirs=x: no")


class StopTests(ServiceTestCase):
    def test_order(self) -> None:
        """Connections end first, then groups, then logs, and threads are stopped last."""
        service = self.make()
        self.start(service)
        del self.events[:]
        self.stop(service)
        self.assertEqual(
            self.events,
            [
                "BackgroundTasks.stop",
                "close port",
                "KafkaServerFactory.close_all",
                "GroupCoordinator.stop",
                "FlushScheduler.stop",
                "BackgroundTasks.record",
                "MemoryLogStore.close",
                "EmbeddedMetadataStore.stop",
                "stop threads",
            ],
        )
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_changes_that_do_not_end(self) -> None:
        """A broker of a cluster waits for changes of topics, but not longer than 5 s."""
        for seconds, lease in ((0.0, None), (4.9, lambda: 1.0), (5.1, lambda: 1.0)):
            service = self.make()
            self.start(service)
            service.broker.metadata.lease_remaining_s = lease
            change: Deferred[None] = Deferred()
            self.patch(service.broker.topic_commands, "settled", lambda change=change: change)
            stopping = service.stopService()
            self.reactor.advance(seconds)
            if seconds < service_module.SETTLE_S:
                self.assertNoResult(stopping)
                change.callback(None)
            self.successResultOf(stopping)
            self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_logs_that_were_not_opened(self) -> None:
        """Logs that could not be opened are not closed, so that they get no clean-shutdown marker."""
        service = self.make()
        self.patch(service.broker, "open", lambda: 1 / 0)
        service.startService()
        self.failureResultOf(service.started, ZeroDivisionError)
        self.flushLoggedErrors(ZeroDivisionError)
        self.stop(service)
        self.assertNotIn("MemoryLogStore.close", self.events)
        self.assertEqual(self.events[-2:], ["EmbeddedMetadataStore.stop", "stop threads"])

    def test_while_starting(self) -> None:
        """A stop waits until the start has ended."""
        service = self.make()
        opening: Deferred[None] = Deferred()
        self.patch(service.broker, "open", lambda: opening)
        service.startService()
        stopping = service.stopService()
        self.assertNoResult(stopping)
        opening.callback(None)
        self.successResultOf(stopping)
        self.assertIn("MemoryLogStore.close", self.events)

    def test_while_the_cluster_is_away(self) -> None:
        """A stop does not wait for a cluster: it closes what was opened, and stops the metadata store."""
        for name, closed in (("start", False), ("register", True)):
            service = self.make()
            self.patch(service.broker.metadata, name, lambda _: Deferred())
            service.startService()
            self.assertNoResult(service.started)
            del self.events[:]
            self.stop(service)
            self.failureResultOf(service.started, SettingError)
            self.assertEqual("MemoryLogStore.close" in self.events, closed, name)
            self.assertEqual(self.events[-2:], ["EmbeddedMetadataStore.stop", "stop threads"])

    def test_store_that_cannot_be_closed(self) -> None:
        """The registration is removed and the threads are stopped even if closing the logs fails."""
        service = self.make()
        self.start(service)
        self.patch(service.broker.store, "close", lambda: execute(lambda: 1 / 0))
        self.failureResultOf(service.stopService(), ZeroDivisionError)
        self.assertEqual(self.events[-2:], ["EmbeddedMetadataStore.stop", "stop threads"])

    def test_never_started(self) -> None:
        """A service that was never started only stops its threads."""
        self.stop(self.make())
        self.assertEqual(
            self.events, ["BackgroundTasks.stop", "KafkaServerFactory.close_all", "stop threads"]
        )


class RunningTests(ServiceTestCase):
    def test_limits_are_dynamic(self) -> None:
        """Connection limits that change at run time apply to the next connection."""
        service = self.make()
        self.start(service)
        change = {"max.connections": "7"}
        self.successResultOf(service.broker.metadata.alter_broker_configs("", lambda _: change))
        self.assertEqual(service._factory.admission.limits.max_connections, 7)

    def test_new_logs_are_recorded(self) -> None:
        """The log dirs of new logs are recorded soon after their creation."""
        service = self.make()
        self.start(service)
        commands = service.broker.topic_commands
        self.successResultOf(Deferred.fromCoroutine(commands.create("t", commands.plan(2, 1))))
        del self.events[:]
        self.reactor.advance(1)
        self.assertEqual(self.events, ["BackgroundTasks.record"])

    def test_load_rest(self) -> None:
        """All modules that a start leaves out are imported afterwards, one at a time."""
        service = self.make()
        self.start(service)
        loaded: list[object] = []
        served = [type("Served", (), {"load": lambda self: loaded.append(self)})() for _ in range(3)]
        service._dispatch._served = dict(enumerate(served))
        done = service.load_rest()
        self.assertNoResult(done)
        self.reactor.pump([0] * 5)
        self.successResultOf(done)
        self.assertEqual(loaded, served)

    def test_halted(self) -> None:
        """The owner of the service is told when no log dir is left."""
        service = self.make()
        self.start(service)
        service.broker.replicas.halted.callback("every disk")
        self.assertEqual(self.successResultOf(service.halted), "every disk")
