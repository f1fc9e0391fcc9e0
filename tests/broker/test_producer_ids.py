"""Producer ids: each is given out once."""

from __future__ import annotations

import uuid

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.producer_ids import BLOCK, ProducerIds
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState
from kafkatx.records.builder import BatchBuilder
from tests.broker.cluster import FakeMetadataStore
from tests.broker.running import NOW_MS, BrokerTestCase


class ProducerIdTests(BrokerTestCase):
    def test_ids_across_restarts(self) -> None:
        """Ids never repeat: not within a block, not after it, not after a restart."""
        first = ProducerIds(self.broker.metadata)
        given = [self.successResultOf(Deferred.fromCoroutine(first.next())) for _ in range(BLOCK + 1)]
        restarted = ProducerIds(self.broker.metadata)
        given.append(self.successResultOf(Deferred.fromCoroutine(restarted.next())))
        self.assertEqual(len(set(given)), BLOCK + 2)
        self.assertTrue(all(producer_id >= 0 for producer_id in given))


class PromotionTests(BrokerTestCase):
    """Reserved ids when a mirrored topic is promoted."""

    def setUp(self) -> None:
        """Make ids that are reserved from a store of the test, and a mirror."""
        super().setUp()
        self.store = FakeMetadataStore()
        self.ids = ProducerIds(self.store)
        self.show(MirrorState.PROMOTING)

    def show(self, state: MirrorState) -> None:
        """Show the state of the mirror."""
        record = MirrorRecord("dc1", uuid.UUID(int=1), state)
        topic = self.store.state.topics.get("t") or self.store.make_topic("t", [(1,)])
        self.store.put(attrs.evolve(topic, configs={KAFKATX_MIRROR: record.text()}))

    def next(self) -> Deferred[int]:
        """Ask for an id."""
        return Deferred.fromCoroutine(self.ids.next())

    def test_forgotten(self) -> None:
        """The rest of a block from before a promotion is given to no one; other changes take nothing away."""
        self.assertEqual(self.successResultOf(self.next()), 0)
        self.show(MirrorState.PAUSED)
        self.assertEqual(self.successResultOf(self.next()), 1)
        self.store.next_producer_id = 9000
        self.show(MirrorState.PROMOTED)
        self.assertEqual(self.successResultOf(self.next()), 9000)
        self.store.put(self.store.make_topic("other", [(1,)]))
        self.show(MirrorState.PROMOTED)
        self.assertEqual(self.successResultOf(self.next()), 9001)

    def test_while_reserving(self) -> None:
        """A block that was reserved before, and comes after the promotion, is not used."""
        self.store.holding = True
        waiting = self.next()
        self.store.holding = False
        self.show(MirrorState.PROMOTED)
        self.store.next_producer_id = 9000
        self.store.commands[0].done.callback(range(BLOCK))
        self.assertEqual(self.successResultOf(waiting), 9000)


class OlderStateTests(BrokerTestCase):
    """The state is an older copy: its ids may be in logs."""

    def setUp(self) -> None:
        """Make ids that are reserved from a store of the test."""
        super().setUp()
        self.store = FakeMetadataStore()
        self.highest = -1
        self.ids = ProducerIds(self.store, lambda: self.highest)

    def next(self) -> int:
        """Return an id."""
        return self.successResultOf(Deferred.fromCoroutine(self.ids.next()))

    def test_in_logs(self) -> None:
        """No id is handed out that is not above all in the logs."""
        self.highest = 5003
        self.assertGreater(self.next(), 5003)

    def test_raised(self) -> None:
        """An id that shows up takes the rest of a block away, and raises all others; a lower one does not."""
        first = self.next()
        self.successResultOf(Deferred.fromCoroutine(self.ids.raise_above(first + 7000)))
        second = self.next()
        self.assertGreater(second, first + 7000)
        count = len(self.store.commands)
        self.successResultOf(Deferred.fromCoroutine(self.ids.raise_above(first + 7000)))
        self.assertEqual((self.next(), len(self.store.commands)), (second + 1, count))

    def test_broker_joins(self) -> None:
        """A broker that registers has raised the ids above those of its logs: the rest of a block is left."""
        first = self.next()
        self.store.next_producer_id = 9000
        self.store.join(2)
        self.assertEqual((first, self.next()), (0, 9000))

    def test_broker(self) -> None:
        """The broker's own logs and coordinator tell the highest id."""
        (partition,) = self.make_topic("t", 1)
        self.assertEqual(self.broker.highest_producer_id(), -1)
        builder = BatchBuilder(producer_id=77, producer_epoch=0, base_sequence=0)
        builder.append(None, b"v", NOW_MS)
        partition.log.append(builder.build(), 0, NOW_MS, True)
        partition.log.write()
        self.assertEqual(self.broker.highest_producer_id(), 77)
