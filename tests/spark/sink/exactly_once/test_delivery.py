"""Tests of kafkatx.spark.sink.exactly_once.delivery; the rest of it is used by all tests beside."""

from __future__ import annotations

import pickle

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink import task
from kafkatx.spark.sink.exactly_once.delivery import ExactlyOnce
from kafkatx.spark.sink.schemas.message_columns import NO_ENCODINGS
from tests.blocking.transactional import TransactionalCluster
from tests.spark.sink.exactly_once.streams import COLUMNS, options


class DeliveryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker that is away."""
        self.cluster = TransactionalCluster()
        self.cluster.down.add(1)
        self.patch(task, "connect", lambda settings: self.cluster.client())

    def test_waits(self) -> None:
        """A batch waits for brokers that are away, as its tasks do."""
        self.cluster.on_sleep = self.cluster.down.clear
        pickle.dumps(ExactlyOnce(options()))
        self.assertEqual(set(self.cluster.ids), {"query"})

    def test_gives_up(self) -> None:
        """After max.block.ms the tasks fail with the reason; a commit that was not begun asks nothing."""
        shipped = pickle.loads(pickle.dumps(ExactlyOnce(options(kafka_max_block_ms="500"))))
        error = self.assertRaises(KafkaTXError, shipped.write, COLUMNS, iter(()), NO_ENCODINGS)
        self.assertIn("no broker answers at broker1:9092", str(error))
        ExactlyOnce(options()).commit([], 0)
        self.assertEqual(self.cluster.requests, [])

    def test_outside_of_streams(self) -> None:
        """A task that Spark tells no batch of is refused."""
        self.cluster.down.clear()
        shipped = pickle.loads(pickle.dumps(ExactlyOnce(options())))
        error = self.assertRaises(KafkaTXError, shipped.write, COLUMNS, iter(()), NO_ENCODINGS)
        self.assertIn("which micro-batch", str(error))
