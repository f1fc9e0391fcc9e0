"""Tests of kafkatx.broker.audit.auditor: one broker, with a channel that keeps what it is given."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import capturedLogs

from kafkatx.broker.audit import auditor
from kafkatx.broker.audit.auditor import COMMIT_AGAIN_S, BrokerAuditor, Position, Positions
from kafkatx.clientcore.audit.ranges import MAX_WINDOWS, RangeAnnouncement
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import BatchBuilder
from kafkatx.types import TopicPartition
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS, BrokerTestCase, Held

if TYPE_CHECKING:
    _Case = BrokerTestCase
else:
    _Case = object  # a mixin

AWAY = RequestError(ErrorCode.LEADER_NOT_AVAILABLE, "away")
WINDOW_MS = 1000


class FakeChannel:
    """A channel without brokers.

    :ivar events: what was announced.
    :ivar positions: what was committed.
    :ivar away: the names of the methods that fail.
    """

    def __init__(self) -> None:
        self.events: list[RangeAnnouncement] = []
        self.positions: dict[TopicPartition, Position] = {}
        self.away: set[str] = set()
        self.commits = 0
        self.closed = False

    def announce(self, events: Sequence[RangeAnnouncement]) -> Deferred[None]:
        """Keep announcements."""
        if "announce" in self.away:
            return fail(AWAY)
        self.events += events
        return succeed(None)

    def load(self, partitions: Sequence[TopicPartition]) -> Deferred[Positions]:
        """Return positions."""
        if "load" in self.away:
            return fail(AWAY)
        return succeed({name: self.positions[name] for name in partitions if name in self.positions})

    def commit(self, positions: Positions) -> Deferred[None]:
        """Keep positions."""
        if "commit" in self.away:
            return fail(AWAY)
        self.positions.update(positions)
        self.commits += 1
        return succeed(None)

    def close(self) -> Deferred[None]:
        """Note it."""
        self.closed = True
        return succeed(None)


class AuditorMixin(_Case):
    """A test case of a broker, and its auditor, which is not started."""

    channel: FakeChannel
    auditor: BrokerAuditor

    settings: ClassVar[dict[str, str]] = {
        "kafkatx.audit.interval.ms": str(WINDOW_MS),
        "kafkatx.audit.place": "dc1",
    }

    def make_auditor(self) -> BrokerAuditor:
        """Return an auditor that knows nothing yet, as after a restart."""
        broker = self.broker
        made = BrokerAuditor(
            broker.config,
            broker.metadata,
            broker.topics,
            self.channel,
            self.clock,
            broker.workers("audit"),
            lambda: self.now_ms,
            broker.limited_log,
        )
        broker.topics.role_listeners.append(made._role_changed)
        return made

    def round(self) -> list[tuple[int, int, dict[int, int]]]:
        """Run a round; return the ranges that it announces."""
        known = len(self.channel.events)
        self.successResultOf(Deferred.fromCoroutine(self.auditor.round()))
        return [(event.start, event.end, dict(event.windows)) for event in self.channel.events[known:]]


class AuditorCase(AuditorMixin, BrokerTestCase):
    """A broker that leads topic ``t``."""

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        self.channel = FakeChannel()
        (self.partition,) = self.make_topic()
        self.auditor = self.make_auditor()


class CountTests(AuditorCase):
    """The records that are counted and announced."""

    def test_announcement(self) -> None:
        """A round announces the new records of a partition as one range, by window."""
        self.fill(b"a", b"b", timestamp_ms=5000)
        self.fill(b"c", timestamp_ms=6999)
        self.assertEqual(self.round(), [(0, 3, {5000: 2, 6000: 1})])
        topic_id = str(self.broker.metadata.state.topics["t"].topic_id)
        expected = RangeAnnouncement(
            "broker", "dc1", "broker-0", "t", topic_id, 0, 0, 3, WINDOW_MS, ((5000, 2), (6000, 1)), 0, NOW_MS
        )
        self.assertEqual(self.channel.events, [expected])
        self.assertEqual(self.channel.positions[self.partition.topic_partition].offset, 3)

    def test_only_news(self) -> None:
        """Each record is in one range; a round without news announces nothing."""
        self.fill(b"a", timestamp_ms=5000)
        self.assertEqual(self.round(), [(0, 1, {5000: 1})])
        self.assertEqual(self.round(), [])
        self.fill(b"b", timestamp_ms=5000)
        self.assertEqual(self.round(), [(1, 2, {5000: 1})])

    def test_pieces(self) -> None:
        """More records than one piece of the worker's work holds are counted piece by piece."""
        self.patch(auditor, "READ_BYTES", 100)
        for number in range(20):
            self.fill(b"x" * 60, timestamp_ms=number * 500)
        self.assertEqual(self.round(), [(0, 20, {1000 * second: 2 for second in range(10)})])

    def test_far_too_many_windows(self) -> None:
        """A batch with too many windows for one announcement is left out: readers see a hole."""
        self.patch(auditor, "MOST_WINDOWS", 2)
        builder = BatchBuilder()
        for number in range(3):
            builder.append(None, b"v", WINDOW_MS * number)
        self.assertEqual(self.produce(builder.build()).error_code, 0)
        self.assertEqual(self.round(), [])
        self.fill(b"a", timestamp_ms=5000)
        self.assertEqual(self.round(), [(3, 4, {5000: 1})])

    def test_many_partitions(self) -> None:
        """Ranges of many partitions are announced in several parts, each followed by its positions."""
        self.patch(auditor, "AT_ONCE", 2)
        self.patch(auditor, "LOADED_AT_ONCE", 2)
        self.make_topic("many", 5)
        for partition in range(5):
            self.fill(b"a", topic="many", partition=partition)
        self.round()
        self.assertEqual(sorted(event.partition for event in self.channel.events), [0, 1, 2, 3, 4])
        self.assertEqual((len(self.channel.positions), self.channel.commits), (5, 3))

    def test_pauses(self) -> None:
        """After a piece the worker pauses for as long as it took, with the default share of the time."""
        self.patch(auditor, "READ_BYTES", 100)
        held = Held()
        self.auditor._worker = held("")
        self.fill(b"x" * 60)
        self.fill(b"x" * 60)
        running = Deferred.fromCoroutine(self.auditor.round())
        self.clock.advance(0.5)
        held.work()
        self.assertEqual(len(held._waiting), 0)
        self.clock.advance(0.49)
        self.assertEqual(len(held._waiting), 0)
        self.clock.advance(0.02)
        self.assertEqual(len(held._waiting), 1)
        held.work()
        self.successResultOf(running)
        self.assertEqual([(event.start, event.end) for event in self.channel.events], [(0, 2)])

    def test_many_windows(self) -> None:
        """Records of very many windows are announced in several ranges that follow each other."""
        for first in (0, MAX_WINDOWS):
            builder = BatchBuilder()
            for number in range(first, first + MAX_WINDOWS):
                builder.append(None, b"v", WINDOW_MS * number)
            self.assertEqual(self.produce(builder.build()).error_code, 0)
        found = self.round()
        self.assertEqual(
            [(start, end) for start, end, _ in found], [(0, MAX_WINDOWS), (MAX_WINDOWS, 2 * MAX_WINDOWS)]
        )

    def test_deleted(self) -> None:
        """Records that retention has removed before they were counted are told."""
        for _ in range(3):
            self.fill(b"a", timestamp_ms=5000)
        self.round()
        for _ in range(3):
            self.fill(b"b", timestamp_ms=5000)
        self.partition.log.advance_log_start(5)
        with capturedLogs() as log:
            self.assertEqual(self.round(), [(3, 6, {5000: 1})])
        self.assertEqual(self.channel.events[-1].absent, 2)
        self.assertIn("had no record when the audit counted", log[0]["log_format"])

    def test_all_deleted(self) -> None:
        """A range of which nothing is left is announced without records; the next one begins at its end."""
        self.fill(b"a")
        self.round()
        self.fill(b"b")
        self.partition.log.advance_log_start(2)
        self.assertEqual(self.round(), [(1, 2, {})])
        self.assertEqual(self.channel.events[-1].absent, 1)

    def test_new_partition(self) -> None:
        """The first range begins where the log does: what was deleted before is not absent."""
        self.fill(b"a", b"b", timestamp_ms=5000)
        self.partition.log.advance_log_start(1)
        self.assertEqual(self.round(), [(1, 2, {5000: 1})])
        self.assertEqual(self.channel.events[0].absent, 0)


class ProgressTests(AuditorCase):
    """Crashes, other leaders, and brokers that are away."""

    def test_restart(self) -> None:
        """After a restart counting goes on at the committed position."""
        self.fill(b"a", timestamp_ms=5000)
        self.round()
        self.fill(b"b", timestamp_ms=5000)
        self.auditor = self.make_auditor()
        self.assertEqual(self.round(), [(1, 2, {5000: 1})])

    def test_crash_before_commit(self) -> None:
        """A range whose end was not committed is announced again, longer, from the same beginning."""
        self.fill(b"a", timestamp_ms=5000)
        self.round()
        self.fill(b"b", timestamp_ms=5000)
        self.channel.away = {"commit"}
        with capturedLogs() as log:
            self.assertEqual(self.round(), [(1, 2, {5000: 1})])
        self.assertIn("could not be committed", log[0]["log_format"])
        self.fill(b"c", timestamp_ms=5000)
        self.auditor = self.make_auditor()
        self.assertEqual(self.round(), [(1, 3, {5000: 2})])

    def test_audit_topic_away(self) -> None:
        """A round whose announcements fail is made again as a whole."""
        self.fill(b"a", timestamp_ms=5000)
        for method in ("load", "announce"):
            self.channel.away = {method}
            self.failureResultOf(Deferred.fromCoroutine(self.auditor.round()), RequestError)
        self.assertEqual(self.channel.positions, {})
        self.channel.away = set()
        self.assertEqual(self.round(), [(0, 1, {5000: 1})])

    def test_role_changes(self) -> None:
        """A partition that another broker has led meanwhile goes on where that one was."""
        self.fill(b"a", b"b", timestamp_ms=5000)
        self.round()
        self.fill(b"c", b"d", timestamp_ms=5000)
        name = self.partition.topic_partition
        self.channel.positions[name] = attrs.evolve(self.channel.positions[name], offset=3)
        self.broker.topics._tell(self.partition)
        self.assertEqual(self.round(), [(3, 4, {5000: 1})])

    def test_leader_while_counting(self) -> None:
        """Counts of a partition that goes to another broker meanwhile are not announced."""
        held = Held()
        self.fill(b"a", timestamp_ms=5000)
        self.auditor._worker = held("")
        running = Deferred.fromCoroutine(self.auditor.round())
        self.broker.topics._tell(self.partition)
        held.work()
        self.successResultOf(running)
        self.assertEqual(self.channel.events, [])
        held.holding = False
        self.assertEqual(self.round(), [(0, 1, {5000: 1})])

    def test_another_topic_of_the_name(self) -> None:
        """A position of a deleted topic does not count for one of its name."""
        self.channel.positions[self.partition.topic_partition] = Position(5, 0, str(uuid.uuid4()))
        self.fill(b"a", timestamp_ms=5000)
        self.assertEqual(self.round(), [(0, 1, {5000: 1})])

    def test_lost_records(self) -> None:
        """After an unclean election that has lost counted records, counting goes on at the log's end."""
        self.fill(b"a", timestamp_ms=5000)
        self.round()
        name = self.partition.topic_partition
        self.channel.positions[name] = attrs.evolve(self.channel.positions[name], offset=7)
        self.auditor = self.make_auditor()
        with capturedLogs() as log:
            self.assertEqual(self.round(), [])
        self.assertIn("unclean election", log[0]["log_format"])
        self.fill(b"b", timestamp_ms=5000)
        self.assertEqual(self.round(), [(1, 2, {5000: 1})])

    def test_idle_partitions(self) -> None:
        """The positions of idle partitions are committed again, so that they do not expire."""
        self.fill(b"a")
        self.round()
        self.round()
        self.assertEqual(self.channel.commits, 1)
        self.clock.advance(COMMIT_AGAIN_S)
        self.round()
        self.round()
        self.assertEqual(self.channel.commits, 2)

    def test_timer(self) -> None:
        """Rounds run at the interval, go on after a failure, and end with the broker."""
        self.fill(b"a", timestamp_ms=5000)
        self.auditor.start()
        self.assertEqual(self.channel.events, [])
        self.channel.away = {"announce"}
        with capturedLogs() as log:
            self.clock.advance(WINDOW_MS / 1000)
        self.assertIn("could not be announced", log[0]["log_format"])
        self.channel.away = set()
        self.clock.advance(WINDOW_MS / 1000)
        self.assertEqual(len(self.channel.events), 1)
        self.fill(b"b")
        self.successResultOf(self.auditor.stop())
        self.clock.advance(10)
        self.assertEqual((len(self.channel.events), self.channel.closed), (1, True))


class SelectionTests(AuditorCase):
    """The topics that are counted."""

    settings: ClassVar[dict[str, str]] = {
        **AuditorCase.settings,
        "kafkatx.audit.topics": "t|kafkatx-audit|__.*",
    }

    def test_which(self) -> None:
        """Neither the audit topic nor internal ones are counted, nor those that the pattern leaves out."""
        for name in ("u", "tt", "kafkatx-audit", "__consumer_offsets"):
            self.make_topic(name)
        for name in ("u", "tt", "kafkatx-audit", "t"):
            self.fill(b"a", topic=name)
        self.round()
        self.assertEqual([event.topic for event in self.channel.events], ["t"])


class CommittedTests(AuditorMixin, ReplicatedTestCase):
    """A partition with three replicas."""

    settings: ClassVar[dict[str, str]] = {**ReplicatedTestCase.settings, **AuditorMixin.settings}

    def test_only_committed(self) -> None:
        """Records are counted when all in-sync replicas have them: another leader has them, too, then."""
        self.channel = FakeChannel()
        (partition,) = self.make_replicated()
        self.auditor = self.make_auditor()
        for _ in range(2):
            self.produce_one()
        self.assertEqual(self.round(), [])
        self.replicate(partition, 1)
        self.assertEqual(self.round(), [(0, 1, {NOW_MS: 1})])
        self.replicate(partition, 2)
        self.assertEqual(self.round(), [(1, 2, {NOW_MS: 1})])

    def produce_one(self) -> None:
        """Write a record that is not committed yet."""
        builder = BatchBuilder()
        builder.append(None, b"v", NOW_MS)
        self.assertEqual(self.produce(builder.build(), acks=1).error_code, 0)
