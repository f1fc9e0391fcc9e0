"""Samples over time."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.net.requests import Session
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
            self.recorder.history.add_named({"lag:g": 7.0, "lag:a,b": 8.0})
            self.recorder.history.add(self.now_ms, {"connections": float(second), "bytesIn": 1000.0})

    def test_history(self) -> None:
        """A chart gets the series that it asks for, in the time that it asks for."""
        path = f"/history?series=connections,cpu&fromMs={self.began_ms + 5000}&toMs={self.began_ms + 8000}"
        self.assertEqual(
            self.get(path),
            {
                "stepMs": 1000,
                "timesMs": [self.began_ms + 1000 * n for n in (5, 6, 7, 8)],
                "series": {"connections": [5, 6, 7, 8], "cpu": [None] * 4},
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
            ("series=" + ",".join(f"lag:{n}" for n in range(21)), 400),
        ):
            self.refused(self.get(f"/history?{query}", status))

    def test_overview(self) -> None:
        """The overview has the newest rates."""
        found = self.get("/overview")
        self.assertEqual(found["rates"]["bytesInPerSecond"], 1000)
        self.assertEqual((found["sizeBytes"], found["reactorIdle"]), ("0", None))


class AuthorizedHistoryTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """The samples are for those who may describe the cluster; a group's for those who may describe it."""
        self.recorder.history.add_named({f"lag:{GROUP}": 7.0})
        for second in range(20):
            self.recorder.history.add(1_700_000_000_000 + 1000 * second, {"connections": 1.0})
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
