"""Tests of kafkatx.cli.groups.reset."""

from __future__ import annotations

import json
import time

from kafkatx.cli.groups import reset
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from tests.blocking.fake_groups import FakeGroup, FakeGroups, FakeMember
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class ResetTests(CommandCase):
    def setUp(self) -> None:
        """A group without members that has read two of three partitions."""
        super().setUp()
        self.group = FakeGroup(offsets={T0: 5, U0: 7})
        topics = {"t": [Log(start=2, end=10), Log(end=20)], "u": [Log(start=1, end=9)]}
        self.cluster = FakeGroups(topics, groups={"g": self.group})
        self.patch(reset, "connect", lambda bootstrap, timeout: self.cluster.client())

    def printed(self, *arguments: str, tty: bool = False, code: int = 0) -> str:
        """Return the output of ``kafkatx groups reset g``, which must end with *code*."""
        self.use_streams(tty)
        self.assertEqual(self.run_command("groups", "reset", "g", *arguments), code, self.err.text())
        return self.out.text()

    def test_dry_run(self) -> None:
        """Without --execute the plan is shown, and that nothing was changed."""
        for arguments in ([], ["--dry-run"]):
            self.assertEqual(self.printed("--to-earliest", *arguments), "t\t0\t5\t2\t8\nu\t0\t7\t1\t8\n")
            self.assertEqual(self.err.text(), "nothing was changed; give --execute to do this\n")
        self.assertEqual(self.group.offsets, {T0: 5, U0: 7})

    def test_execute(self) -> None:
        """With it, the same is shown and done."""
        self.assertEqual(self.printed("--to-latest", "--execute"), "t\t0\t5\t10\t0\nu\t0\t7\t9\t0\n")
        self.assertEqual(self.err.text(), "set the offsets of group g\n")
        self.assertEqual(self.group.offsets, {T0: 10, U0: 9})

    def test_targets(self) -> None:
        """An offset, also 0, and a shift in either direction, also by 0."""
        for arguments, expected in (
            (["--to-offset", "6"], {T0: 6, U0: 6}),
            (["--to-offset", "0"], {T0: 2, U0: 1}),
            (["--shift-by", "1"], {T0: 3, U0: 2}),
            (["--shift-by", "0"], {T0: 3, U0: 2}),
            (["--shift-by", "-1"], {T0: 2, U0: 1}),
        ):
            self.printed(*arguments, "--execute")
            self.assertEqual(self.group.offsets, expected, arguments)

    def test_times(self) -> None:
        """A time, and a duration back from now, are looked up in milliseconds."""
        self.patch(time, "time", lambda: 1_000_000.0)
        for arguments, expected in (
            (["--to-datetime", "1970-01-01T00:01:00+00:00"], 60_000),
            (["--by-duration", "PT1M"], 999_940_000),
        ):
            self.printed(*arguments)
            asked = self.cluster.sent(ListOffsetsRequest)[-1].topics[0].partitions[0]
            self.assertEqual(asked.timestamp, expected)

    def test_scope(self) -> None:
        """Only the partitions that are named; a hyphen stands for no offset before."""
        self.assertEqual(self.printed("--to-earliest", "-t", "t", "-p", "1"), "t\t1\t-\t0\t20\n")
        both = "t\t0\t5\t2\t8\nu\t0\t7\t1\t8\n"
        self.assertEqual(self.printed("--to-earliest", "-t", "t:0", "-t", "u"), both)

    def test_not_in_the_log(self) -> None:
        """A place that is not in the log is said to have been changed to the nearest."""
        self.printed("--to-offset", "100", "-t", "t:0")
        self.assertIn("t [0] has no offset 100: 10 is the nearest\n", self.err.text())
        self.printed("--to-offset", "4", "-t", "t:0")
        self.assertNotIn("nearest", self.err.text())

    def test_json(self) -> None:
        """An object a partition."""
        row = {"topic": "t", "partition": 1, "old": None, "new": 0, "lag": 20}
        self.assertEqual(json.loads(self.printed("--to-earliest", "-t", "t:1", "--json")), row)

    def test_terminal(self) -> None:
        """A table."""
        self.assertIn("new", self.printed("--to-earliest", tty=True))

    def test_members(self) -> None:
        """A group with members is refused, also a dry run."""
        self.group.members.append(FakeMember("m"))
        self.printed("--to-earliest", code=1)
        self.assertEqual(
            self.err.text(), "kafkatx: group 'g' has members: stop its consumers, then set its offsets\n"
        )

    def test_usage(self) -> None:
        """One target, no more and no fewer; times and partitions in their forms."""
        for arguments, reason in (
            ([], "give one of --to-earliest"),
            (["--to-earliest", "--to-latest"], "give one of --to-earliest"),
            (["--to-datetime", "2026-01-01", "--by-duration", "P1D"], "give one of"),
            (["--to-datetime", "yesterday"], "give a time as"),
            (["--by-duration", "1h"], "give a duration as"),
            (["--to-offset", "-1"], "-1"),
            (["--to-earliest", "-t", "t:x"], "give TOPIC or TOPIC:0,1,2"),
        ):
            self.printed(*arguments, code=2)
            self.assertIn(reason, self.err.text())
