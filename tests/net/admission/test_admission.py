"""Numbers and rates of connections, by listener and address."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.admission import admission as module
from kafkatx.net.admission.admission import Admission
from kafkatx.net.admission.limits import AdmissionLimits, ListenerLimits, counted_address

ONE, TWO = "192.0.2.1", "192.0.2.2"


class AdmissionTestCase(SynchronousTestCase):
    def admission(self, **limits: Any) -> Admission:
        """Return the admission of a server with limits."""
        self.clock = Clock()
        self.clock.advance(1000)
        return Admission(AdmissionLimits(**limits), self.clock)

    def refused(self, admission: Admission, *asked: tuple[str, str]) -> list[str]:
        """Return for each host and listener the limit that refuses it; the others are counted."""
        found = []
        for host, listener in asked:
            refusal = admission.refusal(host, listener)
            found.append(refusal)
            if not refusal:
                admission.enter(host, listener)
        return found


class NumberTests(AdmissionTestCase):
    def test_total(self) -> None:
        """The setting max.connections counts all peers together."""
        admission = self.admission(max_connections=2)
        asked = [(ONE, "A"), (TWO, "B"), ("192.0.2.3", "C")]
        self.assertEqual(self.refused(admission, *asked), ["", "", "max.connections=2"])

    def test_of_listener(self) -> None:
        """A listener's own max.connections counts its peers only."""
        admission = self.admission(listeners={"A": ListenerLimits(max_connections=1)})
        asked = [(ONE, "A"), (ONE, "B"), (TWO, "A"), (ONE, "B")]
        expected = ["", "", "listener.name.a.max.connections=1", ""]
        self.assertEqual(self.refused(admission, *asked), expected)

    def test_of_address(self) -> None:
        """The setting max.connections.per.ip counts each address by itself, in each of its forms."""
        admission = self.admission(max_connections_per_ip=2)
        asked = [(ONE, "A"), (f"::ffff:{ONE}", "B"), (ONE, "A"), (TWO, "A")]
        self.assertEqual(self.refused(admission, *asked), ["", "", "max.connections.per.ip=2", ""])

    def test_overrides(self) -> None:
        """An address with a number of its own has that one, be it larger or smaller."""
        admission = self.admission(max_connections_per_ip=1, per_ip_overrides={ONE: 2, TWO: 0})
        asked = [(ONE, "A"), (ONE, "A"), (ONE, "A"), (TWO, "A")]
        named = "max.connections.per.ip.overrides="
        self.assertEqual(self.refused(admission, *asked), ["", "", f"{named}{ONE}:2", f"{named}{TWO}:0"])

    def test_leave(self) -> None:
        """A connection that has left counts nowhere, and nothing of it is kept."""
        limits = ListenerLimits(max_connections=1)
        admission = self.admission(max_connections=1, max_connections_per_ip=1, listeners={"A": limits})
        for _ in range(3):
            self.assertEqual(self.refused(admission, (ONE, "A")), [""])
            admission.leave(ONE, "A")
        self.assertEqual(admission._by_address, {})

    def test_protected(self) -> None:
        """The listener of other brokers gets room if there is some to make, within its own limit."""
        limits = ListenerLimits(max_connections=1)
        admission = self.admission(max_connections=1, protected="B", listeners={"B": limits})
        made = [True, False]
        admission.make_room = made.pop
        self.assertEqual(self.refused(admission, (ONE, "A")), [""])
        self.assertEqual(self.refused(admission, (ONE, "B")), ["max.connections=1"])
        self.assertEqual(self.refused(admission, (ONE, "B")), [""])
        admission.make_room = lambda: True
        self.assertEqual(self.refused(admission, (ONE, "B")), ["listener.name.b.max.connections=1"])


class AddressRateTests(AdmissionTestCase):
    def test_held_off(self) -> None:
        """Connections above the rate are held off, and do not count themselves: some come through."""
        admission = self.admission()
        admission.limit_addresses({ONE: 1.0})
        self.assertEqual([admission.held_off_ms(ONE) for _ in range(10)], [0] * 10)
        self.assertEqual({admission.held_off_ms(ONE) for _ in range(500)}, {1000})
        came = 0
        for _ in range(100):
            self.clock.advance(1)
            came += not admission.held_off_ms(ONE)
        self.assertIn(came, range(70, 102))

    def test_whose(self) -> None:
        """An address has its own rate, else the default; the IPv6 form of an IPv4 address is that address."""
        admission = self.admission()
        self.assertEqual({admission.held_off_ms(ONE) for _ in range(100)}, {0})
        admission.limit_addresses({f"::ffff:{ONE}": 100.0, None: 0.1})
        self.assertEqual({admission.held_off_ms(f"::ffff:{ONE}") for _ in range(500)}, {0})
        self.assertEqual({admission.held_off_ms(ONE) for _ in range(500)}, {0})
        self.assertEqual([admission.held_off_ms(TWO) for _ in range(2)], [0, 1000])
        admission.limit_addresses({ONE: 100.0})
        self.assertEqual(admission.held_off_ms(TWO), 0)

    def test_many_addresses(self) -> None:
        """Addresses that were quiet for a window are forgotten, and the first of too many."""
        self.patch(module, "MOST_ADDRESSES", 3)
        admission = self.admission()
        admission.limit_addresses({None: 5.0})
        for number in range(5):
            admission.held_off_ms(f"192.0.2.{number}")
        self.assertEqual(list(admission._rates), ["192.0.2.2", "192.0.2.3", "192.0.2.4"])
        self.clock.advance(12)
        admission.held_off_ms(ONE)
        self.assertEqual(list(admission._rates), [ONE])


class ListenerRateTests(AdmissionTestCase):
    def test_of_listener(self) -> None:
        """A listener pauses when its connections come faster than its rate; others do not count."""
        admission = self.admission(listeners={"A": ListenerLimits(creation_rate=2)})
        self.assertEqual([admission.pause_ms("A") for _ in range(21)], [0] * 20 + [500])
        self.assertEqual({admission.pause_ms("B") for _ in range(500)}, {0})
        self.clock.advance(11)
        self.assertEqual(admission.pause_ms("A"), 0)

    def test_of_all(self) -> None:
        """The rate of all listeners counts them together, without that of other brokers."""
        admission = self.admission(creation_rate=1, protected="C")
        self.assertEqual({admission.pause_ms("C") for _ in range(500)}, {0})
        found = [admission.pause_ms(name) for name in "AABBAABBAABB"]
        self.assertEqual(found, [0] * 10 + [1000, 1000])


class AddressTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """An address has one form, without a scope; what is none stays as it is."""
        forms = {
            "192.0.2.1": "192.0.2.1",
            "::ffff:192.0.2.1": "192.0.2.1",
            "2001:DB8:0::1": "2001:db8::1",
            "fe80::1%eth0": "fe80::1",
            "": "",
            "not:an:address": "not:an:address",
        }
        self.assertEqual({text: counted_address(text) for text in forms}, forms)
