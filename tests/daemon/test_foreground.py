"""A broker in the foreground, with a fake reactor. With a real one: tests.integration.test_cli_up."""

from __future__ import annotations

import os
import signal
import socket
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon import foreground
from kafkatx.daemon.foreground import ForegroundBroker, one_broker
from kafkatx.daemon.process_file import ProcessNote
from kafkatx.daemon.service import ProcessService
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.errors import SettingError
from tests.daemon.reactors import FakeReactor


class ForegroundTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a broker that opens nothing."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        self.reactor = FakeReactor()
        self.ready: list[ProcessService] = []
        self.notes: list[tuple[ProcessNote, bool]] = []
        self.said: list[str] = []
        self.calls: list[str] = []
        self.written: Deferred[None] = Deferred()
        self.patch(foreground, "notify", self.said.append)
        for name in ("privilegedStartService", "startService", "stopService", "settle"):
            self.patch(ProcessService, name, lambda _, name=name: self.calls.append(name))
        self.patch(ProcessService, "write_note", self.write_note)

    def write_note(self, note: ProcessNote, *, pid_file: bool) -> Deferred[None]:
        """Take a note."""
        self.notes.append((note, pid_file))
        return self.written

    def broker(self, log_file: str | None = None, **settings: str) -> ForegroundBroker[ProcessService]:
        """Make a broker."""
        pairs = [("log.dirs", self.mktemp()), *settings.items()]
        source = SettingsSource.of(None, pairs)
        make = one_broker(source)
        return ForegroundBroker(make, self.reactor, log_file=log_file, on_ready=self.ready.append)

    def started(self, broker: ForegroundBroker[ProcessService]) -> None:
        """Make the service ready."""
        broker._service.bootstrap = "127.0.0.1:1"
        broker._service.started.callback(broker._service)

    def test_life(self) -> None:
        """A broker starts, is announced when its note is written, and stops at a signal without an error."""
        broker = self.broker()

        def script() -> None:
            self.assertEqual(self.calls, ["privilegedStartService", "startService"])
            self.started(broker)
            self.assertEqual(self.ready, [])
            self.written.callback(None)
            self.assertEqual((len(self.ready), self.said), (1, ["READY=1"]))
            os.kill(os.getpid(), signal.SIGTERM)
            self.assertEqual((self.reactor.stops, self.said[1:]), (1, ["STOPPING=1"]))

        self.reactor.script = script
        broker.run()
        self.assertEqual(self.calls[2:], ["settle", "stopService"])
        self.assertIsNone(broker.failure)
        self.assertEqual([(note.pid, pid_file) for note, pid_file in self.notes], [(os.getpid(), False)])

    def test_second_signal(self) -> None:
        """A second Ctrl-C changes nothing, and the log says that the broker is stopping."""
        broker = self.broker()

        def script() -> None:
            with capturedLogs() as events:
                os.kill(os.getpid(), signal.SIGINT)
                self.assertEqual(events, [])
                os.kill(os.getpid(), signal.SIGINT)
            self.assertIn("stopping already", events[0]["log_format"])

        self.reactor.script = script
        broker.run()
        self.assertEqual(self.reactor.stops, 1)

    def test_ignored_interrupt(self) -> None:
        """An ignored SIGINT, as of a shell's background job, stays ignored."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.reactor.script = lambda: os.kill(os.getpid(), signal.SIGINT)
        self.broker().run()
        self.assertEqual(self.reactor.stops, 0)

    def test_stopped_while_starting(self) -> None:
        """A broker that is stopped before it is ready is not announced."""
        broker = self.broker()

        def script() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            self.started(broker)
            self.written.callback(None)

        self.reactor.script = script
        broker.run()
        self.assertEqual((self.ready, self.said, broker.failure), ([], ["STOPPING=1"], None))

    def test_start_cut_short(self) -> None:
        """A start that fails because a signal has stopped the broker is no failure."""
        broker = self.broker()

        def script() -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            broker._service.started.errback(Failure(SettingError("stopped before it had started")))

        self.reactor.script = script
        broker.run()
        self.assertEqual((broker.failure, self.reactor.stops), (None, 1))

    def test_cannot_start(self) -> None:
        """A start that fails, or a broker that has to give up, stops the reactor and says why."""
        for end in ("started", "halted"):
            self.reactor = FakeReactor()
            broker = self.broker()
            service = broker._service
            if end == "started":
                self.reactor.script = partial(service.started.errback, Failure(SettingError("why")))
            else:
                self.reactor.script = partial(service.halted.callback, "why")
            broker.run()
            self.assertEqual((broker.failure, self.reactor.stops), ("why", 1))

    def test_failure_after_the_start(self) -> None:
        """An error while it is announced is logged, and ends the broker."""
        broker = self.broker()

        def script() -> None:
            self.started(broker)
            self.written.errback(ZeroDivisionError("oh"))

        self.reactor.script = script
        broker.run()
        self.assertEqual((broker.failure, self.reactor.stops), ("oh", 1))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_rotation(self) -> None:
        """SIGUSR1 reopens the log file; without one it does nothing."""
        reopened: list[str] = []
        self.patch(foreground, "reopen_log_file", reopened.append)
        for log_file in (None, "/x/kafkatx.log"):
            self.reactor = FakeReactor()
            self.reactor.script = lambda: os.kill(os.getpid(), signal.SIGUSR1)
            self.broker(log_file).run()
        self.assertEqual(reopened, ["/x/kafkatx.log"])

    def test_bad_setting(self) -> None:
        """A wrong setting is told to the caller before anything starts."""
        with self.assertRaises(SettingError):
            self.broker(nonsense="1")

    def test_pid_file(self) -> None:
        """A broker with a log file notes it, and its process id in a file of its own."""
        broker = self.broker("/x/kafkatx.log")
        self.reactor.script = lambda: self.started(broker)
        broker.run()
        ((note, pid_file),) = self.notes
        self.assertEqual((note.log_file, note.bootstrap, pid_file), ("/x/kafkatx.log", "127.0.0.1:1", True))


class TerminalTests(SynchronousTestCase):
    def test_no_terminal(self) -> None:
        """A process in a session of its own has no controlling terminal."""
        reading, writing = socket.socketpair()
        child = os.fork()
        if not child:
            os.setsid()
            writing.send(b"1" if foreground.has_terminal() else b"0")
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(reading.recv(1), b"0")
        reading.close()
        writing.close()
