"""Addresses in the forms in which they are counted and have their shares."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.admission.limits import counted_address, network_of


class AddressTests(SynchronousTestCase):
    def test_counted(self) -> None:
        """An IPv4 address in IPv6 form is that address; other addresses count by themselves."""
        self.assertEqual(counted_address("::ffff:192.0.2.1"), "192.0.2.1")
        self.assertEqual(counted_address("fe80::1%eth0"), "fe80::1")
        self.assertEqual(
            [counted_address(name) for name in ("192.0.2.1", "", "no:address")],
            ["192.0.2.1", "", "no:address"],
        )

    def test_network(self) -> None:
        """All IPv6 addresses of a network of 64 bits have one share: a host may take any of them."""
        self.assertEqual(network_of("2001:db8::1"), network_of("2001:db8:0:0:ffff::2"))
        self.assertNotEqual(network_of("2001:db8::1"), network_of("2001:db8:0:1::1"))
        self.assertEqual(
            [network_of(name) for name in ("::ffff:192.0.2.1", "no:address")], ["192.0.2.1", "no:address"]
        )
