"""Rights to the files of a broker: its user's alone, whatever the umask of its process is."""

from __future__ import annotations

import os
import stat

from confluent_kafka import Consumer, Producer
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.testing.messages import create_topic
from tests.until import WAIT_S, until


class PermissionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Set the umask with which files are made that all users may read and write."""
        self.addCleanup(os.umask, os.umask(0))
        self.directory = os.path.abspath(self.mktemp())
        os.mkdir(self.directory, 0o700)

    def open_to_others(self) -> list[str]:
        """Return files and directories that other users could read or write, with their modes."""
        found = []
        for path, directories, files in os.walk(self.directory):
            for name in (*directories, *files):
                status = os.lstat(os.path.join(path, name))
                if stat.S_IMODE(status.st_mode) & 0o077:
                    found.append(f"{os.path.join(path, name)} {stat.filemode(status.st_mode)}")
        return found

    def use(self, bootstrap: str) -> None:
        """Make files of all kinds: of segments, compaction, transactions, groups."""
        create_topic(bootstrap, "t", 1, {"segment.bytes": "1024"})
        create_topic(bootstrap, "c", 1, {"segment.bytes": "1024", "cleanup.policy": "compact"})
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "x"})
        producer.init_transactions(WAIT_S)
        for number in range(5):
            producer.begin_transaction()
            for topic in ("t", "c"):
                producer.produce(topic, os.urandom(600), key=b"k%d" % (number % 2))
            producer.flush(WAIT_S)
            (producer.abort_transaction if number == 2 else producer.commit_transaction)(WAIT_S)
        consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["t"])
        until(lambda: consumer.poll(0.1), "a record comes")
        consumer.close()

    def test_broker(self) -> None:
        """No file of a broker is open to others, neither while it runs nor after a kill and a restart."""
        settings: dict[str, str | int] = {
            "group.initial.rebalance.delay.ms": 0,
            "log.cleaner.backoff.ms": 100,
            "log.cleaner.min.cleanable.ratio": 0,
            "http.listeners": "HTTP://127.0.0.1:0",
        }
        data_dir = os.path.join(self.directory, "data")
        with EmbeddedBroker(settings, data_dir=data_dir, run_in="process") as broker:
            self.use(broker.bootstrap)
            self.assertEqual(self.open_to_others(), [])
            broker.kill()
            broker.start()
            broker.produce("t", b"v", key=b"k")
            self.assertEqual(self.open_to_others(), [])
        self.assertEqual(self.open_to_others(), [])
        found = {os.path.splitext(name)[1] for _, _, names in os.walk(data_dir) for name in names}
        self.assertLessEqual({".log", ".index", ".snapshot", ".txnindex"}, found)

    def test_cluster(self) -> None:
        """Nor is one of the state that brokers of one machine share."""
        with EmbeddedCluster(1, data_dir=os.path.join(self.directory, "data")) as cluster:
            create_topic(cluster.bootstrap, "t", 1, {})
            self.assertEqual(self.open_to_others(), [])
