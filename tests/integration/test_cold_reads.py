"""A running broker whose page cache was emptied: all is read, and never by the reactor thread."""

from __future__ import annotations

import glob
import os
import threading
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader, Writer
from kafkatx.log.files import Files
from kafkatx.testing import EmbeddedBroker
from kafkatx.types import NOWAIT, SharedFile

RECORDS = 3000
START_MS = 1_700_000_000_000
CONFIGS = {"segment.bytes": str(1 << 20), "message.timestamp.difference.max.ms": str(10**15)}


def value(number: int) -> bytes:
    """A record's value."""
    return b"%06d" % number + b"x" * 2000


class ColdReadsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Fill a topic of some segments, stop the broker, empty the page cache, and start it again."""
        if not NOWAIT:
            self.fail("this platform cannot tell what is in the page cache: no RWF_NOWAIT")
        data_dir = self.mktemp()
        with EmbeddedBroker(data_dir=data_dir) as broker, Cluster(broker.bootstrap) as cluster:
            Admin(cluster).create_topic("t", 1, configs=CONFIGS)
            with Writer(cluster, "t", batch_bytes=20_000) as writer:
                for number in range(RECORDS):
                    writer.send(value(number), timestamp_ms=START_MS + number)
        self.paths = glob.glob(os.path.join(data_dir, "t-0", "*"))
        self.assertGreater(len([path for path in self.paths if path.endswith(".log")]), 4)
        self.broker = EmbeddedBroker(data_dir=data_dir)
        self.broker.start()
        self.addCleanup(self.broker.stop)
        self.drop()
        self.waited: list[str] = []
        real_pread, real_sendfile = Files.pread, os.sendfile

        def pread(files: Files, file: SharedFile, size: int, position: int) -> bytes:
            self.note(file.fileno(), position, 1)
            return real_pread(files, file, size, position)

        def sendfile(out: int, fd: int, position: int, size: int) -> int:
            self.note(fd, position, size)
            return real_sendfile(out, fd, position, size)

        self.patch(Files, "pread", pread)
        self.patch(os, "sendfile", sendfile)

    def drop(self) -> None:
        """Empty the page cache of the topic's files."""
        for path in self.paths:
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    def note(self, fd: int, position: int, size: int) -> None:
        """Note what the reactor thread would have to wait for."""
        if threading.current_thread().name != "kafkatx broker":
            return
        size = min(size, max(os.fstat(fd).st_size - position, 0))
        for at in range(position, position + size, 64 * 1024):
            try:
                os.preadv(fd, [bytearray(1)], at, NOWAIT)
            except BlockingIOError:
                self.waited.append(f"{os.readlink(f'/proc/self/fd/{fd}')} at {at}")
            except OSError:
                return  # a file system that cannot tell

    def read(self, cluster: Cluster, start: int, end: int, **options: Any) -> list[bytes | None]:
        """The values from one offset to another."""
        with Reader(cluster, "t", 0, start_offset=start, end_offset=end, **options) as reader:
            return [record.value for record in reader]

    def test_replay(self) -> None:
        """From the first record on, and from within, all comes, and the reactor thread never waits."""
        with Cluster(self.broker.bootstrap) as cluster:
            self.assertEqual(self.read(cluster, 0, RECORDS), [value(number) for number in range(RECORDS)])
            for start in (RECORDS - 10, RECORDS // 2, 7):
                self.drop()
                found = self.read(cluster, start, start + 10)
                self.assertEqual(found, [value(number) for number in range(start, start + 10)])
        self.assertEqual(self.waited, [])

    def test_times(self) -> None:
        """Offsets are found by their time, and the reactor thread never waits."""
        with Cluster(self.broker.bootstrap) as cluster:
            for number in (0, 5, RECORDS // 2, RECORDS - 1):
                self.drop()
                found = cluster.offsets("t", {0: START_MS + number})
                self.assertEqual(found, {0: (number, START_MS + number)})
        self.assertEqual(self.waited, [])

    def test_produce_goes_on(self) -> None:
        """Records appended after the start can be read at once, and the old records after them."""
        with Cluster(self.broker.bootstrap) as cluster:
            with Writer(cluster, "t") as writer:
                writer.send(b"new", timestamp_ms=START_MS + RECORDS)
            self.assertEqual(self.read(cluster, RECORDS, RECORDS + 1), [b"new"])
            self.assertEqual(self.read(cluster, 0, 3), [value(number) for number in range(3)])
        self.assertEqual(self.waited, [])
