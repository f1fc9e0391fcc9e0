"""The fake metadata store of tests shows what a cluster's would, and a broker runs on it."""

from __future__ import annotations

from zope.interface.verify import verifyObject

from kafkatx.interfaces import IMetadataStore
from kafkatx.types import NO_LEADER, ClusterDelta
from tests.broker.cluster import BROKER_ID, ClusterTestCase


class FakeMetadataStoreTests(ClusterTestCase):
    def leaders(self, topic: str) -> list[tuple[int, int]]:
        """Return leader and leader epoch of each partition of a topic."""
        return [(one.leader, one.leader_epoch) for one in self.metadata.state.topics[topic].partitions]

    def test_interface(self) -> None:
        """It provides IMetadataStore."""
        self.assertTrue(verifyObject(IMetadataStore, self.metadata))

    def test_registered(self) -> None:
        """A broker that has started is registered, and leads what was given to it since."""
        state = self.metadata.state
        self.assertEqual((sorted(state.brokers), state.fenced), ([1, 2, 3], False))
        self.metadata.put(self.metadata.make_topic("t", [[1], [2]]))
        partitions = self.metadata.state.topics["t"].partitions
        self.assertEqual([self.metadata.state.leads(BROKER_ID, one) for one in partitions], [True, False])
        self.metadata.join(BROKER_ID)
        self.assertFalse(self.metadata.state.leads(BROKER_ID, partitions[0]))

    def test_deltas(self) -> None:
        """Listeners get the names of the topics that changed, and the state before."""
        self.metadata.put(self.metadata.make_topic("t", [[1]]), self.metadata.make_topic("u", [[1]]))
        deltas: list[ClusterDelta] = []
        self.metadata.subscribe(deltas.append)
        self.metadata.lead("t", 0, 2)
        self.metadata.remove("u")
        self.metadata.fence()
        self.assertEqual([set(delta.topics) for delta in deltas], [{"t"}, {"u"}, set()])
        self.assertEqual([delta.after.fenced for delta in deltas], [False, False, True])
        self.assertIs(deltas[0].after, deltas[1].before)
        self.assertEqual(self.leaders("t"), [(2, 1)])

    def test_brokers_leave(self) -> None:
        """The partitions of a broker that has gone have no leader until the test gives them one."""
        self.metadata.put(self.metadata.make_topic("t", [[2], [3]]))
        self.metadata.leave(2)
        self.assertEqual(self.leaders("t"), [(NO_LEADER, 1), (3, 0)])
        self.metadata.join(2)
        self.metadata.lead("t", 0, 2)
        self.assertEqual(self.leaders("t"), [(2, 2), (3, 0)])

    def test_held(self) -> None:
        """Commands wait while the test holds them."""
        self.metadata.holding = True
        creating = self.metadata.create_topic("t", [[1]], {})
        self.assertNoResult(creating)
        (command,) = self.metadata.commands
        self.assertEqual((command.name, command.args), ("create_topic", ("t", [[1]], {})))
        command.carry_out()
        self.assertEqual(self.successResultOf(creating), self.metadata.state.topics["t"])
