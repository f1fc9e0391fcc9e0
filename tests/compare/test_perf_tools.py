"""The output of Apache Kafka's measuring tools is read."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.experiments.perf_tools import OPTIONS, Told, told_by_consumer, told_by_producer

# as printed by version 4.3.1
PRODUCED = """\
180001 records sent, 35993.0 records/sec (6.87 MB/sec), 2.1 ms avg latency, 320.0 ms max latency.
400000 records sent, 50000.000000 records/sec (9.54 MB/sec), 254.00 ms avg latency, 650.00 ms max latency, \
272 ms 50th, 381 ms 95th, 409 ms 99th, 412 ms 99.9th.
"""
CONSUMED = (
    "2026-11-21 23:42:08:995, 2026-11-21 23:42:13:104, 7.6294, 1.8568, 40000, 9734.7286, 3831, 278, 27.4439,"
    " 143884.8921\n"
)


class PerfToolsTests(SynchronousTestCase):
    def test_producer(self) -> None:
        """The last line is that of the whole run."""
        self.assertEqual(told_by_producer(PRODUCED), Told(400_000, 8.0))

    def test_consumer(self) -> None:
        """Messages, and the time of fetching alone: joining the group took thirteen times as long."""
        self.assertEqual(told_by_consumer(f"WARN something, else\n{CONSUMED}"), Told(40_000, 0.278))

    def test_consumer_that_took_no_time(self) -> None:
        """Less than a millisecond is one."""
        self.assertEqual(told_by_consumer(CONSUMED.replace("278", "0")).seconds, 0.001)

    def test_no_result(self) -> None:
        """Output without a result is shown."""
        for read in (told_by_producer, told_by_consumer):
            error = self.assertRaises(RuntimeError, read, "org.apache.kafka.common.errors.TimeoutException\n")
            self.assertIn("TimeoutException", str(error))

    def test_heap(self) -> None:
        """The tools have the heap that their scripts give them, and not the broker's."""
        self.assertEqual([option for option in OPTIONS if option.startswith("-Xm")], ["-Xmx512M"])
        self.assertIn("-XX:+UseG1GC", OPTIONS)
