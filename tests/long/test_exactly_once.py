"""``exactlyOnce=true`` in a real Spark with a real broker: each row once, whatever dies when.

Here the sink's processes die, in a Spark that goes on; ``tests/faults/spark_sink.py`` kills all of Spark.
"""

from __future__ import annotations

import os
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader
from kafkatx.blocking.admin.groups import Groups
from kafkatx.blocking.admin.transactions import Transactions
from tests.integration.clients import new_topic
from tests.integration.dying_sink import DyingSource
from tests.integration.shared import shared_broker
from tests.integration.spark import shared_spark

DEADLINE_S = 600
POINTS = ("task", "commit", "part")
ROWS = 20


class ExactlyOnceTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A topic of two partitions, and a directory whose files are streamed."""
        self.cluster = Cluster(shared_broker().bootstrap)
        self.addCleanup(self.cluster.close)
        self.topic = new_topic()
        Admin(self.cluster).create_topic(self.topic, 2)
        self.folder = os.path.abspath(self.mktemp())
        self.input = os.path.join(self.folder, "in")
        os.makedirs(self.input)
        self.written: list[bytes] = []
        shared_spark().dataSource.register(DyingSource)

    def add(self, name: str) -> None:
        """A new file, whole when it is seen."""
        values = [f"{name}{number}" for number in range(ROWS)]
        hidden = os.path.join(self.folder, name)
        with open(hidden, "w") as file:
            file.writelines(f"{value}\n" for value in values)
        os.rename(hidden, os.path.join(self.input, name))
        self.written += [value.encode() for value in values]

    def run_query(self, **more: str) -> bool:
        """Write all that is there, from where the last run ended; return False if the query fails."""
        from pyspark.errors import PySparkException

        options = {
            "kafka.bootstrap.servers": shared_broker().bootstrap,
            "kafka.transactional.id": self.topic,
            "topic": self.topic,
            "exactlyOnce": "true",
            "checkpointLocation": os.path.join(self.folder, "checkpoint"),
        }
        frame: Any = shared_spark().readStream.text(self.input).selectExpr("value").repartition(2)
        writer = frame.writeStream.format("dying").options(**options, **more)
        query = writer.trigger(availableNow=True).start()
        self.addCleanup(query.stop)
        try:
            self.assertTrue(query.awaitTermination(DEADLINE_S))
        except PySparkException as error:
            self.said = str(error)
            return False
        return True

    def values(self) -> list[bytes]:
        """The values that a reader of committed records gets, sorted."""
        found: list[bytes] = []
        asked = dict.fromkeys(self.cluster.partitions(self.topic), -1)
        for partition, (end, _) in self.cluster.offsets(self.topic, asked, 1).items():
            with Reader(
                self.cluster, self.topic, partition, start_offset=0, end_offset=end, isolation_level=1
            ) as reader:
                found += [record.value or b"" for record in reader]
        return sorted(found)

    def test_kills(self) -> None:
        """A process dies at one point after the other; started again, the query has each row there once."""
        self.add("a")
        for point in POINTS:
            died = os.path.join(self.folder, f"died-{point}")
            self.assertFalse(self.run_query(dieAt=point, died=died), point)
            self.assertTrue(os.path.exists(died), self.said)
            if point != "part":  # then a part is committed, which another's open transaction may hide
                self.assertEqual(self.values(), [])
        self.assertTrue(self.run_query())
        self.assertEqual(self.values(), sorted(self.written))
        listed = Transactions(self.cluster).listings(states=["Ongoing"])
        self.assertEqual([one for one in listed if self.topic in one.transactional_id], [])
        (stored,) = Groups(self.cluster).offsets(self.topic).values()
        self.assertEqual((stored.offset, stored.metadata[-8:]), (0, "complete"))
