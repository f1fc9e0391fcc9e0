"""Plans that move replicas."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.replica_plans import Move, drain, from_json, planned, spread, to_json
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.errors import SettingError
from kafkatx.types import BrokerNode, TopicPartition


def cluster(replicas: Sequence[Sequence[int]], racks: Mapping[int, str | None]) -> ClusterMetadata:
    """A topic ``t`` whose partitions have these replicas, and the live brokers."""
    partitions = {
        number: PartitionMetadata(number, each[0], 0, tuple(each), tuple(each))
        for number, each in enumerate(replicas)
    }
    nodes = {broker: BrokerNode(broker, f"b{broker}", 9092, rack) for broker, rack in racks.items()}
    return ClusterMetadata(nodes, 1, "c", {"t": TopicMetadata("t", partitions)})


def after(found: ClusterMetadata, moves: Sequence[Move]) -> list[tuple[int, ...]]:
    """The replicas of each partition after the moves."""
    changed = {move.topic_partition.partition: move.after for move in moves}
    return [changed.get(number, one.replicas) for number, one in sorted(found.topics["t"].partitions.items())]


NO_RACKS = dict.fromkeys((1, 2, 3, 4))


class PlanTests(SynchronousTestCase):
    def test_drain(self) -> None:
        """The broker with the fewest replicas takes the drained one's place in the list."""
        found = cluster([(1, 2), (2, 1), (2, 3)], NO_RACKS)
        self.assertEqual(after(found, drain(found, 1)), [(4, 2), (2, 3), (2, 3)])

    def test_drain_to_other_racks(self) -> None:
        """A replica goes to a rack that has none of the partition, even if that has more replicas."""
        racks = {1: "a", 2: "b", 3: "b", 4: "c"}
        found = cluster([(1, 2), (4, 2), (4, 2)], racks)
        self.assertEqual(after(found, drain(found, 1))[0], (4, 2))

    def test_drain_absent(self) -> None:
        """A broker that is away can be drained as well."""
        found = cluster([(9, 2)], NO_RACKS)
        self.assertEqual(after(found, drain(found, 9)), [(1, 2)])

    def test_cannot_be_drained(self) -> None:
        """With a replica on every other broker the error names the partition."""
        found = cluster([(1, 2, 3)], dict.fromkeys((1, 2, 3)))
        with self.assertRaisesRegex(SettingError, "broker 1 cannot be drained: t-0 has 3 replicas"):
            drain(found, 1)

    def test_spread_to_a_new_broker(self) -> None:
        """A new broker gets its share of replicas and of leaders, and nothing else is copied."""
        found = cluster([(1, 2), (2, 3), (3, 1), (1, 3), (2, 1), (3, 2)] * 2, NO_RACKS)
        moves = spread(found)
        replicas = after(found, moves)
        self.assertEqual(set(Counter(each for one in replicas for each in one).values()), {6})
        self.assertEqual(set(Counter(one[0] for one in replicas).values()), {3})
        self.assertEqual(sum(move.copied for move in moves), 6)

    def test_even_already(self) -> None:
        """A cluster that is even is left alone."""
        found = cluster([(1, 2), (2, 3), (3, 4), (4, 1)], NO_RACKS)
        self.assertEqual(spread(found), [])

    def test_random(self) -> None:
        """In random clusters each replica is once in its partition, no rack is lost, and loads are even."""
        random = Random(22)
        for _ in range(300):
            brokers = random.sample(range(1, 12), random.randint(2, 8))
            named = random.random() < 0.5
            racks = {each: random.choice("abc") if named else None for each in brokers}
            away = random.sample(range(20, 23), random.randint(0, 1))
            count = random.randint(1, min(3, len(brokers)))
            replicas = [random.sample([*brokers, *away], count) for _ in range(random.randint(1, 40))]
            found = cluster(replicas, racks)
            result = after(found, spread(found))
            for before, now in zip(replicas, result, strict=True):
                self.assertEqual(len(set(now)), len(before))
                kept = {racks[each] for each in before if each in racks}
                self.assertGreaterEqual(len({racks.get(each) for each in now}), len(kept))
            if not named:
                load = Counter(each for one in result for each in one)
                self.assertLessEqual(max(load[each] for each in racks) - min(load[each] for each in racks), 1)
                self.assertEqual([each for each in load if each not in racks], [])
            self.assertEqual(spread(cluster(result, racks)), [])


class JsonTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A plan is read as it was written; the other way round it is the plan that undoes it."""
        moves = [Move(TopicPartition("t", 0), (1, 2), (2, 3))]
        self.assertEqual(from_json(to_json(moves)), {TopicPartition("t", 0): (2, 3)})
        self.assertEqual(from_json(to_json(moves, before=True)), {TopicPartition("t", 0): (1, 2)})

    def test_wrong(self) -> None:
        """Text that is no plan is refused with the part that is wrong."""
        one = {"topic": "t", "partition": 0, "replicas": [1]}

        def plan(*items: object) -> str:
            return json.dumps({"partitions": items})

        for text, message in (
            ("{", "not JSON"),
            ("[]", "must be"),
            ('{"version":2,"partitions":[]}', "must be"),
            (plan({"topic": "t"}), "the plan has"),
            (plan({**one, "replicas": []}), "the plan has"),
            (plan({**one, "replicas": [1, 1]}), "the plan has"),
            (plan({**one, "replicas": [True]}), "the plan has"),
            (plan(one, one), "t-0 twice"),
            (plan({**one, "log_dirs": ["/d"]}), "write any"),
        ):
            with self.assertRaisesRegex(SettingError, message):
                from_json(text)

    def test_planned(self) -> None:
        """Partitions that are where they should be are left out; unknown ones and brokers are refused."""
        found = cluster([(1, 2), (2, 3)], NO_RACKS)
        wanted = {TopicPartition("t", 0): (1, 2), TopicPartition("t", 1): (3, 2)}
        self.assertEqual(planned(found, wanted), [Move(TopicPartition("t", 1), (2, 3), (3, 2))])
        with self.assertRaisesRegex(SettingError, "no partition t-2"):
            planned(found, {TopicPartition("t", 2): (1,)})
        with self.assertRaisesRegex(SettingError, "t-0: no live broker has the id 9"):
            planned(found, {TopicPartition("t", 0): (1, 9)})
