"""The comparison of replicas' files finds what differs on the disk."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.testing.contracts.partition_log import NOW_MS, StoreCase, batch
from kafkatx.types import TopicPartition
from tests.cluster.checker.checker import Histories, check
from tests.cluster.checker.findings import Findings, Kind
from tests.cluster.checker.history import value_of
from tests.cluster.replica_files import compare
from tests.log.fakes import file_store

TOPIC = TopicPartition("t", 0)


class CompareTests(StoreCase, SynchronousTestCase):
    def setUp(self) -> None:
        """Make two replicas with two records each, as their producer and a reader saw them."""
        super().setUp()
        self.folders = {number: Path(self.mktemp()).absolute() for number in (1, 2)}
        lines = ["producer p t all 1 1\n", "s 1 0 0\n", "s 2 1 0\n", "a 3 0 0 0\n", "a 4 1 0 1\n"]
        self.findings = Findings()
        histories = Histories([lines], [["reader f t -\n", "r 5 0 0 p:0 p:1\n"]])
        _, self.contents = check(histories, self.findings)

    def make_store(self) -> Any:
        """Return a store in the folder of broker 1."""
        return file_store(self.clock, str(self.folders[1]))

    def write(self, broker_id: int, *values: bytes) -> None:
        """Write a replica."""
        store = file_store(self.clock, str(self.folders[broker_id]))
        self.result(store.open(lambda topic: LogConfig()))
        log = self.result(store.create(TOPIC, uuid.UUID(int=1), LogConfig()))
        for value in values:
            self.put(log, batch([value], [NOW_MS]), leader_epoch=0)
        self.result(store.close())

    def found(self) -> list[str]:
        """Compare the replicas; return the findings."""
        compare(self.folders, "t", {0: 2}, self.contents, self.findings)
        return [finding.kind.name for finding in self.findings.kept]

    def test_same(self) -> None:
        """Equal files are no fault."""
        for broker_id in self.folders:
            self.write(broker_id, value_of("p", 0), value_of("p", 1))
        self.assertEqual(self.found(), [])

    def test_another_record(self) -> None:
        """A file with another record is found, against the other file and against the readers."""
        self.write(1, value_of("p", 1), value_of("p", 1))
        self.write(2, value_of("p", 0), value_of("p", 1))
        self.assertEqual(self.found(), [Kind.REPLICAS_DIFFER.name, Kind.INCONSISTENT.name])

    def test_damaged(self) -> None:
        """A byte that has changed is found."""
        for broker_id in self.folders:
            self.write(broker_id, value_of("p", 0), value_of("p", 1))
        (path,) = (self.folders[2] / "t-0").glob("*.log")
        data = bytearray(path.read_bytes())
        data[-3] ^= 1
        path.write_bytes(data)
        self.assertIn(Kind.REPLICAS_DIFFER.name, self.found())
