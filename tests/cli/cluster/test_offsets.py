"""Tests of kafkatx.cli.cluster.offsets."""

from __future__ import annotations

import json

from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from tests.cli.command_case import CommandCase


class OffsetsTests(CommandCase):
    def setUp(self) -> None:
        """Partition 1 has the offsets 3 to 5."""
        super().setUp()
        log = self.fake.topics["t"][1]
        log.start, log.end = 3, 6

    def printed(self, *arguments: str) -> str:
        """Return the output of ``kafkatx offsets``, which must succeed."""
        self.use_streams()
        self.assertEqual(self.run_command("offsets", *arguments), 0, self.err.text())
        return self.out.text()

    def test_ranges(self) -> None:
        """Earliest, latest and their difference; without a topic those of all but internal ones."""
        expected = "t\t0\t0\t0\t0\nt\t1\t3\t6\t3\n"
        self.assertEqual(self.printed("t"), expected)
        self.assertEqual(self.printed(), expected)
        self.assertEqual(
            self.printed("--header").splitlines()[0], "topic\tpartition\tearliest\tlatest\tcount"
        )

    def test_partitions(self) -> None:
        """Partitions are chosen in each of these ways."""
        for arguments in (["t:1"], ["t", "-p", "1"], ["--topic", "t", "--partitions", "1"]):
            self.assertEqual(self.printed(*arguments), "t\t1\t3\t6\t3\n")

    def test_time(self) -> None:
        """A time is asked for as ListOffsets has it."""
        for text, sent in (
            ("earliest", -2),
            ("latest", -1),
            ("max-timestamp", -3),
            ("-2", -2),
            ("1700000000000", 1700000000000),
            ("2023-11-14T22:13:20Z", 1700000000000),
        ):
            self.printed("t:1", "--time", text)
            request = self.fake.sent(ListOffsetsRequest)[-1]
            self.assertEqual(request.topics[0].partitions[0].timestamp, sent)
        self.assertEqual(self.printed("t:1", "--time", "5"), "t\t1\t1\t11\n")
        self.assertEqual(self.printed("t:1", "--time", "earliest"), "t\t1\t3\t-\n")

    def test_json(self) -> None:
        """An object a partition; a missing timestamp is null."""
        self.assertEqual(
            json.loads(self.printed("t:1", "--json")),
            {"topic": "t", "partition": 1, "earliest": 3, "latest": 6, "count": 3},
        )
        self.assertIsNone(json.loads(self.printed("t:1", "--time", "-2", "--json"))["timestamp_ms"])

    def test_no_leader(self) -> None:
        """A partition without a leader is told of, and the others are shown."""
        self.fake.topics["t"][0].leader = -1
        self.assertEqual(self.run_command("offsets", "t"), 1)
        self.assertEqual(self.out.text(), "t\t1\t3\t6\t3\n")
        self.assertIn("t [0] has no leader now", self.err.text())

    def test_wrong(self) -> None:
        """Unknown partitions and times are refused."""
        for arguments, reason in (
            (["t:7"], "has no partition 7: it has 0 to 1"),
            (["t", "--time", "noon"], "max-timestamp"),
            (["t", "--partitions", "0,x"], "numbers with commas"),
            (["-p", "1"], "exactly one topic"),
        ):
            self.assertEqual(self.run_command("offsets", *arguments), 2, arguments)
            self.assertIn(reason, self.err.text())
        self.assertEqual(self.run_command("offsets", "nope"), 1)
