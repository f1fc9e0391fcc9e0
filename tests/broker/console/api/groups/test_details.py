"""Descriptions of groups."""

from __future__ import annotations

from tests.broker.console.api.groups.case import GroupCase


class DetailsTests(GroupCase):
    def test_members(self) -> None:
        """Members are told with what is assigned to them, of both protocols."""
        member_id = self.join("classic", "t", [0])
        found = self.get("/groups/classic")
        self.assertEqual((found["state"], found["assignor"]), ("Stable", "range"))
        (member,) = found["members"]
        self.assertEqual((member["memberId"], member["clientId"]), (member_id, "tests"))
        self.assertEqual(member["assignments"], [{"topic": "t", "partitions": [0]}])
        (row,) = found["offsets"]
        self.assertEqual((row["memberId"], row["committedOffset"], row["lag"]), (member_id, None, None))
        self.heartbeat("modern", "t")
        found = self.get("/groups/modern")
        self.assertEqual((found["protocol"], len(found["members"])), ("consumer", 1))
        listed = {one["id"]: one for one in self.get("/groups")["items"]}
        self.assertEqual({name: one["members"] for name, one in listed.items()}, {"classic": 1, "modern": 1})
        self.assertEqual(listed["modern"]["protocol"], "consumer")

    def test_unknown(self) -> None:
        """Groups that there are not are not found, before the first group as well."""
        self.assertEqual(self.refused(self.get("/groups/nothing", 404)), "GROUP_ID_NOT_FOUND")
        self.commit("g", 1)
        self.assertEqual(self.refused(self.get("/groups/%3Cb%3E", 404)), "GROUP_ID_NOT_FOUND")

    def test_other_protocols(self) -> None:
        """Members whose assignments are bytes of another kind are told without them."""
        member_id = self.join("g", "t", [0])
        group = self.broker.groups.find("g")
        described = group.describe()  # type: ignore[union-attr]
        described.members[0].member_assignment = b"\0"
        self.patch(group, "describe", lambda: described)
        (member,) = self.get("/groups/g")["members"]
        self.assertEqual((member["memberId"], member["assignments"]), (member_id, []))
