"""The Twisted client's connections to a real broker: what they find, and how they outlive its deaths."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet import ssl
from twisted.internet.defer import Deferred, DeferredList, gatherResults
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.protocols.portforward import ProxyFactory
from twisted.trial.unittest import SkipTest, TestCase

from kafkatx.clientcore.errors import ConnectionFailed, RequestTimedOut
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.networkclient.cluster import Cluster
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.integration.certificates import self_signed
from tests.integration.clients import new_topic
from tests.integration.shared import shared_broker
from tests.ports import free_port

reactor: Any = installed_reactor
RESTARTS = 5


def latest(topic: str) -> ListOffsetsRequest:
    """Ask where a topic's partition 0 ends."""
    return ListOffsetsRequest(topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=-1)])])


class ClusterTestCase(TestCase):
    timeout = 120

    def cluster(self, bootstrap: str | list[str], **more: Any) -> Cluster:
        """A cluster that is closed when the test ends."""
        made = Cluster(ClientSettings.load("producer", {"bootstrap_servers": bootstrap, **more}), reactor)
        self.addCleanup(made.close)
        return made


class SharedBrokerTests(ClusterTestCase):
    async def test_everything_once(self) -> None:
        """Topics, leaders, coordinators and answers come from a broker; close leaves nothing behind."""
        cluster = await self.cluster(shared_broker().bootstrap).start()
        name = new_topic()
        topic = await cluster.topic(name)
        self.assertEqual(list(topic.partitions), [0])
        leader = cluster.leader(name, 0)
        answers = await gatherResults([cluster.request(leader, latest(name)) for _ in range(100)])
        self.assertEqual([answer.topics[0].partitions[0].offset for answer in answers], [0] * 100)
        coordinator = await cluster.coordinator("g")
        groups = await cluster.request(coordinator, ListGroupsRequest(), lane="group")
        self.assertEqual(groups.error_code, 0)
        await cluster.refreshed()
        self.assertEqual(list(cluster.metadata.topics), [name])

    async def test_first_server_is_gone(self) -> None:
        """Another bootstrap server is asked where one does not answer."""
        gone = f"127.0.0.1:{free_port()}"
        cluster = await self.cluster([gone, shared_broker().bootstrap]).start()
        self.assertEqual(len(cluster.metadata.brokers), 1)
        error = await self.assertFailure(self.cluster(gone).start(), ConnectionFailed)
        self.assertIn(gone, str(error))

    async def test_tls_is_another_endpoint(self) -> None:
        """With an endpoint that speaks TLS, here to a proxy before the broker, nothing else changes."""
        certificate = self_signed()
        host, port = shared_broker().bootstrap.rsplit(":", 1)
        proxy = reactor.listenSSL(
            0, ProxyFactory(host, int(port)), certificate.options(), interface="127.0.0.1"
        )
        self.addCleanup(proxy.stopListening)
        options = ssl.optionsForClientTLS("localhost", trustRoot=ssl.trustRootFromCertificates([certificate]))

        def endpoint(reactor: Any, host: str, port: int) -> Any:
            return wrapClientTLS(options, HostnameEndpoint(reactor, "127.0.0.1", proxy.getHost().port))

        cluster = await self.cluster("localhost:1", kafkatx_endpoint=endpoint).start()
        name = new_topic()
        await cluster.topic(name)
        answers = await gatherResults([cluster.request(0, latest(name)) for _ in range(50)])
        self.assertEqual(len(answers), 50)
        await cluster.close()
        await deferLater(reactor, 0.05)  # until the proxy has seen it, too

    async def test_not_tls(self) -> None:
        """A TLS endpoint to a broker that speaks none is a failed connection."""

        def endpoint(reactor: Any, host: str, port: int) -> Any:
            return wrapClientTLS(ssl.optionsForClientTLS("localhost"), HostnameEndpoint(reactor, host, port))

        cluster = self.cluster(shared_broker().bootstrap, kafkatx_endpoint=endpoint, request_timeout_ms=2000)
        await self.assertFailure(cluster.start(), ConnectionFailed)


class OwnBrokerTests(ClusterTestCase):
    """A broker of the test's own, in a process that can be killed."""

    def broker(self, listener: str) -> EmbeddedBroker:
        """A broker that keeps its data when it is started again."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        made = EmbeddedBroker(
            {"listeners": f"PLAINTEXT://{listener}"}, data_dir=folder.name, run_in="process"
        )
        self.addCleanup(made.kill)
        return made

    async def test_ipv6(self) -> None:
        """A broker at an IPv6 address is reached by it."""
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            raise SkipTest("no IPv6 here") from None
        broker = self.broker("[::1]:0")
        await deferToThread(broker.start)
        self.assertTrue(broker.bootstrap.startswith("[::1]:"), broker.bootstrap)
        cluster = await self.cluster(broker.bootstrap).start()
        self.assertEqual(cluster.metadata.brokers[0].host, "::1")
        self.assertEqual((await cluster.request(0, ListGroupsRequest())).error_code, 0)

    async def test_killed_and_restarted(self) -> None:
        """Each request around a kill -9 is answered after it or fails; none waits for ever."""
        broker = self.broker(f"127.0.0.1:{free_port()}")
        await deferToThread(broker.start)
        cluster = await self.cluster(broker.bootstrap, reconnect_backoff_ms=20, retry_backoff_ms=20).start()
        name = new_topic()
        await cluster.topic(name)
        outcomes: list[str] = []
        loads = [Load(cluster, name, outcomes) for _ in range(8)]
        going = [load.run() for load in loads]
        raw: list[Deferred[Any]] = []
        for _ in range(RESTARTS):
            raw += [cluster.request(0, latest(name)) for _ in range(20)]
            await deferToThread(broker.kill)
            raw += [cluster.request(0, latest(name)) for _ in range(20)]
            waiting = cluster.refreshed()
            await deferToThread(broker.start)
            await waiting
            await until(partial(longer_than, outcomes, len(outcomes) + 20))
        for load in loads:
            load.going = False
        await gatherResults(going)
        for good, result in await DeferredList(raw, consumeErrors=True):
            if not good:
                result.trap(ConnectionFailed)
        self.assertEqual(set(outcomes), {"answered"})
        self.assertEqual(sum(connection.connected for connection in cluster._nodes.candidates()), 1)

    async def test_frozen(self) -> None:
        """A broker that stops keeps a request only as long as it may take, and is then found again."""
        broker = self.broker(f"127.0.0.1:{free_port()}")
        await deferToThread(broker.start)
        cluster = await self.cluster(
            broker.bootstrap, request_timeout_ms=500, delivery_timeout_ms=10_000
        ).start()
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGSTOP)
        await self.assertFailure(cluster.request(0, ListGroupsRequest()), RequestTimedOut)
        retried = Deferred.fromCoroutine(cluster.retrying(lambda: cluster.request(0, ListGroupsRequest())))
        await deferLater(reactor, 1.0)
        self.assertNoResult(retried)
        os.kill(broker.pid, signal.SIGCONT)
        self.assertEqual((await retried).error_code, 0)


class Load:
    """Asks without pause, each time until it is answered."""

    def __init__(self, cluster: Cluster, topic: str, outcomes: list[str]) -> None:
        self.going = True
        self._cluster = cluster
        self._topic = topic
        self._outcomes = outcomes

    def run(self) -> Deferred[None]:
        """Until told to stop."""
        return Deferred.fromCoroutine(self._run())

    async def _run(self) -> None:
        while self.going:
            answer = await self._cluster.retrying(self._ask)
            self._outcomes.append("answered" if answer.topics[0].partitions[0].error_code == 0 else "refused")
            await deferLater(reactor, 0.001)

    async def _ask(self) -> Any:
        return await self._cluster.request(0, latest(self._topic))


def longer_than(outcomes: list[str], count: int) -> bool:
    """Return True if there are more."""
    return len(outcomes) > count


async def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something holds.

    :raises AssertionError: it does not.
    """
    end = reactor.seconds() + seconds
    while not holds():
        if reactor.seconds() > end:
            raise AssertionError("it did not happen")
        await deferLater(reactor, 0.01)
