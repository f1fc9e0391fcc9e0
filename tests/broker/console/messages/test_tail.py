"""Live tails of a broker in memory."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.console.messages.tail import LONGEST_S, ROUND_RECORDS
from tests.broker.console.messages.case import MessagesCase


class TailTests(MessagesCase):
    def test_new_records(self) -> None:
        """A tail shows the records of all partitions that come after its beginning, in the order of time."""
        self.write(0, b"before")
        reader = self.tail()
        self.pass_time(1)
        self.write(1, b"a")
        self.write(0, b"b")
        self.pass_time(1)
        self.write(1, b"c")
        self.pass_time(1)
        self.assertEqual(reader.texts, ["a", "b", "c"])
        self.assertGreater(len(reader.of("progress")), 1)
        self.assertEqual(reader.of("progress")[-1]["positions"], {"0": "2", "1": "2"})

    def test_filter(self) -> None:
        """A tail shows what its filter accepts, of the partitions that are chosen."""
        reader = self.tail(filter="value.n > 1", partition="1")
        self.pass_time(1)
        for number in range(4):
            self.write(number % 2, b'{"n":%d}' % number)
        self.pass_time(1)
        self.assertEqual(reader.texts, ['{"n":3}'])

    def test_busy(self) -> None:
        """More records than can be looked at are left out, and counted: nothing piles up."""
        reader = self.tail()
        self.pass_time(1)
        for _ in range(5):
            self.write(0, *[b"x"] * 100)
        self.pass_time(2)
        self.assertEqual(len(reader.texts), ROUND_RECORDS)
        progress = reader.of("progress")[-1]
        self.assertEqual(
            (progress["shown"], progress["skippedOffsets"]), (ROUND_RECORDS, str(500 - ROUND_RECORDS))
        )
        self.write(0, b"y")
        self.pass_time(1)
        self.assertEqual(reader.texts[-1], "y")

    def test_slow_reader(self) -> None:
        """A page that does not read gets what is new when it reads again; what was between is counted."""
        reader = self.tail()
        self.pass_time(1)
        reader.stream.pauseProducing()
        for number in range(300):
            self.write(0, b"%d" % number)
            self.pass_time(0.1)
        self.assertLess(reader.stream.waiting_bytes, 1000)
        reader.stream.resumeProducing()
        self.pass_time(2)
        self.assertEqual(len(reader.texts), ROUND_RECORDS)
        self.assertEqual(reader.of("progress")[-1]["skippedOffsets"], str(300 - ROUND_RECORDS))

    def test_idle(self) -> None:
        """A tail of a topic without new records looks at nothing."""
        self.write(0, b"a")
        self.tail()
        self.pass_time(10)
        views: Any = self.console.parts.views
        self.assertEqual(views.asked, 0)

    def test_deleted(self) -> None:
        """A tail ends with an error when its topic is deleted, also if it is made again."""
        for again in (False, True):
            reader = self.tail()
            self.pass_time(1)
            self.delete_topic()
            if again:
                self.make_topic("t", 2)
            self.pass_time(1)
            (failure,) = reader.of("failure")
            self.assertEqual(failure["code"], "UNKNOWN_TOPIC_OR_PARTITION")
            self.assertIn("was deleted", failure["message"])
            self.assertTrue(reader.stream.ended)
            if not again:
                self.make_topic("t", 2)

    def test_new_partitions(self) -> None:
        """Partitions that a topic gets are followed from their beginnings."""
        reader = self.tail()
        self.pass_time(1)
        growing = self.broker.metadata.add_partitions("t", 2, [[0]])
        self.successResultOf(growing)
        self.write(2, b"first")
        self.pass_time(1)
        self.assertEqual(reader.texts, ["first"])

    def test_client_goes(self) -> None:
        """A tail ends with its client; no timer stays."""
        timers = len(self.clock.getDelayedCalls())
        reader = self.tail()
        self.pass_time(1)
        reader.stream.gone()
        self.assertEqual(len(self.clock.getDelayedCalls()), timers)

    def test_longest(self) -> None:
        """A tail ends after an hour: the page asks for another one, as a user that may still do so."""
        reader = self.tail()
        for _ in range(round(LONGEST_S / 10) + 1):
            self.clock.advance(10)
        self.assertTrue(reader.of("end")[0]["more"])
        self.assertTrue(reader.stream.ended)

    def test_many(self) -> None:
        """Some of 1,000 tails are served, as the setting allows; the others are told so."""
        answers = [self.open("/messages/tail") for _ in range(1000)]
        self.assertEqual([answer.status for answer in answers], [200] * 100 + [503] * 900)
        self.assertIn("kafkatx.console.max.streams", self.value(answers[-1], 503)["error"]["message"])
        self.console.parts.streams.stop()
        self.assertEqual(len(self.console.parts.streams), 0)
