"""The schema registry of three brokers: any of them answers for the leader, and its end loses nothing."""

from __future__ import annotations

import os
import signal

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from tests.integration.test_schema_registry import HTTP, ask, record
from tests.until import until

SETTINGS = {**HTTP, "min.insync.replicas": "2", "zookeeper.session.timeout.ms": "3000"}


class ClusterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start three brokers in processes."""
        self.cluster = EmbeddedCluster(3, SETTINGS, run_in="process")
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.acknowledged: dict[str, int] = {}

    def brokers(self) -> list[EmbeddedBroker]:
        """Return the brokers that run."""
        return [broker for broker in self.cluster.brokers.values() if broker.running]

    def leader(self) -> int:
        """Return the id of the leader of the registry's topic."""
        with Cluster(self.brokers()[0].bootstrap) as cluster:
            return cluster.metadata(["_schemas"]).topics["_schemas"].partitions[0].leader

    def in_sync(self) -> int:
        """Return the number of in-sync replicas of the registry's topic."""
        with Cluster(self.brokers()[0].bootstrap) as cluster:
            return len(cluster.metadata(["_schemas"]).topics["_schemas"].partitions[0].isr)

    def register(self, broker: EmbeddedBroker, subject: str) -> bool:
        """Register a schema through one broker, once; return True if it was acknowledged."""
        path = f"{broker.http}/subjects/{subject}/versions"
        try:
            status, body = ask(path, "POST", {"schema": record(subject.replace("-", "_"), "a")})
        except (OSError, ValueError):
            return False
        if status == 200:
            self.acknowledged[subject] = body["id"]
        return status == 200

    def check(self) -> None:
        """Read every acknowledged registration through every broker: each id was given once."""
        for broker in self.brokers():
            for subject, schema_id in self.acknowledged.items():
                status, body = ask(f"{broker.http}/subjects/{subject}/versions/latest")
                self.assertEqual((status, body.get("id")), (200, schema_id), body)
        self.assertEqual(len(set(self.acknowledged.values())), len(self.acknowledged))

    def test_any_broker(self) -> None:
        """A schema that was registered through one broker is read through every other one at once."""
        for number in range(9):
            writer = self.brokers()[number % 3]
            until(lambda n=number, w=writer: self.register(w, f"any-{n}"), "registered")  # type: ignore[misc]
            for reader in self.brokers():
                self.assertEqual(ask(f"{reader.http}/subjects/any-{number}/versions")[1], [1])
        listed = [ask(f"{broker.http}/schemas")[1] for broker in self.brokers()]
        self.assertEqual([len(found) for found in listed], [9, 9, 9])
        self.assertEqual(
            [ask(f"{broker.http}/subjects/x/versions")[0] for broker in self.brokers()], [404] * 3
        )
        self.check()

    def test_leader_killed(self) -> None:
        """The leader is killed between registrations: each acknowledged one stays, with its id."""
        for number in range(5):
            name = f"before-{number}"
            until(lambda name=name: self.register(self.brokers()[-1], name), "registered")  # type: ignore[misc]
        until(lambda: self.in_sync() == 3, "all are in sync")
        leader = self.cluster.brokers[self.leader()]
        assert leader.pid is not None
        os.kill(leader.pid, signal.SIGKILL)
        leader.kill()
        for number in range(5):
            name = f"after-{number}"
            until(lambda name=name: self.register(self.brokers()[0], name), "registered")  # type: ignore[misc]
        self.check()
        self.cluster.start_broker(next(i for i, one in self.cluster.brokers.items() if one is leader))
        self.check()

    def test_too_few_in_sync(self) -> None:
        """With too few in-sync replicas a change is refused and not made up; reads go on."""
        until(lambda: self.register(self.brokers()[0], "few"), "registered")
        until(lambda: self.in_sync() == 3, "all are in sync")
        leader = self.leader()
        for broker_id, broker in self.cluster.brokers.items():
            if broker_id != leader:
                broker.stop()
        (alone,) = self.brokers()
        status, body = ask(f"{alone.http}/subjects/other/versions", "POST", {"schema": record("Other")}, 40)
        self.assertIn(body.get("error_code"), (50001, 50002), (status, body))
        self.assertEqual(ask(f"{alone.http}/subjects/few/versions")[1], [1])
