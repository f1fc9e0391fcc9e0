"""Tests of a session on ZooKeeper, with a client of kazoo in which the test plays the connection thread."""

from __future__ import annotations

from collections.abc import Callable

from kazoo.exceptions import ConnectionLoss, NoNodeError
from kazoo.protocol.states import EventType, KazooState, KeeperState, WatchedEvent, ZnodeStat
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Change, ConnectionLost, NoNode, SessionExpired, TreeError
from kafkatx.metadata.tree.zookeeper import start as module
from kafkatx.metadata.tree.zookeeper.kazoo_client import Result, Watcher
from kafkatx.metadata.tree.zookeeper.session import PIPELINE, KazooSession
from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings

STAT = ZnodeStat(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class FakeResult:
    """A result that the test sets."""

    def __init__(self) -> None:
        self.value: object = None
        self.exception: Exception | None = None
        self.callbacks: list[Callable[[Result], None]] = []

    def rawlink(self, callback: Callable[[Result], None]) -> None:
        """Keep a callback."""
        self.callbacks.append(callback)

    def set(self, value: object, exception: Exception | None = None) -> None:
        """Give the result."""
        self.value, self.exception = value, exception
        for callback in self.callbacks:
            callback(self)


class FakeClient:
    """A client that reaches a server at once, or never."""

    def __init__(self, reached: bool) -> None:
        self.connected = reached
        self.client_state = KeeperState.CONNECTED if reached else KeeperState.CONNECTING
        self.client_id: tuple[int, bytes] | None = (7, b"")
        self.listeners: list[Callable[[str], None]] = []
        self.results: list[FakeResult] = []
        self.watches: list[Watcher | None] = []
        self.calls: list[str] = []

    def add_listener(self, listener: Callable[[str], None]) -> None:
        """Keep a listener."""
        self.listeners.append(listener)

    def tell(self, state: str) -> None:
        """Report a state."""
        for listener in self.listeners:
            listener(state)

    def start_async(self) -> None:
        """Connect."""
        self.calls.append("start")
        if self.connected:
            self.tell(KazooState.CONNECTED)

    def exists(self, path: str) -> ZnodeStat:
        """Find the root."""
        return STAT

    def stop(self) -> None:
        """Note it."""
        self.calls.append("stop")

    def close(self) -> None:
        """Note it."""
        self.calls.append("close")

    def get_async(self, path: str, watch: Watcher | None) -> FakeResult:
        """Keep a read."""
        self.watches.append(watch)
        self.results.append(FakeResult())
        return self.results[-1]

    def transaction(self) -> FakeTransaction:
        """Begin a multi."""
        return FakeTransaction(self)


class FakeTransaction:
    """A multi of the client."""

    def __init__(self, client: FakeClient) -> None:
        self.client = client

    def check(self, path: str, version: int) -> None:
        """Note a check."""
        self.client.calls.append(f"check {path} {version}")

    def commit_async(self) -> FakeResult:
        """Keep it."""
        self.client.results.append(FakeResult())
        return self.client.results[-1]


class KazooSessionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a session."""
        self.calls: list[Callable[[], object]] = []
        self.events: list[object] = []
        self.client = FakeClient(True)
        self.patch(module, "make_client", lambda settings, connect, negotiated, log: self.client)
        self.session = self.open()
        self.run_calls()

    def open(self) -> KazooSession:
        """Start a session with the client."""
        settings = ZooKeeperSettings("a:1", session_timeout_s=6.0, connection_timeout_s=0.0)
        return KazooSession(settings, self, self.work, self)  # type: ignore[arg-type]

    def work(self, function: Callable[[], object]) -> Deferred[object]:
        """Be a worker, whose results the reactor thread gets after the calls before them."""
        done: Deferred[object] = Deferred()
        maybeDeferred(function).addBoth(lambda result: self.callFromThread(done.callback, result))
        return done

    def connected(self, session_id: int, timeout_s: float) -> None:
        """Note an event."""
        self.events.append((session_id, timeout_s))

    def suspended(self) -> None:
        """Note an event."""
        self.events.append("suspended")

    def lost(self, reason: TreeError) -> None:
        """Note an event."""
        self.events.append(type(reason))

    def callFromThread(self, function: Callable[..., object], *arguments: object) -> None:
        """Keep a call for the reactor thread."""
        self.calls.append(lambda: function(*arguments))

    def run_calls(self) -> None:
        """Be the reactor thread until there is nothing more to do."""
        while self.calls:
            self.calls.pop(0)()

    def read(self) -> Deferred[bytes]:
        """Return a read's data."""
        return self.session.read("/a", None).addCallback(lambda found: found[0])

    def test_events(self) -> None:
        """States reach the tree in the reactor thread, in order."""
        self.client.tell(KazooState.SUSPENDED)
        self.client.tell(KazooState.CONNECTED)
        self.client.tell(KazooState.LOST)
        self.assertEqual(self.events, [(7, 6.0)])
        self.run_calls()
        self.assertEqual(self.events, [(7, 6.0), "suspended", (7, 6.0), SessionExpired])

    def test_results(self) -> None:
        """Results and errors fire in the reactor thread, once, even if kazoo sets one twice."""
        read, failing = self.read(), self.read()
        self.client.results[0].set((b"x", STAT))
        self.client.results[0].set((b"y", STAT))
        self.client.results[1].set(None, NoNodeError())
        self.assertNoResult(read)
        self.run_calls()
        self.assertEqual(self.successResultOf(read), b"x")
        self.failureResultOf(failing, NoNode)

    def test_sync(self) -> None:
        """Catching up is a transaction, whatever its check finds; it fails if the connection is lost."""
        synced = [self.session.sync("/a") for _ in range(3)]
        self.assertEqual(self.client.calls, ["start", *["check /a -1"] * 3])
        there, missing, lost = self.client.results
        there.set([True])
        missing.set([NoNodeError()])
        lost.set(None, ConnectionLoss())
        for one in synced:
            self.assertNoResult(one)
        self.run_calls()
        self.assertEqual([self.successResultOf(one) for one in synced[:2]], [None, None])
        self.failureResultOf(synced[2], ConnectionLost)

    def test_null_data(self) -> None:
        """A node with null for its data, as many of Apache Kafka's, is read as an empty one."""
        read = self.read()
        self.client.results[0].set((None, STAT))
        self.run_calls()
        self.assertEqual(self.successResultOf(read), b"")

    def test_expired_unheard(self) -> None:
        """No request gets into kazoo's next session while the reactor has not heard of the expiry."""
        self.client.tell(KazooState.LOST)
        self.client.tell(KazooState.CONNECTED)
        self.failureResultOf(self.read(), SessionExpired)
        self.assertEqual(self.client.results, [])

    def test_pipeline(self) -> None:
        """Requests above the bound wait for results; a lost connection drops those that wait."""
        reads = [self.read() for _ in range(PIPELINE + 2)]
        self.assertEqual(len(self.client.results), PIPELINE)
        self.client.results[0].set((b"x", STAT))
        self.run_calls()
        self.assertEqual((self.successResultOf(reads[0]), len(self.client.results)), (b"x", PIPELINE + 1))
        self.client.tell(KazooState.SUSPENDED)
        self.run_calls()
        self.client.results[1].set((b"x", STAT))
        self.run_calls()
        self.assertEqual(len(self.client.results), PIPELINE + 1)

    def test_watches(self) -> None:
        """A watch gets changes of nodes in the reactor thread; kazoo's NONE is dropped."""
        changes: list[Change] = []
        self.session.read("/a", changes.append)
        watch = self.client.watches[0]
        assert watch is not None
        watch(WatchedEvent(EventType.NONE, KeeperState.CONNECTING, None))
        watch(WatchedEvent(EventType.CHANGED, KeeperState.CONNECTED, "/a"))
        self.assertEqual(changes, [])
        self.run_calls()
        self.assertEqual(changes, [Change.DATA])

    def test_close(self) -> None:
        """Closing stops kazoo; states that come later are dropped."""
        closed = self.session.close()
        self.client.tell(KazooState.LOST)
        self.run_calls()
        self.successResultOf(closed)
        self.assertEqual((self.client.calls, len(self.events)), (["start", "stop", "close"], 1))
        self.failureResultOf(self.read(), SessionExpired)

    def test_no_server(self) -> None:
        """A session that reaches no server in time is lost, and its error says so."""
        self.client = FakeClient(False)
        self.open()
        self.run_calls()
        self.assertEqual(self.events[1:], [ConnectionLost])
