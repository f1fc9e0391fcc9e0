"""The quotas of a broker, as they follow the cluster's metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.quotas.byte_rates import ByteRates
from kafkatx.broker.quotas.manager import QuotaManager
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.requests import Peer, Session
from kafkatx.types import ClusterDelta, ClusterState, QuotaEntity

USER, CLIENT = ("user", "ann"), ("client-id", "c")


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


class QuotaManagerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the quotas of a broker, none so far."""
        self.clock, self.timer = Clock(), Clock()
        self.peer = Peer("127.0.0.1", 1, "127.0.0.1", 2, Session("User:ann"))
        self.metadata = FakeMetadataStore()
        self.quotas = self.make()

    def make(self, **settings: str) -> QuotaManager:
        """Return the quotas of a broker with some settings; ``_`` in names stands for ``.``."""
        config = BrokerConfig.load(None, {k.replace("_", "."): v for k, v in settings.items()})
        return QuotaManager(config, cast(IMetadataStore, self.metadata), self.clock, self.timer.seconds)

    def charged(self, rates: Any, size: int) -> int:
        """Return the throttle time for *size* bytes of client c."""
        self.assertIsInstance(rates, ByteRates)
        pause: int = rates.charge("User:ann", "c", size)
        return pause

    def test_none(self) -> None:
        """Nothing is counted without quotas, or with quotas of another kind."""
        self.metadata.show({(CLIENT,): {"connection_creation_rate": 5.0}})
        self.assertEqual((self.quotas.producer, self.quotas.consumer), (None, None))
        self.assertEqual((self.quotas.request_times, self.quotas.mutations), (None, None))

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

    def test_request_times(self) -> None:
        """A quota of request times counts the time by the timer, in percent of a thread."""
        self.metadata.show({(USER,): {"request_percentage": 50.0}})
        times = self.quotas.request_times
        assert times is not None
        since_s = times.timer()
        self.timer.advance(5)
        self.assertEqual(times.charge("User:ann", None, since_s), 0)
        self.timer.advance(0.2)
        self.assertEqual(times.charge("User:ann", None, since_s), 1000)
        self.metadata.show({})
        self.assertIsNone(self.quotas.request_times)

    def test_mutations(self) -> None:
        """A quota of mutations has a window of its own; without one requests are not counted."""
        self.assertIsNone(self.quotas.request_mutations(self.peer, "c", True))
        self.quotas = self.make(controller_quota_window_num="2", controller_quota_window_size_seconds="3")
        self.metadata.show({(CLIENT,): {"controller_mutation_rate": 1.0}})
        mutations = self.quotas.request_mutations(self.peer, "c", False)
        assert mutations is not None
        mutations.record(8)
        self.assertEqual(mutations.throttle_time_ms, 2000)

    def test_addresses(self) -> None:
        """The quotas of addresses are told at once and after each change, without those of clients."""
        found: list[Mapping[str | None, float]] = []
        rate = {"connection_creation_rate": 3.0}
        self.metadata.show({(("ip", "192.0.2.1"),): rate, (CLIENT,): {"producer_byte_rate": 1.0}})
        self.quotas.when_addresses_change(found.append)
        self.metadata.show({(("ip", "192.0.2.1"),): rate, (("ip", None),): rate})
        self.metadata.show({(("ip", "192.0.2.1"),): rate, (("ip", None),): rate, (USER,): rate})
        self.metadata.show({})
        self.assertEqual(found, [{"192.0.2.1": 3.0}, {"192.0.2.1": 3.0, None: 3.0}, {}])
