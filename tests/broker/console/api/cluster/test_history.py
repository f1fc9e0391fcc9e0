"""Samples over time."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail, succeed

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.history.packed import pack
from kafkatx.errors import KafkaTXError
from kafkatx.net.requests import Session
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.describe_samples import (
    DescribeSamplesRequest,
    DescribeSamplesResponse,
    LatestSample,
    SampledSeries,
)
from tests.broker.authorization.authorized import ADMIN, GROUP
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.case import ConsoleCase


class HistoryTests(ConsoleCase):
    def setUp(self) -> None:
        """Sample for half a minute."""
        super().setUp()
        self.now_ms -= self.now_ms % 10_000
        self.began_ms = self.now_ms
        for second in range(31):
            self.now_ms = self.began_ms + 1000 * second
            self.broker.samples.history.add_named({"lag:g": 7.0, "lag:a,b": 8.0})
            self.broker.samples.history.add(self.now_ms, {"connections": float(second), "bytesIn": 1000.0})

    def test_history(self) -> None:
        """A chart gets the series that it asks for, in the time that it asks for."""
        path = f"/history?series=connections,cpu&fromMs={self.began_ms + 5000}&toMs={self.began_ms + 8000}"
        self.assertEqual(
            self.get(path),
            {
                "stepMs": 1000,
                "timesMs": [self.began_ms + 1000 * n for n in (5, 6, 7, 8)],
                "series": {"connections": [5, 6, 7, 8], "cpu": [None] * 4},
                "brokers": [0],
                "missing": [],
            },
        )
        found = self.get("/history?series=connections&points=10")  # of the last hour
        self.assertLessEqual(len(found["timesMs"]), 10)
        self.assertEqual(found["series"]["connections"][-1], 14.5)

    def test_names(self) -> None:
        """Series of topics and groups have their names after a colon, with commas in them, too."""
        begin = f"&fromMs={self.began_ms}"
        self.assertEqual(self.get(f"/history?series=lag:g{begin}")["series"]["lag:g"], [7, 7, 7])
        found = self.get(f"/history?series=lag:a%2Cb&series=lag:g{begin}")["series"]
        self.assertEqual(found, {"lag:a,b": [8, 8, 8], "lag:g": [7, 7, 7]})

    def test_list(self) -> None:
        """The series are listed with units and titles."""
        found = {one["name"]: one for one in self.get("/history/series")["series"]}
        self.assertEqual(found["bytesIn"]["unit"], "bytes/s")
        self.assertEqual(found["lag:g"]["title"], "Records that the group is behind: g")

    def test_wrong(self) -> None:
        """Unknown series and impossible numbers are refused."""
        for query, status in (
            ("", 400),
            ("series=", 400),
            ("series=nothing", 404),
            ("series=nothing:x", 404),
            ("series=cpu&points=1001", 400),
            ("series=cpu&fromMs=x", 400),
            ("series=cpu&fromMs=-1", 400),
            ("series=cpu&broker=-1", 400),
            ("series=cpu&broker=one", 400),
            ("series=" + ",".join(f"lag:{n}" for n in range(21)), 400),
        ):
            self.refused(self.get(f"/history?{query}", status))

    def test_overview(self) -> None:
        """The overview has the newest rates."""
        found = self.get("/overview")
        self.assertEqual(found["rates"]["bytesInPerSecond"], 1000)
        self.assertEqual((found["sizeBytes"], found["reactorIdle"]), ("0", None))
        self.assertEqual((found["connections"], found["busiestBroker"]), (30, None))


class ClusterHistoryTests(HistoryTests):
    """Broker 9 tells samples of its own; broker 10 does not answer."""

    def setUp(self) -> None:
        """Add the brokers."""
        super().setUp()
        nodes = {number: BrokerNode(number, f"h{number}", 9092) for number in (0, 9, 10)}
        state = attrs.evolve(self.broker.metadata.state, brokers=nodes)
        self.patch(self.console._peers, "request", self.other)
        self.patch(self.broker.metadata, "state", state)

    def other(self, node: BrokerNode, message: Any, version: int | None = None) -> Deferred[Any]:
        """Answer for another broker."""
        if node.id == 10 or not isinstance(message, DescribeSamplesRequest):
            return fail(KafkaTXError("away"))
        series = [SampledSeries(name, pack([1.0] * message.count)) for name in message.series]
        latest = [LatestSample("bytesIn", 500.0), LatestSample("reactorIdle", 0.3)]
        return succeed(DescribeSamplesResponse(latest=latest, series=series))

    def test_history(self) -> None:
        """A chart has the cluster's sum, and tells whose samples it lacks; or it has those of one broker."""
        path = f"/history?series=connections,cpu&fromMs={self.began_ms + 5000}&toMs={self.began_ms + 8000}"
        found = self.get(path)
        self.assertEqual(found["series"], {"connections": [6, 7, 8, 9], "cpu": [1] * 4})
        self.assertEqual((found["brokers"], found["missing"]), ([0, 9], [10]))
        for number, values in ((0, [5, 6, 7, 8]), (9, [1] * 4), (10, []), (11, [])):
            found = self.get(f"{path}&broker={number}")
            self.assertEqual(found["series"]["connections"], values)
            self.assertEqual(
                (found["brokers"], found["missing"]), ([number], []) if values else ([], [number])
            )

    def test_names(self) -> None:
        """A group is sampled by its coordinator, whichever broker is asked."""
        found = self.get(f"/history?series=lag:elsewhere&fromMs={self.began_ms}")
        self.assertEqual(found["series"]["lag:elsewhere"], [1] * 4)

    def test_overview(self) -> None:
        """The overview has the rates of all brokers, and names the busiest one."""
        found = self.get("/overview")
        self.assertEqual(found["rates"]["bytesInPerSecond"], 1500)
        self.assertEqual((found["reactorIdle"], found["busiestBroker"]), (0.3, 9))

    def test_brokers(self) -> None:
        """Each broker of the list has its load."""
        loads = {one["id"]: one["load"] for one in self.get("/brokers")["items"]}
        self.assertEqual((loads[0]["bytesInPerSecond"], loads[9]["bytesInPerSecond"]), (1000, 500))
        self.assertEqual((loads[0]["reactorIdle"], loads[9]["reactorIdle"], loads[10]), (None, 0.3, None))


class AuthorizedHistoryTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """The samples are for those who may describe the cluster; a group's for those who may describe it."""
        self.broker.samples.history.add_named({f"lag:{GROUP}": 7.0})
        for second in range(20):
            self.broker.samples.history.add(1_700_000_000_000 + 1000 * second, {"connections": 1.0})
        self.now_ms = 1_700_000_020_000
        path = f"/history?series=lag:{GROUP}"
        self.assertEqual(self.refused(self.get(path, 403)), "FORBIDDEN")
        self.assertEqual(self.refused(self.get("/history/series", 403)), "FORBIDDEN")
        self.grant(AclOperation.DESCRIBE, ResourceType.CLUSTER)
        self.assertNotIn(7, self.get(path)["series"][f"lag:{GROUP}"])
        self.assertNotIn(f"lag:{GROUP}", [one["name"] for one in self.get("/history/series")["series"]])
        self.assertIn(7, self.get(path, session=Session(ADMIN))["series"][f"lag:{GROUP}"])
        self.grant(AclOperation.DESCRIBE, ResourceType.GROUP)
        self.assertIn(7, self.get(path)["series"][f"lag:{GROUP}"])
