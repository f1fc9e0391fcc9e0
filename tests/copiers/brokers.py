"""The brokers of a run: one, or three with three copies of everything; each can be killed and comes back."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Protocol

from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from tests.ports import free_port

_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "offsets.topic.num.partitions": "8",
    "offsets.topic.segment.bytes": str(1 << 20),
    "transaction.state.log.num.partitions": "8",
    "transaction.state.log.segment.bytes": str(1 << 20),
    "log.segment.bytes": str(2 << 20),
    "log.cleaner.backoff.ms": "5000",
}
"""Small segments, so that the cleaner works, and aborted transactions are found in several segments."""


class Brokers(Protocol):
    """The brokers under test.

    :ivar count: how many there are.
    :ivar copies: copies of each topic.
    :ivar killed: how often one was killed.
    :ivar folder: with the data in ``data``; for other files of the run, too.
    """

    count: int
    copies: int
    killed: int
    folder: str

    @property
    def bootstrap(self) -> str:
        """The addresses for clients."""

    def start(self) -> None:
        """Start all."""

    def kill(self, number: int) -> None:
        """Kill a broker as ``kill -9`` does."""

    def revive(self, number: int) -> None:
        """Start a broker that was killed."""

    def close(self, keep: bool) -> None:
        """Stop all, and remove the data unless they are to be kept."""


class OneBroker:
    """A broker in a process."""

    count = copies = 1

    def __init__(self) -> None:
        self.killed = 0
        self.folder = tempfile.mkdtemp(prefix="kafkatx-copiers-")
        replicas = {
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }
        settings = {**_SETTINGS, **replicas, "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        data = os.path.join(self.folder, "data")
        self._broker = EmbeddedBroker(settings, data_dir=data, run_in="process")

    @property
    def bootstrap(self) -> str:
        """The address."""
        return self._broker.bootstrap

    def start(self) -> None:
        """Start it."""
        self._broker.start()

    def kill(self, number: int) -> None:
        """Kill it."""
        self._broker.kill()
        self.killed += 1

    def revive(self, number: int) -> None:
        """Start it again."""
        self._broker.start()

    def close(self, keep: bool) -> None:
        """Kill it."""
        self._broker.kill()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


class ThreeBrokers:
    """Three brokers in processes, with three copies, of which two are needed."""

    count = copies = 3

    def __init__(self) -> None:
        self.killed = 0
        self.folder = tempfile.mkdtemp(prefix="kafkatx-copiers-")
        replicas = {
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "2",
        }
        data = os.path.join(self.folder, "data")
        self._cluster = EmbeddedCluster(3, {**_SETTINGS, **replicas}, data_dir=data, run_in="process")

    @property
    def bootstrap(self) -> str:
        """The addresses, which stay also while brokers are killed."""
        return self._bootstrap

    def start(self) -> None:
        """Start all."""
        self._cluster.start()
        self._bootstrap = self._cluster.bootstrap

    def kill(self, number: int) -> None:
        """Kill one."""
        self._cluster.brokers[number + 1].kill()
        self.killed += 1

    def revive(self, number: int) -> None:
        """Start it again."""
        self._cluster.start_broker(number + 1)

    def close(self, keep: bool) -> None:
        """Kill all."""
        for broker in self._cluster.brokers.values():
            broker.kill()
        self._cluster.stop()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
