"""pytest fixtures, there for every project that has kafkatx installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkatx.testing.embedded import EmbeddedBroker


@pytest.fixture(scope="session")
def kafkatx_broker() -> Iterator[EmbeddedBroker]:
    """A broker for the whole session; ``kafkatx_broker.bootstrap`` is its address."""
    with EmbeddedBroker() as broker:
        yield broker
