"""Tests of kafkatx.spark.ingest.audit: ingestions that announce their commits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkatx.audit.tallies import Tallies
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.clientcore.audit.tiers import Tier
from kafkatx.spark.ingest import audit
from kafkatx.spark.ingest.decoder.decoder import Decoded, Undecoded
from kafkatx.spark.ingest.table.commits import last_manifest
from kafkatx.spark.ingest.table.manifest import CommitCounts
from tests.spark.ingest.test_ingestion import IngestionCase

WINDOW_MS = 60_000
TIER = Tier("ingest", "web")


class IngestAuditTests(IngestionCase):
    def setUp(self) -> None:
        """Keep what is announced."""
        super().setUp()
        self.events: list[RangeAnnouncement] = []
        self.away = False
        self.patch(audit, "write_announcements", self.write)

    def write(self, cluster: object, topic: str, events: Iterable[RangeAnnouncement]) -> bool:
        """Take announcements, unless the audit topic is away."""
        self.assertEqual(topic, "kafkatx-audit")
        if not self.away:
            self.events += events
        return not self.away

    def audited(self, **given: Any) -> None:
        """Run an ingestion with the audit."""
        self.ingest(audit_interval_ms=WINDOW_MS, audit_name="web", **given)

    def counted(self) -> int:
        """Return the number of records that readers of the audit topic count; no offset is left out."""
        tallies = Tallies()
        for event in self.events:
            tallies.add(event.encode())
        self.assertEqual(tallies.uncounted(TIER, "t"), [])
        return sum(one.count for one in tallies.counts(TIER, "t", WINDOW_MS).values())

    def test_commit(self) -> None:
        """A commit announces each partition's range and windows."""
        self.audited()
        found = sorted((event.partition, event.start, event.end, event.absent) for event in self.events)
        self.assertEqual(found, [(0, 0, 10, 0), (1, 0, 10, 0)])
        (one, other) = self.events
        self.assertEqual((one.tier, one.place, one.window_ms), ("ingest", "web", WINDOW_MS))
        self.assertEqual(one.windows, other.windows)
        self.assertEqual(self.counted(), 20)

    def test_off(self) -> None:
        """Without the setting nothing is counted, and manifests are as they were."""
        self.ingest()
        manifest = last_manifest(self.files)
        assert manifest is not None
        self.assertEqual((self.events, manifest.counts), ([], None))
        self.assertNotIn(b'"audit"', manifest.to_json())

    def test_name(self) -> None:
        """The table's name is that of its directory, unless it is given."""
        self.ingest(audit_interval_ms=WINDOW_MS)
        self.assertEqual({event.place for event in self.events}, {self.root.rsplit("/", 1)[-1]})

    def test_many_commits(self) -> None:
        """Several commits announce ranges that follow each other; the last one again at the next start."""
        self.audited(max_records=6)
        announced = list(self.events)
        ranges = [(event.partition, event.start) for event in announced]
        self.assertEqual(len(ranges), len(set(ranges)))
        self.audited()
        again = self.events[len(announced) :]
        self.assertEqual(
            [event.start for event in again], [event.start for event in announced[-len(again) :]]
        )
        self.assertEqual(self.counted(), 20)

    def test_away(self) -> None:
        """Commits that could not be announced are announced by a later run."""
        self.away = True
        self.audited(max_records=6)
        self.away = False
        self.audited()
        self.assertEqual(self.counted(), 20)

    def test_killed_before_announcement(self) -> None:
        """A run that dies after its commit leaves the counts in the commit, for the next run."""
        self.patch(audit.IngestAudit, "committed", lambda self, manifest: None)
        self.audited()
        self.assertEqual(self.events, [])
        manifest = last_manifest(self.files)
        assert manifest is not None
        assert isinstance(manifest.counts, CommitCounts)
        self.assertEqual(manifest.counts.announced, 0)
        self.audited()
        self.assertEqual(self.counted(), 20)

    def test_lost_row(self) -> None:
        """Written rows are counted, not those that were read: one that is dropped is missing."""
        whole = Undecoded.decode

        def lossy(self: Undecoded, topic: str, batch: pa.RecordBatch) -> Decoded:
            rows = whole(self, topic, batch).rows
            kept = pc.not_equal(rows.column("offset"), 4)
            return Decoded(rows.filter(kept), None, {})

        self.patch(Undecoded, "decode", lossy)
        self.audited()
        self.assertEqual([(event.end, event.absent) for event in self.events], [(10, 1), (10, 1)])
        hour = 4 * 3_600_000
        self.assertNotIn(hour, [start for start, _ in self.events[0].windows])

    def test_dead_letters(self) -> None:
        """Records that cannot be decoded have arrived, and count."""
        self.topics.values = lambda offset: b"broken" if offset == 4 else b'{"n": %d}' % offset
        self.audited(decode="json")
        self.assertEqual(self.counted(), 20)
