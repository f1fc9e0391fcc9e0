"""The collector of the process: real numbers of this process, and nothing where the system has none."""

from __future__ import annotations

import os
import time
from typing import Any
from unittest import mock

from kafkatx.broker.metrics.collectors import process
from tests.broker.metrics.scraped import ScrapeTestCase

TICK_S = 2 / os.sysconf("SC_CLK_TCK")
"""The kernel counts in ticks, each of user and system time by itself."""


class ProcessCollectorTests(ScrapeTestCase):
    def test_numbers(self) -> None:
        """Memory, time, files and the start of the process are true."""
        if not os.path.exists("/proc/self/stat"):
            return
        before_s = sum(os.times()[:2])
        found = self.scrape()
        after_s = sum(os.times()[:2])
        resident = self.value(found, "process_resident_memory_bytes") or 0
        self.assertGreater(resident, 10 << 20)
        self.assertGreater(self.value(found, "process_virtual_memory_bytes") or 0, resident)
        started_s = self.value(found, "process_start_time_seconds") or 0
        self.assertLess(started_s, time.time())
        self.assertGreater(started_s, time.time() - 86_400 * 7)
        used_s = self.value(found, "process_cpu_seconds_total") or 0
        self.assertTrue(before_s - TICK_S <= used_s <= after_s + TICK_S, (before_s, used_s, after_s))
        self.assertGreater(self.value(found, "process_open_fds") or 0, 2)

    def test_another_system(self) -> None:
        """Without /proc there are no such metrics, and the others come."""
        with mock.patch.object(process, "open", side_effect=FileNotFoundError, create=True):
            found = self.scrape()
        self.assertNotIn("process_cpu_seconds_total", found)
        self.assertIn("kafka_brokers", found)

    def test_log_dirs(self) -> None:
        """The room of each log dir is told; an offline one is counted, and not asked."""

        class Dir:
            def __init__(self, path: str, error: OSError | None) -> None:
                self.path, self.error = path, error

        folder = self.mktemp()
        os.makedirs(folder)
        store: Any = self.broker.store
        store.dirs = [Dir(folder, None), Dir("/offline", OSError("failed")), Dir("/no/such", None)]
        found = self.scrape()
        size = os.statvfs(folder)
        self.assertValues(found, {"kafkatx_log_dir_size_bytes": size.f_blocks * size.f_frsize}, dir=folder)
        self.assertEqual(len(found["kafkatx_log_dir_free_bytes"]), 1)
        self.assertValues(found, {"kafka_log_logmanager_offlinelogdirectorycount": 1})
