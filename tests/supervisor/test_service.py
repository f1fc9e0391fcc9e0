"""The supervisor's service: order of start and stop, what its brokers are told, and what prevents a start."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.error import ProcessDone
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from kafkatx.cli.broker.lock_holder import find_holder
from kafkatx.daemon.process_file import ProcessNote, read_note
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.errors import SettingError
from kafkatx.supervisor import service as module
from kafkatx.supervisor.child import Child
from kafkatx.supervisor.service import Output, SupervisorService
from kafkatx.supervisor.status import Order, Report

reactor: Any = installed


class FakeTransport:
    """A process that ends when it is told to."""

    pid = 7

    def __init__(self, child: Child) -> None:
        self.child = child
        self.order: Order | None = None
        self.signals: list[int] = []

    def write(self, data: bytes) -> None:
        """Take the order."""
        self.order = Order.read(data)

    def signalProcess(self, number: int) -> None:
        """Take a signal."""
        self.signals.append(number)
        if number == signal.SIGTERM:
            self.child.processEnded(Failure(ProcessDone(0)))

    def report(self, report: Report) -> None:
        """Report."""
        self.child.childDataReceived(3, report.line())


class SupervisorServiceTests(TestCase):
    timeout = 30

    def setUp(self) -> None:
        """Fake the brokers' processes."""
        self.folder = tempfile.mkdtemp(prefix="kafkatx-supervisor-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.processes: list[FakeTransport] = []
        self.spawned: Deferred[None] = Deferred()
        self.patch(module, "spawn", self.spawn)

    def spawn(self, reactor: Any, child: Child) -> None:
        """Start a fake process."""
        process = FakeTransport(child)
        self.processes.append(process)
        child.makeConnection(process)
        if len(self.processes) == 2:
            reactor.callLater(0, self.spawned.callback, None)

    def service(self, *settings: tuple[str, str]) -> SupervisorService:
        """Make a supervisor of two brokers, which is stopped at the test's end."""
        named = [("log.dirs", self.folder), ("listeners", "PLAINTEXT://127.0.0.1:0"), *settings]
        source = SettingsSource.of(None, named)
        service = SupervisorService(source, 2, Output("info", "json"), reactor, reloads=True)
        service.privilegedStartService()
        self.addCleanup(service.stopService)
        return service

    async def refused(self, service: SupervisorService) -> str:
        """Return why a supervisor cannot start."""
        service.startService()
        try:
            await service.started
        except SettingError as error:
            return str(error)
        raise self.failureException("it has started")

    async def ready(self, service: SupervisorService) -> None:
        """Start a supervisor, and have its brokers ready."""
        service.startService()
        await self.spawned
        for process in self.processes:
            process.report(Report(None, "127.0.0.1:1"))
        self.assertIs(await service.started, service)

    async def test_life(self) -> None:
        """The brokers get the state's socket and the port; all is given back after they have ended."""
        service = self.service()
        await self.ready(service)
        host, _, port = service.bootstrap.partition(":")
        self.assertEqual((host, service.advertised), ("127.0.0.1", service.bootstrap))
        sockets = []
        for number, process in enumerate(self.processes, 1):
            assert process.order is not None
            settings = dict(process.order.overrides)
            self.assertEqual((settings["broker.id"], process.order.name), (str(number), str(number)))
            self.assertEqual(settings["kafkatx.bootstrap.port"], port)
            self.assertEqual((process.order.log_format, process.order.note), ("json", True))
            sockets.append(settings["kafkatx.local.socket"])
        self.assertEqual(sockets, [os.path.join(self.folder, "kafkatx-tree.sock")] * 2)
        self.assertTrue(os.path.exists(sockets[0]))
        self.assertEqual(find_holder(self.folder).pid, os.getpid())
        note = ProcessNote(os.getpid(), "1", service.bootstrap)
        await service.write_note(note, pid_file=False)
        self.assertEqual(read_note(self.folder), note)
        await service.stopService()
        self.assertEqual([process.signals for process in self.processes], [[signal.SIGTERM]] * 2)
        self.assertFalse(os.path.exists(sockets[0]))
        self.assertEqual((find_holder(self.folder).pid, read_note(self.folder)), (None, None))
        with socket.socket() as free:
            free.bind((host, int(port)))

    async def test_signals(self) -> None:
        """Reading the settings again, and opening the log file anew, is the brokers' part."""
        service = self.service()
        await self.ready(service)
        service.rotate()
        service._reload()
        for process in self.processes:
            self.assertEqual(process.signals, [signal.SIGUSR1, signal.SIGHUP])

    async def test_broker_cannot_start(self) -> None:
        """The first start fails with the reason of a broker that cannot start."""
        service = self.service()
        starting = ensureDeferred(self.refused(service))
        await self.spawned
        self.processes[1].report(Report("port 9094 is in use"))
        self.processes[1].child.processEnded(Failure(ProcessDone(0)))
        self.assertEqual(await starting, "broker 2 cannot start: port 9094 is in use")

    async def test_second(self) -> None:
        """A second supervisor of a directory is refused; the first is left alone."""
        await self.ready(self.service())
        self.assertIn(f"locked by another broker (pid {os.getpid()})", await self.refused(self.service()))

    async def test_port_in_use(self) -> None:
        """A bootstrap port that another program uses is named; nothing is started."""
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            service = self.service(("listeners", f"PLAINTEXT://127.0.0.1:{port}"))
            self.assertIn(f"port {port} of 127.0.0.1: cannot listen there", await self.refused(service))
        self.assertEqual(self.processes, [])

    async def test_lost_state(self) -> None:
        """Data of a cluster without its state are refused, unless the cluster is to start anew."""
        os.makedirs(os.path.join(self.folder, "2"))
        with open(os.path.join(self.folder, "2", "meta.properties"), "w") as file:
            file.write("broker.id=2\ncluster.id=abc\n")
        service = self.service()
        self.assertIn(
            "kafkatx-tree.sqlite3: the cluster's state is missing or empty", await self.refused(service)
        )
        await service.stopService()
        await self.ready(self.service(("kafkatx.start.anew", "true")))

    async def test_damaged_state(self) -> None:
        """A damaged state prevents the start, and is named."""
        path = os.path.join(self.folder, "kafkatx-tree.sqlite3")
        with open(path, "wb") as file:
            file.write(b"x" * 5000)
        service = self.service()
        why = await self.refused(service)
        self.assertIn(f"the cluster's state, {path}, is damaged", why)
        self.assertIn("Restore the file from a backup", why)
        self.assertEqual(self.processes, [])
        await service.stopService()
        await self.ready(self.service(("kafkatx.start.anew", "true")))
        self.assertEqual(len([name for name in os.listdir(self.folder) if name.endswith("-damaged")]), 1)

    async def test_stopped_while_it_starts(self) -> None:
        """A supervisor that is stopped at once starts no broker."""
        service = self.service()
        starting = ensureDeferred(self.refused(service))
        await service.stopService()
        self.assertIn("stopped before it was ready", await starting)
        self.assertEqual(self.processes, [])

    async def test_state_fails(self) -> None:
        """A state that can be neither written nor read stops everything."""
        service = self.service()
        await self.ready(service)
        assert service._tree is not None
        service._tree.server.broken.errback(OSError("gone"))
        self.assertEqual(await service.halted, "the cluster's state is lost: gone")
