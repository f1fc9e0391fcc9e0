"""Tests of kafkatx.cli.groups.groups."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from kafkatx.cli.groups import groups
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from tests.blocking.fake_groups import FakeGroup, FakeGroups, FakeMember
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase

CLIENT_UUID = "c-347d6f70-870b-4f70-9aa1-c38816038b6e"


class GroupsCase(CommandCase):
    """Runs ``kafkatx groups`` against three groups in memory."""

    def setUp(self) -> None:
        """A classic group at work, one of KIP-848, and an empty one."""
        super().setUp()
        at_work = FakeGroup(
            [FakeMember(CLIENT_UUID, {"t": [0, 1]}), FakeMember("m2", {}, "instance")],
            {TopicPartition("t", 0): 4, TopicPartition("t", 1): 5},
        )
        self.groups = {
            "work": at_work,
            "new": FakeGroup([FakeMember("m3", {"t": [1]})], type="consumer"),
            "idle": FakeGroup(offsets={TopicPartition("t", 0): 10}, protocol_type=""),
        }
        self.cluster = FakeGroups({"t": [Log(end=10), Log(end=5)]}, groups=self.groups)
        self.patch(groups, "connect", lambda bootstrap, timeout: self.cluster.client())

    def printed(self, *arguments: str, tty: bool = False, code: int = 0) -> str:
        """Return the output of ``kafkatx groups``, which must end with *code*."""
        self.use_streams(tty)
        self.assertEqual(self.run_command("groups", *arguments), code, self.err.text())
        return self.out.text()

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        """The JSON objects that it prints."""
        return [json.loads(line) for line in self.printed(*arguments, "--json").splitlines()]


class ListTests(GroupsCase):
    def test_lines(self) -> None:
        """A line a group, divided by tabs; what there is not is a hyphen."""
        expected = (
            "idle\tEmpty\tclassic\t-\nnew\tStable\tconsumer\tconsumer\nwork\tStable\tclassic\tconsumer\n"
        )
        self.assertEqual(self.printed("list"), expected)

    def test_states(self) -> None:
        """Only groups in the states that are asked for, in whatever letters."""
        self.assertEqual(self.printed("list", "-s", "empty"), "idle\tEmpty\tclassic\t-\n")
        self.assertEqual(len(self.printed("list", "-s", "Empty", "-s", "STABLE").splitlines()), 3)
        self.assertEqual(self.printed("list", "-s", "Dead"), "")

    def test_json(self) -> None:
        """An object a group."""
        self.assertEqual(
            self.objects("list")[0],
            {"group": "idle", "state": "Empty", "type": "classic", "protocol_type": ""},
        )

    def test_terminal(self) -> None:
        """A table."""
        shown = self.printed("list", tty=True)
        self.assertIn("protocol", shown)
        self.assertIn("work", shown)


class DescribeTests(GroupsCase):
    def test_lines(self) -> None:
        """A line a partition, in the order of columns of Apache Kafka's own tool."""
        self.assertEqual(
            self.printed("describe", "work", "idle"),
            f"work\tt\t0\t4\t10\t6\t{CLIENT_UUID}\t/h\tclient\n"
            f"work\tt\t1\t5\t5\t0\t{CLIENT_UUID}\t/h\tclient\n"
            "idle\tt\t0\t10\t10\t0\t-\t-\t-\n",
        )
        self.assertEqual(self.printed("describe", "new"), "new\tt\t1\t-\t5\t-\tm3\t/h\tclient\n")

    def test_members(self) -> None:
        """A line a member; one without partitions, too."""
        self.assertEqual(
            self.printed("describe", "work", "--members"),
            f"work\t{CLIENT_UUID}\t-\tclient\t/h\t2\tt:0-1\nwork\tm2\tinstance\tclient\t/h\t0\t-\n",
        )

    def test_terminal(self) -> None:
        """A line about the group, then a table with bars; members by the first part of their ids."""
        self.patch(os, "environ", {**os.environ, "COLUMNS": "140"})
        shown = self.printed("describe", "work", tty=True)
        first = (
            "group work: Stable, classic group, 2 members, assigned by range, coordinator 1 at broker1:9092"
        )
        self.assertEqual(shown.splitlines()[0], f"{first}, 6 behind")
        self.assertIn("████████████", shown)
        self.assertIn("c-347d6f70 /h", shown)
        self.assertNotIn(CLIENT_UUID, shown)
        self.groups["work"].members[0].instance_id = "rack-7"
        self.assertIn("rack-7 /h", self.printed("describe", "work", tty=True))

    def test_narrow(self) -> None:
        """In a narrow terminal the line about the group is folded between words."""
        self.patch(os, "environ", {**os.environ, "COLUMNS": "50"})
        lines = self.printed("describe", "work", tty=True).splitlines()
        self.assertEqual(lines[1], "assigned by range, coordinator 1 at broker1:9092,")
        self.assertTrue(lines[2].startswith("6 behind"))

    def test_terminal_without_offsets(self) -> None:
        """A group without members and offsets is one line; with --members none has a table."""
        self.patch(os, "environ", {**os.environ, "COLUMNS": "140"})
        self.groups["idle"].offsets.clear()
        shown = self.printed("describe", "idle", tty=True)
        self.assertIn("group idle: Empty, classic group, no members, ", shown)
        self.assertEqual(len(shown.splitlines()), 1)
        self.assertEqual(len(self.printed("describe", "idle", "-m", tty=True).splitlines()), 1)
        self.assertIn("t:0-1", self.printed("describe", "work", "-m", tty=True))

    def test_json(self) -> None:
        """Everything in one object a group."""
        (found,) = self.objects("describe", "work")
        self.assertEqual((found["group"], found["state"], found["lag"]), ("work", "Stable", 6))
        self.assertEqual(found["members"][0]["partitions"], {"t": [0, 1]})
        self.assertEqual(found["coordinator"], {"id": 1, "host": "broker1", "port": 9092})
        offset = {"topic": "t", "partition": 0, "committed": 4, "metadata": "note 4", "end": 10, "lag": 6}
        self.assertEqual(found["offsets"][0], {**offset, "member_id": CLIENT_UUID})
        self.assertIsNone(self.objects("describe", "new")[0]["offsets"][0]["committed"])

    def test_all(self) -> None:
        """All groups; one that is gone since it was listed, or has a type of its own, is passed over."""
        self.cluster.groups["share"] = FakeGroup(type="share", protocol_type="share")
        found = [group["group"] for group in self.objects("describe", "--all")]
        self.assertEqual(found, ["idle", "new", "work"])

    def test_usage(self) -> None:
        """A group that is not there is an error; so are no groups, and groups beside --all."""
        self.printed("describe", "nope", code=1)
        self.assertEqual(self.err.text(), "kafkatx: there is no group 'nope': see `kafkatx groups list`\n")
        for arguments in ([], ["work", "--all"]):
            self.printed("describe", *arguments, code=2)
            self.assertIn("name the groups, or give --all", self.err.text())


class DeleteTests(GroupsCase):
    def test_delete(self) -> None:
        """The group goes, and that is said."""
        self.printed("delete", "idle", "-y")
        self.assertEqual(self.err.text(), "deleted group idle\n")
        self.assertNotIn("idle", self.cluster.groups)

    def test_several(self) -> None:
        """One that cannot be deleted does not keep the others; the exit code tells."""
        self.printed("delete", "work", "nope", "idle", "-y", code=1)
        self.assertEqual(
            self.err.text(),
            "kafkatx: group 'work' has members: stop its consumers, then delete it\n"
            "kafkatx: there is no group 'nope': see `kafkatx groups list`\n"
            "deleted group idle\n",
        )
        self.assertEqual(sorted(self.cluster.groups), ["new", "work"])

    def test_no_broker(self) -> None:
        """Without a broker there is one line, however many groups were named."""
        self.cluster.down = {1}
        self.printed("delete", "work", "idle", "-y", code=1)
        self.assertEqual(self.err.text(), "kafkatx: no broker answers at broker1:9092\n")

    def test_asks(self) -> None:
        """Without --yes nothing is deleted through a pipe, where no question can be answered."""
        self.printed("delete", "idle", code=2)
        self.assertIn("give --yes", self.err.text())
        self.use_streams(tty=True)
        self.patch(sys, "stdin", self.out)  # a terminal that answers with end of file
        self.assertEqual(self.run_command("groups", "delete", "idle"), 130)
        self.assertIn("Delete groups idle?", self.err.text())
        self.assertEqual(self.cluster.sent(DeleteGroupsRequest), [])

    def test_offsets(self) -> None:
        """With --topic only the offsets in it go, or those of the partitions that are named."""
        self.groups["work"].members.clear()
        self.printed("delete", "work", "-t", "t:1", "-y")
        self.assertEqual(self.err.text(), "deleted the offsets of group work in t:1\n")
        self.assertEqual(self.groups["work"].offsets, {("t", 0): 4})
        self.printed("delete", "work", "--topic", "t", "-y")
        self.assertEqual(self.groups["work"].offsets, {})
        self.assertIn("work", self.cluster.groups)
        self.printed("delete", "work", "--topic", "t", "-y")
        self.assertEqual(self.err.text(), "group work has no offsets there\n")
