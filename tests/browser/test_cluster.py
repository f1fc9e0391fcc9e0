"""The console of a cluster: a broker that dies and returns is seen, in numbers, problems and lists."""

from __future__ import annotations

from confluent_kafka import Producer

from kafkatx.testing import EmbeddedCluster
from tests.browser.case import CONSOLE, BrowserCase
from tests.until import until


class ClusterTests(BrowserCase):
    kills = True

    def setUp(self) -> None:
        """Start three brokers."""
        super().setUp()
        self.cluster = EmbeddedCluster(3, CONSOLE, run_in="process")
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.page = self.page_of(self.cluster.brokers[1])

    def states(self) -> list[str]:
        """Return the states of the brokers, as their list tells them."""
        return [row[1].split()[0] for row in self.page.rows("brokers")]

    def test_load(self) -> None:
        """Each page shows the load of all brokers: as one in the overview, each by itself in their list."""
        topic = self.cluster.topic("spread", partitions=3)
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "linger.ms": 1})

        def write() -> bool:
            for number in range(300):
                producer.produce(topic, b"x" * 1000, partition=number % 3)
            producer.flush(10)
            return all(row[6].endswith("B/s") and row[6] != "0 B/s" for row in self.page.rows("brokers"))

        page = self.page
        page.open("brokers")
        until(write, "each broker has a rate")
        page.open("brokers", "3")
        page.sees("Load")
        page.sees("from other brokers")
        page.open()
        page.sees(", the busiest")
        page.sees_not("without broker")

    def test_silent(self) -> None:
        """The charts tell of a broker that does not answer: they are without its samples."""
        self.cluster.brokers[3].freeze()
        self.addCleanup(self.cluster.brokers[3].thaw)
        self.page.open()
        self.page.sees("The charts are without broker 3")

    def test_opened_without_an_answer(self) -> None:
        """A view that was opened while its broker did not answer is drawn when the broker is back."""
        page = self.page
        page.open()
        page.sees("All 3 brokers are up")
        self.cluster.brokers[1].kill()
        page.driver.execute_script("location.hash = '#/groups'")
        page.sees("The broker does not answer")
        self.cluster.start_broker(1)
        page.sees("No consumer groups yet")

    def test_broker_dies_and_returns(self) -> None:
        """The overview tells of a broker that is gone, and of its own; it is well when they are back."""
        topic = self.cluster.topic("copied", partitions=3, replication=3)
        page = self.page
        page.open()
        page.sees("All 3 brokers are up")
        page.sees("every replica in sync")
        self.cluster.brokers[3].kill()
        page.sees("2 of 3 brokers are up")
        page.sees("under-replicated")
        page.open("brokers")
        until(lambda: self.states() == ["up", "up", "down"], "broker 3 is listed as down")
        page.open("topics", topic, "partitions")
        page.sees("3 under-replicated")
        self.cluster.start_broker(3)
        page.sees_not("under-replicated")
        page.open("brokers")
        until(lambda: self.states() == ["up", "up", "up"], "broker 3 is back")

        page.open()
        page.sees("All 3 brokers are up")
        self.cluster.brokers[1].kill()
        page.sees("The broker does not answer")
        self.cluster.start_broker(1)
        page.sees_not("The broker does not answer")
        page.sees("Live")
