"""The quotas of bytes: throttle times, and which replies may be sent."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.quotas.byte_rates import ByteRates
from kafkatx.net.admission.rates import Window
from kafkatx.types import QuotaEntity

WINDOW = Window(samples=11, sample_ms=1000)
ANN = "User:ann"
USER, CLIENT, ANY_CLIENT = ("user", "ann"), ("client-id", "c"), ("client-id", None)


class ByteRatesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a clock."""
        self.clock = Clock()
        self.clock.advance(1000)

    def rates(self, limits: Mapping[QuotaEntity, float]) -> ByteRates:
        """Return the rates under some limits."""
        return ByteRates(WINDOW, self.clock, limits)

    def test_no_quota(self) -> None:
        """A client without a quota moves as much as it likes."""
        rates = self.rates({(("client-id", "d"),): 1})
        self.assertEqual(rates.charge(ANN, "c", 1 << 30), 0)
        self.assertEqual(rates.charge_reply(ANN, "c", 1 << 30), (0, True))
        self.assertEqual(rates.largest(ANN, "c"), float("inf"))

    def test_sharing(self) -> None:
        """All clients of a user share the user's quota; another user has another one."""
        rates = self.rates({(("user", None),): 1000})
        self.assertEqual(rates.charge(ANN, "c", 10_000), 0)
        self.assertEqual(rates.charge("User:bob", "c", 10_000), 0)
        self.assertEqual(rates.charge(ANN, "d", 1000), 1000)

    def test_largest(self) -> None:
        """A client may move the bytes of the whole window at once, under the quota that applies."""
        rates = self.rates({(USER,): 50, (CLIENT, USER): 100})
        self.assertEqual((rates.largest(ANN, "c"), rates.largest(ANN, "d")), (1000, 500))

    def test_time_passes(self) -> None:
        """The clock's seconds are converted to the rates' milliseconds."""
        rates = self.rates({(CLIENT,): 1000})
        self.assertEqual(rates.charge(ANN, "c", 11_000), 1000)
        self.clock.advance(0.5)
        self.assertEqual(rates.charge(ANN, "c", 0), 500)
        self.clock.advance(11)
        self.assertEqual(rates.charge(ANN, "c", 10_000), 0)

    def test_limit_changes(self) -> None:
        """A changed limit counts the bytes from before the change."""
        rates = self.rates({(CLIENT,): 10_000})
        self.assertEqual(rates.charge(ANN, "c", 20_000), 0)
        rates.accounts.limits = {(CLIENT,): 1000}
        self.assertEqual(rates.charge(ANN, "c", 0), 10_000)

    def test_reply_over_quota_is_not_counted(self) -> None:
        """A reply over quota is not counted, and may be sent when earlier bytes have expired."""
        rates = self.rates({(CLIENT,): 1000})
        self.assertEqual(rates.charge_reply(ANN, "c", 9000), (0, True))
        self.clock.advance(1)
        self.assertEqual(rates.charge_reply(ANN, "c", 4000), (3000, False))
        self.assertEqual(rates.charge_reply(ANN, "c", 4000), (3000, False))
        self.clock.advance(10)
        self.assertEqual(rates.charge_reply(ANN, "c", 4000), (0, True))

    def test_large_reply_goes(self) -> None:
        """A reply larger than a window allows is sent to an idle client, and throttles it in full."""
        rates = self.rates({(CLIENT,): 1000})
        self.assertEqual(rates.charge_reply(ANN, "c", 50_000), (40_000, True))
        self.assertEqual(rates.charge_reply(ANN, "c", 50_000), (90_000, False))
        self.assertEqual(rates.charge_reply(ANN, "c", 100), (40_100, False))
        self.clock.advance(40)
        self.assertEqual(rates.charge_reply(ANN, "c", 50_000), (40_000, True))
