"""Fetches from a source: what is asked for, in which version, and how much of it."""

from __future__ import annotations

import uuid

from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.control import build_marker
from kafkatx.types import Marker
from kafkatx.wire.messages.fetch import FetchRequest
from tests.broker.mirror.case import MirrorCase
from tests.broker.mirror.source import EPOCHS, FETCH


class SourceFetcherTests(MirrorCase):
    def test_copied(self) -> None:
        """Batches come with their bytes: offsets, leader epochs and all; later ones within a moment."""
        self.log.add(b"a", b"b")
        self.log.elect()
        self.log.skip(5)
        self.log.add(b"c")
        self.link()
        self.make_mirror()
        self.pump()
        self.check_equal()
        self.log.add(b"d")
        self.source.wake()
        self.pump(0.1)
        self.check_equal()
        self.assertEqual(self.partition.high_watermark, self.log.end)

    def test_uncommitted(self) -> None:
        """Records that the source has not committed are not copied."""
        self.log.add(b"a")
        self.log.add(b"b", commit=False)
        self.link()
        self.make_mirror()
        self.pump()
        self.check_equal()
        self.assertEqual(self.partition.log.log_end_offset, 1)
        (request,) = {one.replica_id for one in self.source.requests(FETCH)}
        self.assertEqual(request, -1)

    def test_many_partitions(self) -> None:
        """Partitions of many leaders are copied, in a session with each of them."""
        topic = self.source.topics["t"]
        self.source.add_topic("t", 30, topic.topic_id)
        for number, log in enumerate(self.source.topics["t"].logs):
            log.leader = self.source.node_ids[number % 2]
            log.add(b"%d" % number)
        self.link()
        partitions = self.make_mirror(30)
        self.pump(1.0)
        for log, partition in zip(self.source.topics["t"].logs, partitions, strict=True):
            self.check_equal(log, partition)

    def test_control_batches(self) -> None:
        """Batches of transactions, and those that end them, come as they are."""
        self.log.add_batch(
            build_values([b"t"], 1, Codec.NONE, 9, 0, 0, transactional=True),
        )
        self.log.add_batch(build_marker(9, 0, Marker(committed=True, coordinator_epoch=0), 1))
        self.log.add(b"v")
        self.link()
        self.make_mirror()
        self.pump()
        self.check_equal()

    def test_old_source(self) -> None:
        """A source without topic ids, sessions or leader epochs is copied, by names."""
        self.source.versions |= {FETCH: 5, 3: 5}
        del self.source.versions[EPOCHS]
        self.source.topics["t"].topic_id = uuid.UUID(int=0)
        self.log.add(b"a")
        self.log.elect()
        self.log.add(b"b")
        self.link()
        self.make_mirror()
        self.pump(2.0)
        self.check_equal()
        self.assertEqual(self.partition.leader_epoch, 1)

    def test_too_old_a_source(self) -> None:
        """A source that would convert records is not copied, and the link says so."""
        self.source.versions[FETCH] = 3
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 0)
        (link,) = self.broker.mirrors.links()
        self.assertIn("Fetch", link.error)

    def test_rate(self) -> None:
        """A link fetches as many bytes a second as its rate says, and no more."""
        batch = len(self.log.add(b"x" * 1000))
        for _ in range(299):
            self.log.add(b"x" * 1000)
        self.link(rate_bytes=str(100 * batch))
        self.make_mirror()
        self.pump(2.0)
        self.assertGreater(self.partition.log.log_end_offset, 100)
        self.assertLess(self.partition.log.log_end_offset, 280)
        self.pump(3.0)
        self.check_equal()

    def test_fetches_wait(self) -> None:
        """A source without news is asked a few times a second, not in a loop."""
        self.link()
        self.make_mirror()
        self.pump()
        before = len(self.source.asked)
        self.pump(3.0)
        self.assertLess(len(self.source.asked) - before, 20)
        self.assertIsInstance(self.source.asked[-1][2], FetchRequest)
