"""Sources that have lost or deleted records: logs are cut, emptied or continued, also with followers."""

from __future__ import annotations

import uuid

from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent, globalLogPublisher
from zope.interface import provider

from kafkatx.config.mirror_record import MirrorState
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.broker.mirror.case import MirrorCase, ReplicatedMirrorCase
from tests.broker.mirror.source import EPOCHS, FETCH, LIST_OFFSETS
from tests.broker.replica.fetcher.case import epochs_of


class TruncationTests(MirrorCase):
    """The source loses records by an unclean election, while it is copied or before."""

    def copy(self) -> None:
        """Mirror records of two leader epochs."""
        self.log.add(b"a", b"b")
        self.log.elect()
        for value in (b"c", b"d", b"e"):
            self.log.add(value)
        self.link()
        self.make_mirror()
        self.pump()
        self.check_equal()

    def test_lost(self) -> None:
        """The lost records are cut off here, too: by epoch, below the high watermark, and with an alarm."""
        self.copy()
        before = self.partition.leader_epoch
        self.log.lose(3)
        self.log.add(b"other", b"records")
        self.source.wake()
        self.pump(2.0)
        self.check_equal()
        self.assertEqual(epochs_of(self.partition.log), [0, 0, 1, 2, 2])
        self.assertEqual(self.partition.high_watermark, 5)
        self.assertGreater(self.partition.leader_epoch, before)
        self.assertIn("cut from offset 5 to 3", self.status().reason)
        (line,) = self.errors
        self.assertIn("was cut from offset 5 to 3", line)

    def setUp(self) -> None:
        """Keep the errors of the log."""
        super().setUp()
        self.errors: list[str] = []

        @provider(ILogObserver)
        def observe(event: LogEvent) -> None:
            if event.get("log_level") is LogLevel.error:
                self.errors.append(formatEvent(event))

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)

    def test_several_epochs(self) -> None:
        """Records of several epochs are cut, until both logs agree."""
        self.copy()
        self.log.elect()
        self.log.add(b"f")
        self.source.wake()
        self.pump(2.0)
        self.assertEqual(epochs_of(self.partition.log), [0, 0, 1, 1, 1, 2])
        self.log.lose(1)
        self.log.add(b"x")
        self.source.wake()
        self.pump(3.0)
        self.check_equal()

    def test_lost_while_away(self) -> None:
        """Records that a source has lost while it was away are noticed, though epochs are equal."""
        self.copy()
        self.lose_source()
        self.pump(0.5)
        batches, self.log.batches = self.log.batches, self.log.batches[:2]
        self.log.end = self.log.high_watermark = 3
        self.listen(1)
        self.pump(3.0)
        self.check_equal()
        self.assertEqual(len(batches), 4)

    def test_readers(self) -> None:
        """The end that consumers are told goes back with the cut."""
        self.copy()
        self.log.lose(3)
        self.source.wake()
        self.pump(2.0)
        asked = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [ListOffsetsPartition(0, timestamp=-1)])])
        response = self.ask(LIST_OFFSETS, 5, asked)
        self.assertEqual(response.topics[0].partitions[0].offset, 3)

    def test_nothing_in_common(self) -> None:
        """Without topic ids a log that has nothing in common may be another topic's: it stays."""
        self.source.topics["t"].topic_id = uuid.UUID(int=0)
        self.copy()
        self.log.lose(0)
        self.log.add(b"x")
        self.source.wake()
        self.pump(3.0)
        self.assertEqual(self.partition.log.log_end_offset, 5)
        self.assertIn("may be another topic", self.status().reason)

    def test_all_lost(self) -> None:
        """With topic ids even a log that has lost everything is followed."""
        self.copy()
        self.log.lose(0)
        self.log.add(b"x")
        self.source.wake()
        self.pump(3.0)
        self.check_equal()

    def test_unknown_epoch(self) -> None:
        """A source that knows no leader epochs cannot tell: the copy goes on."""
        self.copy()

        def unknown(node_id: int, request: object) -> OffsetForLeaderEpochResponse:
            parts = [EpochEndOffset(0, 0, -1, -1)]
            return OffsetForLeaderEpochResponse(0, [OffsetForLeaderTopicResult("t", parts)])

        self.source.answers[EPOCHS] = unknown
        self.lose_source()
        self.listen(1)
        self.log.add(b"f")
        self.pump(2.0)
        self.check_equal()

    def test_error(self) -> None:
        """An error in the answer about epochs is told, and asked about again."""
        self.copy()
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED

        def refused(node_id: int, request: object) -> OffsetForLeaderEpochResponse:
            return OffsetForLeaderEpochResponse(
                0, [OffsetForLeaderTopicResult("t", [EpochEndOffset(code, 0)])]
            )

        self.source.answers[EPOCHS] = refused
        self.lose_source()
        self.listen(1)
        self.log.add(b"f")
        self.pump(2.0)
        self.assertIn("TOPIC_AUTHORIZATION_FAILED", self.status().reason)
        del self.source.answers[EPOCHS]
        self.pump(6.0)
        self.check_equal()


class StartTests(MirrorCase):
    """The log start follows the source's."""

    def copy(self) -> None:
        """Add ten records at the source."""
        for number in range(10):
            self.log.add(b"%d" % number)

    def test_new(self) -> None:
        """A new log begins at the source's start."""
        self.copy()
        self.log.delete_below(4)
        self.link()
        self.make_mirror()
        self.pump()
        self.check_equal()
        self.assertEqual(self.partition.log.log_start_offset, 4)

    def test_many(self) -> None:
        """Many logs begin at their source's starts, some in each turn of the reactor."""
        topic = self.source.add_topic("t", 50, self.source.topics["t"].topic_id)
        for log in topic.logs:
            log.add(b"a")
            log.add(b"b")
            log.delete_below(1)
        self.link()
        partitions = self.make_mirror(50)
        self.pump(1.0)
        for log, partition in zip(topic.logs, partitions, strict=True):
            self.check_equal(log, partition)

    def test_moves(self) -> None:
        """Records that the source deletes are deleted here."""
        self.copy()
        self.link()
        self.make_mirror()
        self.pump()
        self.log.delete_below(4)
        self.log.add(b"x")
        self.source.wake()
        self.pump()
        self.assertEqual(self.partition.log.log_start_offset, 4)
        self.assertEqual(self.status().source_start, 4)

    def test_left_behind(self) -> None:
        """A log that ends below the source's start begins anew there."""
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.lose_source()
        self.pump(0.2)
        self.copy()
        self.log.delete_below(6)
        self.listen(1)
        self.pump(3.0)
        self.check_equal()
        self.assertEqual(self.partition.high_watermark, 11)

    def test_left_behind_in_a_fetch(self) -> None:
        """The same is noticed by the answer to a fetch."""
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.copy()
        self.log.delete_below(6)
        self.source.wake()
        self.pump()
        self.check_equal()

    def test_within_a_batch(self) -> None:
        """A start within a batch is kept: the batch comes whole, and its first records stay hidden."""
        self.log.add(*[b"%d" % number for number in range(10)])
        self.log.start = 5
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual(self.partition.log.log_start_offset, 5)
        self.assertEqual(self.partition.log.log_end_offset, 10)

    def test_retention(self) -> None:
        """Nothing is deleted by the target's own retention before the promotion."""
        self.copy()
        self.link()
        self.make_mirror()
        self.pump()
        log = self.partition.log
        self.assertEqual(log.config.retention_policy, "keep")
        log.retain(1 << 60)
        self.check_equal()


class ReplicatedTests(ReplicatedMirrorCase):
    """The target has followers."""

    def test_committed(self) -> None:
        """The high watermark waits for followers, as for records of producers."""
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual((self.partition.log.log_end_offset, self.partition.high_watermark), (1, 0))
        self.following()
        self.assertEqual(self.partition.high_watermark, 1)

    def test_no_epoch_of_its_own(self) -> None:
        """The log has the source's leader epochs only, however often the target's leader changes."""
        self.log.elect()
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.metadata.replicate("t", leader_epoch=9)
        self.log.add(b"b")
        self.pump(1.0)
        self.check_equal()
        self.assertEqual(epochs_of(self.partition.log), [1, 1])
        self.assertEqual(self.partition.log.latest_epoch, 1)

    def test_cut(self) -> None:
        """With a cut the high watermark goes back, and nothing counts that followers have told before."""
        self.log.add(b"a")
        self.log.elect()
        self.log.add(b"b")
        self.log.add(b"c")
        self.link()
        self.make_mirror()
        self.pump()
        self.following()
        self.assertEqual(self.partition.high_watermark, 3)
        self.log.lose(1)
        self.source.wake()
        self.pump(2.0)
        self.assertEqual((self.partition.log.log_end_offset, self.partition.high_watermark), (1, 1))
        leadership = self.partition.leadership
        assert leadership is not None
        self.assertEqual([one.end_offset for one in leadership.followers.values()], [-1, -1])
        self.log.add(b"x")
        self.log.add(b"y")
        self.source.wake()
        self.pump(1.0)
        self.assertEqual((self.partition.log.log_end_offset, self.partition.high_watermark), (3, 1))
        self.following()
        self.assertEqual(self.partition.high_watermark, 3)
        self.check_equal()

    def test_epoch_refused(self) -> None:
        """While the cluster does not raise the epoch, nothing is appended, and people are told."""
        self.log.elect()
        self.log.add(b"a")
        self.link()
        brokers = dict(self.metadata.state.brokers)
        self.make_mirror()
        self.metadata.change(brokers={one: node for one, node in brokers.items() if one != 3})
        self.pump(10.0)
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.assertIn("INELIGIBLE_REPLICA", self.status().reason)
        self.metadata.replicate("t", isr=(1, 2))
        self.pump(6.0)
        self.check_equal()

    def test_without_lease(self) -> None:
        """Without the lease nothing is written."""
        self.link()
        self.make_mirror()
        self.pump()
        self.log.add(b"a")
        self.metadata.remaining_s = -1.0
        self.source.wake()
        self.pump(1.0)
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.metadata.remaining_s = 10.0
        self.pump(3.0)
        self.check_equal()

    def test_leadership_ends(self) -> None:
        """A broker that leads no more asks for nothing more, and says nothing."""
        self.link()
        self.make_mirror()
        self.pump()
        self.metadata.replicate("t", leader=2)
        self.pump(0.5)
        before = len(self.source.requests(FETCH))
        self.log.add(b"a")
        self.pump(1.0)
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.assertEqual(len(self.source.requests(FETCH)), before)
        self.assertEqual(self.broker.mirrors.status(), [])

    def test_promotion(self) -> None:
        """With the promotion the leader's own epoch begins in the log, above all that the source has."""
        self.log.elect()
        self.log.add(b"a")
        self.link()
        self.make_mirror()
        self.pump()
        self.change_record(state=MirrorState.PROMOTING, attempt=1)
        self.pump(0.1)
        self.assertEqual((self.status().stopped, self.partition.leader_epoch), (True, 2))
        self.assertEqual(self.partition.log.latest_epoch, 1)
        self.change_record(state=MirrorState.PROMOTED)
        self.assertEqual(self.partition.log.end_offset_for_epoch(1), (1, 1))
        self.assertEqual(self.partition.log.latest_epoch, 2)
