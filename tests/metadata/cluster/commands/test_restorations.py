"""An older copy of the tree: states are written anew, and the longest log leads."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.interfaces.nodes import Create, SetData
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.restorations import encode_restorations, generation
from kafkatx.types import BrokerNode, ElectionKind, IsrChange, LogEnd, PartitionState, TopicPartition
from tests.metadata.cluster.cases import RunningCase

ONE = TopicPartition("t", 0)


class RestorationTests(RunningCase):
    """Brokers 1 and 2 have the replicas of a topic."""

    def setUp(self) -> None:
        """Start broker 1, and then broker 2, whose log dirs know more than the tree."""
        super().setUp()
        self.first = self.started(1)
        self.result(self.first.create_topic("t", [[1, 2]], {}))
        self.before = self.first.state.topics["t"].partitions[0]
        self.assertEqual(self.before.leader, 1)
        self.second = self.stores.make_store()
        self.result(self.second.start(BrokerNode(2, "host2", 9092)))
        self.addCleanup(lambda: self.result(self.second.stop()))

    def register(self, more: int = 1) -> None:
        """Register broker 2, with log dirs that have noted so many changes more."""
        self.result(self.second.register(["directory-2"], seen=self.second.generation + more))
        self.stores.settle()

    def partition(self, store: ClusterMetadataStore | None = None) -> PartitionState:
        """Return the state of the partition."""
        self.stores.settle()
        return (store or self.first).state.topics["t"].partitions[0]

    def tell(self, store: ClusterMetadataStore, latest: int, epoch: int, offset: int) -> None:
        """Tell where the log of a broker ends."""
        asked = self.partition().leader_epoch
        self.result(store.report_log_ends({ONE: LogEnd(asked, latest, epoch, offset)}))
        self.stores.settle()

    def test_not_older(self) -> None:
        """Log dirs that have noted this change, or an earlier one, are no reason for anything."""
        self.register(0)
        self.assertEqual(self.partition().isr[:1], (1,))
        self.assertIsNone(self.stat(paths.RESTORING))
        self.assertEqual(self.read(paths.RESTORATIONS), b"")

    def test_nobody_leads(self) -> None:
        """No broker leads by a state from before; the generation is above all that was noted."""
        noted = self.second.generation + 1000
        self.register(1000)
        for store in (self.first, self.second):
            state = self.partition(store)
            self.assertEqual((state.leader, state.isr), (-1, ()))
            self.assertGreater(state.leader_epoch, self.before.leader_epoch)
            self.assertGreater(store.generation, noted)
            self.assertEqual(store.state.restored_at, -1)
        self.assertIsNone(self.stat(paths.RESTORING))

    def test_longest(self) -> None:
        """The longest log leads, in an epoch above all logs', when all have told where theirs end."""
        self.register()
        self.tell(self.first, 9, 4, 500)
        self.assertEqual(self.partition().leader, -1)
        self.tell(self.second, 7, 7, 120)
        for store in (self.first, self.second):
            state = self.partition(store)
            self.assertEqual((state.leader, state.isr), (2, (2,)))
            self.assertGreater(state.leader_epoch, 9)

    def test_told_before(self) -> None:
        """Ends of logs that were told in an earlier epoch of the state do not count."""
        self.register()
        old = self.partition().leader_epoch - 1
        self.result(self.first.report_log_ends({ONE: LogEnd(old, 3, 3, 9)}))
        self.tell(self.second, 3, 3, 5)
        self.assertEqual(self.partition().leader, -1)

    def test_unclean(self) -> None:
        """On request the longest that is known leads, with room for the epochs of the others."""
        self.register()
        self.tell(self.second, 3, 3, 5)
        epoch = self.partition().leader_epoch
        controller = next(one for one in (self.first, self.second) if one.state.controller_id == 1)
        answers = self.result(controller.elect_leaders(ElectionKind.UNCLEAN, [ONE]))
        self.assertEqual(answers, {ONE: None})
        self.assertEqual(self.partition().leader, 2)
        self.assertGreater(self.partition().leader_epoch, epoch + 500)

    def test_unclean_unknown(self) -> None:
        """On request no broker leads while no replica has told where its log ends."""
        self.register()
        answers = self.result(self.first.elect_leaders(ElectionKind.UNCLEAN, [ONE]))
        error = answers[ONE]
        assert error is not None
        self.assertEqual(error.code, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)

    def test_leader_writes_nothing(self) -> None:
        """A leader that has not heard of it changes no in-sync replicas."""
        change = IsrChange(
            self.first.state.topics["t"].topic_id,
            ONE,
            self.before,
            (1,),
            {1: self.first.state.brokers[1].epoch},
            1,
        )
        self.tree(self.first).link.hold_replies()
        asked: Deferred[list[PartitionState | ErrorCode]] = self.first.alter_isr([change])
        self.tree(self.first).link.hold_requests()
        registering = self.second.register(["directory-2"], seen=self.second.generation + 1)
        self.stores.settle()
        self.tree(self.first).link.release()
        self.result(registering)
        self.result(asked)
        self.assertEqual(self.partition().isr, ())

    def test_again(self) -> None:
        """A second broker that has noted as much begins nothing anew; one that knows a later one does."""
        self.register()
        number = self.read(paths.RESTORATIONS)
        third = self.stores.make_store()
        self.result(third.start(BrokerNode(3, "host3", 9092)))
        self.addCleanup(lambda: self.result(third.stop()))
        self.result(third.register(["directory-3"], seen=generation(1, 10**6)))
        self.assertEqual(self.read(paths.RESTORATIONS), number)
        fourth = self.stores.make_store()
        self.result(fourth.start(BrokerNode(4, "host4", 9092)))
        self.addCleanup(lambda: self.result(fourth.stop()))
        self.result(fourth.register(["directory-4"], seen=generation(5, 3)))
        self.assertEqual(self.read(paths.RESTORATIONS), encode_restorations(6))

    def test_running(self) -> None:
        """A broker that runs does not go on with a tree that is older than what it has seen."""
        link = self.tree(self.first).link
        link.cut()
        self.stores.settle()
        changes = self.stores.server._nodes[paths.CHANGES]  # as a copy would have them
        for name in sorted(changes.children)[-2:]:
            changes.children.remove(name)
            del self.stores.server._nodes[f"{paths.CHANGES}/{name}"]
        link.heal()
        self.stores.advance(10.0)
        self.assertTrue(self.first.state.fenced)
        self.write(Create(f"{paths.CHANGES}/c-0000009999", b'{"version":1,"by":"x"}'))
        self.write(SetData(paths.DELETIONS, b""))
        self.stores.advance(10.0)
        self.assertFalse(self.first.state.fenced)
