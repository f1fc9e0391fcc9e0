"""The connection is opened once, or the start fails; later it is opened again, for ever."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import SessionState
from kafkatx.metadata.cluster.connection import COMPLAINT_S, RETRY_S, Connection
from tests.metadata.cluster.cases import RunningCase


class ConnectionTests(RunningCase):
    def setUp(self) -> None:
        """Make a connection."""
        super().setUp()
        self.link_tree = self.stores.make_tree()
        self.heard: list[str] = []
        self.connection = Connection(
            self.link_tree,
            self.clock,
            "zookeeper.connect=h",
            lambda: self.heard.append("connected"),
            lambda lost: self.heard.append("lost" if lost else "suspended"),
        )

    def opened(self) -> None:
        """Open the connection; it is closed at the test's end."""
        self.done(self.connection.open())
        self.addCleanup(lambda: self.done(self.connection.close()))

    def test_no_server(self) -> None:
        """A start without a server fails, and names the setting."""
        self.link_tree.link.cut()
        with self.assertRaises(SettingError) as caught:
            self.done(self.connection.open())
        self.assertIn("zookeeper.connect=h", str(caught.exception))

    def test_suspended(self) -> None:
        """A connection that is lost and comes back is reported."""
        self.opened()
        self.link_tree.link.cut()
        self.stores.settle()
        self.link_tree.link.heal()
        self.stores.settle()
        self.assertEqual(self.heard, ["connected", "suspended", "connected"])

    def test_lost(self) -> None:
        """After the session is lost another one is started, by as many attempts as it takes."""
        self.opened()
        self.link_tree.link.cut()
        self.stores.advance(20.0)
        self.link_tree.link.heal()
        self.stores.settle()
        self.assertEqual(self.heard, ["connected", "suspended", "lost", "connected"])

    def test_many_attempts(self) -> None:
        """A session that cannot be started is tried again after a short pause, and not before."""
        self.opened()
        attempts: list[float] = []
        connect = self.link_tree.connect

        def counted() -> Deferred[int]:
            attempts.append(self.clock.seconds())
            self.link_tree.link.cut()
            return connect()

        self.patch(self.link_tree, "connect", counted)
        self.link_tree.link.expire()
        self.stores.advance(10.5 * RETRY_S)
        self.assertEqual(len(attempts), 11)
        self.patch(self.link_tree, "connect", connect)
        self.link_tree.link.heal()
        self.stores.advance(RETRY_S)
        self.assertIs(self.link_tree.state, SessionState.CONNECTED)

    def test_complaints(self) -> None:
        """While there is no connection a line is logged now and then."""
        lines: list[float] = []
        self.patch(self.connection, "_log", _Recorder(lines))
        self.opened()
        self.link_tree.link.cut()
        self.stores.advance(3 * COMPLAINT_S + 1)
        self.link_tree.link.heal()
        self.stores.advance(2 * COMPLAINT_S)
        self.assertEqual([round(seconds) for seconds in lines], [10, 20, 30])

    def test_closed(self) -> None:
        """Nothing is reported, and no session is started, after the end."""
        self.opened()
        self.link_tree.link.cut()
        self.stores.advance(30.0)
        self.done(self.connection.close())
        self.heard.clear()
        self.link_tree.link.heal()
        self.stores.advance(30.0)
        self.assertEqual((self.heard, self.link_tree.state), ([], SessionState.CLOSED))

    def test_close_while_waiting(self) -> None:
        """A pause between attempts ends with the connection."""
        self.opened()
        self.tool.link.cut()
        self.link_tree.link.expire()
        self.link_tree.link.cut()
        self.stores.advance(RETRY_S / 2)
        closing = Deferred.fromCoroutine(self.connection.close())
        self.result(closing)
        self.assertIs(self.link_tree.state, SessionState.CLOSED)


class _Recorder:
    """A log that keeps the seconds of errors."""

    def __init__(self, lines: list[float]) -> None:
        self.lines = lines

    def error(self, text: str, seconds: float, **values: object) -> None:
        """Keep them."""
        self.lines.append(seconds)

    def warn(self, text: str, **values: object) -> None:
        """Do nothing."""

    debug = warn
