"""The overview, and the audit."""

from __future__ import annotations

from kafkatx.net.requests import Session
from kafkatx.web.calls import Call
from tests.broker.console.case import ConsoleCase


class OverviewTests(ConsoleCase):
    def test_overview(self) -> None:
        """The overview counts what there is."""
        self.make_topic("t", 3)
        found = self.get("/overview")
        self.assertEqual((found["topics"], found["partitions"], found["offline"]), (1, 3, 0))
        self.assertEqual(found["brokers"], {"live": 1, "known": 1})
        self.assertEqual((found["controllerId"], found["problems"]), (0, []))

    def test_actions(self) -> None:
        """The audit is told newest first, in pages, and can be searched."""
        for number in range(5):
            self.now_ms += 1
            call = Call("POST", "/", (), {}, session=Session(f"User:u{number}"), client="192.0.2.1")
            with self.console.parts.actions.change(call, "create topic", f"t{number}"):
                pass
        found = self.get("/actions?count=2")
        self.assertEqual((found["total"], [one["resource"] for one in found["items"]]), (5, ["t4", "t3"]))
        self.assertEqual(
            self.get("/actions?search=u3")["items"],
            [
                {
                    "timeMs": self.now_ms - 1,
                    "principal": "User:u3",
                    "address": "192.0.2.1",
                    "action": "create topic",
                    "resource": "t3",
                    "result": "done",
                }
            ],
        )
