"""One broker process for all integration tests that need nothing special of it."""

from __future__ import annotations

import atexit
from functools import lru_cache

from kafkatx.testing import EmbeddedBroker


@lru_cache(maxsize=1)
def shared_broker() -> EmbeddedBroker:
    """The broker, started by the first who asks and stopped when the tests end.

    Trial has no fixtures for a class or module, and a broker of its own for each test would take a second.
    """
    broker = EmbeddedBroker(run_in="process")
    broker.start()
    atexit.register(broker.__exit__, None, None, None)
    return broker
