"""DescribeLogDirs: the log dirs and their partitions."""

from __future__ import annotations

import os
import shutil
from typing import Any

from kafkatx.interfaces import Worker
from kafkatx.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import BrokerTestCase, at_once


class DescribeLogDirsTests(FileBrokerTestCase):
    """Online log dirs; offline ones are tested in ``tests/broker/replica/test_offline_log.py``."""

    def setUp(self) -> None:
        """Make two topics, with one record in the first one's second partition."""
        super().setUp()
        self.make_topic("a", 2)
        self.make_topic("b", 1)
        self.fill(b"value", topic="a", partition=1)

    def ask_for(self, topics: Any, version: int) -> dict[str, list[tuple[str, int, int, int]]]:
        """Return topic, partition, size and lag of the replicas in each dir."""
        response = self.ask(35, version, DescribeLogDirsRequest(topics))
        self.assertEqual([result.error_code for result in response.results], [0, 0])
        return {
            result.log_dir: [
                (topic.name, part.partition_index, part.partition_size, part.offset_lag)
                for topic in result.topics
                for part in topic.partitions
            ]
            for result in response.results
        }

    def test_all(self) -> None:
        """A null list requests everything; sizes are in bytes."""
        size = self.broker.topics.of("a")[1].log.size_bytes
        self.assertGreater(size, 5)
        for version in range(5):
            found = self.ask_for(None, version)
            self.assertEqual(
                found, {self.dirs[0]: [("a", 0, 0, 0), ("b", 0, 0, 0)], self.dirs[1]: [("a", 1, size, 0)]}
            )

    def test_some(self) -> None:
        """A list requests some partitions; missing ones are not in the answer."""
        for version in range(5):
            asked = [DescribableLogDirTopic("a", [0, 7]), DescribableLogDirTopic("u", [0])]
            self.assertEqual(self.ask_for(asked, version), {self.dirs[0]: [("a", 0, 0, 0)], self.dirs[1]: []})
            self.assertEqual(self.ask_for([], version), {self.dirs[0]: [], self.dirs[1]: []})

    def test_volumes(self) -> None:
        """Version 4 has the total and usable size of each dir's volume, read in a worker."""
        asked: list[str] = []

        def workers(name: str) -> Worker:
            asked.append(name)
            return at_once(name)

        self.patch(self.broker, "workers", workers)
        for version in range(4):
            for result in self.ask(35, version, DescribeLogDirsRequest(None)).results:
                self.assertEqual((result.total_bytes, result.usable_bytes), (-1, -1))
        self.assertEqual(asked, [])
        for result in self.ask(35, 4, DescribeLogDirsRequest(None)).results:
            self.assertEqual(result.total_bytes, shutil.disk_usage(result.log_dir).total)
            self.assertGreaterEqual(result.total_bytes, result.usable_bytes)
            self.assertGreaterEqual(result.usable_bytes, 0)
        self.assertEqual(len(asked), 1)

    def test_volume_that_cannot_be_asked(self) -> None:
        """A missing dir shows -1; the others show their volumes."""
        os.rename(self.dirs[0], self.dirs[0] + "-away")
        self.addCleanup(os.rename, self.dirs[0] + "-away", self.dirs[0])
        first, second = self.ask(35, 4, DescribeLogDirsRequest(None)).results
        self.assertEqual((first.total_bytes, first.usable_bytes), (-1, -1))
        self.assertGreater(second.total_bytes, 0)


class MemoryTests(BrokerTestCase):
    def test_none(self) -> None:
        """A store without dirs has none to describe."""
        self.make_topic()
        for version in range(5):
            self.assertEqual(self.ask(35, version, DescribeLogDirsRequest(None)).results, [])
