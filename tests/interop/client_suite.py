"""The integration tests of the Twisted client, run against Apache Kafka: every one of them, as it is.

``make clients`` or the first test that needs them fetches the brokers. A class is called after the version
and the one that it is made of: ``python -m tests.run tests.interop.client_suite.Apache39AdminTests``.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from tests.clients.brokers import ApacheBroker
from tests.clients.toolchains import prepare
from tests.integration import (
    test_client_admin,
    test_client_groups,
    test_client_seeds,
    test_consumer,
    test_facades,
    test_groups,
    test_producer,
)
from tests.integration.shared import ClientCase

HERE = Path(test_producer.__file__).parent
VERSIONS = ("3.9", "4")
KILLS = 5
"""Apache Kafka takes some seconds to come back."""
COMES_BACK = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "400"}
"""After a kill the controller takes the broker back when the session of the one before it is over."""


def _skipped(why: str) -> Any:
    def test(self: Any) -> None:
        """Skipped, and told of."""
        raise SkipTest(why)

    return test


DIFFERENT: dict[tuple[str, str], dict[str, Any]] = {
    ("3.9", "AdminTests"): {
        "test_consumer": _skipped("Kafka 3.9 has ConsumerGroupHeartbeat 0, and librdkafka asks for 1"),
    },
    ("4", "SimpleConsumerTests"): {"tells_segments": False},
}
"""What is otherwise with a version."""


@cache
def shared_broker(version: str) -> ApacheBroker:
    """A broker of Apache Kafka, for all tests that need nothing special of it."""
    return started(new_broker(version, {}))


@cache
def groups_broker(version: str) -> ApacheBroker:
    """One for the tests of groups, which may kill it and start it again."""
    return started(new_broker(version, {**COMES_BACK, **test_groups.SETTINGS}))


def new_broker(version: str, settings: Mapping[str, str]) -> ApacheBroker:
    """A broker that is not started yet."""
    prepare(f"java-{version}")
    return ApacheBroker(version, {"num.partitions": "1", **settings})


def started(broker: ApacheBroker) -> ApacheBroker:
    """Start a broker that goes when the tests end."""
    atexit.register(broker.close)
    broker.start()
    return broker


class ApacheCase:
    """In place of what :class:`tests.integration.shared.ClientCase` has."""

    version = ""
    kills = KILLS
    timeout = 600

    @property
    def bootstrap(self) -> str:
        """The address of the broker that tests share."""
        return shared_broker(self.version).bootstrap

    def make_broker(self: Any, settings: Mapping[str, str] = MappingProxyType({})) -> ApacheBroker:
        """A broker of the test's own."""
        broker = new_broker(self.version, {**COMES_BACK, **settings})
        self.addCleanup(broker.close)
        return broker


class ApacheGroups:
    """In place of what :class:`tests.integration.test_groups.GroupCase` has: one broker for all tests."""

    version = ""

    def start_broker(self: Any) -> None:
        """Find it running, or start it again after it was killed."""
        self.broker = groups_broker(self.version)
        if not self.broker.running:
            self.broker.start()
        self.bootstrap = self.broker.bootstrap

    def stop_all(self: Any) -> None:
        """Stop the members that the test has left running."""
        for member in self.members:
            member.kill()


CASES: dict[type[Any], list[type[Any]]] = {
    ApacheCase: [
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
    ],
    ApacheGroups: [test_client_groups.OurTests, test_client_groups.MixedTests],
}


def _add_cases() -> None:
    for version in VERSIONS:
        for mixin, cases in CASES.items():
            for case in cases:
                of = case.__module__.rpartition(".test_")[2].title().replace("_", "")
                kind = case.__name__ if case.__name__ != "KillTests" else f"{of}KillTests"
                name = f"Apache{version.replace('.', '')}{kind}"
                members: dict[str, Any] = {
                    "version": version,
                    "__module__": __name__,
                    "__doc__": case.__doc__,
                }
                members |= DIFFERENT.get((version, case.__name__), {})
                globals()[name] = type(name, (mixin, case), members)


_add_cases()


class CompletenessTests(SynchronousTestCase):
    def test_all_are_here(self) -> None:
        """No test case of our client's is forgotten."""
        found = [path.stem for path in HERE.glob("test_*.py") if "ClientCase" in path.read_text()]
        here = {case.__module__.rpartition(".")[2] for case in CASES[ApacheCase]}
        self.assertEqual(set(found), here)
        for module in {case.__module__ for case in CASES[ApacheCase]}:
            cases = [
                kind
                for kind in vars(sys.modules[module]).values()
                if isinstance(kind, type) and issubclass(kind, ClientCase) and kind.__module__ == module
            ]
            tests = {case for case in cases if any(name.startswith("test_") for name in dir(case))}
            self.assertEqual(tests - set(CASES[ApacheCase]), set(), module)
