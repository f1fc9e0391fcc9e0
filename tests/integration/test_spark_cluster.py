"""Reading, streaming and ingesting on a Spark cluster of several processes, some of which are killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from tests.integration.clients import new_topic
from tests.integration.cluster import executors, shared_cluster
from tests.integration.shared import shared_broker

# The executors have no tests: functions that are given to them go with all that is in them.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

DEADLINE_S = 300.0
PARTITIONS = 4
RECORDS = 2000
GO_ON = "go-on"


class ClusterCase(SynchronousTestCase):
    """A topic on a broker, for the cluster."""

    def setUp(self) -> None:
        """A topic with records in each of its partitions."""
        self.bootstrap = shared_broker().bootstrap
        self.topic = new_topic()
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).create_topic(self.topic, PARTITIONS)
            with Writer(cluster, self.topic, batch_bytes=10_000) as writer:
                for partition in range(PARTITIONS):
                    writer.send_values([b"%d" % number for number in range(RECORDS)], partition)
        self.everything = sorted((partition, n) for partition in range(PARTITIONS) for n in range(RECORDS))

    def options(self, **options: str) -> dict[str, str]:
        """Options with the bootstrap servers."""
        return {"kafka.bootstrap.servers": self.bootstrap, **options}

    def load(self) -> Any:
        """A DataFrame of the topic."""
        return shared_cluster().read.format("kafkatx").options(**self.options(subscribe=self.topic)).load()


class ClusterTests(ClusterCase):
    def test_where_it_is_read(self) -> None:
        """Each partition is read by a worker of one of two executors, which have kafkatx from the driver."""
        self.assertEqual(len(executors()), 2)
        batches = (
            self.load().select("partition").mapInArrow(readers, "partition int, parent int, code string")
        )
        seen = {(row.partition, row.parent, row.code) for row in batches.distinct().collect()}
        self.assertEqual({partition for partition, _, _ in seen}, set(range(PARTITIONS)))
        self.assertEqual(len({parent for _, parent, _ in seen}), 2)
        for _, _, code in seen:
            self.assertEqual(code, "kafkatx.zip/kafkatx")  # in the executor's own folder

    def test_stream(self) -> None:
        """A stream is read and written by the executors."""
        copied = f"{self.topic}-copied"
        stream = shared_cluster().readStream.format("kafkatx").options(**self.options(subscribe=self.topic))
        frame = stream.option("startingOffsets", "earliest").load().select("value", "partition")
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).create_topic(copied, PARTITIONS)
        writer = frame.writeStream.format("kafkatx").options(**self.options(topic=copied))
        writer = writer.option("checkpointLocation", os.path.abspath(self.mktemp()))
        query = writer.trigger(availableNow=True).start()
        self.addCleanup(query.stop)
        self.assertTrue(query.awaitTermination(int(DEADLINE_S)))
        self.topic = copied
        rows = self.load().selectExpr("partition", "offset", "cast(value AS string) text").collect()
        self.assertEqual(sorted((row.partition, row.offset) for row in rows), self.everything)
        self.assertEqual([row for row in rows if row.offset != int(row.text)], [])


def readers(batches: Any) -> Any:
    """For each partition the Python daemon that the worker is of, and where the worker has kafkatx from."""
    import pyarrow

    import kafkatx

    for batch in batches:
        daemon = [os.getppid()] * batch.num_rows
        code = [str(Path(kafkatx.__file__).parent)] * batch.num_rows
        columns = {
            "partition": batch.column(0),
            "parent": pyarrow.array(daemon, pyarrow.int32()),
            "code": code,
        }
        yield pyarrow.RecordBatch.from_pydict(columns)
