"""Tests of kafkatx.log.segment.descriptors: the number of segments with open files."""

from __future__ import annotations

import gc
import os
import resource
import uuid

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.segment.descriptors import FEWEST, Descriptors, affordable_segments
from kafkatx.testing.contracts.partition_log import NOW_MS, batch, bytes_of
from kafkatx.types import TopicPartition
from tests.log.fakes import file_store


class Holder:
    """One that holds files open."""

    def __init__(self) -> None:
        self.released = 0

    def release(self) -> None:
        """Count."""
        self.released += 1


class DescriptorsTests(SynchronousTestCase):
    """Descriptors."""

    def test_limit(self) -> None:
        """One more than the limit makes the first let go, and only that one."""
        descriptors = Descriptors(3)
        holders = [Holder() for _ in range(5)]
        for holder in holders:
            descriptors.opened(holder)
        self.assertEqual([holder.released for holder in holders], [1, 1, 0, 0, 0])
        self.assertEqual(len(descriptors), 3)

    def test_released(self) -> None:
        """One that let go by itself makes room."""
        descriptors = Descriptors(2)
        holders = [Holder() for _ in range(3)]
        descriptors.opened(holders[0])
        descriptors.opened(holders[1])
        descriptors.released(holders[0])
        descriptors.released(holders[0])
        descriptors.opened(holders[2])
        self.assertEqual([holder.released for holder in holders], [0, 0, 0])

    def test_opened_twice(self) -> None:
        """One that opens a second file is still one."""
        descriptors = Descriptors(2)
        holder = Holder()
        for _ in range(5):
            descriptors.opened(holder)
        self.assertEqual((len(descriptors), holder.released), (1, 0))

    def test_gone(self) -> None:
        """A segment without references is not kept alive for its files."""
        descriptors = Descriptors(2)
        descriptors.opened(Holder())
        gc.collect()
        self.assertEqual(len(descriptors), 0)

    def test_affordable(self) -> None:
        """Half of what the process may open goes to segments of three files; some are always affordable."""
        for soft, segments in ((1024, 170), (10, FEWEST), (resource.RLIM_INFINITY, (1 << 20) // 6)):
            self.patch(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
            self.assertEqual(affordable_segments(), segments)


class StoreTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Twenty logs, of which three may have files open."""
        clock = Clock()
        clock.advance(NOW_MS / 1000)
        self.directory = self.mktemp()
        self.store = file_store(clock, self.directory)
        self.store._descriptors.limit = 3
        self.successResultOf(self.store.open(lambda topic: LogConfig()))
        config = LogConfig(index_interval_bytes=100)
        self.logs = [
            self.successResultOf(self.store.create(TopicPartition("t", number), uuid.uuid4(), config))
            for number in range(20)
        ]

    def open_files(self) -> list[str]:
        """The paths of the open files of partitions."""
        links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        paths = [os.readlink(link) for link in links if os.path.islink(link)]
        return [path for path in paths if f"{os.path.abspath(self.directory)}/t-" in path]

    def write(self, timestamp_ms: int = NOW_MS) -> None:
        """Append to each log."""
        for log in self.logs:
            log.append(batch([b"x" * 200], [timestamp_ms]), 0, NOW_MS, True)
            log.write()

    def test_bound(self) -> None:
        """However many logs are written to and read, few files are open; and all is written."""
        for _ in range(5):
            self.write()
        self.assertIn(len(self.open_files()), range(3, 10))
        replies = [log.read(0, 1 << 20, 5, True) for log in self.logs]
        # a reply that is under way keeps its file
        self.assertEqual({len(bytes_of(reply)) for reply in replies}, {5 * len(batch([b"x" * 200]))})
        del replies
        self.assertLessEqual(len(self.open_files()), 9)

    def test_close(self) -> None:
        """The end of a store opens few files at a time, too, and brings everything to the disk."""
        for number in range(3):
            self.write(NOW_MS + number)
        seen = []
        self.patch(self.store._files, "sync", lambda file: seen.append(len(self.open_files())))
        self.successResultOf(self.store.close())
        self.assertGreater(len(seen), 20)
        self.assertLess(max(seen), 15)
