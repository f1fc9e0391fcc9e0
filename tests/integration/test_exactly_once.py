"""The steps of the sink with ``exactlyOnce=true`` against our broker; ``make interop`` has Apache Kafka's."""

from __future__ import annotations

from tests.integration.exactly_once import ExactlyOnceSteps
from tests.integration.shared import shared_broker


class StepTests(ExactlyOnceSteps):
    def setUp(self) -> None:
        """Use the broker that tests share."""
        self.bootstrap = shared_broker().bootstrap
        super().setUp()


del ExactlyOnceSteps
