"""Tests of kafkatx.client.legacy.zookeeper.registry."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.client.legacy.zookeeper import registry as module
from kafkatx.clientcore.legacy.topic_filter import Subscription, Whitelist
from kafkatx.interfaces.nodes import ConnectionLost, Delete, NodeExists, SessionExpired, SetData
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.types import TopicPartition
from tests.client.legacy.zookeeper.case import TreeTestCase, topic_data

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
ASKED = Subscription({"t": 1})


class MemberTests(TreeTestCase):
    def test_register(self) -> None:
        """A member's node is ephemeral; registering again in the same session does nothing."""
        for _ in range(2):
            self.result(self.registry.register(ASKED, 1000))
        self.assertEqual(self.names("/consumers/g/ids"), ["m"])
        self.assertIn(b'"timestamp":"1000"', self.data("/consumers/g/ids/m"))
        self.tree.link.expire()
        self.assertEqual(self.names("/consumers/g/ids"), [])

    def test_old_session(self) -> None:
        """A node that an older session still has cannot be taken over."""
        self.result(self.registry.register(ASKED, 1000))
        _, again = self.member("m")
        with self.assertRaises(NodeExists):
            self.result(again.register(ASKED, 2000))

    def test_unregister(self) -> None:
        """A member deletes its node, and it does not matter if it is gone."""
        self.result(self.registry.register(ASKED, 1000))
        for _ in range(2):
            self.result(self.registry.unregister())
        self.assertEqual(self.names("/consumers/g/ids"), [])


class StateTests(TreeTestCase):
    def test_read(self) -> None:
        """All members are read, and the partitions of the topics that this one asks for."""
        self.make("/brokers/topics/t", topic_data(2))
        self.make("/brokers/topics/u", topic_data(1))
        self.result(self.registry.register(ASKED, 1000))
        _, other = self.member("n")
        asked = Subscription(filter=Whitelist("t|u"), streams=1)
        self.result(other.register(asked, 1000))
        state = self.result(self.registry.read(ASKED))
        self.assertEqual((set(state.members), state.topics), ({"m", "n"}, {"t": 2}))
        self.assertEqual(self.result(other.read(asked)).topics, {"t": 2, "u": 1})

    def test_watched(self) -> None:
        """Each change is reported once: a member, a topic that is created, partitions, brokers."""
        self.result(self.registry.register(ASKED, 1000))
        changes = (
            lambda: self.make("/consumers/g/ids/x", b'{"t":1}'),
            lambda: self.make("/brokers/topics/t", topic_data(1)),
            lambda: self.server.multi(self.session, [SetData("/brokers/topics/t", topic_data(2))]),
            lambda: self.make("/brokers/ids/7"),
            lambda: self.server.multi(self.session, [Delete("/consumers/g/ids/x")]),
        )
        for change in changes:
            for _ in range(3):  # watches do not pile up
                self.result(self.registry.read(ASKED))
            self.changes = 0
            change()
            self.settle()
            self.assertEqual(self.changes, 1)

    def test_filter_watches_topics(self) -> None:
        """A member with a filter hears of a new topic."""
        asked = Subscription(filter=Whitelist(".*"), streams=1)
        self.result(self.registry.register(asked, 1000))
        self.result(self.registry.read(asked))
        self.make("/brokers/topics/new", topic_data(1))
        self.settle()
        self.assertEqual(self.changes, 1)

    def test_unreadable(self) -> None:
        """A member that cannot be read is an error: its share is unknown."""
        self.result(self.registry.register(ASKED, 1000))
        self.make("/consumers/g/ids/x", b"?")
        with self.assertRaises(UnreadableNode):
            self.result(self.registry.read(ASKED))

    def test_lost(self) -> None:
        """The end of a connection is no change, and all is watched again after it."""
        self.result(self.registry.register(ASKED, 1000))
        self.result(self.registry.read(ASKED))
        self.tree.link.cut()
        self.settle()
        self.assertEqual(self.changes, 0)
        self.tree.link.heal()
        self.settle()
        self.result(self.registry.read(ASKED))
        self.make("/brokers/ids/7")
        self.settle()
        self.assertEqual(self.changes, 1)


class OwnerTests(TreeTestCase):
    def test_claim(self) -> None:
        """Owners are created with member and stream, and deleted again."""
        self.result(self.registry.claim({T0: 0, T1: 1, U0: 0}))
        self.assertEqual(self.data("/consumers/g/owners/t/1"), b"m-1")
        self.assertEqual(set(self.registry.owned), {T0, T1, U0})
        self.result(self.registry.release())
        self.assertEqual((self.names("/consumers/g/owners/t"), self.registry.owned), ([], {}))

    def test_all_or_none(self) -> None:
        """No partition is claimed if one has an owner, also if earlier requests have succeeded."""
        self.patch(module, "CHUNK", 1)
        _, other = self.member("n")
        self.result(other.claim({T1: 0}))
        with self.assertRaises(NodeExists):
            self.result(self.registry.claim({T0: 0, T1: 0}))
        self.assertEqual(self.names("/consumers/g/owners/t"), ["1"])
        self.assertEqual(self.registry.owned, {})
        self.result(other.release())
        self.result(self.registry.claim({T0: 0, T1: 0}))

    def test_release_at_once(self) -> None:
        """From the call on a member owns nothing, before the request has arrived."""
        self.result(self.registry.claim({T0: 0}))
        Deferred.fromCoroutine(self.registry.release())
        self.assertEqual(self.registry.owned, {})

    def test_unknown_claim(self) -> None:
        """A claim whose reply was lost may have been made: it is released later."""
        self.result(self.registry.create_missing(["/consumers", "/consumers/g", "/consumers/g/owners"]))
        self.result(self.registry.create_missing(["/consumers/g/offsets", "/consumers/g/ids"]))
        self.result(self.registry.create_missing(["/consumers/g/owners/t", "/consumers/g/offsets/t"]))
        self.tree.link.replies.delay_s = 1
        claim = Deferred.fromCoroutine(self.registry.claim({T0: 0}))
        self.clock.advance(0)
        self.clock.advance(1)  # it has heard that the parents are there
        self.assertEqual(self.names("/consumers/g/owners/t"), ["0"])
        self.tree.link.replies.delay_s = 0
        self.tree.link.cut()
        with self.assertRaises(ConnectionLost):
            self.result(claim)
        self.assertEqual(self.registry.owned, {})
        self.tree.link.heal()
        self.settle()
        self.assertEqual(self.names("/consumers/g/owners/t"), ["0"])
        self.result(self.registry.release())
        self.assertEqual(self.names("/consumers/g/owners/t"), [])

    def test_not_anothers(self) -> None:
        """A member never deletes an owner of another member."""
        self.result(self.registry.claim({T0: 0, T1: 0}))
        self.server.multi(self.session, [Delete("/consumers/g/owners/t/0")])
        _, other = self.member("n")
        self.result(other.claim({T0: 0}))
        self.server.multi(self.session, [Delete("/consumers/g/owners/t/1")])
        self.result(self.registry.release())
        self.assertEqual(self.names("/consumers/g/owners/t"), ["0"])

    def test_expired(self) -> None:
        """A member whose session has expired owns nothing."""
        self.result(self.registry.claim({T0: 0}))
        self.tree.link.expire()
        self.settle()
        self.assertEqual(self.registry.owned, {})
        with self.assertRaises(SessionExpired):
            self.result(self.registry.claim({T0: 0}))

    def test_lost(self) -> None:
        """A partition that is lost is not owned any more, and the group is to be read again."""
        self.result(self.registry.claim({T0: 0, T1: 0}))
        self.registry.lost([T0])
        self.assertEqual((set(self.registry.owned), self.changes), ({T1}, 1))

    def test_owns(self) -> None:
        """Partitions are owned by the session that has created the node."""
        _, other = self.member("n")
        self.result(self.registry.claim({T0: 0}))
        self.result(other.claim({T1: 0}))
        self.assertEqual(self.result(self.registry.owns([T0, T1, U0])), [T0])
