"""The brokers of integration tests: one process for all that need nothing special, others of a test's own."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafkatx.testing import EmbeddedBroker
from tests.clients.brokers import Broker, OurBroker

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    _Case = object  # a mixin


@lru_cache(maxsize=1)
def shared_broker() -> EmbeddedBroker:
    """The broker, started by the first who asks and stopped when the tests end.

    Trial has no fixtures for a class or module, and a broker of its own for each test would take a second.
    """
    broker = EmbeddedBroker(run_in="process")
    broker.start()
    atexit.register(broker.__exit__, None, None, None)
    return broker


class ClientCase(_Case):
    """A test case of our client, which is to pass with any broker: here with ours.

    ``tests/interop/client_suite.py`` runs subclasses of all of these against Apache Kafka.

    :cvar kills: how often tests kill a broker that they put under load.
    """

    kills = 20

    @property
    def bootstrap(self) -> str:
        """The address of the broker that tests share."""
        return shared_broker().bootstrap

    def make_broker(self, settings: Mapping[str, str] = MappingProxyType({})) -> Broker:
        """A broker of the test's own, not started yet; it can be killed, and comes back where it was."""
        broker = OurBroker(settings)
        self.addCleanup(broker.close)
        return broker
