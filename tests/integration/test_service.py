"""The broker as a Twisted service: how it starts and stops inside another application."""

from __future__ import annotations

import gc
import os
import socket
import threading
from functools import partial
from typing import Any

from twisted.application.service import IService, MultiService
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ClientFactory, Protocol, connectionDone
from twisted.internet.task import Cooperator, deferLater
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase
from zope.interface.verify import verifyObject

from kafkatx.broker import BrokerService
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.net.shared_port import reserve_port
from kafkatx.tap import installed_parts
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.integration.raw import request_frame

reactor: Any = installed_reactor


VERSIONS = request_frame(18, 0, ApiVersionsRequest())


class Asking(Protocol):
    """Sends one request and keeps what comes."""

    def __init__(self, request: bytes = VERSIONS) -> None:
        self.request = request
        self.received = b""
        self.lost = False

    def connectionMade(self) -> None:
        """Ask."""
        assert self.transport is not None
        self.transport.write(self.request)

    def dataReceived(self, data: bytes) -> None:
        """Keep it."""
        self.received += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Keep it."""
        self.lost = True


class ServiceTests(TestCase):
    """Trial itself sees to it that no timer and no socket is left."""

    timeout = 30

    def setUp(self) -> None:
        """Name a directory, and count the threads that there are without a broker."""
        self.data_dir = os.path.abspath(self.mktemp())
        self.threads = threading.active_count()
        self.services: list[BrokerService] = []

        self.addCleanup(self.stop_all)

    async def stop_all(self) -> None:
        """Stop what the test has not stopped; no thread may be left."""
        for service in self.services:
            if service.running:
                await service.stopService()
        self.assertEqual(threading.active_count(), self.threads)

    def make(self, **settings: str) -> BrokerService:
        """A broker on a free port; setting names with ``_`` for ``.``."""
        named = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": self.data_dir}
        named |= {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig.load(None, named)
        service = BrokerService(config, installed_parts(config), reactor)
        self.services.append(service)
        return service

    async def started(self, **settings: str) -> BrokerService:
        """A broker that serves."""
        service = self.make(**settings)
        service.startService()
        self.assertIs(await service.started, service)
        return service

    def open(self, bootstrap: str, request: bytes = VERSIONS) -> Asking:
        """A client that asks something."""
        client, factory = Asking(request), ClientFactory()
        factory.noisy = False
        factory.buildProtocol = lambda addr: client  # type: ignore[method-assign]
        host, _, port = bootstrap.rpartition(":")
        connector = reactor.connectTCP(host, int(port), factory)
        self.addCleanup(connector.disconnect)
        return client

    async def connect(self, bootstrap: str) -> Asking:
        """A client that was answered."""
        client = self.open(bootstrap)
        while not client.received and not client.lost:
            await deferLater(reactor, 0.002)
        return client

    def free_listener(self) -> str:
        """A listener whose port is free again."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return f"PLAINTEXT://127.0.0.1:{probe.getsockname()[1]}"

    async def test_interface(self) -> None:
        """It is an IService that a parent may own, and starts and stops with it."""
        parent = MultiService()
        service = self.make()
        self.assertTrue(verifyObject(IService, service))
        service.setServiceParent(parent)
        parent.startService()
        await service.started
        await parent.stopService()
        self.assertFalse(service.running)

    async def test_serves_until_stopped(self) -> None:
        """It answers at its bootstrap address; stopping closes the connections and leaves a clean mark."""
        service = await self.started()
        client = await self.connect(service.bootstrap)
        self.assertTrue(client.received)
        await service.stopService()
        self.assertIn(".kafka_cleanshutdown", os.listdir(self.data_dir))
        while not client.lost:
            await deferLater(reactor, 0.002)

    async def test_bootstrap_port(self) -> None:
        """Two brokers answer at one port; when one of them stops, the other gets all connections."""
        reserved = reserve_port("127.0.0.1", 0)
        self.addCleanup(reserved.close)
        port = str(reserved.getsockname()[1])
        services = []
        for folder in ("a", "b"):
            log_dirs = os.path.join(self.data_dir, folder)
            services.append(await self.started(kafkatx_bootstrap_port=port, log_dirs=log_dirs))
        self.assertEqual(len({port, *(service.bootstrap.rpartition(":")[2] for service in services)}), 3)
        for number, service in enumerate(services):
            for _ in range(20):
                self.assertTrue((await self.connect(f"127.0.0.1:{port}")).received)
            counts = [len(each._factory.connections) for each in services]
            self.assertTrue(all(counts[number:]), counts)
            await service.stopService()

    async def test_waits_for_the_logs(self) -> None:
        """A client that connects while the logs are being opened is answered when they are."""
        listener = self.free_listener()
        service = self.make(listeners=listener)
        service.startService()
        client = await self.connect(listener.removeprefix("PLAINTEXT://"))
        self.assertTrue(client.received)
        self.assertTrue(service.started.called)

    async def test_settings_change(self) -> None:
        """Settings that change while it runs reach connections and the cleaner's round, not only handlers."""
        service = await self.started()
        changed = {"max.connections": "7", "log.cleaner.backoff.ms": "250"}
        await service.broker.metadata.alter_broker_configs("", lambda _: changed)
        assert service._tasks._cleaning is not None
        self.assertEqual(
            (service._factory.admission.limits.max_connections, service._tasks._cleaning.interval), (7, 0.25)
        )

    async def test_stops_with_waiting_members(self) -> None:
        """Members that wait for their group when the broker stops lose their connections, and no more."""
        service = await self.started(kafkatx_storage="memory")
        protocols = [JoinGroupRequestProtocol("range", b"")]
        request = JoinGroupRequest("g", 10_000, 10_000, protocol_type="consumer", protocols=protocols)
        members = [self.open(service.bootstrap, request_frame(11, 3, request)) for _ in range(3)]

        def joined() -> int:
            group = service.broker.groups.find("g")
            return 0 if group is None else len(group.describe().members)

        while joined() < len(members):
            await deferLater(reactor, 0.002)
        await service.stopService()
        while not all(member.lost for member in members):
            await deferLater(reactor, 0.002)
        self.assertEqual([member.received for member in members], [b""] * 3)

    async def test_two_listeners(self) -> None:
        """Every listener is served; a client is told the first."""
        second = self.free_listener().replace("PLAINTEXT", "INSIDE")
        service = await self.started(
            listeners=f"PLAINTEXT://127.0.0.1:0,{second}",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
        )
        for bootstrap in (service.bootstrap, second.removeprefix("INSIDE://")):
            self.assertTrue((await self.connect(bootstrap)).received)

    async def test_port_in_use(self) -> None:
        """A port that is in use fails the start, and gives back the ports that were taken."""
        first = await self.started()
        free = self.free_listener().replace("PLAINTEXT", "INSIDE")
        taken = f"PLAINTEXT://{first.bootstrap}"
        second = self.make(
            listeners=f"{free},{taken}",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
            log_dirs=self.data_dir + "-2",
        )
        second.startService()
        with self.assertRaisesRegex(SettingError, f"listeners={taken}: cannot listen there"):
            await second.started
        await second.stopService()
        gc.collect()  # a Deferred that failed unheard fails the test when it goes
        await self.started(listeners=free.replace("INSIDE", "PLAINTEXT"), log_dirs=self.data_dir + "-3")

    async def test_locked(self) -> None:
        """A directory that another broker has fails the start, and the port is free again."""
        await self.started()
        listener = self.free_listener()
        second = self.make(listeners=listener)
        second.startService()
        with self.assertRaisesRegex(SettingError, "log.dirs"):
            await second.started
        await second.stopService()
        await self.started(listeners=listener, log_dirs=self.data_dir + "-2")

    async def test_locked_directory_is_left_alone(self) -> None:
        """A broker that may not have one of its directories leaves no mark there when it stops."""
        await self.started()
        before = sorted(os.listdir(self.data_dir))
        own = self.data_dir + "-2"
        second = self.make(log_dirs=f"{own},{self.data_dir}")
        second.startService()
        with self.assertRaisesRegex(SettingError, f"log.dirs={self.data_dir}: in use by another broker"):
            await second.started
        await second.stopService()
        self.assertEqual(sorted(os.listdir(self.data_dir)), before)
        self.assertFalse(os.path.exists(own))

    async def test_stopped_while_starting(self) -> None:
        """Stopping a broker that is about to start stops it, at whatever point it is; it can start again."""
        for turns in (0, 1, 2, 3, 5, 8):
            service = self.make()
            service.startService()
            for _ in range(turns):
                await deferLater(reactor, 0)
            await service.stopService()
        await self.started()

    async def test_stopped_by_who_is_told(self) -> None:
        """A callback that waits for the start may stop the broker, however the start went."""
        first = await self.started()
        for service in (
            self.make(log_dirs=self.data_dir + "-2"),
            self.make(),
            self.make(listeners=f"PLAINTEXT://{first.bootstrap}"),
        ):
            stop = service.stopService
            service.started.addBoth(lambda _, stop=stop: stop())  # type: ignore[call-overload]  # bound now
            service.startService()
            await service.started
            self.assertFalse(service.running)

    async def test_never_started(self) -> None:
        """Making a service opens nothing."""
        self.make()
        self.assertFalse(os.path.exists(self.data_dir))

    async def test_retention_shares_the_reactor(self) -> None:
        """Retention of many logs lets others have their turn, and ends where the service stops meanwhile."""
        service = await self.started(kafkatx_storage="memory")
        topics = service.broker.topics
        commands = service.broker.topic_commands
        await Deferred.fromCoroutine(commands.create("t", commands.plan(20, 1)))
        turns: list[Any] = []
        one_at_a_time: Any = partial(Cooperator, lambda: lambda: True)
        self.patch(service._tasks, "_cooperator", one_at_a_time(turns.append))
        done: list[int] = []
        for number, partition in enumerate(topics.of("t")):
            self.patch(partition.log, "retain", lambda now_ms, number=number: done.append(number))
        finished = service._tasks.retain()
        for count in range(1, 6):
            turns.pop(0)()
            self.assertEqual(len(done), count)
        stopping = service.stopService()
        turns.pop(0)()
        await finished
        await stopping
        self.assertEqual(len(done), 5)

    async def test_failing_retention(self) -> None:
        """A log whose retention fails does not keep the others from theirs."""
        service = await self.started(kafkatx_storage="memory")
        topics = service.broker.topics
        commands = service.broker.topic_commands
        await Deferred.fromCoroutine(commands.create("t", commands.plan(3, 1)))
        done: list[int] = []
        for number, partition in enumerate(topics.of("t")):

            def retain(now_ms: int, number: int = number) -> int:
                if number == 1:
                    raise ZeroDivisionError
                done.append(number)
                return 0

            self.patch(partition.log, "retain", retain)
        await service._tasks.retain()
        self.assertEqual(done, [0, 2])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
