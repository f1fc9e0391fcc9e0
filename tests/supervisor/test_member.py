"""The service of one of several brokers, and the pipe by which it notices the supervisor's end."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.process_file import ProcessNote
from kafkatx.daemon.service import ProcessService
from kafkatx.supervisor.member import Lifeline, MemberService
from kafkatx.supervisor.status import Order
from tests.daemon.reactors import FakeReactor


class FakeReaders:
    """The readers of a reactor."""

    def __init__(self) -> None:
        self.readers: list[IReadDescriptor] = []

    def addReader(self, reader: IReadDescriptor) -> None:
        """Add one."""
        self.readers.append(reader)

    def removeReader(self, reader: IReadDescriptor) -> None:
        """Remove one."""
        self.readers.remove(reader)


class LifelineTests(SynchronousTestCase):
    def test_end(self) -> None:
        """The end of the pipe is told once; what comes before it is dropped."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        ended: list[bool] = []
        lifeline = Lifeline(lambda: ended.append(True), reading)
        reactor = FakeReaders()
        lifeline.attach(reactor)
        self.assertEqual((reactor.readers, lifeline.fileno()), ([lifeline], reading))
        lifeline.doRead()
        os.write(writing, b"x")
        lifeline.doRead()
        self.assertEqual(ended, [])
        os.close(writing)
        lifeline.doRead()
        self.assertEqual((ended, reactor.readers), ([True], []))

    def test_hang_up(self) -> None:
        """The reactor may tell the end as a lost connection; its own end is another."""
        ended: list[bool] = []
        lifeline = Lifeline(lambda: ended.append(True))
        lifeline.connectionLost(Failure(ConnectionLost()))
        self.assertEqual(ended, [])
        lifeline.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(ended, [True])


class MemberTests(SynchronousTestCase):
    def test_note(self) -> None:
        """A broker writes no process id file, and no note where the supervisor has one."""
        written: list[bool] = []

        def write_note(service: Any, note: ProcessNote, *, pid_file: bool) -> None:
            written.append(pid_file)

        self.patch(ProcessService, "write_note", write_note)
        note = ProcessNote(1, "1", "a:1")
        for wanted in (True, False):
            order = Order("1", None, [("log.dirs", self.mktemp())], "info", "text", None, wanted)
            MemberService(order, FakeReactor(), reloads=True).write_note(note, pid_file=True)
        self.assertEqual(written, [False])
