"""The cluster of the demonstration: lines pass through it, a group reads them, and one broker is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.client import threads
from kafkatx.demo.lines import first_field
from kafkatx.testing import EmbeddedCluster

TOPIC, GROUP = "lines", "readers"
PARTITIONS, COPIES = 3, 3
HEAD = 100
"""Lines before a broker is killed, and lines that tell how long it was missed."""

MAX_LINE_BYTES = 16 << 20
SETTINGS = {
    "message.max.bytes": str(MAX_LINE_BYTES),
    "http.listeners": "HTTP://127.0.0.1:0",
    "kafkatx.console.enable": "true",
}
POLL_MS = 200


def make_cluster(brokers: int) -> EmbeddedCluster:
    """Return a cluster on free ports, each broker a process with a console."""
    return EmbeddedCluster(brokers, {**SETTINGS, "min.insync.replicas": min(brokers, 2)}, run_in="process")


class Readers:
    """A consumer group of one member, which reads the topic in a thread as long as it is entered.

    :ivar count: records that it has read, each counted once.
    """

    def __init__(self, bootstrap: str) -> None:
        self._ends: dict[int, int] = {}
        self._consumer = threads.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
            }
        )
        self._thread = threading.Thread(target=self._read, name=GROUP, daemon=True)
        self.count = 0

    def __enter__(self) -> Readers:
        self._consumer.start()
        self._consumer.subscribe([TOPIC])
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._consumer.close()
        self._thread.join()

    def _read(self) -> None:
        for record in self._consumer:
            # after a rebalance some may come again
            if record.offset >= self._ends.get(record.partition, 0):
                self._ends[record.partition] = record.offset + 1
                self.count += 1

    def wait(self, count: int, timeout_s: float) -> bool:
        """Wait until so many records have been read; return False if they have not."""
        until_s = time.monotonic() + timeout_s
        while self.count < count and time.monotonic() < until_s:
            time.sleep(POLL_MS / 1000)
        return self.count >= count


class Kill:
    """``kill -9`` of the broker that leads partition 0, and its return; of a cluster of several."""

    def __init__(self, cluster: EmbeddedCluster, told: Callable[[str], object]) -> None:
        self._cluster = cluster
        self._told = told
        self._victim = 0
        self._killed_s = 0.0

    def begin(self, client: Cluster) -> None:
        """Kill the broker."""
        if len(self._cluster.brokers) > 1:
            self._victim = client.metadata([TOPIC]).topics[TOPIC].partitions[0].leader
            self._cluster.brokers[self._victim].kill()
            self._killed_s = time.monotonic()

    def end(self) -> None:
        """Tell how long it was missed, and start it again; called when the next lines are acknowledged."""
        if self._victim:
            missed_s = time.monotonic() - self._killed_s
            self._cluster.start_broker(self._victim)
            self._told(
                f"killed    broker {self._victim}, a leader, after {HEAD} lines (kill -9); the next were"
                f" acknowledged {missed_s:.1f} s later, by others; it is back"
            )
            self._victim = 0


def produce(
    client: Cluster, lines: Iterable[bytes], copies: int, kill: Kill, advance: Callable[[int], object]
) -> int:
    """Write each line as a record whose key is its first field; return how many there were.

    :param advance: called now and then with the bytes read since the last call.
    """
    Admin(client).create_topic(TOPIC, PARTITIONS, copies)
    count = passed = 0
    with Writer(client, TOPIC) as writer:
        for count, line in enumerate(lines, 1):
            writer.send(line, first_field(line))
            passed += len(line) + 1
            if count in (HEAD, 2 * HEAD):
                writer.flush()
                if count == HEAD:
                    kill.begin(client)
                else:
                    kill.end()
            if not count % 1000:
                advance(passed)
                passed = 0
    kill.end()
    advance(passed)
    return count


def send_again(bootstrap: str, lines: Iterable[bytes], pause_s: float) -> None:
    """Send lines one by one, for something to see."""
    with Cluster(bootstrap) as client, Writer(client, TOPIC) as writer:
        for line in lines:
            writer.send(line, first_field(line))
            writer.flush()
            time.sleep(pause_s)
