"""The recent values of clients: gauges, sums, bounds."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.telemetry import recent_values
from kafkatx.broker.telemetry.otlp import Kind, Point, Push
from kafkatx.broker.telemetry.recent_values import RecentValues, Value
from kafkatx.broker.telemetry.subscriptions import Client

A, B = uuid.UUID(int=1), uuid.UUID(int=2)


class RecentValuesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty table."""
        self.table = RecentValues(100)

    def take(self, *points: Point, who: uuid.UUID = A, **labels: str) -> None:
        """Take a push."""
        push = Push(tuple(labels.items()), points)
        self.table.take(who, Client(str(who.int), f"client-{who.int}"), "User:ann", push, 1000, 5.0)

    def values(self, number: int = 1) -> dict[str, float]:
        """Return the values of a client by name."""
        (one,) = self.table.of_client_id(f"client-{number}")
        return {name: value.value for (name, _), value in one.values.items()}

    def test_kinds(self) -> None:
        """Deltas are added up, cumulative sums and gauges replaced; a gauge that does not come is gone."""
        self.take(Point("d", Kind.DELTA, 5), Point("c", Kind.CUMULATIVE, 5), Point("g", Kind.GAUGE, 5))
        self.take(Point("d", Kind.DELTA, 2), Point("c", Kind.CUMULATIVE, 7))
        self.assertEqual(self.values(), {"d": 7, "c": 7})
        self.assertEqual(self.table.count, 2)
        (one,) = self.table
        self.assertEqual(one.values["d", ()], Value(7, True))
        self.assertEqual((one.pushes, one.interval_ms, one.principal), (2, 1000, "User:ann"))

    def test_labels(self) -> None:
        """Values of one name are told apart by their labels."""
        for node in ("1", "2"):
            self.take(Point("d", Kind.DELTA, 5, (("node", node),)))
        (one,) = self.table
        self.assertEqual([*one.values], [("d", (("node", "1"),)), ("d", (("node", "2"),))])

    def test_about_the_client(self) -> None:
        """The labels of the last push are about its client, and others have theirs."""
        self.take(group_id="g")
        self.take(who=B, group_id="h")
        self.take(group_id="i")
        self.assertEqual([one.labels for one in self.table], [(("group_id", "i"),), (("group_id", "h"),)])

    def test_bound_of_all(self) -> None:
        """Values above the bound of all clients are dropped and counted; those of others stay."""
        self.table.most = 3
        self.take(*(Point(f"m{number}", Kind.GAUGE, 1) for number in range(2)))
        self.take(*(Point(f"m{number}", Kind.GAUGE, 1) for number in range(5)), who=B)
        self.assertEqual((len(self.values(1)), len(self.values(2)), self.table.count), (2, 1, 3))
        self.assertEqual(self.table.of_client_id("client-2")[0].dropped, 4)

    def test_bound_of_one(self) -> None:
        """Sums that pile up stop at the bound of one client."""
        self.patch(recent_values, "MOST_PER_CLIENT", 4)
        for number in range(9):
            self.take(Point(f"m{number}", Kind.DELTA, 1))
        self.assertEqual(len(self.values()), 4)
        self.take(Point("m0", Kind.DELTA, 1))
        self.assertEqual(self.values()["m0"], 2)

    def test_forget(self) -> None:
        """A client that is forgotten makes room."""
        self.take(Point("d", Kind.DELTA, 5))
        self.table.forget([A, B])
        self.assertEqual((self.table.count, [*self.table]), (0, []))
