"""Rounds over states: what is asked, and what happens if a step fails."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.mirror.control.own_brokers import OwnBrokers
from kafkatx.broker.mirror.control.states_round import LATER_S, SOON_S, StatesRound
from kafkatx.broker.producer_ids import raise_producer_ids
from kafkatx.clientcore.admin.mirror_status import MirrorReport, MirrorStatus
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.config.mirror_record import MirrorState
from kafkatx.types import TopicPartition
from tests.broker.cluster import FakeMetadataStore
from tests.broker.mirror.control.case import ControlCase


class StatesRoundTests(ControlCase):
    def setUp(self) -> None:
        """Make the link."""
        super().setUp()
        self.log().add(b"a", b"b")
        self.source.groups["g"] = {TopicPartition("t", 0): OffsetAndMetadata(7)}
        self.link()
        self.advance(3)

    def states(self) -> StatesRound:
        """Return rounds of the controller beside its own."""
        mirrors = self.brokers[self.controller].broker.mirrors
        assert mirrors._controller is not None
        one = mirrors._controller
        return StatesRound(
            self.controller,
            one._metadata,
            one._commands,
            one._target,
            one._status,
            one._lock,
            one._copy_groups,
        )

    def test_pauses(self) -> None:
        """While nothing is to be done the next round is late, else soon."""
        states, broker = self.states(), self.brokers[self.controller].broker
        self.assertEqual(self.result(states.run(broker.config)), LATER_S)
        patch = self.patch(OwnBrokers, "report", _lose)
        self.alter(promoted="t")
        self.assertEqual(self.result(states.run(broker.config)), SOON_S)
        patch.restore()

    def test_two_reports(self) -> None:
        """A broker that believes to lead still, in an earlier epoch, does not hide the leader's report."""
        states = self.states()
        found = [MirrorStatus("dc1", "t", 0, "mirroring", leader_epoch=epoch) for epoch in (1, 2, 1)]

        async def report(*_: object) -> MirrorReport:
            return MirrorReport((), tuple(found))

        patch = self.patch(OwnBrokers, "report", report)
        told = self.result(states._reports(["t"]))
        patch.restore()
        self.assertEqual(told["t"][0].leader_epoch, 2)

    def test_leaders_that_do_not_answer(self) -> None:
        """Nothing is promoted until every leader has answered."""
        patch = self.patch(OwnBrokers, "report", _lose)
        self.alter(promoted="t")
        self.advance(5)
        self.assertIsNot(self.state(), MirrorState.PROMOTED)
        patch.restore()
        self.advance(5)
        self.assertIs(self.state(), MirrorState.PROMOTED)

    def test_groups_that_cannot_be_clamped(self) -> None:
        """While a coordinator does not answer the topic stays read-only, with its ends."""
        patch = self.patch(OwnBrokers, "groups", _lose)
        self.alter(promoted="t")
        self.advance(5)
        self.assertIs(self.state(), MirrorState.PROMOTING)
        self.assertEqual(self.record().ends, (2, 0))
        patch.restore()
        self.advance(5)
        self.assertIs(self.state(), MirrorState.PROMOTED)
        self.assertEqual(self.offsets("g")[0].offset, 2)

    def test_given_up(self) -> None:
        """A promotion whose wish is taken back before there are ends is given up: records come again."""
        self.patch(OwnBrokers, "report", _lose)
        self.alter(promoted="t")
        self.advance(2)
        self.alter(promoted="")
        self.advance(2)
        self.assertIs(self.state(), MirrorState.MIRRORING)
        self.log().add(b"c")
        self.advance(2)
        self.assertEqual(self.values("t", 0), [b"a", b"b", b"c"])


async def _lose(*_: object) -> None:
    raise ConnectionFailed("lost")


class ProducerIdsTests(ControlCase):
    def test_raised(self) -> None:
        """The next ids are above; never lower than they were, also near the greatest that there can be."""
        store = FakeMetadataStore()
        for above in (-1, 0, 1, 7, 7, 8, 9, 5, 5000, 2**61 - 1):
            before = store.next_producer_id
            self.successResultOf(Deferred.fromCoroutine(raise_producer_ids(store, above)))
            self.assertGreater(store.next_producer_id, above)
            self.assertGreaterEqual(store.next_producer_id, before)
            self.assertLess(store.next_producer_id, max(before, above) + 3)

    def test_in_a_cluster(self) -> None:
        """The cluster's store has blocks that others can read, whatever is reserved."""
        metadata = self.brokers[1].metadata
        for above in (0, 1, 2, 3, 5000, 2**61 - 1):
            self.result(raise_producer_ids(metadata, above))
        ids = self.run_to_end(self.brokers[2].metadata.allocate_producer_ids(1000))
        self.assertGreater(ids.start, 2**61 - 1)
