"""A port that is shut, and one that pauses."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.admission.gate import Gate


class Port:
    """A port that notes whether it is read from."""

    is_read, numberAccepts, is_bound = True, 100, True

    def startReading(self) -> None:
        """Accept connections."""
        self.is_read = True

    def stopReading(self) -> None:
        """Accept none."""
        self.is_read = False

    def stopListening(self) -> None:
        """Close."""
        self.is_bound = False


class GateTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a gate."""
        self.clock, self.port = Clock(), Port()
        self.gate = Gate(self.port, self.clock)

    def test_pause(self) -> None:
        """A port that pauses accepts again after the time, one connection in a turn."""
        self.gate.pause(2)
        self.clock.advance(1)
        self.assertFalse(self.port.is_read)
        self.clock.advance(1)
        self.assertEqual((self.port.is_read, self.port.numberAccepts), (True, 1))

    def test_longer_pause(self) -> None:
        """The one of two pauses that ends later counts."""
        self.gate.pause(2)
        self.gate.pause(1)
        self.clock.advance(1.5)
        self.assertFalse(self.port.is_read)
        self.gate.pause(2)
        self.clock.advance(1.9)
        self.assertFalse(self.port.is_read)
        self.clock.advance(0.2)
        self.assertTrue(self.port.is_read)

    def test_shut(self) -> None:
        """The end of a pause does not open a port that is shut, nor does opening it end a pause."""
        self.gate.pause(2)
        self.gate.shut()
        self.clock.advance(2)
        self.assertFalse(self.port.is_read)
        self.gate.open()
        self.assertTrue(self.port.is_read)
        self.gate.pause(2)
        self.gate.open()
        self.assertFalse(self.port.is_read)

    def test_close(self) -> None:
        """A closed port leaves no timer behind."""
        self.gate.pause(2)
        self.gate.close()
        self.assertEqual((self.port.is_bound, self.clock.getDelayedCalls()), (False, []))
