"""Changes of groups."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from kafkatx.broker.console.api.groups import changes
from tests.broker.console.api.groups.case import GroupCase


class ChangesTests(GroupCase):
    def committed(self, group: str = "g") -> dict[str, str]:
        """Return the committed offsets by topic and partition."""
        rows = self.get(f"/groups/{group}")["offsets"]
        return {f"{one['topic']}-{one['partition']}": one["committedOffset"] for one in rows}

    def reset(self, to: Any, scope: Any = None, status: int = 200, preview: bool = False) -> Any:
        """Reset the group ``g``."""
        body = {"to": to, "scope": scope, "preview": preview}
        return self.change("POST", "/groups/g/reset", body, status)

    def test_targets(self) -> None:
        """A reset leads to an end, an offset, a time, or by a distance; never out of the log."""
        for to, offset in (
            ("earliest", "0"),
            ("latest", "10"),
            ({"offset": 4}, "4"),
            ({"offset": "99"}, "10"),
            ({"shift": -2}, "1"),
            ({"shift": 5}, "8"),
            ({"shift": -100}, "0"),
            ({"timeMs": self.now_ms}, "0"),
            ({"timeMs": self.now_ms + 1}, "10"),
        ):
            self.commit("g", 3)
            found = self.reset(to)["changes"]
            expected = [{"topic": "t", "partition": 0, "before": "3", "after": offset}]
            self.assertEqual(found, expected, to)
            self.assertEqual(self.committed(), {"t-0": offset}, to)
        told = self.get("/actions")["items"][0]
        self.assertEqual((told["action"], told["result"]), ("reset offsets", "done"))
        self.assertIn("group g: to timeMs ", told["resource"])

    def test_preview(self) -> None:
        """A preview tells the same, and changes nothing."""
        self.commit("g", 3)
        found = self.reset("latest", preview=True)["changes"]
        self.assertEqual([one["after"] for one in found], ["10"])
        self.assertEqual((self.committed(), self.get("/actions")["total"]), ({"t-0": "3"}, 0))

    def test_scope(self) -> None:
        """A scope names topics, or partitions of them, also such as have no offset yet."""
        self.commit("g", 3)
        self.make_topic("u")
        self.reset("earliest", [{"topic": "t", "partitions": [1]}, {"topic": "u", "partitions": None}])
        self.assertEqual(self.committed(), {"t-0": "3", "t-1": "0", "u-0": "0"})
        for scope in ([{"topic": "no"}], [{"topic": "t", "partitions": [2]}]):
            self.refused(self.reset("earliest", scope, 404))

    def test_empty_scope(self) -> None:
        """An empty list of topics chooses nothing: it is refused, and never stands for all partitions."""
        self.commit("g", 3)
        for preview in (True, False):
            self.refused(self.reset("latest", [], 400, preview))
        self.assertEqual(self.committed(), {"t-0": "3"})

    def test_active(self) -> None:
        """A group with members is left alone, and they are named; also one that they join meanwhile."""
        self.join("g", "t", [0])
        for preview in (True, False):
            found = self.reset("earliest", [{"topic": "t"}], 409, preview)
            self.assertEqual(self.refused(found), "NON_EMPTY_GROUP")
            self.assertIn("'tests' at /127.0.0.1", found["error"]["message"])
        with patch.object(changes, "_check_inactive"):
            found = self.reset("earliest", [{"topic": "t"}], 409)
        self.assertIn("has joined", found["error"]["message"])
        found = self.change("DELETE", "/groups/g?confirm=g", None, 409)
        self.assertIn("'tests' at /127.0.0.1", found["error"]["message"])
        self.assertEqual(self.committed(), {"t-0": None})

    def test_wrong(self) -> None:
        """Targets that there are not are refused, and groups."""
        self.commit("g", 3)
        for to in (
            None,
            "middle",
            {},
            {"offset": -1},
            {"offset": 1, "shift": 1},
            {"timeMs": "x"},
            5,
            ["latest"],
        ):
            self.refused(self.reset(to, None, 400))
        self.refused(self.change("POST", "/groups/no/reset", {"to": "latest"}, 404))
        self.assertEqual(self.committed(), {"t-0": "3"})

    def test_delete(self) -> None:
        """A group is deleted if its id is given twice."""
        self.commit("g", 3)
        self.assertEqual(self.refused(self.change("DELETE", "/groups/g", None, 400)), "NOT_CONFIRMED")
        self.change("DELETE", "/groups/g?confirm=g")
        self.clock.advance(5)
        self.refused(self.get("/groups/g", 404))
        self.refused(self.change("DELETE", "/groups/g?confirm=g", None, 404))
