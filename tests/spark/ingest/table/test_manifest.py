"""Manifests: each changed byte and each missing one is noticed."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.errors import TableDamaged
from kafkatx.spark.ingest.table.manifest import DATA, CommitCounts, TableFile, parse_manifest
from kafkatx.types import TopicPartition
from tests.spark.ingest.table.test_table import AT, EMPTY

FULL = attrs.evolve(
    EMPTY,
    commit=7,
    decode="json",
    offsets={AT: (0, 5)},
    next={AT: 5, TopicPartition("u", 1): 80},
    topic_ids={"t": "5cdab6e2"},
    files=(TableFile("_kafkatx/staging/7-1/a", DATA, 5, 20, {"hour": None}, path="hour=00/part-7"),),
    previous="0" * 64,
)


class ChecksumTests(SynchronousTestCase):
    def test_same(self) -> None:
        """A manifest is read as it was written."""
        self.assertEqual(parse_manifest(FULL.to_json(), "m"), FULL)

    def test_counts(self) -> None:
        """Counts for the audit are kept, and manifests without them are read."""
        counts = CommitCounts(60_000, 6, (("t", 0, 0, 5, ((0, 3), (60_000, 2))),))
        counted = attrs.evolve(FULL, counts=counts)
        self.assertEqual(parse_manifest(counted.to_json(), "m"), counted)
        self.assertIsNone(parse_manifest(FULL.to_json(), "m").counts)

    def test_every_byte(self) -> None:
        """Any byte changed in any of three ways, or left out, is noticed."""
        data = FULL.to_json()
        for place in range(len(data)):
            changed = [bytes([data[place] ^ mask]) for mask in (1, 0x10, 0x80)]
            for other in (*changed, b""):
                damaged = data[:place] + other + data[place + 1 :]
                error = self.assertRaises(TableDamaged, parse_manifest, damaged, "m")
                self.assertIn("m is ", str(error))

    def test_every_length(self) -> None:
        """A manifest that is cut anywhere, or has something behind it, is noticed."""
        data = FULL.to_json()
        for damaged in (*(data[:size] for size in range(len(data))), data + b" ", data + data):
            self.assertRaises(TableDamaged, parse_manifest, damaged, "m")

    def test_one_sentence(self) -> None:
        """The error says what is wrong and what to do."""
        data = FULL.to_json().replace(b'"next": {"t": {"0": 5}', b'"next": {"t": {"0": 0}')
        error = self.assertRaises(TableDamaged, parse_manifest, data, "/d/m.json")
        self.assertEqual(
            str(error),
            "/d/m.json is damaged: its checksum does not match its content. "
            "Restore it from a copy of the directory, or ingest into another directory",
        )
