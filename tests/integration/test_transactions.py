"""Producers that ask for transactions, which the broker does not offer, learn it at once."""

from __future__ import annotations

import logging
import time

from confluent_kafka import KafkaException
from confluent_kafka import Producer as ConfluentProducer
from kafka import KafkaProducer
from kafka.errors import TransactionalIdAuthorizationFailedError
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.measured import check_below

LONG_S = 20.0


class TransactionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker in a process, whose log can be read."""
        self.broker = EmbeddedBroker(run_in="process").start()
        self.addCleanup(self.broker.stop)

    def warnings(self, client_id: str) -> int:
        """Count the lines of the log about this client."""
        return sum("transactions" in line and client_id in line for line in self.broker.output().splitlines())

    def test_librdkafka(self) -> None:
        """init_transactions fails long before its time is up, and the error is fatal and says why."""
        quiet = logging.getLogger("tests.transactions")
        quiet.disabled = True
        config = {"transactional.id": "orders", "client.id": "shop", "logger": quiet}
        producer = ConfluentProducer({"bootstrap.servers": self.broker.bootstrap, **config})
        began_s = time.monotonic()
        with self.assertRaises(KafkaException) as caught:
            producer.init_transactions(LONG_S)
        check_below(self, time.monotonic() - began_s, LONG_S / 2, "seconds until the error")
        error = caught.exception.args[0]
        self.assertTrue(error.fatal())
        self.assertIn("does not offer transactions", error.str())
        deadline_s = time.monotonic() + LONG_S
        while not self.warnings("shop") and time.monotonic() < deadline_s:
            time.sleep(0.01)  # the line comes from another process
        self.assertEqual(self.warnings("shop"), 1)

    def test_kafka_python(self) -> None:
        """kafka-python's init_transactions fails with the error."""
        producer = KafkaProducer(bootstrap_servers=self.broker.bootstrap, transactional_id="orders")
        self.addCleanup(producer.close, 0)
        with self.assertRaises(TransactionalIdAuthorizationFailedError):
            producer.init_transactions()
