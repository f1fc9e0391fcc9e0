"""Commands that wait for a broker, or for room on its disk, say so."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.writer import Writer
from kafkatx.blocking.stalls import StallReporter
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from tests.blocking.fakes import FakeCluster, Log


class WaitingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A clock at 0."""
        self.now = 0.0
        self.told: list[str] = []
        self.waiting = StallReporter(self.told.append, lambda: self.now)

    def failed_at(self, *times: float) -> None:
        """It failed at these times."""
        for self.now in times:
            self.waiting.failed("no broker at h:9092")

    def test_told(self) -> None:
        """Five seconds after the first failure, and then every five seconds, however often it fails."""
        self.failed_at(10, 11, 14.9)
        self.assertEqual(self.told, [])
        self.failed_at(15, 16, 19, 20.5, 21)
        self.assertEqual(self.told, ["no broker at h:9092 for 5 s", "no broker at h:9092 for 10 s"])

    def test_over(self) -> None:
        """A broker that answers ends it; the next failure is a first one."""
        self.failed_at(10, 15)
        self.waiting.recovered()
        self.failed_at(100, 104)
        self.assertEqual(len(self.told), 1)
        self.failed_at(105)
        self.assertEqual(self.told[1:], ["no broker at h:9092 for 5 s"])

    def test_silent(self) -> None:
        """The reporter works without a function to report to."""
        quiet = StallReporter(None, lambda: self.now)
        for self.now in (0, 10):
            quiet.failed("no broker")


class ClusterTests(SynchronousTestCase):
    def test_retrying(self) -> None:
        """A call that waits for the only broker to come back says where none is, and since when."""
        fake, told = FakeCluster({"t": [Log()]}), list[str]()
        cluster = fake.client(on_wait=told.append, retries=40)
        cluster.metadata(None)
        cluster.close()
        fake.down.add(1)
        fake.on_sleep = lambda: fake.down.clear() if fake.now > 1012 else None
        cluster.metadata(None)
        self.assertEqual([line.partition(" for ")[0] for line in told], ["no broker at broker1:9092"] * 2)

    def test_refused(self) -> None:
        """A call that a broker refuses for now says so."""
        fake, told = FakeCluster({"t": [Log()]}), list[str]()
        fake.faults[InitProducerIdRequest].extend([ErrorCode.KAFKA_STORAGE_ERROR] * 9)
        with Writer(fake.client(on_wait=told.append), "t"):
            pass
        self.assertEqual(told, ["producer id: kafka storage error for 6 s"])

    def test_first_contact(self) -> None:
        """The first contact fails at once, and nothing is said of waiting."""
        fake, told = FakeCluster({"t": [Log()]}, down={1}), list[str]()
        self.assertRaises(ConnectionFailed, fake.client(on_wait=told.append).metadata, None)
        self.assertEqual(told, [])
