"""An admin client of brokers in memory, for the tests of its parts."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.admin.admin import Admin
from tests.blocking.fakes import FakeCluster
from tests.client.fakes import Network


class AdminTestCase(SynchronousTestCase):
    """Test case whose :meth:`open` makes an admin client; after the test it is closed without leftovers."""

    def open(self, brokers: FakeCluster, **settings: Any) -> None:
        """Connect to these brokers."""
        self.network = Network(brokers.answer)
        values = {"bootstrap_servers": "broker1:9092", "kafkatx_endpoint": self.network.endpoint}
        self.admin = Admin(values, reactor=self.network.clock, **settings)
        self.assertIs(self.result(self.admin.start()), self.admin)
        self.addCleanup(self.close)

    def close(self) -> None:
        """Close the client, and check that nothing is left."""
        self.result(self.admin.close())
        self.assertEqual(self.network.clock.getDelayedCalls(), [])
        self.assertEqual(self.network.live(), [])

    def result(self, waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Return the result of a call, or raise its error; *seconds* is the longest wait."""
        return self.network.result(waiting, seconds)

    def error(self, kind: type[Exception], waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Return the error that a call fails with."""
        with self.assertRaises(kind) as caught:
            self.result(waiting, seconds)
        return caught.exception

    def asked(self, request: type[Any]) -> list[int]:
        """Return the brokers that got requests of this kind."""
        return [node for node, message in self.network.requests if isinstance(message, request)]
