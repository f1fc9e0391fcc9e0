"""pytest fixtures, available in every project that has kafkatx installed, and the broker's log in reports.

kafkatx is imported when a fixture is first used: pytest itself starts no slower for it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafkatx.testing.cluster import AsyncCluster, EmbeddedCluster
    from kafkatx.testing.embedded import AsyncBroker, EmbeddedBroker

SECTION = "kafkatx broker log"

_marks = pytest.StashKey[dict[int, int]]()
"""For each broker that existed before the test, by id(): the lines that it had logged."""


@pytest.fixture(scope="session")
def kafkatx_broker() -> Iterator[EmbeddedBroker]:
    """Return a broker for the whole session; ``kafkatx_broker.bootstrap`` is its address."""
    from kafkatx.testing.embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(scope="session")
def kafkatx_cluster() -> Iterator[EmbeddedCluster]:
    """Return a cluster of three brokers for the whole session; ``kafkatx_cluster.bootstrap`` has them all."""
    from kafkatx.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(3) as cluster:
        yield cluster


@pytest.fixture
def kafkatx_settings() -> dict[str, str | int | float | bool]:
    """Return the settings of the brokers below; override it in a test module or class to change them."""
    return {}


@pytest.fixture
def kafkatx_fresh_broker(
    kafkatx_settings: dict[str, str | int | float | bool],
) -> Iterator[EmbeddedBroker]:
    """Return a broker for one test; it keeps messages in memory unless ``kafkatx_settings`` say otherwise."""
    from kafkatx.testing.embedded import EmbeddedBroker

    with EmbeddedBroker({"kafkatx.storage": "memory", **kafkatx_settings}) as broker:
        yield broker


@pytest.fixture
def kafkatx_async_broker(kafkatx_fresh_broker: EmbeddedBroker) -> AsyncBroker:
    """``kafkatx_fresh_broker`` with methods to await, for tests that are coroutines.

    An ordinary fixture, so that it does not depend on the plugin that runs the coroutine.
    """
    from kafkatx.testing.embedded import AsyncBroker

    return AsyncBroker(kafkatx_fresh_broker)


@pytest.fixture
def kafkatx_fresh_cluster(
    kafkatx_settings: dict[str, str | int | float | bool],
) -> Iterator[EmbeddedCluster]:
    """Return a cluster of three brokers for one test, which may cut, freeze, stop or restart them."""
    from kafkatx.testing.cluster import EmbeddedCluster

    with EmbeddedCluster(3, kafkatx_settings) as cluster:
        yield cluster


@pytest.fixture
def kafkatx_async_cluster(kafkatx_fresh_cluster: EmbeddedCluster) -> AsyncCluster:
    """``kafkatx_fresh_cluster`` with methods to await, for tests that are coroutines."""
    from kafkatx.testing.cluster import AsyncCluster

    return AsyncCluster(kafkatx_fresh_cluster)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note how much each broker has logged before the test."""
    item.stash[_marks] = {id(broker): broker.log.count for broker in _brokers()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the brokers of a failed test have logged during the test to its report."""
    report = yield
    if report.failed:
        marks = item.stash.get(_marks, {})
        for broker in _brokers():
            if id(broker) in marks and not _uses(item, broker):
                continue
            text = broker.log.text(marks.get(id(broker), 0))
            if text:
                report.sections.append((f"{SECTION} {broker.bootstrap}".strip(), text))
    return report


def _brokers() -> list[EmbeddedBroker]:
    """Return the brokers of this process; none if kafkatx was not imported."""
    embedded = sys.modules.get("kafkatx.testing.embedded")
    return [] if embedded is None else list(embedded.brokers)


def _uses(item: pytest.Item, broker: EmbeddedBroker) -> bool:
    """Return True if one of the test's fixtures is *broker*, or has it."""
    return any(
        value is broker
        or getattr(value, "broker", None) is broker
        or broker in _all_of(getattr(getattr(value, "cluster", value), "brokers", None))
        for value in getattr(item, "funcargs", {}).values()
    )


def _all_of(brokers: object) -> list[object]:
    """Return the brokers of a cluster; none if it is no cluster's."""
    return list(brokers.values()) if isinstance(brokers, dict) else []
