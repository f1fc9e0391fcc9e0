"""The integration tests of the Twisted client, run against three kafkatx brokers: every one, as it is.

A class has the name of the one that it is made of: ``tests.faults.client_suite.AdminTests``.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from tests.clients.brokers import OurCluster
from tests.integration import (
    test_client_admin,
    test_client_seeds,
    test_consumer,
    test_facades,
    test_producer,
)

BROKERS = 3
KILLS = 5
CASES: tuple[type[Any], ...] = (
    test_client_admin.AdminTests,
    test_client_seeds.SimpleConsumerTests,
    test_client_seeds.ConnectorTests,
    test_consumer.ConsumerTests,
    test_consumer.MemoryTests,
    test_consumer.KillTests,
    test_facades.AsyncioTests,
    test_facades.ThreadTests,
    test_producer.ProducerTests,
    test_producer.KillTests,
)


@cache
def shared_cluster() -> OurCluster:
    """A cluster for all tests that need nothing special of it; it goes when the tests end."""
    cluster = OurCluster(BROKERS, {})
    atexit.register(cluster.close)
    cluster.start()
    return cluster


class ClusterCase:
    """In place of what :class:`tests.integration.shared.ClientCase` has."""

    kills = KILLS
    timeout = 600

    @property
    def bootstrap(self) -> str:
        """The address of the cluster that tests share."""
        return shared_cluster().bootstrap

    def make_broker(self: Any, settings: Mapping[str, str] = MappingProxyType({})) -> OurCluster:
        """A cluster of the test's own."""
        cluster = OurCluster(BROKERS, settings)
        self.addCleanup(cluster.close)
        return cluster


def _add_cases() -> None:
    for case in CASES:
        of = case.__module__.rpartition(".test_")[2].title().replace("_", "")
        name = case.__name__ if case.__name__ != "KillTests" else f"{of}KillTests"
        members: dict[str, Any] = {"__module__": __name__, "__doc__": case.__doc__}
        globals()[name] = type(name, (ClusterCase, case), members)


_add_cases()
