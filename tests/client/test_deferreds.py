"""Tests of kafkatx.client.deferreds."""

from __future__ import annotations

import gc
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.deferreds import client_cluster, deferred, gather_by_key
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common
from kafkatx.errors import SettingError
from kafkatx.networkclient.cluster import Cluster


class DeferredTests(SynchronousTestCase):
    def test_result(self) -> None:
        """The coroutine's result and error are the Deferred's; name and docstring stay."""

        @deferred
        async def half(number: int) -> int:
            """Return half of it."""
            if number % 2:
                raise ValueError(number)
            return number // 2

        self.assertEqual(self.successResultOf(half(4)), 2)
        self.failureResultOf(half(3), ValueError)
        self.assertEqual((half.__name__, half.__doc__), ("half", "Return half of it."))

    def test_cancelled(self) -> None:
        """A cancelled Deferred cancels the one that the coroutine waits for."""
        waiting: Deferred[None] = Deferred()

        @deferred
        async def wait() -> None:
            await waiting

        running = wait()
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertTrue(waiting.called)


class TogetherTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two calls that wait."""
        self.waiting: dict[str, Deferred[Any]] = {"a": Deferred(), "b": Deferred()}
        self.running = Deferred.fromCoroutine(gather_by_key(self.waiting, self.call))

    async def call(self, key: str) -> Any:
        """Wait."""
        return await self.waiting[key]

    def test_all(self) -> None:
        """All calls begin at once; the results come by key, in the order of the keys."""
        self.waiting["b"].callback(2)
        self.assertNoResult(self.running)
        self.waiting["a"].callback(1)
        self.assertEqual(list(self.successResultOf(self.running).items()), [("a", 1), ("b", 2)])

    def test_one_fails(self) -> None:
        """The first error is raised unchanged, and the others are cancelled and dropped."""
        self.waiting["b"].errback(KeyError("b"))
        self.failureResultOf(self.running, KeyError)
        self.assertTrue(self.waiting["a"].called)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_cancelled(self) -> None:
        """A cancellation cancels all calls."""
        self.running.cancel()
        self.failureResultOf(self.running, CancelledError)
        self.assertTrue(all(one.called for one in self.waiting.values()))

    def test_forgotten(self) -> None:
        """No error is logged if the waiting Deferreds are dropped."""
        del self.running
        self.waiting.clear()
        gc.collect()
        gc.collect()
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_none(self) -> None:
        """An empty mapping gives an empty result."""
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(gather_by_key([], self.call))), {})


class ClusterTests(SynchronousTestCase):
    def test_own(self) -> None:
        """A client without another's cluster makes a new one of its settings."""
        clock = Clock()
        settings, cluster = client_cluster("admin", {}, {"bootstrap_servers": "a:1"}, clock, None)
        self.assertIs(cluster.settings, settings)
        self.assertIs(cluster.reactor, clock)
        self.assertRaises(SettingError, client_cluster, "admin", {}, {}, clock, None)

    def test_shared(self) -> None:
        """A client of another's cluster needs no servers in its settings; other settings are its own."""
        shared = Cluster(ClientSettings.load("producer", {"bootstrap.servers": "a:1,b:2"}), Clock())
        settings, cluster = client_cluster("consumer", {"group_id": "g"}, {}, None, shared)
        self.assertIs(cluster, shared)
        self.assertEqual(settings[common.BOOTSTRAP_SERVERS], ("a:1", "b:2"))
        settings, _ = client_cluster("consumer", {}, {"bootstrap_servers": "c:3"}, None, shared)
        self.assertEqual(settings[common.BOOTSTRAP_SERVERS], ("c:3",))

    def test_arguments_of_other_libraries(self) -> None:
        """A topic, an address and ``api_version`` each give an error that says what to write instead."""
        for kind, values, more, advice in (
            ("consumer", "events", {}, "consumer.subscribe(['events'])"),
            ("producer", "127.0.0.1:9092", {}, "bootstrap_servers='127.0.0.1:9092'"),
            ("admin", ["127.0.0.1:9092"], {}, "bootstrap_servers='127.0.0.1:9092'"),
            ("producer", {}, {"api_version": (4, 0)}, "asks each broker for the versions"),
        ):
            with self.assertRaises(SettingError) as caught:
                client_cluster(kind, values, {"bootstrap_servers": "a:1", **more}, Clock(), None)
            self.assertIn(advice, str(caught.exception))
