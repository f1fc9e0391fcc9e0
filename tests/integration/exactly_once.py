"""The steps of the sink with ``exactlyOnce=true``, without Spark, against a real broker of any kind."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader
from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink.exactly_once import batch_commit
from tests.blocking.transactional import Killed
from tests.integration.clients import new_topic
from tests.spark.sink.exactly_once.streams import Run

FIRST, SECOND = [b"a", b"b", b"c"], [b"d"]


class ExactlyOnceSteps(SynchronousTestCase):
    """A broker at ``bootstrap``."""

    bootstrap: str

    def setUp(self) -> None:
        """A topic, and a query."""
        self.cluster = Cluster(self.bootstrap)
        self.addCleanup(self.cluster.close)
        self.topic = new_topic()
        Admin(self.cluster).create_topic(self.topic, 2)
        self.query = self.run_of("query")

    def run_of(self, query: str) -> Run:
        """A run of a query."""
        return Run(
            lambda: Cluster(self.bootstrap),
            self.patch,
            query,
            topic=self.topic,
            kafka_transactional_id=self.topic,
            kafka_bootstrap_servers=self.bootstrap,
        )

    def written(self, batch: Any, batch_id: int = 0) -> list[Any]:
        """Run the two tasks of a batch."""
        return [self.query.write(batch, batch_id, FIRST), self.query.write(batch, batch_id, SECOND, 1)]

    def values(self) -> list[bytes]:
        """The values that a reader of committed records gets, sorted."""
        found: list[bytes] = []
        for partition, (end, _) in self.cluster.offsets(self.topic, {0: -1, 1: -1}, 1).items():
            with Reader(
                self.cluster, self.topic, partition, start_offset=0, end_offset=end, isolation_level=1
            ) as reader:
                found += [record.value or b"" for record in reader]
        return sorted(found)

    def check_once(self) -> None:
        """Check that all is there once, and no transaction is open."""
        self.assertEqual(self.values(), FIRST + SECOND)
        listed = Transactions(self.cluster).listings(states=["Ongoing"])
        self.assertEqual([one for one in listed if self.topic in one.transactional_id], [])

    def test_committed(self) -> None:
        """Nothing is there before the commit, all after it, and no more when the batch is run again."""
        found = self.written(self.query.start())
        self.assertEqual(self.values(), [])
        self.query.commit(found, 0)
        self.check_once()
        self.query.commit(self.written(self.query.start()), 0)
        self.check_once()
        self.run_of("query")
        self.assertRaises(KafkaTXError, self.query.write, self.query.start(), -1, FIRST)

    def test_killed_before(self) -> None:
        """Tasks and drivers that die before the decision leave nothing."""
        batch = self.query.start()
        self.written(batch)
        self.query.write(batch, 0, FIRST, attempt=1)
        self.query.commit(self.written(self.query.start()), 0)
        self.check_once()

    def test_killed_after(self) -> None:
        """A batch is completed by the next run if the driver dies after the decision."""
        found = self.written(self.query.start())

        def die(*arguments: object) -> None:
            raise Killed

        patched = self.patch(batch_commit, "complete", die)
        self.assertRaises(Killed, self.query.commit, found, 0)
        patched.restore()
        self.query.abort(found, 0)
        self.assertEqual(self.values(), [])
        again = self.written(self.query.start())
        self.check_once()
        self.query.commit(again, 0)
        self.check_once()

    def test_aborted(self) -> None:
        """A batch that is given up leaves nothing, and may be written later."""
        found = self.written(self.query.start())
        self.query.abort(found, 0)
        self.assertRaises(KafkaTXError, self.query.commit, found, 0)
        self.query.commit(self.written(self.query.start()), 0)
        self.check_once()

    def test_two_drivers(self) -> None:
        """The driver of an earlier run commits nothing."""
        old = self.written(self.query.start())
        new = self.query.start()
        self.assertRaises(KafkaTXError, self.query.commit, old, 0)
        self.query.commit(self.written(new), 0)
        self.assertRaises(KafkaTXError, self.query.commit, old, 0)
        self.check_once()
