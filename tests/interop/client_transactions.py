"""Our producer's transactions with brokers of Apache Kafka: 3.9 (protocol 1) and 4 (protocol 2)."""

from __future__ import annotations

import atexit

from tests.clients.brokers import ApacheBroker
from tests.clients.toolchains import prepare
from tests.integration.producer_transactions import OlderProtocol, ProducerTransactions

_STARTED: dict[str, ApacheBroker] = {}


def started(version: str) -> ApacheBroker:
    """Return the broker of this version, which all tests share."""
    if version not in _STARTED:
        prepare(f"java-{version}")
        broker = _STARTED[version] = ApacheBroker(version)
        atexit.register(broker.close)
        broker.start()
    return _STARTED[version]


class _Apache(ProducerTransactions):
    version: str

    def setUp(self) -> None:
        """Use the broker."""
        self.bootstrap = started(self.version).bootstrap
        super().setUp()


class Apache39Tests(_Apache):
    """Protocol 1."""

    version = "3.9"
    implicit = False


class Apache4Tests(_Apache):
    """Protocol 2."""

    version = "4"


class Apache4OlderTests(OlderProtocol, _Apache):
    """Protocol 1 with a broker that has both."""

    version = "4"


del ProducerTransactions, OlderProtocol, _Apache
