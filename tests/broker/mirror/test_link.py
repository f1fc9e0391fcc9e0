"""A link to a source: leaders that move, topics that go, and a source that is away."""

from __future__ import annotations

import uuid

from tests.broker.mirror.case import OWN_ID, MirrorCase


class LinkTests(MirrorCase):
    def test_another_topic(self) -> None:
        """A topic that was made anew at the source is not copied; what is here stays, and people are told."""
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.source.add_topic("t", 1, uuid.uuid4())
        self.log.add(b"x", b"y")
        self.pump(5.0)
        self.assertEqual(self.partition.log.log_end_offset, 1)
        self.assertIn("made anew", self.status().reason)

    def test_deleted_topic(self) -> None:
        """A topic that was deleted at the source stays here, and people are told."""
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        del self.source.topics["t"]
        self.pump(5.0)
        self.assertEqual(self.partition.log.log_end_offset, 1)
        self.assertIn("no topic t", self.status().reason)

    def test_source_away(self) -> None:
        """A source that is away is asked again and again, which is told; then the copy goes on."""
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.lose_source(1)
        self.pump(2.0)
        (link,) = self.broker.mirrors.links()
        self.assertIn("source1:9092", link.error)
        self.log.add(b"b")
        self.listen(1)
        self.pump(3.0)
        self.check_equal()
        (link,) = self.broker.mirrors.links()
        self.assertEqual(link.error, "")

    def test_source_away_at_first(self) -> None:
        """A link to a source that is away begins when it is there."""
        self.lose_source(1)
        self.lose_source(2)
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump(2.0)
        (link,) = self.broker.mirrors.links()
        self.assertIn("no broker", link.error)
        self.listen(2)
        self.listen(1)
        self.pump(3.0)
        self.check_equal()

    def test_cut_connections(self) -> None:
        """A connection that breaks anywhere is made again, and nothing is lost or doubled."""
        self.link()
        self.make_mirror()
        for left in (*range(0, 300, 23), *range(300, 3000, 211)):
            for _ in range(3):
                self.log.add(b"x" * 200)
            self.network.breaks[1, OWN_ID] = left
            self.source.wake()
            self.pump(1.0)
        self.network.breaks.clear()
        self.assertGreater(self.network.broken, 10)
        self.pump(3.0)
        self.check_equal()

    def test_leader_moves(self) -> None:
        """The copy follows the leader at the source."""
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.log.elect(2)
        self.log.add(b"b")
        self.source.wake()
        self.pump(2.0)
        self.check_equal()
        self.assertEqual((self.status().source_leader, self.partition.leader_epoch), (2, 1))
