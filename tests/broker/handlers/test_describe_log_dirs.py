"""DescribeLogDirs: the dirs, and what lies in them."""

from __future__ import annotations

from typing import Any

from kafkatx.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import BrokerTestCase


class DescribeLogDirsTests(FileBrokerTestCase):
    """Those that are offline: ``tests/broker/test_offline.py``."""

    def setUp(self) -> None:
        """Two topics, one record in the first one's second partition."""
        super().setUp()
        self.make_topic("a", 2)
        self.make_topic("b", 1)
        self.fill(b"value", topic="a", partition=1)

    def ask_for(self, topics: Any, version: int) -> dict[str, list[tuple[str, int, int, int]]]:
        """Topic, partition, size and lag of what is in each dir."""
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
        """null asks for everything; sizes are in bytes."""
        size = self.broker.topics.partitions["a"][1].log.size_bytes
        self.assertGreater(size, 5)
        for version in range(3):
            found = self.ask_for(None, version)
            self.assertEqual(
                found, {self.dirs[0]: [("a", 0, 0, 0), ("b", 0, 0, 0)], self.dirs[1]: [("a", 1, size, 0)]}
            )

    def test_some(self) -> None:
        """A list asks for some partitions; those that are not there are not answered."""
        for version in range(3):
            asked = [DescribableLogDirTopic("a", [0, 7]), DescribableLogDirTopic("u", [0])]
            self.assertEqual(self.ask_for(asked, version), {self.dirs[0]: [("a", 0, 0, 0)], self.dirs[1]: []})
            self.assertEqual(self.ask_for([], version), {self.dirs[0]: [], self.dirs[1]: []})


class MemoryTests(BrokerTestCase):
    def test_none(self) -> None:
        """A store that keeps nothing in dirs has none to tell of."""
        self.make_topic()
        self.assertEqual(self.ask(35, 2, DescribeLogDirsRequest(None)).results, [])
