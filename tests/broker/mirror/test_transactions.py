"""Transactions of the target's own producers and mirrored topics: they meet after a promotion only."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.config.mirror_record import MirrorState
from kafkatx.errors import ErrorCode
from kafkatx.transactions.actions import Marker
from kafkatx.transactions.metadata import Producer
from kafkatx.types import TopicPartition
from tests.broker.mirror.case import PROMOTED, MirrorCase
from tests.broker.transactional import TV1_PRODUCE, TV2_PRODUCE, TransactionsTestCase, batch

POLICY_VIOLATION = ErrorCode.POLICY_VIOLATION
A = TopicPartition("t", 0)
UNPROMOTED = (MirrorState.MIRRORING, MirrorState.PAUSED, MirrorState.FAILED, MirrorState.PROMOTING)


class OwnTransactionsTests(MirrorCase, TransactionsTestCase):
    """Mirrors while their link alone writes to them."""

    def make_target(self, end: int = 1) -> None:
        """Mirror a topic, whose last record is plain, in place of the one that is here."""
        self.log.add(b"a")
        self.delete_topic()
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, end)

    def delete_topic(self) -> None:
        """Delete topic t."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.pump(0.1)

    def test_refused(self) -> None:
        """A mirror is not added to a transaction, in either version, until it is promoted."""
        self.make_target()
        self.make_topic("other")
        producer = self.producer()
        for state in UNPROMOTED:
            self.change_record(state=state)
            self.assertEqual(self.add(producer, 0), [POLICY_VIOLATION], state)
            for version in (TV1_PRODUCE, TV2_PRODUCE):
                self.assertEqual(self.write(producer, b"x", version=version), POLICY_VIOLATION, state)
        self.assertEqual((self.state, self.partition.log.log_end_offset), ("Empty", 1))
        self.change_record(state=PROMOTED, ends=(1,))
        self.assertEqual(self.write(producer, b"x", version=TV2_PRODUCE), 0)

    def test_marker(self) -> None:
        """A marker is refused until then."""
        self.make_target()
        marker = Marker(Producer(*self.producer()), True, 0)
        for state in UNPROMOTED:
            self.change_record(state=state)
            self.assertEqual(self.broker.marker_writer.write(A, marker, 0), POLICY_VIOLATION, state)
        self.assertEqual(self.partition.log.log_end_offset, 1)
        self.change_record(state=PROMOTED, ends=(1,))
        self.assertEqual(self.broker.marker_writer.write(A, marker, 0), ErrorCode.NONE)

    def test_promoted(self) -> None:
        """Readers of committed records pass what was open at the source; own transactions stay open."""
        self.log.add_batch(batch([b"open"], (77, 0)))
        self.make_target(2)
        self.change_record(state=MirrorState.PROMOTING, attempt=1)
        self.pump(0.1)
        self.assertEqual(self.fetched(), ([], 0))
        self.change_record(state=PROMOTED, ends=(2,))
        self.assertEqual(self.fetched()[1], 3)
        producer = self.producer()
        self.assertEqual(self.write(producer, b"own", version=TV2_PRODUCE), 0)
        self.change_record(reason="looked at again")
        self.assertEqual((self.fetched()[1], self.partition.log.log_end_offset), (3, 4))
        self.end(producer)
        self.assertEqual(self.fetched(), ([b"open", b"a", b"own"], 5))

    def test_open_meanwhile(self) -> None:
        """A transaction in a topic that was deleted, and mirrored under its name, ends without its marker."""
        producer = self.producer()
        self.add(producer, 0)
        self.assertEqual(self.write(producer, b"own"), 0)
        self.make_target()
        self.assertEqual(self.end(producer).error_code, 0)
        self.assertEqual(self.state, "CompleteCommit")
        self.check_equal()
