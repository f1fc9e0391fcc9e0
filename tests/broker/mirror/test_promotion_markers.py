"""The ends of transactions that were open when a mirror was promoted."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.mirror import promotion_markers
from kafkatx.broker.mirror.promotion_markers import AGAIN_S, HIGHEST_EPOCH, left_open
from kafkatx.config.mirror_record import MirrorState
from kafkatx.records.builder import build_values
from kafkatx.records.control import build_marker, read_marker
from kafkatx.types import ActiveProducer, Marker
from tests.broker.mirror.case import PROMOTED, MirrorCase, MirrorMixin, ReplicatedMirrorCase
from tests.broker.mirror.control.promotion_model import Broken
from tests.broker.mirror.promoted_model import PromotedWorld
from tests.broker.replica.fetcher.case import stored
from tests.broker.running import NOW_MS
from tests.broker.transactional import batch

FIRST, SECOND = (7, 3), (8, 0)
BASE_OFFSET, EPOCH, PRODUCER_ID, PRODUCER_EPOCH = (">q", 0), (">i", 12), (">q", 43), (">h", 51)
"""Format and place of fields in the header of a batch."""


def header(records: bytes, *fields: tuple[str, int]) -> list[int]:
    """Return fields of a batch."""
    return [struct.unpack_from(format_, records, at)[0] for format_, at in fields]


def producer(producer_id: int, txn_start_offset: int) -> ActiveProducer:
    """An active producer."""
    return ActiveProducer(producer_id, 0, 0, 0, -1, txn_start_offset)


class LeftOpenTests(SynchronousTestCase):
    def test_below(self) -> None:
        """Those that began below the end are found, the oldest first; others are not."""
        producers = [producer(1, 9), producer(2, -1), producer(3, 4), producer(4, 10), producer(5, 0)]
        self.assertEqual([one.producer_id for one in left_open(producers, 10)], [5, 3, 1])
        self.assertEqual(left_open(producers, 0), [])


SEEDS, STEPS = 60, 900


def _all_open(producers: Sequence[ActiveProducer], end: int) -> list[ActiveProducer]:
    return [one for one in producers if one.txn_start_offset >= 0]


def _none(producers: Sequence[ActiveProducer], end: int) -> list[ActiveProducer]:
    return []


class ModelTests(SynchronousTestCase):
    """Leaders that die between the promotion and the markers, and after some of these, by chance."""

    def test_holds(self) -> None:
        """The source's open transactions are aborted once, before producers write; the target's are not."""
        for seed in range(SEEDS):
            PromotedWorld(seed).run(STEPS)

    def test_mutants(self) -> None:
        """The model finds a rule that aborts own transactions, or none."""
        for broken in (_all_open, _none):
            self.patch(promotion_markers, "left_open", broken)
            self.assertRaises(Broken, self.test_holds)


class OpenMixin(MirrorMixin):
    """A mirror with two open transactions of the source, and one that has ended: six batches."""

    def setUp(self) -> None:
        """Mirror the topic."""
        super().setUp()
        for number, one in enumerate((FIRST, SECOND, (9, 0))):
            self.log.add_batch(batch([b"%d" % number], one))
        self.log.add_batch(build_marker(9, 0, Marker(True, 5), NOW_MS))
        self.log.add_batch(build_marker(*FIRST, Marker(True, 5), NOW_MS))
        self.log.add_batch(batch([b"again"], FIRST, 1))
        self.end = self.log.end
        self.link()
        self.make_mirror()
        self.pump()
        self.check_equal()

    def promote(self) -> None:
        """Write the record with the end."""
        self.change_record(state=PROMOTED, ends=(self.end,))

    def begin_promotion(self) -> None:
        """Begin the promotion: the leader raises its epoch."""
        self.change_record(state=MirrorState.PROMOTING, attempt=1)
        self.pump(0.1)

    @property
    def added(self) -> list[bytes]:
        """The markers after the end."""
        rest, markers = stored(self.partition.log)[len(self.log.committed) :], []
        while rest:
            size = 12 + struct.unpack_from(">i", rest, 8)[0]
            markers.append(rest[:size])
            rest = rest[size:]
        return markers

    def open(self) -> list[int]:
        """Return the ids of producers with open transactions."""
        producers = self.partition.log.active_producers()
        return sorted(one.producer_id for one in producers if one.txn_start_offset >= 0)


class MarkersTests(OpenMixin, MirrorCase):
    def test_aborted(self) -> None:
        """With the promotion what is open is aborted, in epochs that fence; what has ended is not touched."""
        self.begin_promotion()
        self.assertEqual((self.open(), self.added), ([7, 8], []))
        self.promote()
        self.assertEqual(self.open(), [])
        fields = (BASE_OFFSET, PRODUCER_ID, PRODUCER_EPOCH, EPOCH)
        epoch = self.partition.leader_epoch
        self.assertEqual([header(one, *fields) for one in self.added], [[6, 8, 1, epoch], [7, 7, 4, epoch]])
        self.assertEqual([read_marker(one) for one in self.added], [Marker(False, 0), Marker(False, 5)])
        self.assertEqual(self.partition.log.last_stable_offset(self.partition.high_watermark), 8)
        self.assertEqual(self.partition.log.aborted_transactions(0, 8, 10), (8, [(8, 1), (7, 5)]))
        self.assertEqual(self.produce(build_values([b"x"], 1)).base_offset, 8)

    def test_once(self) -> None:
        """They are aborted once, however often the record and the role are looked at."""
        self.begin_promotion()
        self.promote()
        for reason in ("a", "b"):
            self.change_record(reason=reason)
        self.broker.topics.tell(self.partition)
        self.assertEqual(len(self.added), 2)

    def test_not_before(self) -> None:
        """Nothing is written in any other state, whatever the ends."""
        for state in (MirrorState.PAUSED, MirrorState.FAILED, MirrorState.PROMOTING):
            self.change_record(state=state, ends=(self.end,))
            self.pump(0.1)
        self.check_equal()

    def test_started_later(self) -> None:
        """A broker that starts with a topic that is promoted ends them as well, also without a link."""
        stopping = self.broker.mirrors.stop()
        self.pump(0.2)
        self.successResultOf(stopping)
        self.promote()
        self.assertEqual(self.open(), [7, 8])
        self.successResultOf(self.broker.metadata.alter_broker_configs("", lambda old: {}))
        self.broker.mirrors.start()
        self.assertEqual(self.open(), [])

    def test_own(self) -> None:
        """Only what began below the end is aborted."""
        self.end = 5
        self.promote()
        self.assertEqual(self.open(), [7])

    def test_later_partition(self) -> None:
        """A partition that was added after the promotion has no end, and nothing to abort."""
        self.change_record(state=PROMOTED, ends=())
        self.check_equal()

    def test_highest_epoch(self) -> None:
        """There is no epoch above the highest."""
        self.log.add_batch(batch([b"x"], (10, HIGHEST_EPOCH)))
        self.source.wake()
        self.pump()
        self.end = self.log.end
        self.promote()
        self.assertEqual(self.open(), [])

    def test_without_lease(self) -> None:
        """Without a lease nothing is written; it is tried again, and no more once all is done."""
        self.begin_promotion()
        replicas = self.patch(self.broker.replicas, "has_lease", lambda: False)
        self.promote()
        self.assertEqual((self.open(), self.added), ([7, 8], []))
        self.clock.advance(AGAIN_S)
        self.assertEqual(self.open(), [7, 8])
        replicas.restore()
        self.clock.advance(AGAIN_S)
        self.assertEqual((self.open(), len(self.added)), ([], 2))
        self.clock.advance(AGAIN_S)
        self.assertEqual(len(self.added), 2)


class TakeoverTests(OpenMixin, ReplicatedMirrorCase):
    def test_follower(self) -> None:
        """A follower writes nothing; when it leads, it ends what the leader before has not."""
        self.following()
        self.metadata.lead("t", 0, 2)
        self.promote()
        self.assertEqual(self.added, [])
        self.metadata.lead("t", 0, 1)
        self.assertEqual((self.open(), len(self.added)), ([], 2))
        self.assertEqual([header(one, EPOCH) for one in self.added], [[self.partition.leader_epoch]] * 2)

    def test_replicated(self) -> None:
        """A leader that has got the markers by replication writes none."""
        self.following()
        self.begin_promotion()
        self.promote()
        self.metadata.lead("t", 0, 2)
        self.metadata.lead("t", 0, 1)
        self.assertEqual(len(self.added), 2)

    def test_half(self) -> None:
        """A leader that has got some of the markers writes the others."""
        self.following()
        self.metadata.lead("t", 0, 2)
        self.promote()
        log = self.partition.log
        marker = bytearray(build_marker(8, 1, Marker(False, 0), NOW_MS))
        struct.pack_into(">q", marker, 0, self.end)
        struct.pack_into(">i", marker, 12, self.partition.leader_epoch)
        log.append_as_follower(memoryview(bytes(marker)), self.partition.leader_epoch)
        log.write()
        self.metadata.lead("t", 0, 1)
        self.assertEqual([header(one, PRODUCER_ID) for one in self.added], [[8], [7]])

    def test_committed(self) -> None:
        """Readers of committed records go on when the followers have the markers."""
        self.following()
        self.begin_promotion()
        self.promote()
        log = self.partition.log
        self.assertEqual(log.last_stable_offset(self.partition.high_watermark), 1)
        self.following()
        self.assertEqual(log.last_stable_offset(self.partition.high_watermark), self.end + 2)


class LeavingTests(OpenMixin, ReplicatedMirrorCase):
    def test_resigned(self) -> None:
        """A leader that could not write them, and leads no more, tries no more."""
        self.begin_promotion()
        patched = self.patch(self.broker.replicas, "has_lease", lambda: False)
        self.promote()
        self.metadata.lead("t", 0, 2)
        patched.restore()
        self.clock.advance(AGAIN_S)
        self.assertEqual(self.added, [])
