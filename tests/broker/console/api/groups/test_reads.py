"""Reads of groups."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.cluster.turns import STEP
from kafkatx.net.requests import Session
from tests.broker.authorization.authorized import ADMIN, GROUP, TOPIC
from tests.broker.console.api.groups.case import GroupCase
from tests.broker.console.authorized import AuthorizedConsoleCase


class GroupsTests(GroupCase):
    def test_list(self) -> None:
        """Groups are listed with what they are behind, in records and in time."""
        self.commit("behind", 3)
        self.commit("done", 10)
        self.now_ms += 5000
        found = self.get("/groups?sort=-lag")
        self.assertEqual(found["total"], 2)
        self.assertEqual(
            found["items"][0],
            {
                "id": "behind",
                "protocol": "classic",
                "state": "Empty",
                "members": 0,
                "topics": 1,
                "lag": "7",
                "lagMs": 5000,
                "coordinator": 0,
            },
        )
        self.assertEqual((found["items"][1]["lag"], found["items"][1]["lagMs"]), ("0", 0))
        self.assertEqual([one["id"] for one in self.get("/groups?search=DONE")["items"]], ["done"])

    def test_describe(self) -> None:
        """A group is told with its offsets and ends."""
        self.commit("a/b", 3)
        found = self.get("/groups/a%2Fb")
        self.assertEqual((found["id"], found["state"], found["protocol"]), ("a/b", "Empty", "classic"))
        self.assertEqual((found["members"], found["coordinator"]), ([], 0))
        (row,) = found["offsets"]
        self.assertEqual((row["topic"], row["partition"]), ("t", 0))
        self.assertEqual((row["committedOffset"], row["endOffset"], row["lag"]), ("3", "10", "7"))
        self.assertEqual((row["metadata"], row["memberId"]), ("note", None))

    def test_many(self) -> None:
        """Many groups are listed in turns."""
        for number in range(3 * STEP):
            self.commit(f"g{number}", number % 10)
        found = self.get("/groups?count=10&sort=-lag")
        self.assertEqual((found["total"], found["items"][0]["lag"]), (3 * STEP, "10"))


class AuthorizedGroupsTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """A user sees the groups that they may describe, and offsets in topics that they may describe."""
        self.assertEqual(self.get("/groups")["total"], 0)
        self.assertEqual(self.refused(self.get(f"/groups/{GROUP}", 403)), "GROUP_AUTHORIZATION_FAILED")
        self.grant(AclOperation.DESCRIBE, ResourceType.GROUP)
        self.assertEqual(self.get("/groups")["total"], 1)
        self.assertEqual(self.get(f"/groups/{GROUP}")["offsets"], [])
        self.grant(AclOperation.DESCRIBE, ResourceType.TOPIC)
        (row,) = self.get(f"/groups/{GROUP}")["offsets"]
        self.assertEqual((row["topic"], row["committedOffset"]), (TOPIC, "1"))
        self.get(f"/groups/{GROUP}", session=Session(ADMIN))
