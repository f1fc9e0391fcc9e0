"""Requests of the controller to the brokers of its cluster."""

from __future__ import annotations

from kafkatx.broker.mirror.control.group_plan import NOT_HERE, GroupHere
from kafkatx.broker.mirror.control.own_brokers import OwnBrokers
from kafkatx.clientcore.admin.groups import GroupInUse
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.broker.mirror.control.case import ControlCase

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class OwnBrokersTests(ControlCase):
    def setUp(self) -> None:
        """Make the requests of broker 1."""
        super().setUp()
        broker = self.brokers[1].broker
        self.own = OwnBrokers(
            1, ("b1", 9101), broker.metadata, broker.groups.topic, self.stores.clock,
            self.network.endpoints_of(1),
        )  # fmt: skip
        self.addCleanup(lambda: self.stores.run(self.own.close()))

    def join(self, group: str) -> None:
        """Join a group as a member."""
        protocols = [JoinGroupRequestProtocol("range", b"")]
        request = JoinGroupRequest(group, 30_000, 30_000, "", None, "consumer", protocols)
        self.ask(self._coordinator(group), 11, 3, request)

    def test_groups(self) -> None:
        """All groups are known, and which of them have had members."""
        names = [f"g{number}" for number in range(5)]
        self.create("t", 2, replicas=3)
        for name in names:
            self.commit(name, "t", {0: 1})
        self.join("g0")
        found = self.result(self.own.groups())
        self.assertEqual(found, {name: name == "g0" for name in names})

    def test_offsets(self) -> None:
        """Offsets for wanted topics come from all coordinators; unknown groups are left out."""
        self.create("t", 2, replicas=3)
        names = [f"g{number}" for number in range(5)]
        for number, name in enumerate(names):
            self.commit(name, "t", {0: number, 1: 7})
        known = dict.fromkeys(names, False)
        found = self.result(self.own.offsets_of([*names, "x"], known, {"t": 1}))
        wanted = {
            name: GroupHere(False, {T0: OffsetAndMetadata(number)}) for number, name in enumerate(names)
        }
        self.assertEqual(found, wanted)
        self.assertEqual(found.get("x", NOT_HERE), NOT_HERE)

    def test_commit(self) -> None:
        """Offsets are committed, the first of all as well; a group with members refuses them."""
        self.link()
        offsets = {f"g{number}": {T0: OffsetAndMetadata(number, "x", 0)} for number in range(5)}
        self.assertEqual(self.result(self.own.commit(offsets)), dict.fromkeys(offsets))
        self.assertEqual(self.offsets("g3"), {0: OffsetAndMetadata(3, "x", 0)})
        self.join("g1")
        outcomes = self.result(self.own.commit(offsets))
        self.assertIsInstance(outcomes.pop("g1"), GroupInUse)
        self.assertEqual(set(outcomes.values()), {None})

    def test_report(self) -> None:
        """A broker tells of the mirrors that it leads, this one as well as others."""
        self.link()
        told = {}
        for broker_id in self.brokers:
            for one in self.result(self.own.report(broker_id, ["t"])).partitions:
                told[one.partition] = one.broker
        self.assertEqual([told[0], told[1]], self.leaders("t"))
        self.assertEqual(self.result(self.own.report(1, ["x"])).partitions, ())

    def test_gone(self) -> None:
        """A broker that is gone is an error, and its connection is closed."""
        self.result(self.own.report(2, []))
        self.kill(2)
        self.advance(20)
        with self.assertRaises(KafkaTXError):
            self.result(self.own.report(2, []))
        self.result(self.own.report(3, []))
        self.assertEqual(len(self.own._brokers._connections), 1)
