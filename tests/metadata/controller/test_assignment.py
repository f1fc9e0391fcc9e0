"""Tests of the assignment of replicas, against examples of Apache Kafka's own tests and by properties."""

from __future__ import annotations

from collections import Counter
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.controller.assignment import assign_new_partitions, assign_replicas, rack_alternated

Racks = dict[int, str | None]


def without_racks(count: int) -> Racks:
    """Return brokers 0 to *count* - 1 that have no rack."""
    return dict.fromkeys(range(count))


class ExampleTests(SynchronousTestCase):
    """The literal results in tests and documentation of Apache Kafka."""

    def test_without_racks(self) -> None:
        """Five brokers and ten partitions: the table of AdminZkClientTest.testTopicCreationInZK."""
        expected = [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 0), (4, 0, 1)]
        expected += [(0, 2, 3), (1, 3, 4), (2, 4, 0), (3, 0, 1), (4, 1, 2)]
        self.assertEqual(assign_replicas(without_racks(5), 10, 3, 0, 0), expected)

    def test_documented_example(self) -> None:
        """Each broker is first, second and third replica of the partitions in AdminUtils' table."""
        found = assign_replicas(without_racks(5), 10, 3, 0, 0)
        table = [
            [[p for p in range(10) if found[p][place] == broker] for broker in range(5)] for place in range(3)
        ]
        first = [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]
        second = [[4, 8], [0, 9], [1, 5], [2, 6], [3, 7]]
        third = [[3, 7], [4, 8], [0, 9], [1, 5], [2, 6]]
        self.assertEqual(table, [first, second, third])

    def test_with_racks(self) -> None:
        """Six brokers in three racks, seven partitions: AdminRackAwareTest's first test."""
        racks: Racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
        expected = [(0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3), (0, 4, 2)]
        self.assertEqual(assign_replicas(racks, 7, 3, 0, 0), expected)

    def test_alternated(self) -> None:
        """The order of brokers alternates between racks: AdminRackAwareTest and the documentation."""
        racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
        self.assertEqual(rack_alternated(racks), [0, 3, 1, 5, 4, 2])
        del racks[5]
        self.assertEqual(rack_alternated(racks), [0, 3, 1, 4, 2])
        even = {broker: f"rack{1 + broker // 3}" for broker in range(9)}
        self.assertEqual(rack_alternated(even), [0, 3, 6, 1, 4, 7, 2, 5, 8])

    def test_added_on_all_brokers(self) -> None:
        """Six partitions added to one with all brokers: AddPartitionsTest.testReplicaPlacementAllServers."""
        found = assign_new_partitions(without_racks(4), [(2, 3, 0, 1)], 6)
        self.assertEqual([replicas[0] for replicas in found], [3, 0, 1, 2, 3, 0])
        self.assertEqual({frozenset(replicas) for replicas in found}, {frozenset(range(4))})

    def test_added_on_some_brokers(self) -> None:
        """Two partitions added to one: AddPartitionsTest.testReplicaPlacementPartialServers."""
        self.assertEqual(assign_new_partitions(without_racks(4), [(1, 2)], 2), [(2, 0), (3, 1)])


class AssignmentTests(SynchronousTestCase):
    def refused(self, brokers: Racks, partitions: int, factor: int) -> ErrorCode:
        """Return the code of the error."""
        refused = self.assertRaises(RequestError, assign_replicas, brokers, partitions, factor, 0, 0)
        return ErrorCode(refused.code)

    def test_replication_factor(self) -> None:
        """The replication factor is from 1 to the number of brokers; no broker: none."""
        for factor in (-1, 0, 4):
            self.assertIs(self.refused(without_racks(3), 1, factor), ErrorCode.INVALID_REPLICATION_FACTOR)
        self.assertIs(self.refused({}, 1, 1), ErrorCode.INVALID_REPLICATION_FACTOR)

    def test_no_partitions(self) -> None:
        """No partitions cannot be assigned."""
        self.assertIs(self.refused(without_racks(3), 0, 1), ErrorCode.INVALID_PARTITIONS)

    def test_some_racks(self) -> None:
        """Nothing is assigned to brokers of which only some have a rack; the message names the others."""
        refused = self.assertRaises(RequestError, assign_replicas, {1: "a", 2: None, 3: "b"}, 1, 1, 0, 0)
        self.assertIs(refused.code, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        self.assertIn("[2]", str(refused))

    def test_one_broker(self) -> None:
        """One broker gets all partitions, with a rack or without."""
        for rack in (None, "a"):
            self.assertEqual(assign_replicas({7: rack}, 3, 1, 0, 0), [(7,), (7,), (7,)])

    def test_numbering_goes_on(self) -> None:
        """Partitions that are added one by one stand where those created at once do, within a round."""
        racks: Racks = {1: "a", 2: "b", 5: "a", 6: "b", 9: "c"}
        for brokers in (racks, dict.fromkeys(racks)):
            at_once = assign_replicas(brokers, 5, 3, 2, 2)
            apart = [assign_replicas(brokers, 1, 3, 2, 2, first=number)[0] for number in range(5)]
            self.assertEqual(apart, at_once)

    def test_added_at_a_new_round(self) -> None:
        """The shift grows at each multiple of the number of brokers, also for the first partition added."""
        self.assertEqual(assign_replicas(without_racks(3), 1, 2, 0, 0, first=3), [(0, 2)])
        self.assertEqual(assign_replicas(without_racks(3), 2, 2, 0, 0, first=2), [(2, 0), (0, 2)])

    def test_added_after_a_loss(self) -> None:
        """The start is the next live broker after partition 0's first replica; after the last, the first."""
        brokers = dict.fromkeys((1, 2, 4, 5))
        self.assertEqual(assign_new_partitions(brokers, [(3,)], 2), [(5,), (1,)])
        self.assertEqual(assign_new_partitions(brokers, [(6,)], 2), [(2,), (4,)])

    def test_balance(self) -> None:
        """In whole rounds each broker is first replica equally often, and has equally many replicas."""
        random = Random(1)
        for _ in range(50):
            brokers = without_racks(random.randint(1, 8))
            factor = random.randint(1, len(brokers))
            start, shift = random.randrange(len(brokers)), random.randrange(len(brokers))
            found = assign_replicas(brokers, 6 * len(brokers), factor, start, shift)
            firsts = Counter(replicas[0] for replicas in found)
            every = Counter(broker for replicas in found for broker in replicas)
            self.assertEqual((set(firsts.values()), set(every.values())), ({6}, {6 * factor}))
            self.assertTrue(all(len(set(replicas)) == factor for replicas in found))

    def test_racks_are_spread(self) -> None:
        """A partition has replicas in as many racks as it can; in even racks all brokers have as many."""
        random = Random(2)
        for _ in range(100):
            many = random.randint(1, 4)
            brokers: Racks = {broker: f"r{random.randrange(many)}" for broker in range(random.randint(1, 9))}
            racks = set(brokers.values())
            factor = random.randint(1, len(brokers))
            start, shift = random.randrange(len(brokers)), random.randrange(len(brokers))
            for replicas in assign_replicas(brokers, 20, factor, start, shift):
                self.assertEqual(len(set(replicas)), factor)
                self.assertEqual(
                    len({brokers[broker] for broker in replicas}),
                    min(factor, len(racks)),
                    (brokers, replicas),
                )
        even: Racks = {broker: "abc"[broker % 3] for broker in range(6)}
        every = Counter(broker for replicas in assign_replicas(even, 12, 3, 1, 4) for broker in replicas)
        self.assertEqual(set(every.values()), {6})
