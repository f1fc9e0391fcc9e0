"""The quota of a client, the clients that share it, and the bounded memory for clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker import quotas
from kafkatx.broker.quotas import ByteRates, ClientQuotaManager
from kafkatx.broker.rates import Window
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import ClusterDelta, ClusterState, QuotaEntity

WINDOW = Window(samples=11, sample_ms=1000)
USER, ANY_USER = ("user", "ANONYMOUS"), ("user", None)
CLIENT, ANY_CLIENT = ("client-id", "c"), ("client-id", None)

PRECEDENCE: tuple[tuple[QuotaEntity, tuple[str, str]], ...] = (
    ((CLIENT, USER), ("ANONYMOUS", "c")),
    ((ANY_CLIENT, USER), ("ANONYMOUS", "c")),
    ((USER,), ("ANONYMOUS", "")),
    ((CLIENT, ANY_USER), ("ANONYMOUS", "c")),
    ((ANY_CLIENT, ANY_USER), ("ANONYMOUS", "c")),
    ((ANY_USER,), ("ANONYMOUS", "")),
    ((CLIENT,), ("", "c")),
    ((ANY_CLIENT,), ("", "c")),
)
"""The entities in the order of Kafka's documentation, and the key under which each counts its bytes."""


class ByteRatesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a clock."""
        self.clock = Clock()
        self.clock.advance(1000)

    def rates(self, limits: Mapping[QuotaEntity, float]) -> ByteRates:
        """Return the rates under some limits."""
        return ByteRates(WINDOW, self.clock, limits)

    def test_precedence(self) -> None:
        """The first quota in Kafka's order of precedence applies to a client, or else the next."""
        for first in range(len(PRECEDENCE)):
            limits = {entity: 100.0 + n for n, (entity, _) in enumerate(PRECEDENCE) if n >= first}
            rates = self.rates(limits)
            self.assertEqual(rates._find("c"), (100.0 + first, PRECEDENCE[first][1]))
            self.assertEqual(rates.largest("c"), (100.0 + first) * 10)

    def test_other_names(self) -> None:
        """The quotas of other users, other clients and addresses do not apply."""
        rates = self.rates({(("user", "ann"),): 1, (("client-id", "d"),): 1, (("ip", "192.0.2.1"),): 1})
        self.assertEqual(rates.charge("c", 1 << 30), 0)
        self.assertEqual(rates.charge_reply("c", 1 << 30), (0, True))
        self.assertEqual(rates.largest("c"), float("inf"))
        self.assertEqual(len(rates._rates), 0)

    def test_sharing(self) -> None:
        """All clients of a user share the user's quota; a client id's default is for each client."""
        of_user = self.rates({(USER,): 1000})
        self.assertEqual(of_user.charge("c", 10_000), 0)
        self.assertEqual(of_user.charge("d", 1000), 1000)
        of_each = self.rates({(ANY_CLIENT,): 1000})
        self.assertEqual(of_each.charge("c", 10_000), 0)
        self.assertEqual(of_each.charge("d", 10_000), 0)
        self.assertEqual(of_each.charge("c", 1000), 1000)

    def test_no_client_id(self) -> None:
        """A client without a client id is subject to the default quota."""
        rates = self.rates({(ANY_CLIENT,): 1000})
        self.assertEqual(rates.charge(None, 11_000), 1000)
        self.assertEqual(rates.charge("", 1000), 2000)

    def test_time_passes(self) -> None:
        """The clock's seconds are converted to the rates' milliseconds."""
        rates = self.rates({(CLIENT,): 1000})
        self.assertEqual(rates.charge("c", 11_000), 1000)
        self.clock.advance(0.5)
        self.assertEqual(rates.charge("c", 0), 500)
        self.clock.advance(11)
        self.assertEqual(rates.charge("c", 10_000), 0)

    def test_limit_changes(self) -> None:
        """A changed limit counts the bytes from before the change."""
        rates = self.rates({(CLIENT,): 10_000})
        self.assertEqual(rates.charge("c", 20_000), 0)
        rates.limits = {(CLIENT,): 1000}
        self.assertEqual(rates.charge("c", 0), 10_000)

    def test_reply_over_quota_is_not_counted(self) -> None:
        """A reply over quota is not counted, and may be sent when earlier bytes have expired."""
        rates = self.rates({(CLIENT,): 1000})
        self.assertEqual(rates.charge_reply("c", 9000), (0, True))
        self.clock.advance(1)
        self.assertEqual(rates.charge_reply("c", 4000), (3000, False))
        self.assertEqual(rates.charge_reply("c", 4000), (3000, False))
        self.clock.advance(10)
        self.assertEqual(rates.charge_reply("c", 4000), (0, True))

    def test_large_reply_goes(self) -> None:
        """A reply larger than a window allows is sent to an idle client, and throttles it in full."""
        rates = self.rates({(CLIENT,): 1000})
        self.assertEqual(rates.charge_reply("c", 50_000), (40_000, True))
        self.assertEqual(rates.charge_reply("c", 50_000), (90_000, False))
        self.assertEqual(rates.charge_reply("c", 100), (40_100, False))
        self.clock.advance(40)
        self.assertEqual(rates.charge_reply("c", 50_000), (40_000, True))

    def test_made_up_client_ids(self) -> None:
        """Clients that are silent for a while are forgotten."""
        rates = self.rates({(ANY_CLIENT,): 1000})
        for number in range(100):
            rates.charge(f"c{number}", 1)
        self.clock.advance(6)
        rates.charge("c7", 1)
        self.clock.advance(6)
        rates.charge("new", 1)
        self.assertEqual(list(rates._rates), [("", "c7"), ("", "new")])

    def test_many_at_once(self) -> None:
        """The client that was silent longest is forgotten when there are too many."""
        self.patch(quotas, "MAX_CLIENTS", 3)
        rates = self.rates({(ANY_CLIENT,): 1000})
        for name in ("a", "b", "c", "a", "d", "e"):
            rates.charge(name, 1)
        self.assertEqual(list(rates._rates), [("", "a"), ("", "d"), ("", "e")])

    def test_long_client_ids(self) -> None:
        """Long client ids are told apart, but not kept in memory."""
        rates = self.rates({(ANY_CLIENT,): 1000})
        self.assertEqual(rates.charge("x" * 30_000, 11_000), 1000)
        self.assertEqual(rates.charge("x" * 30_000 + "y", 10_000), 0)
        self.assertEqual(rates.charge("x" * 30_000, 0), 1000)
        self.assertLess(max(len(name) for _, name in rates._rates), 101)


class FakeMetadataStore:
    """A metadata store that reports quotas to its one listener."""

    def __init__(self) -> None:
        self.state = ClusterState("cluster", 0)
        self.listener: Callable[[ClusterDelta], None] = lambda delta: None

    def subscribe(self, listener: Callable[[ClusterDelta], None]) -> None:
        """Remember the listener."""
        self.listener = listener

    def show(self, found: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Replace all quotas by these."""
        old, self.state = self.state, ClusterState("cluster", 0, client_quotas=MappingProxyType(dict(found)))
        self.listener(ClusterDelta(old, self.state))


class ClientQuotasTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the quotas of a broker, none so far."""
        self.clock = Clock()
        self.metadata = FakeMetadataStore()
        self.quotas = self.make()

    def make(self, **settings: str) -> ClientQuotaManager:
        """Return the quotas of a broker with some settings; ``_`` in names stands for ``.``."""
        config = BrokerConfig.load(None, {k.replace("_", "."): v for k, v in settings.items()})
        return ClientQuotaManager(config, cast(IMetadataStore, self.metadata), self.clock)

    def charged(self, rates: Any, size: int) -> int:
        """Return the throttle time for *size* bytes of client c."""
        self.assertIsInstance(rates, ByteRates)
        pause: int = rates.charge("c", size)
        return pause

    def test_none(self) -> None:
        """No rates are kept for produce and fetch without quotas, or with quotas of another kind."""
        self.assertEqual((self.quotas.producer, self.quotas.consumer), (None, None))
        self.metadata.show({(CLIENT,): {"request_percentage": 5.0}})
        self.assertEqual((self.quotas.producer, self.quotas.consumer), (None, None))

    def test_each_has_its_own(self) -> None:
        """Produced and fetched bytes are counted separately, each for its own quota."""
        self.metadata.show({(CLIENT,): {"producer_byte_rate": 1000.0}, (USER,): {"consumer_byte_rate": 10.0}})
        self.assertEqual(self.charged(self.quotas.producer, 11_000), 1000)
        self.assertEqual(self.charged(self.quotas.consumer, 110), 1000)

    def test_change_and_removal(self) -> None:
        """A changed quota applies at once to counted bytes; removing the last one drops the counts."""
        self.metadata.show({(CLIENT,): {"producer_byte_rate": 10_000.0}})
        self.assertEqual(self.charged(self.quotas.producer, 20_000), 0)
        self.metadata.show({(CLIENT,): {"producer_byte_rate": 1000.0}})
        self.assertEqual(self.charged(self.quotas.producer, 0), 10_000)
        self.metadata.show({})
        self.assertIsNone(self.quotas.producer)

    def test_window_settings(self) -> None:
        """The settings quota.window.num and quota.window.size.seconds define the window."""
        self.quotas = self.make(quota_window_num="3", quota_window_size_seconds="5")
        self.metadata.show({(CLIENT,): {"producer_byte_rate": 1000.0}})
        self.assertEqual(self.charged(self.quotas.producer, 11_000), 1000)

    def test_other_changes(self) -> None:
        """Other changes of the cluster leave the counts as they are."""
        self.metadata.show({(CLIENT,): {"producer_byte_rate": 1000.0}})
        before = self.quotas.producer
        same = self.metadata.state
        after = ClusterState("cluster", 0, client_quotas=same.client_quotas)
        self.metadata.listener(ClusterDelta(same, after))
        self.assertIs(self.quotas.producer, before)

    def test_what_is_not_enforced(self) -> None:
        """A quota that is stored but not enforced is logged in one line, once."""
        with capturedLogs() as captured:
            self.metadata.show({(CLIENT,): {"request_percentage": 5.0}})
            self.metadata.show({(CLIENT,): {"request_percentage": 6.0, "producer_byte_rate": 1.0}})
        warned = [event for event in captured if event["log_level"] is LogLevel.warn]
        self.assertEqual([event["names"] for event in warned], ["request_percentage"])
