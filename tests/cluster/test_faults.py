"""The choice of faults: a seed gives the same ones, and every kind comes."""

from __future__ import annotations

import random
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from tests.cluster.copies import COPIES
from tests.cluster.faults import ALL, DISKS, Victims, choose
from tests.cluster.operations import OPERATIONS
from tests.cluster.restoration import RESTORATIONS

FAULTS = [*ALL, *OPERATIONS, *COPIES, *RESTORATIONS, *DISKS]


class FakeSystem:
    """A cluster whose leader, controller and coordinator is broker 2."""

    def __init__(self, busy: set[int]) -> None:
        self.busy = busy

    def leader(self, topic: str, partition: int) -> int:
        """Return the leader."""
        return 2

    def controller(self) -> int:
        """Return the controller."""
        return 2

    def coordinator(self, group: str) -> int:
        """Return the coordinator."""
        return 2


def victims(*busy: int) -> Victims:
    """Return the choice of victims in a cluster with brokers that are busy."""
    system = cast(Any, FakeSystem(set(busy)))
    return Victims(system, [("t", 3)], ["g"], random.Random(1))


class ChooseTests(SynchronousTestCase):
    def test_same_seed(self) -> None:
        """Two runs of one seed have the same faults."""
        first, second = random.Random(7), random.Random(7)
        self.assertEqual(
            [choose(first, FAULTS)[1] for _ in range(100)], [choose(second, FAULTS)[1] for _ in range(100)]
        )

    def test_every_kind(self) -> None:
        """Every kind comes, alone and some of them together with others."""
        chance = random.Random(1)
        chosen = {choose(chance, FAULTS)[1] for _ in range(1000)}
        self.assertEqual({fault.__name__ for fault, _ in FAULTS} - chosen, set())
        self.assertTrue(any(" and " in name for name in chosen))


class VictimsTests(SynchronousTestCase):
    def test_roles(self) -> None:
        """Brokers are chosen by each of their roles."""
        chosen = victims()
        found = [chosen.broker() for _ in range(200)]
        roles = {role.split()[0] for _, role in found}
        self.assertEqual(roles, {"leader", "follower", "controller", "coordinator"})
        for broker_id, role in found:
            self.assertEqual(broker_id == 2, not role.startswith("follower"), role)

    def test_busy(self) -> None:
        """A broker that another fault has in hand is not chosen."""
        chosen = victims(2, 3)
        self.assertEqual({chosen.broker()[0] for _ in range(50)}, {1})
        self.assertEqual(victims(1, 2, 3).broker(), (-1, ""))
