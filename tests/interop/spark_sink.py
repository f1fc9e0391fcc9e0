"""The steps of Spark's sink with ``exactlyOnce=true`` with brokers of Apache Kafka: protocols 1 and 2."""

from __future__ import annotations

from tests.integration.exactly_once import ExactlyOnceSteps
from tests.interop.client_transactions import started


class _Apache(ExactlyOnceSteps):
    version: str

    def setUp(self) -> None:
        """Use the broker."""
        self.bootstrap = started(self.version).bootstrap
        super().setUp()


class Apache39SinkTests(_Apache):
    """Protocol 1."""

    version = "3.9"


class Apache4SinkTests(_Apache):
    """Protocol 2."""

    version = "4"


del ExactlyOnceSteps, _Apache
