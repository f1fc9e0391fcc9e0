"""A broker in a thread: it leaves neither threads nor files behind."""

from __future__ import annotations

import gc
import os
import threading

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.testing.test_embedded import create_topic


class BrokerThreadTests(SynchronousTestCase):
    def test_leaves_no_thread(self) -> None:
        """A stopped broker leaves no thread behind."""
        before = threading.active_count()
        for _ in range(3):
            with EmbeddedBroker() as broker:
                create_topic(broker)
        self.assertEqual(threading.active_count(), before)

    def test_leaves_few_files(self) -> None:
        """Brokers that come and go do not use up the files of the process."""
        counts = []
        for _ in range(6):
            with EmbeddedBroker() as broker:
                create_topic(broker)
            gc.collect()
            counts.append(len(os.listdir("/proc/self/fd")))
        self.assertLessEqual(counts[-1], counts[1])

    def test_kill(self) -> None:
        """A broker in a thread cannot be killed, and says so."""
        with EmbeddedBroker() as broker:
            self.assertRaisesRegex(RuntimeError, "process", broker.kill)
