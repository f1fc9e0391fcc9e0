"""A broker that mirrors topics of another cluster, from the outside: what its logs get, and what it says."""

from __future__ import annotations

import sys
import uuid

from zope.interface.verify import verifyObject

from kafkatx.broker.mirror.status import IMirrorStatus
from kafkatx.config.mirror_record import MirrorState
from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.fetch import FetchRequest
from tests.broker.mirror.case import MirrorCase
from tests.broker.mirror.source import EPOCHS, FETCH
from tests.broker.running import BrokerTestCase


class MirrorsTests(MirrorCase):
    def test_interface(self) -> None:
        """The mirrors of a broker tell their status."""
        self.assertTrue(verifyObject(IMirrorStatus, self.broker.mirrors))

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
        """What the source has not committed is not copied."""
        self.log.add(b"a")
        self.log.add(b"b", commit=False)
        self.link()
        self.make_mirror()
        self.pump()
        self.check_equal()
        self.assertEqual(self.partition.log.log_end_offset, 1)
        (request,) = {one.replica_id for one in self.source.requests(FETCH)}
        self.assertEqual(request, -1)

    def test_status(self) -> None:
        """The status tells offsets, epochs, lag and bytes of the source and of the log."""
        self.log.elect()
        self.log.add(b"a", b"b")
        self.link()
        self.make_mirror()
        self.pump()
        found = self.status()
        self.assertEqual(
            (found.link, found.topic, found.partition, found.state, found.reason, found.stopped),
            ("dc1", "t", 0, "mirroring", "", False),
        )
        self.assertEqual((found.source_leader, found.source_epoch, found.leader_epoch), (1, 1, 1))
        self.assertEqual((found.source_start, found.source_end, found.log_end), (0, 2, 2))
        self.assertEqual((found.lag_ms, found.bytes_copied), (0, len(self.log.committed)))
        (link,) = self.broker.mirrors.links()
        self.assertEqual((link.name, link.source, link.error), ("dc1", self.source.bootstrap, ""))

    def test_producer_ids(self) -> None:
        """The greatest producer id of the log is told."""
        self.link()
        self.make_mirror()
        for producer_id in (7, 4711, 12):
            self.log.add_batch(
                build_values([b"v"], 1, producer_id=producer_id, producer_epoch=0, base_sequence=0)
            )
        self.pump()
        self.assertEqual(self.status().max_producer_id, 4711)

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

    def test_states(self) -> None:
        """Records come in the state mirroring alone, whatever the link's settings say."""
        self.link()
        self.make_mirror()
        self.pump()
        for state in (MirrorState.PAUSED, MirrorState.FAILED, MirrorState.PROMOTING, MirrorState.PAUSED):
            self.change_record(state=state)
            self.log.add(b"a")
            self.source.wake()
            end = self.partition.log.log_end_offset
            self.pump()
            self.assertEqual(self.partition.log.log_end_offset, end, state)
            self.assertTrue(self.status().stopped)
            self.change_record(state=MirrorState.MIRRORING)
            self.pump()
            self.check_equal()

    def test_promotion(self) -> None:
        """While a topic is promoted, its leader raises its epoch above all that came; then it is writable."""
        self.link()
        self.make_mirror()
        self.log.elect()
        self.log.add(b"a")
        self.pump()
        self.assertEqual(self.produce(build_values([b"x"], 1)).error_code, ErrorCode.POLICY_VIOLATION)
        self.change_record(state=MirrorState.PROMOTING, attempt=3)
        self.pump(0.1)
        found = self.status()
        self.assertEqual((found.stopped, found.attempt, found.leader_epoch), (True, 3, 2))
        self.assertEqual(self.produce(build_values([b"x"], 1)).error_code, ErrorCode.POLICY_VIOLATION)
        self.change_record(state=MirrorState.PROMOTED, ends=(1,))
        self.assertEqual(self.produce(build_values([b"x"], 1)).base_offset, 1)
        self.assertEqual([self.partition.log.epoch_at(offset) for offset in (0, 1)], [1, 2])
        self.log.add(b"b")
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 2)

    def test_link_goes(self) -> None:
        """A link that is taken out of the settings copies no more, and the topic says why."""
        self.link()
        self.make_mirror()
        self.pump()
        self.successResultOf(self.broker.metadata.alter_broker_configs("", lambda old: {}))
        self.log.add(b"a")
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.assertIn("no link dc1", self.status().reason)
        self.assertEqual(self.broker.mirrors.links(), [])
        self.link()
        self.pump()
        self.check_equal()

    def test_another_source(self) -> None:
        """With other bootstrap servers a link goes to these."""
        self.log.add(b"a")
        self.alter(bootstrap_servers="nowhere:9092")
        self.make_mirror()
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.link()
        self.pump()
        self.check_equal()

    def test_damaged(self) -> None:
        """Damaged records are not appended, the reason is told, and good ones end it."""
        good = self.log.add(b"a" * 100)
        batch = self.log.batches[0]
        self.log.batches[0] = (*batch[:3], good[:90] + b"?" + good[91:])
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.assertIn("checksum", self.status().reason)
        self.log.batches[0] = batch
        self.pump(6.0)
        self.check_equal()
        self.assertEqual(self.status().reason, "")

    def test_flipped_epoch(self) -> None:
        """A leader epoch above the source's, which no checksum covers, raises no epoch here."""
        good = self.log.add(b"a")
        self.log.batches[0] = (0, 0, 0, good[:12] + b"\x7f" + good[13:])
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual((self.partition.leader_epoch, self.partition.log.log_end_offset), (0, 0))

    def test_fetches_wait(self) -> None:
        """A source without news is asked a few times a second, not in a loop."""
        self.link()
        self.make_mirror()
        self.pump()
        before = len(self.source.asked)
        self.pump(3.0)
        self.assertLess(len(self.source.asked) - before, 20)
        self.assertIsInstance(self.source.asked[-1][2], FetchRequest)


class NoMirrorsTests(BrokerTestCase):
    def test_nothing(self) -> None:
        """A broker without links has no manager, and says nothing."""
        before = {name for name in sys.modules if "mirror.manager" in name}
        self.broker.mirrors.start()
        self.make_topic("plain")
        self.assertEqual((self.broker.mirrors.status(), self.broker.mirrors.links()), ((), ()))
        self.assertEqual({name for name in sys.modules if "mirror.manager" in name}, before)
        self.successResultOf(self.broker.mirrors.stop())
