"""A broker in a process: its end, by signals and by itself."""

from __future__ import annotations

import os
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import BrokerDidNotStart, EmbeddedBroker
from tests.integration.raw import RawClient
from tests.testing.test_embedded import create_topic, topics


class BrokerProcessTests(SynchronousTestCase):
    def test_pid(self) -> None:
        """The process runs while the broker does."""
        with EmbeddedBroker(run_in="process") as broker:
            pid = broker.pid or 0
            os.kill(pid, 0)
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def test_kill(self) -> None:
        """After a kill the same broker starts again, with what it had."""
        broker = EmbeddedBroker(run_in="process")
        broker.start()
        create_topic(broker)
        broker.kill()
        self.assertRaises(ConnectionRefusedError, RawClient, broker.bootstrap)
        broker.start()
        self.assertEqual(topics(broker), ["t"])
        self.assertIn("no clean shutdown", broker.output())

    def test_no_reason(self) -> None:
        """A broker that ends without giving a reason fails with its status and the last lines of its log."""
        program = os.path.abspath(self.mktemp())
        with open(program, "w") as file:
            file.write("#!/bin/sh\nseq 20\nexit 3\n")
        os.chmod(program, 0o755)
        self.patch(sys, "executable", program)
        error = self.assertRaises(BrokerDidNotStart, EmbeddedBroker(run_in="process").start)
        lines = "\n".join(map(str, range(11, 21)))
        self.assertEqual(str(error), f"the broker ended with status 3; the last lines of its log:\n{lines}\n")

    def test_stop_is_clean(self) -> None:
        """Stopping leaves the marker of a clean shutdown, and the last words say so."""
        data_dir = os.path.abspath(self.mktemp())
        broker = EmbeddedBroker(data_dir=data_dir, run_in="process").start()
        broker.stop()
        self.assertIn(".kafka_cleanshutdown", os.listdir(data_dir))
        self.assertIn("every log is flushed", broker.output())
