"""The limits of handshakes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.tls import handshakes as handshakes_module
from kafkatx.net.tls.handshakes import HandshakeLimits, Handshakes


class Connection:
    """A connection that notes why it was dropped."""

    reason = ""

    def drop(self, reason: str) -> None:
        """Note the reason."""
        self.reason = reason


class HandshakesTests(SynchronousTestCase):
    def test_oldest_goes(self) -> None:
        """Above the most the oldest one is dropped; one that has ended does not count."""
        handshakes = Handshakes(HandshakeLimits(most=2))
        first, second, third, fourth = (Connection() for _ in range(4))
        handshakes.add(first)
        handshakes.remove(first)
        for each in (second, third, fourth):
            handshakes.add(each)
        self.assertEqual(
            [bool(each.reason) for each in (first, second, third, fourth)], [False, True, False, False]
        )
        self.assertEqual(len(handshakes), 2)

    def test_bytes_of_all(self) -> None:
        """The connection that has sent most is dropped if all together have sent too much."""
        self.patch(handshakes_module, "MOST_BYTES", 1000)
        handshakes = Handshakes(HandshakeLimits())
        connections = [Connection() for _ in range(3)]
        for each, size in zip(connections, (300, 500, 200), strict=True):
            handshakes.add(each)
            handshakes.receive(each, size)
        self.assertEqual(len(handshakes), 3)
        handshakes.receive(connections[2], 1)
        self.assertEqual([bool(each.reason) for each in connections], [False, True, False])
        handshakes.receive(connections[1], 10_000)  # it is gone
        handshakes.receive(connections[0], 400)
        self.assertEqual([bool(each.reason) for each in connections], [False, True, False])

    def test_turns(self) -> None:
        """A burst of a tenth of a second goes at once, then turns have the distance of the rate."""
        handshakes = Handshakes(HandshakeLimits(per_second=10))
        waits = [round(handshakes.turn_s(1000.0), 3) for _ in range(5)]
        self.assertEqual(waits, [0.0, 0.0, 0.1, 0.2, 0.3])
        self.assertEqual(handshakes.turn_s(2000.0), 0.0)
