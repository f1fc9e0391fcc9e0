"""The checker finds each kind of fault where one is planted, and none in a history without one."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable

from twisted.trial.unittest import SynchronousTestCase

from tests.cluster.checker.checker import Figures, Histories, check
from tests.cluster.checker.findings import Findings, Kind
from tests.cluster.checker.history import GroupHistory, ProducerHistory, ReaderHistory, id_of, value_of
from tests.cluster.checker.replicas import Batch, check_replicas
from tests.cluster.checker.wholeness import MOST_S, Placement, Sample, check_whole

TOPIC = "t"


class Run:
    """Histories that a test writes; time goes on by a second with each event."""

    def __init__(self) -> None:
        self._clock = itertools.count(100).__next__
        self._files: dict[str, list[io.StringIO]] = {
            kind: [] for kind in ("producers", "final", "readers", "groups")
        }

    def now_s(self) -> float:
        """Return the time, one second later each time."""
        return float(self._clock())

    def _file(self, kind: str) -> io.StringIO:
        self._files[kind].append(io.StringIO())
        return self._files[kind][-1]

    def producer(
        self, name: str, acks: str = "all", *, idempotent: bool = True, ordered: bool = True
    ) -> ProducerHistory:
        """Add a producer."""
        out = self._file("producers")
        return ProducerHistory(out, self.now_s, name, TOPIC, acks, idempotent=idempotent, ordered=ordered)

    def reader(self, name: str, group: str = "-") -> ReaderHistory:
        """Add a reader."""
        return ReaderHistory(self._file("readers"), self.now_s, name, TOPIC, group)

    def member(self, name: str, group: str = "g") -> GroupHistory:
        """Add a member of a group."""
        return GroupHistory(self._file("groups"), self.now_s, name, group, TOPIC)

    def final(self, *ids: str, first: int = 0) -> None:
        """Set the records that partition 0 has at the end."""
        ReaderHistory(self._file("final"), self.now_s, "final", TOPIC).read(0, records(first, *ids))

    def check(self) -> tuple[Findings, Figures]:
        """Check what was written."""
        findings = Findings()
        lines: dict[str, list[Iterable[str]]] = {
            kind: [file.getvalue().splitlines(keepends=True) for file in files]
            for kind, files in self._files.items()
        }
        figures, _ = check(Histories(**lines), findings)
        return findings, figures


def records(first: int, *ids: str) -> list[tuple[int, bytes | None]]:
    """Return pairs of offset and value, from an offset on."""
    return [(offset, one.encode() + b"|") for offset, one in enumerate(ids, first)]


def send(producer: ProducerHistory, count: int, offset: int | None = 0) -> None:
    """Send the records 0 to *count* - 1 to partition 0, acknowledged from an offset on; None: unknown."""
    for number in range(count):
        producer.sent(number, 0)
        if offset is not None:
            producer.acknowledged(number, 0, offset + number)


class CheckTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a run without events."""
        self.run_ = Run()

    def found(self) -> list[Kind]:
        """Return the kinds of all findings."""
        return [finding.kind for finding in self.run_.check()[0].kept]

    def one(self, kind: Kind, text: str) -> None:
        """Expect this finding and no other."""
        findings, _ = self.run_.check()
        self.assertEqual([(finding.kind, finding.text) for finding in findings.kept], [(kind, text)])

    def test_clean(self) -> None:
        """Unknown outcomes, repetitions without idempotence and reads after a move are no faults."""
        sure, unsure = self.run_.producer("a"), self.run_.producer("b", idempotent=False, ordered=False)
        send(sure, 3)
        send(unsure, 4, None)
        reader = self.run_.reader("r", "g")
        reader.read(0, records(0, "a:0", "a:1", "a:2", "b:1"))
        reader.moved()
        reader.read(0, records(2, "a:2", "b:1", "b:0", "b:1"))
        member = self.run_.member("m")
        member.committed(member.committing(0, 3))
        begun_s = self.run_.now_s()
        member.fetched(begun_s, 0, 3)
        self.run_.final("a:0", "a:1", "a:2", "b:1", "b:0", "b:1")
        findings, figures = self.run_.check()
        self.assertEqual(findings.kept, [])
        self.assertEqual((figures.sent, figures.acknowledged, figures.in_log, figures.repeated), (7, 3, 6, 1))
        self.assertEqual((figures.read, figures.commits), (8, 1))

    def test_lost(self) -> None:
        """An acknowledged record is at its offset at the end."""
        send(self.run_.producer("a"), 3)
        self.run_.final("a:0", "a:1")
        self.one(Kind.LOST, "a:2 was acknowledged at t-0/2, which is nothing")

    def test_lost_without_offset(self) -> None:
        """A record that was acknowledged without its offset is somewhere."""
        producer = self.run_.producer("a")
        for number in range(2):
            producer.sent(number, 0)
            producer.acknowledged(number, 0, -1)
        self.run_.final("a:1")
        self.one(Kind.LOST, "a:0 was acknowledged, and is nowhere")

    def test_replaced(self) -> None:
        """An acknowledged record in whose place there is another one is lost."""
        send(self.run_.producer("a"), 1)
        send(self.run_.producer("b"), 1, None)
        self.run_.final("b:0")
        self.one(Kind.LOST, "a:0 was acknowledged at t-0/0, which is b:0")

    def test_lost_with_one(self) -> None:
        """With acks=1 a loss is no fault, and is counted."""
        send(self.run_.producer("a", "1", idempotent=False), 3)
        self.run_.final("a:0")
        findings, figures = self.run_.check()
        self.assertEqual((findings.kept, figures.lost_of_one), ([], 2))

    def test_lost_after_read(self) -> None:
        """A record that a reader got is there at the end, whether acknowledged or not."""
        send(self.run_.producer("a"), 2, None)
        self.run_.reader("r").read(0, records(0, "a:0", "a:1"))
        self.run_.final("a:0")
        self.one(Kind.LOST, "r saw a:1 at t-0/1, where the log has ended")

    def test_failed_read(self) -> None:
        """A record whose send failed for certain is not in the log."""
        producer = self.run_.producer("a")
        producer.sent(0, 0)
        producer.failed(0)
        self.run_.final("a:0")
        self.one(Kind.FAILED_READ, "a:0 at t-0/0")

    def test_invented(self) -> None:
        """The log has only records that were sent, in their partitions."""
        producer = self.run_.producer("a")
        producer.sent(0, 1)
        self.run_.final("a:0", "a:7", "x:1", "garbage")
        findings, _ = self.run_.check()
        self.assertEqual([finding.kind for finding in findings.kept], [Kind.INVENTED] * 4)

    def test_inconsistent(self) -> None:
        """Two readers see the same record at an offset."""
        send(self.run_.producer("a"), 2, None)
        self.run_.reader("r").read(0, records(0, "a:0"))
        self.run_.final("a:1")
        self.one(Kind.INCONSISTENT, "r saw a:0 at t-0/0, which is a:1")

    def test_skipped(self) -> None:
        """A reader goes past no offset, nor does the reading at the end."""
        send(self.run_.producer("a"), 3)
        reader = self.run_.reader("r")
        reader.read(0, [*records(0, "a:0"), *records(2, "a:2")])
        self.run_.final("a:0", "a:1", "a:2")
        self.one(Kind.SKIPPED, "r at t-0: from 1 to 2")

    def test_skipped_at_end(self) -> None:
        """The reading at the end begins at offset 0."""
        send(self.run_.producer("a"), 1, 1)
        self.run_.final("a:0", first=1)
        self.one(Kind.SKIPPED, "final at t-0: from 0 to 1 at the end")

    def test_stepped_back(self) -> None:
        """A reader gets no offset twice."""
        send(self.run_.producer("a"), 2)
        reader = self.run_.reader("r")
        reader.read(0, records(0, "a:0", "a:1"))
        reader.read(0, records(1, "a:1"))
        self.run_.final("a:0", "a:1")
        self.one(Kind.STEPPED_BACK, "r at t-0: from 2 to 1")

    def test_duplicated(self) -> None:
        """A record of an idempotent producer is in the log once."""
        send(self.run_.producer("a"), 1)
        self.run_.final("a:0", "a:0")
        self.one(Kind.DUPLICATED, "a:0 at t-0/1, and before")

    def test_reordered(self) -> None:
        """The records of an ordered producer are in the order of their sends."""
        send(self.run_.producer("a", idempotent=False), 2, None)
        self.run_.final("a:1", "a:0")
        self.one(Kind.REORDERED, "a:0 at t-0/1 comes after 1")

    def test_committed_back(self) -> None:
        """A fetched offset is not below one that another member has committed before."""
        send(self.run_.producer("a"), 2)
        self.run_.final("a:0", "a:1")
        first, second = self.run_.member("m"), self.run_.member("n")
        first.committed(first.committing(0, 2))
        begun_s = self.run_.now_s()
        second.fetched(begun_s, 0, 1)
        (finding,) = self.run_.check()[0].kept
        self.assertEqual(finding.kind, Kind.COMMITTED_BACK)
        self.assertIn("g at t-0: n fetched 1 at", finding.text)
        self.assertIn("after 2, which m committed at", finding.text)

    def test_fetched_back(self) -> None:
        """A fetched offset is not below one that was fetched before, though its commit is in doubt."""
        send(self.run_.producer("a"), 2)
        self.run_.final("a:0", "a:1")
        member = self.run_.member("m")
        member.committing(0, 2)
        for offset in (2, 1):
            begun_s = self.run_.now_s()
            member.fetched(begun_s, 0, offset)
        self.assertEqual(self.found(), [Kind.COMMITTED_BACK])

    def test_commits_at_once(self) -> None:
        """A fetch that was asked for before a commit was acknowledged may give the older offset."""
        send(self.run_.producer("a"), 2)
        self.run_.final("a:0", "a:1")
        member = self.run_.member("m")
        commit = member.committing(0, 2)
        begun_s = self.run_.now_s()
        member.committed(commit)
        member.fetched(begun_s, 0, -1)
        self.assertEqual(self.found(), [])

    def test_commit_in_doubt(self) -> None:
        """A commit that was never answered may be applied after a later one."""
        send(self.run_.producer("a"), 2)
        self.run_.final("a:0", "a:1")
        member = self.run_.member("m")
        member.committing(0, 1)
        member.committed(member.committing(0, 2))
        begun_s = self.run_.now_s()
        member.fetched(begun_s, 0, 1)
        self.assertEqual(self.found(), [])

    def test_committed_past_end(self) -> None:
        """A committed offset is not past the end of the log."""
        member = self.run_.member("m")
        member.committed(member.committing(0, 9))
        self.assertEqual(self.found(), [Kind.COMMITTED_BACK])

    def test_unread(self) -> None:
        """The members of a group have read every record between them."""
        send(self.run_.producer("a"), 3)
        self.run_.reader("r", "g").read(0, records(0, "a:0"))
        self.run_.reader("s", "g").read(0, records(2, "a:2"))
        self.run_.final("a:0", "a:1", "a:2")
        self.one(Kind.UNREAD, "g: 1 records of t-0, the first at 1")

    def test_bounded(self) -> None:
        """All findings are counted, and the first twenty of a kind are kept."""
        send(self.run_.producer("a"), 1000)
        self.run_.final()
        findings, _ = self.run_.check()
        self.assertEqual((findings.counts[Kind.LOST], len(findings.kept)), (1000, 20))

    def test_cut_history(self) -> None:
        """A last line that was not written whole is left out."""
        findings = Findings()
        lines = ["producer a t all 1 1\n", "s 1.0 0 0\n", "a 2.0 0 0 1"]
        figures, _ = check(Histories([lines], []), findings)
        self.assertEqual((figures.sent, figures.acknowledged), (1, 0))

    def test_gaps(self) -> None:
        """The longest gap of a partition is between two acknowledgements, or reaches to the last send."""
        producer = self.run_.producer("a")  # sends at 100, 102, 104, 106; acknowledgements between
        send(producer, 3)
        producer.sent(3, 1)
        for _ in range(10):
            self.run_.now_s()
        producer.acknowledged(3, 1, 0)
        producer.sent(4, 0)
        _, figures = self.run_.check()
        self.assertEqual(figures.gaps_s, {"t-0": 13.0, "t-1": 17.0})


class ValueTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A value tells its record; a value that is damaged tells none."""
        self.assertEqual(id_of(value_of("p-1", 17, 100)), "p-1:17")
        self.assertEqual(len(value_of("p-1", 17, 100)), 100)
        for value in (None, b"", b"p:", b"p 1:2|", b"\xff|"):
            self.assertEqual(id_of(value), "?")


def batches(*epochs: int) -> list[Batch]:
    """Return batches of ten records each, of these leader epochs."""
    return [Batch(10 * n, 10 * n + 9, epoch, 100, 7) for n, epoch in enumerate(epochs)]


class ReplicasTests(SynchronousTestCase):
    def found(self, high_watermark: int, **replicas: list[Batch]) -> list[str]:
        """Return the findings of these replicas."""
        findings = Findings()
        check_replicas("t-0", high_watermark, replicas, findings)
        self.assertEqual({finding.kind for finding in findings.kept} - {Kind.REPLICAS_DIFFER}, set())
        return [finding.text for finding in findings.kept]

    def test_same(self) -> None:
        """Replicas may differ from the high watermark on."""
        self.assertEqual(self.found(20, a=batches(0, 0), b=batches(0, 0, 1), c=batches(0, 0, 2, 2)), [])

    def test_epoch(self) -> None:
        """A batch of another leader epoch is another one."""
        (text,) = self.found(20, a=batches(0, 1), b=batches(0, 2))
        self.assertIn("t-0 after batch 1: a has 10 to 19 in epoch 1", text)

    def test_crc(self) -> None:
        """A batch with another checksum is another one."""
        other = [batches(0)[0]._replace(crc=8)]
        self.assertEqual(len(self.found(10, a=batches(0), b=other)), 1)

    def test_short(self) -> None:
        """A replica that ends below the high watermark is told of, and so is that all do."""
        (text,) = self.found(20, a=batches(0, 0), b=batches(0))
        self.assertIn("b has no batch", text)
        (text,) = self.found(20, a=batches(0), b=batches(0))
        self.assertIn("replicas end at 10", text)


class WholenessTests(SynchronousTestCase):
    def check(self, *samples: tuple[float, int, set[int]]) -> tuple[float | None, list[Kind]]:
        """Check samples of a partition: time, leader and in-sync replicas; the fault ends at 100 s."""
        findings = Findings()
        made = [
            Sample(time_s, [Placement("t-0", leader, frozenset({1, 2, 3}), frozenset(in_sync))])
            for time_s, leader, in_sync in samples
        ]
        return check_whole(100.0, made, findings), [finding.kind for finding in findings.kept]

    def test_whole(self) -> None:
        """The first sample after the fault with all replicas in sync counts."""
        self.assertEqual(self.check((99, 1, {1, 2, 3}), (101, 1, {1, 2}), (105, 1, {1, 2, 3})), (5.0, []))

    def test_not_whole(self) -> None:
        """A partition without a replica, without a leader, or whole too late is found."""
        for last in ((150.0, 1, {1, 2}), (150.0, -1, {1, 2, 3}), (101 + MOST_S, 1, {1, 2, 3})):
            self.assertEqual(self.check((101, 1, {1}), last), (None, [Kind.NOT_WHOLE]))

    def test_no_answer(self) -> None:
        """No sample after the fault is a fault."""
        self.assertEqual(self.check((99, 1, {1, 2, 3})), (None, [Kind.NOT_WHOLE]))


class KindsTests(SynchronousTestCase):
    def test_each_is_planted(self) -> None:
        """Each kind of finding is named by a test of this module."""
        text = "".join(map(_source, (CheckTests, ReplicasTests, WholenessTests)))
        self.assertEqual([kind.name for kind in Kind if f"Kind.{kind.name}" not in text], [])


_source: Callable[[type], str] = __import__("inspect").getsource
