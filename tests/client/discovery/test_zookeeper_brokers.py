"""Tests of kafkatx.client.discovery.zookeeper_brokers, on a tree in memory."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.discovery.zookeeper_brokers import MOST_BROKERS, READ_S, ZooKeeperBrokers
from kafkatx.clientcore.bootstrap import Address
from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed
from kafkatx.interfaces.nodes import Create, Delete, Operation, Refused, SessionState
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree
from kafkatx.networkclient.cluster import Cluster
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import FakeCluster, Log
from tests.client.fakes import Network

SESSION_S = 6.0


def registered(number: int, port: int = 9092) -> Create:
    """Return the registration of a broker, as Kafka 0.8 makes it."""
    data = b'{"version":1,"host":"broker%d","port":%d}' % (number, port)
    return Create(f"/brokers/ids/{number}", data)


class BrokersCase(SynchronousTestCase):
    """A tree, a tool that writes it, and the brokers that are found in it.

    :ivar network: three brokers, which have the clock.
    """

    def setUp(self) -> None:
        """Register brokers 1 and 2."""
        self.brokers = FakeCluster({"t": [Log(leader=1), Log(leader=2)]}, brokers=3)
        self.network = Network(self.brokers.answer)
        self.clock = self.network.clock
        self.server = MemoryServer(self.clock)
        self.tool = MemoryTree(self.server)
        self.result(self.tool.connect())
        self.write(Create("/brokers"), Create("/brokers/ids"), registered(1), registered(2))
        self.tree = MemoryTree(self.server, SESSION_S)
        self.ended: list[None] = []
        self.found = self.make()
        self.changes: list[list[Address]] = []
        self.found.listen(lambda: self.changes.append(sorted(self.found.known)))

    def make(self) -> ZooKeeperBrokers:
        """Return the brokers, not read yet."""
        return ZooKeeperBrokers(
            self.tree, self.clock, "zookeeper.connect=h", ended=lambda: self.ended.append(None)
        )

    def settle(self, seconds: float = 0.0) -> None:
        """Advance the clock in steps, and run all that takes no time."""
        for _ in range(round(seconds / 0.05) + 1):
            for _ in range(50):
                self.network.pump()
            self.clock.advance(0.05)

    def result(self, waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Return the result of a Deferred, or raise its error."""
        outcome: list[Any] = []
        waiting.addBoth(outcome.append)
        self.settle()
        while not outcome and seconds > 0:
            self.settle(0.05)
            seconds -= 0.1
        if not outcome:
            raise AssertionError("it did not fire")
        if isinstance(outcome[0], Failure):
            outcome[0].raiseException()
        return outcome[0]

    def done(self, work: Coroutine[Any, Any, Any], seconds: float = 0.0) -> Any:
        """Return the result of a coroutine."""
        return self.result(Deferred.fromCoroutine(work), seconds)

    def find(self) -> list[str]:
        """Return the hosts of the addresses."""
        return sorted(host for host, _ in self.done(self.found.find()))

    def hosts(self) -> list[str]:
        """Return the hosts of the addresses that are known now."""
        return sorted(host for host, _ in self.found.known)

    def write(self, *operations: Operation) -> None:
        """Make operations by the tool, and let watches run."""
        self.result(self.tool.multi(operations))

    def tearDown(self) -> None:
        """Check that nothing is left behind."""
        self.done(self.found.close())
        self.result(self.tool.close())
        self.assertEqual(self.ended, [None])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ZooKeeperBrokersTests(BrokersCase):
    def test_found(self) -> None:
        """The first call starts a session and reads the brokers."""
        self.assertEqual((self.tree.state, self.found.known), (SessionState.CLOSED, ()))
        self.assertEqual(self.find(), ["broker1", "broker2"])
        self.assertEqual(self.find(), ["broker1", "broker2"])
        self.assertEqual(self.changes, [[("broker1", 9092), ("broker2", 9092)]])

    def test_shared_start(self) -> None:
        """Calls at the same time share one session, and one that is cancelled does not disturb others."""
        calls = [Deferred.fromCoroutine(self.found.find()) for _ in range(3)]
        calls[0].addErrback(lambda failure: None)
        calls[0].cancel()
        self.settle()
        self.assertEqual([len(self.successResultOf(call)) for call in calls[1:]], [2, 2])

    def test_come_and_go(self) -> None:
        """Brokers that come and go are followed, one after the other and all at once."""
        self.find()
        self.write(registered(3))
        self.assertEqual(self.hosts(), ["broker1", "broker2", "broker3"])
        self.write(Delete("/brokers/ids/1"))
        self.assertEqual(self.hosts(), ["broker2", "broker3"])
        self.write(Delete("/brokers/ids/2"), Delete("/brokers/ids/3"), registered(4))
        self.assertEqual(self.hosts(), ["broker4"])
        self.write(Delete("/brokers/ids/4"))
        error = self.assertRaises(ConnectionFailed, self.find)
        self.assertIn("zookeeper.connect=h: no broker is registered in /brokers/ids", str(error))
        self.write(registered(5, 1))
        self.assertEqual(self.done(self.found.find()), [("broker5", 1)])
        self.write(Delete("/brokers/ids/5"), registered(5, 2))
        self.assertEqual(self.found.known, [("broker5", 2)])

    def test_gone_while_read(self) -> None:
        """A broker that goes between list and read is left out, and a change while reading is not missed."""
        self.tree.link.requests.delay_s = 0.5
        self.done(self.found.find(), 3.0)
        self.write(registered(3))
        self.settle(0.6)  # the list has come, the reads are under way
        self.assertEqual((self.hosts(), self.found._reading), (["broker1", "broker2"], True))
        self.write(Delete("/brokers/ids/3"), Delete("/brokers/ids/1"), registered(4))
        with capturedLogs() as lines:
            self.settle(3.0)
        self.assertEqual([line for line in lines if "cannot be read" in line["log_format"]], [])
        self.assertEqual(self.hosts(), ["broker2", "broker4"])
        self.tree.link.requests.delay_s = 0.0

    def test_no_nodes_yet(self) -> None:
        """A cluster that was never started has no brokers, and its first one is noticed."""
        self.write(*(Delete(f"/brokers{rest}") for rest in ("/ids/1", "/ids/2", "/ids", "")))
        self.assertRaises(ConnectionFailed, self.find)
        self.write(Create("/brokers"), Create("/brokers/ids"))
        self.assertEqual(self.hosts(), [])
        self.write(registered(7))
        self.assertEqual(self.hosts(), ["broker7"])

    def test_unreadable(self) -> None:
        """A node that cannot be read is left out, and others are not; one warning tells of it."""
        self.write(Create("/brokers/ids/8", b"?"), Create("/brokers/ids/x", b""))
        with capturedLogs() as lines:
            self.assertEqual(self.find(), ["broker1", "broker2"])
            self.write(registered(3))
        self.assertEqual(len([line for line in lines if "broker left out" in line["log_format"]]), 1)
        self.assertEqual(self.hosts(), ["broker1", "broker2", "broker3"])
        self.assertEqual(sorted(self.found._unreadable), [8])
        self.write(Delete("/brokers/ids/8"))
        self.assertEqual(self.found._unreadable, {})

    def test_many(self) -> None:
        """Only some of very many brokers are read."""
        self.write(*(registered(number) for number in range(3, 3 * MOST_BROKERS)))
        self.assertEqual(len(self.find()), MOST_BROKERS)

    def test_kafka_0_7(self) -> None:
        """Brokers of Kafka 0.7 are read."""
        self.write(Create("/brokers/ids/0", b"creator-1:old:9092"))
        self.assertEqual(self.find(), ["broker1", "broker2", "old"])

    def test_lost_connection(self) -> None:
        """Without a connection the last addresses remain; changes meanwhile are found after it, and later."""
        self.find()
        for down_s in (1.0, 3 * SESSION_S):
            self.tree.link.cut()
            self.write(registered(3))
            self.settle(down_s)
            self.assertEqual(self.find(), ["broker1", "broker2"])
            self.tree.link.heal()
            self.settle(2.0)
            self.assertEqual(self.hosts(), ["broker1", "broker2", "broker3"])
            self.write(Delete("/brokers/ids/3"))
            self.assertEqual(self.hosts(), ["broker1", "broker2"])

    def test_no_server(self) -> None:
        """Without a server the call fails with the setting's name; a later one may succeed."""
        self.tree.link.cut()
        error = self.assertRaises(ConnectionFailed, self.done, self.found.find(), 60.0)
        self.assertIn("zookeeper.connect=h", str(error))
        self.tree.link.heal()
        self.assertEqual(self.find(), ["broker1", "broker2"])

    def test_silent_server(self) -> None:
        """A server that accepts the session and does not answer delays the call for a limited time."""
        self.result(self.tree.connect())
        self.found._open = self.found._connection._open = True
        self.tree.link.hold_replies()
        began_s = self.clock.seconds()
        error = self.assertRaises(ConnectionFailed, self.done, self.found.find(), 60.0)
        self.assertIn("no answer within 10 s", str(error))
        self.assertTrue(READ_S <= self.clock.seconds() - began_s < READ_S + 1)
        self.tree.link.release()
        self.assertEqual(self.find(), ["broker1", "broker2"])

    def test_closed(self) -> None:
        """A close ends a call that waits, and the session; no call works after it."""
        waiting = Deferred.fromCoroutine(self.found.find())
        other = self.make()
        self.found, closing = other, self.found
        self.done(closing.close())
        self.failureResultOf(waiting, ClientClosed)
        self.assertRaises(ClientClosed, self.done, closing.find())
        self.assertEqual(self.tree.state, SessionState.CLOSED)
        self.ended.clear()

    def test_refused_read(self) -> None:
        """A refused read fails the first call, and is tried again by the next one."""
        children = self.tree.children
        self.tree.children = lambda *_: self.refuse()  # type: ignore[method-assign]
        error = self.assertRaises(ConnectionFailed, self.find)
        self.assertIn("the brokers cannot be read", str(error))
        self.tree.children = children  # type: ignore[method-assign]
        self.assertEqual(self.find(), ["broker1", "broker2"])

    def refuse(self) -> Deferred[Any]:
        """Return the failure of a read for which this client has no permission."""
        failed: Deferred[Any] = Deferred()
        failed.errback(Refused("/brokers/ids", None, 0, reason="no permission"))
        return failed


class ClusterTests(BrokersCase):
    """A client's cluster whose addresses are the brokers that are found."""

    def setUp(self) -> None:
        """Make the cluster."""
        super().setUp()
        settings = self.network.settings(bootstrap_servers=None)
        self.cluster = Cluster(settings, self.clock, self.found)

    def tearDown(self) -> None:
        """Close the cluster, which closes the brokers."""
        self.result(self.cluster.close())
        self.assertEqual(self.ended, [None])
        self.ended.clear()
        super().tearDown()

    def test_start(self) -> None:
        """A client starts from the brokers in ZooKeeper, by whichever of them is alive."""
        self.network.down.add(1)
        self.result(self.cluster.start(), 5.0)
        self.assertEqual(sorted(self.cluster.metadata.brokers), [1, 2, 3])

    def test_no_broker(self) -> None:
        """A start fails if no broker is registered, and says where they were looked for."""
        self.write(Delete("/brokers/ids/1"), Delete("/brokers/ids/2"))
        error = self.assertRaises(ConnectionFailed, self.result, self.cluster.start())
        self.assertIn("zookeeper.connect=h", str(error))
        self.assertIn("no broker is registered", str(error))
        self.write(registered(3))
        self.result(self.cluster.start(), 5.0)

    def test_new_broker(self) -> None:
        """A broker that comes makes the client request metadata at once."""
        self.result(self.cluster.start(), 5.0)
        self.settle(2.0)
        before = len(self.network.sent(MetadataRequest))
        self.write(registered(3))
        self.settle(0.2)
        self.assertEqual(len(self.network.sent(MetadataRequest)), before + 1)

    def test_all_replaced(self) -> None:
        """A client whose brokers have all gone goes on with those that are registered after them."""
        self.result(self.cluster.start(), 5.0)
        for number in (1, 2, 3):
            self.network.kill(number)
        self.write(Delete("/brokers/ids/1"), Delete("/brokers/ids/2"))
        refreshed = self.cluster.refreshed()
        self.settle(5.0)
        self.assertNoResult(refreshed)
        self.write(registered(9))
        self.result(refreshed, 3.0)
        self.assertIn(("broker9", 9092), self.network.dialled)
