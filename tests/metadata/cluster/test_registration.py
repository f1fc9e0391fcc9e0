"""Registration: the nodes that it writes, past lives, other brokers with the id, and lost replies."""

from __future__ import annotations

import json
from collections.abc import Sequence

from twisted.internet.defer import Deferred, fail

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import BadVersion, Create, NodeStat, Operation, Outcome, Refused, SetData
from kafkatx.metadata.cluster.registration import STOP_S
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.types import BrokerNode, ClusterDelta
from tests.metadata.cluster.cases import RunningCase
from tests.metadata.cluster.lives import DiskLife
from tests.metadata.cluster.memory import TIMEOUT_S

NODE = BrokerNode(1, "h", 9092, "r1")


class RegistrationTests(RunningCase):
    def test_nodes(self) -> None:
        """The broker's node is Kafka's, with the directory ids; its czxid is the broker's epoch."""
        store = self.stores.make_store()
        self.result(store.start(NODE))
        self.addCleanup(lambda: self.result(store.stop()))
        self.result(store.register(["d1", "d2"]))
        node = json.loads(self.read("/brokers/ids/1"))
        del node["timestamp"]
        self.assertEqual(
            node,
            {
                "version": 5,
                "host": "h",
                "port": 9092,
                "jmx_port": -1,
                "endpoints": ["PLAINTEXT://h:9092"],
                "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
                "rack": "r1",
                "features": {},
                "kafkatx_directories": ["d1", "d2"],
            },
        )
        stat = self.stat("/brokers/ids/1")
        assert stat is not None
        self.assertEqual(stat.czxid, store.state.brokers[1].epoch)
        self.assertEqual(
            [self.stat(path).czxid for path in ("/kafkatx/leases/1", "/kafkatx/incarnations/1")],  # type: ignore[union-attr]
            [stat.czxid] * 2,
        )

    def test_stopping(self) -> None:
        """A broker that stops says so in its incarnation, and its nodes vanish at once."""
        store = self.started()
        self.result(store.stop())
        incarnation = json.loads(self.read("/kafkatx/incarnations/1"))
        self.assertTrue(incarnation["stopping"])
        self.assertEqual((self.children("/brokers/ids"), self.stat("/controller")), ([], None))
        self.started()
        self.assertFalse(json.loads(self.read("/kafkatx/incarnations/1"))["stopping"])

    def test_stopping_without_replies(self) -> None:
        """A broker whose connection carries nothing stops soon nevertheless."""
        store = self.started()
        self.tree(store).link.hold_replies()
        before = self.clock.seconds()
        self.result(store.stop())
        self.assertLess(self.clock.seconds() - before, STOP_S + 0.1)
        self.tree(store).link.release()

    def test_past_life(self) -> None:
        """A broker that was killed takes over its id and the controller's role at once."""
        first = self.started()
        self.tree(first).link.cut()
        before = self.clock.seconds()
        again = self.started()
        self.assertLess(self.clock.seconds() - before, TIMEOUT_S / 2)
        self.assertEqual((self.read("/controller_epoch"), again.state.fenced), (b"2", False))
        topic = self.result(again.create_topic("t", [[1]], {}))
        self.assertLess(self.clock.seconds() - before, TIMEOUT_S / 2)
        self.assertEqual(topic.partitions[0].leader, 1)

    def test_past_life_leads_nothing(self) -> None:
        """A broker that takes over from its past life never leads by the states that were given to that."""
        first = self.started()
        self.result(first.create_topic("t", [[1]], {}))
        self.tree(first).link.cut()
        again = self.stores.make_store()
        self.result(again.start(BrokerNode(1, "host1", 9092)))
        self.addCleanup(lambda: self.result(again.stop()))
        led: list[int] = []

        def look(delta: ClusterDelta) -> None:
            state = delta.after.topics["t"].partitions[0]
            if delta.after.leads(1, state):
                led.append(state.leader_epoch)

        again.subscribe(look)
        self.result(again.register(["directory-1"], life=DiskLife(self.disk())))
        self.stores.advance(1.0)
        self.assertEqual(set(led), {1})

    def test_end_of_the_past_controller_is_checked(self) -> None:
        """The past life's node of the controller is deleted only if no other was elected since."""
        store = self.started()
        session_id = self.tree(store).session_id or 0
        operations = self.done(store._registration._end_past_controller(session_id))
        self.write(SetData("/controller_epoch", b"2"))
        with self.assertRaises(BadVersion):
            self.write(*operations)
        self.assertEqual(self.done(store._registration._end_past_controller(99)), [])

    def test_past_controller_is_another_broker(self) -> None:
        """A broker that was killed leaves the controller alone if that is another broker."""
        first = self.started(1)
        second = self.started(2)
        controller = self.stat("/controller")
        self.tree(second).link.cut()
        self.started(2)
        self.assertEqual(self.stat("/controller"), controller)
        self.assertEqual(first.state.controller_id, 1)

    def test_other_broker_goes(self) -> None:
        """A start waits for the session of another broker with the id, which may have died."""
        self.write(Create("/brokers"), Create("/brokers/ids"))
        other = self.stores.make_tree()
        self.result(other.connect())
        node = b'{"version":4,"host":"o","port":1,"endpoints":["PLAINTEXT://o:1"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}}'
        self.result(other.multi([Create("/brokers/ids/1", node, ephemeral=True)]))
        other.link.cut()
        store = self.started()
        self.assertEqual(store.state.brokers[1].host, "host1")

    def test_other_broker_stays(self) -> None:
        """A start whose id another broker keeps is refused after the time-out of a session."""
        self.started()
        other = self.stores.make_store()
        self.result(other.start(NODE))
        self.addCleanup(lambda: self.result(other.stop()))
        before = self.clock.seconds()
        with self.assertRaises(SettingError) as caught:
            self.result(other.register(["another"]))
        self.assertGreater(self.clock.seconds() - before, TIMEOUT_S)
        self.assertIn("broker.id=1", str(caught.exception))
        self.assertIn("host1:9092", str(caught.exception))

    def test_copy(self) -> None:
        """A process with a copy of a live broker's data is refused, by a sentence that names both."""
        first = self.started()
        epoch = first.state.brokers[1].epoch
        copy = self.disk().copy()
        other = self.stores.make_store()
        self.result(other.start(NODE))
        self.addCleanup(lambda: self.result(other.stop()))
        with self.assertRaises(SettingError) as caught:
            self.result(other.register(["directory-1"], life=DiskLife(copy)))
        for part in (
            "broker.id=1",
            "host1:9092",
            "process 7",
            "log.dirs=/directory-1",
            "boot boot",
            "a copy",
        ):
            self.assertIn(part, str(caught.exception))
        self.assertEqual((first.state.brokers[1].epoch, first.state.fenced), (epoch, False))

    def test_copy_of_a_killed_broker(self) -> None:
        """A copy of a running broker's data waits for the end of its session, and is stale then."""
        first = self.started()
        copy = self.disk().copy()
        self.tree(first).link.cut()
        before = self.clock.seconds()
        self.assertTrue(self.is_stale(self.started(life=DiskLife(copy))))
        self.assertGreater(self.clock.seconds() - before, TIMEOUT_S / 2)

    def test_other_boot(self) -> None:
        """A lock that is free says nothing about a process in another boot, of another machine perhaps."""
        first = self.started()
        self.tree(first).link.cut()
        before = self.clock.seconds()
        self.assertFalse(self.is_stale(self.started(life=DiskLife(self.disk(), "another"))))
        self.assertGreater(self.clock.seconds() - before, TIMEOUT_S / 2)

    def test_older_copy(self) -> None:
        """A copy from before the last life is stale, also if it was made when the logs were closed."""
        self.lived()
        older = self.disk().copy()
        self.lived()
        self.assertTrue(self.is_stale(self.started(life=DiskLife(older))))

    def test_moved(self) -> None:
        """Data that was moved after an orderly stop continues the last life; then the original does not."""
        self.lived()
        moved = self.started(life=DiskLife(self.disk().copy()))
        self.assertFalse(self.is_stale(moved))
        self.result(moved.stop())
        self.assertTrue(self.is_stale(self.started()))

    def test_same_life_again(self) -> None:
        """A broker that registers again after a lost session is not stale."""
        store = self.started()
        self.tree(store).link.expire()
        self.stores.advance(TIMEOUT_S)
        self.assertEqual((store.state.fenced, store.state.stale_epochs), (False, {}))

    def test_other_process_between(self) -> None:
        """A broker is stale if another process was this broker while its session had expired."""
        first = self.started()
        link = self.tree(first).link
        link.cut()
        other = self.started(life=DiskLife(self.disk().copy()))
        self.result(other.stop())
        link.heal()
        self.stores.advance(2 * TIMEOUT_S)
        self.assertTrue(self.is_stale(first))
        self.assertEqual((first.state.brokers[1].clean, first.state.fenced), (False, False))

    def test_damaged_lives(self) -> None:
        """Nothing continues a life that cannot be read."""
        self.result(self.started().stop())
        self.write(SetData("/kafkatx/lives/1", b"?"))
        self.assertTrue(self.is_stale(self.started()))

    def test_stale_epoch(self) -> None:
        """The epoch of a stale registration is known in all later lives, and while the broker is away."""
        observer = self.started(2)
        self.lived()
        self.disks[1] = self.disk().copy()
        self.lived()
        self.disks[1].record = None
        store = self.started()
        epoch = store.state.brokers[1].epoch
        self.assertEqual(observer.state.stale_epochs, {1: epoch})
        for end in (store.stop, lambda: self.started().stop()):
            self.result(end())
            self.assertEqual(observer.state.stale_epochs, {1: epoch})

    def lived(self) -> None:
        """Start a broker, and stop it in order."""
        life = DiskLife(self.disk())
        store = self.started(life=life)
        life.end()
        self.result(store.stop())

    def is_stale(self, store: ClusterMetadataStore) -> bool:
        """Return True if the registration of a broker says that its logs do not continue its last life."""
        return store.state.stale_epochs.get(1) == store.state.brokers[1].epoch

    def test_refused(self) -> None:
        """A start whose registration the server refuses fails with the server's reason, in time."""
        store = self.stores.make_store()
        self.result(store.start(NODE))
        self.addCleanup(lambda: self.result(store.stop()))
        tree = self.tree(store)

        def refuse(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            return fail(Refused(operations[0].path, operations[0], 0, "NoAuthError"))

        self.patch(tree, "multi", refuse)
        with self.assertRaises(SettingError) as caught:
            self.result(store.register(["d"]))
        self.assertIn("NoAuthError", str(caught.exception))

    def test_reply_lost(self) -> None:
        """A registration whose reply is lost counts: it is found when the connection is back."""
        store = self.stores.make_store()
        self.result(store.start(NODE))
        self.addCleanup(lambda: self.result(store.stop()))
        link = self.tree(store).link
        link.replies.delay_s = 0.5
        registering = store.register(["d"])
        while self.stat("/brokers/ids/1") is None:
            self.stores.advance(0.1)
        made = self.stat("/brokers/ids/1")
        link.cut()
        link.replies.delay_s = 0.0
        link.heal()
        self.result(registering)
        self.assertEqual(self.stat("/brokers/ids/1"), made)
        assert made is not None
        self.assertEqual((store.state.brokers[1].epoch, store.state.fenced), (made.czxid, False))

    def test_request_lost(self) -> None:
        """A registration whose request is lost is made when the connection is back."""
        store = self.stores.make_store()
        self.result(store.start(NODE))
        self.addCleanup(lambda: self.result(store.stop()))
        link = self.tree(store).link
        link.hold_requests()
        registering = store.register(["d"])
        self.stores.settle()
        link.cut()
        link.heal()
        self.result(registering)
        self.assertFalse(store.state.fenced)

    def test_again(self) -> None:
        """After each lost session the broker registers again, with the same directory ids."""
        store = self.started()
        for _ in range(3):
            epoch = store.state.brokers[1].epoch
            self.tree(store).link.expire()
            self.stores.advance(TIMEOUT_S)
            self.assertGreater(store.state.brokers[1].epoch, epoch)
        self.assertEqual(json.loads(self.read("/brokers/ids/1"))["kafkatx_directories"], ["directory-1"])

    def test_taken_while_away(self) -> None:
        """A broker whose id was taken while it was away stays fenced, and registers when it is free."""
        store = self.started()
        link = self.tree(store).link
        link.cut()
        self.stores.advance(2 * TIMEOUT_S)
        other = self.stores.make_store()
        self.result(other.start(NODE))
        self.result(other.register(["another"]))
        link.heal()
        self.stores.advance(3 * TIMEOUT_S)
        self.assertTrue(store.state.fenced)
        self.result(other.stop())
        self.stores.advance(2.0)
        self.assertEqual((store.state.fenced, store.state.brokers[1].host), (False, "host1"))

    def test_unclean(self) -> None:
        """Only the first registration of a process is unclean; later ones keep its epoch."""
        store = self.stores.make_store()
        self.result(store.start(NODE))
        self.addCleanup(lambda: self.result(store.stop()))
        self.result(store.register(["d"], clean=False))
        epoch = store.state.brokers[1].epoch
        self.assertEqual((store.state.brokers[1].clean, store.state.lost_epochs), (False, {1: epoch}))
        self.tree(store).link.expire()
        self.stores.advance(1.0)
        self.assertGreater(store.state.brokers[1].epoch, epoch)
        self.assertEqual((store.state.brokers[1].clean, store.state.lost_epochs), (True, {1: epoch}))

    def test_reply_is_lost(self) -> None:
        """A registration whose reply was lost is known with its incarnation, which the broker can set."""
        self.started()
        store = self.stores.make_store()
        self.result(store.start(BrokerNode(2, "h", 9092)))
        self.addCleanup(lambda: self.result(store.stop()))
        registering = store.register(["d"])
        link = self.tree(store).link
        link.hold_replies()
        self.stores.settle()
        link.cut(apply_requests=True)
        self.stores.settle()
        link.heal()
        self.result(registering)
        self.result(store.begin_stopping())
        node = store.state.brokers[2]
        self.assertTrue(node.stopping)
        self.assertEqual(node.incarnation_version, version_of(self.stat("/kafkatx/incarnations/2")))

    def test_damaged_incarnation(self) -> None:
        """A broker whose last incarnation cannot be read may have lost records before."""
        self.started()
        store = self.stores.make_store()
        self.result(store.start(BrokerNode(2, "h", 9092)))
        self.addCleanup(lambda: self.result(store.stop()))
        self.write(Create("/kafkatx/incarnations/2", b"?"))
        stat = self.stat("/kafkatx/incarnations/2")
        assert stat is not None
        self.result(store.register(["d"]))
        self.assertEqual((store.state.brokers[2].clean, store.state.lost_epochs), (True, {2: stat.mzxid}))


def version_of(stat: NodeStat | None) -> int:
    """Return the version of a node that exists."""
    assert stat is not None
    return stat.version
