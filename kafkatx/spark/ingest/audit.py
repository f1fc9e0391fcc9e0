"""On the driver: the announcements of an ingestion for the audit, one commit after the other.

The counts are a part of the commit (:mod:`kafkatx.spark.ingest.table.manifest`), and are announced when it is
made. Each commit names the last one that was announced; so an ingestion that was killed in between announces
at its next start what is missing. Ranges that are announced twice count once. It writes to the audit topic.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable

from kafkatx.blocking import Cluster
from kafkatx.blocking.producer.audit import write_announcements
from kafkatx.clientcore.audit.ranges import RangeCounter
from kafkatx.clientcore.audit.server_header import server_name
from kafkatx.clientcore.audit.tiers import INGEST
from kafkatx.spark.ingest.options import IngestOptions
from kafkatx.spark.ingest.table.commits import read_manifest
from kafkatx.spark.ingest.table.files import Files
from kafkatx.spark.ingest.table.manifest import CommitCounts, Manifest
from kafkatx.spark.ingest.tasks.task import TaskResult

log = logging.getLogger(__name__)

MOST_COMMITS = 1000
"""The number of commits that are announced again at a start, at most: the newest."""


class IngestAudit:
    """Announces the counts of commits.

    :ivar window_ms: the length of a window; 0: nothing is counted.
    :param now_ms: the wall clock.
    """

    def __init__(
        self, options: IngestOptions, cluster: Cluster, files: Files, now_ms: Callable[[], int]
    ) -> None:
        self.window_ms = options.audit_interval_ms
        self._topic = options.audit_topic
        self._place = options.audit_name or files.root.rstrip("/").rsplit("/", 1)[-1]
        self._cluster = cluster
        self._files = files
        self._now_ms = now_ms
        self._announced = 0

    def begin(self, last: Manifest | None) -> None:
        """Announce what earlier runs have committed and not announced.

        :param last: the newest commit.
        """
        if not self.window_ms or last is None:
            return
        counts = last.counts
        self._announced = max(counts.announced if counts else last.commit, last.commit - MOST_COMMITS)
        self._announce_all(last.commit)

    def counts(self, results: Iterable[TaskResult]) -> CommitCounts | None:
        """Return the part of a commit that the audit needs; None if nothing is counted."""
        if not self.window_ms:
            return None
        ranges = sorted(counted for result in results for counted in result.counted)
        return CommitCounts(self.window_ms, self._announced, tuple(ranges))

    def committed(self, manifest: Manifest) -> None:
        """Announce a commit that was made, and those before it that could not be announced."""
        if self.window_ms:
            self._announce_all(manifest.commit)

    def _announce_all(self, last: int) -> None:
        for commit in range(self._announced + 1, last + 1):
            if not self._announce(read_manifest(self._files, commit)):
                return  # again with the next commit
            self._announced = commit

    def _announce(self, manifest: Manifest) -> bool:
        counts = manifest.counts
        if counts is None or not counts.ranges:
            return True
        server = server_name("")
        counter = RangeCounter(INGEST, self._place, server, counts.window_ms, self._topic)
        for topic, partition, start, end, windows in counts.ranges:
            topic_id = manifest.topic_ids.get(topic, "")
            counter.add(topic, topic_id, partition, start, end, Counter(dict(windows)))
        if counter.dropped:
            log.warning("%s ranges of commit %s are too many for the audit", counter.dropped, manifest.commit)
        return write_announcements(self._cluster, self._topic, counter.announce(self._now_ms()))
