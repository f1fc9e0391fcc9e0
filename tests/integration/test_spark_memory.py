"""The memory of a worker does not grow with the size of the partition."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from tests.integration.shared import shared_broker
from tests.integration.spark import ROOT
from tests.measured import check_below

BATCH = 8_000
BATCHES = 120
SIZE = 100
WORKER = """
import resource, sys
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.source.range_reader import read_range

bootstrap, topic, end = sys.argv[1:]
client = ClientSettings(bootstrap, fetch_bytes=1 << 20)
rows = sum(batch.num_rows for batch in read_range(client, OffsetRange(topic, 0, 0, int(end)), False, True))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""Reads a range in a process of its own; prints the rows and the most memory that it has had, in KiB."""


class MemoryTests(SynchronousTestCase):
    def read(self, bootstrap: str, topic: str, rows: int) -> float:
        """Read a partition's first rows; return the reading process's most memory in MiB."""
        command = [sys.executable, "-c", WORKER, bootstrap, topic, str(rows)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        found, kib = map(int, printed.split())
        self.assertEqual(found, rows)
        return kib / 1024

    def test_bounded(self) -> None:
        """Ten times as much of a partition, 100 MB, takes hardly more memory than 10 MB."""
        bootstrap = shared_broker().bootstrap
        with Cluster(bootstrap) as cluster:
            Admin(cluster).create_topic("memory", 1)
            with Writer(cluster, "memory") as writer:
                for _ in range(BATCHES):
                    writer.send_values([b"x" * SIZE] * BATCH)
        small = self.read(bootstrap, "memory", BATCH * BATCHES // 10)
        large = self.read(bootstrap, "memory", BATCH * BATCHES)
        check_below(self, large - small, 20, "growth from 10 MB to 100 MB, MiB")
