"""The driver's part of an ingestion: commit after commit, until all is loaded or it is told to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from kafkatx.blocking import Cluster
from kafkatx.spark.ingest.audit import IngestAudit
from kafkatx.spark.ingest.decoder import widened
from kafkatx.spark.ingest.decoder.registered import KnownSchemas
from kafkatx.spark.ingest.errors import IngestError
from kafkatx.spark.ingest.options import IngestOptions
from kafkatx.spark.ingest.plan import Pending, limited, pending, record_bytes, tasks_of, until
from kafkatx.spark.ingest.progress import Loaded, Progress, Report
from kafkatx.spark.ingest.retry import RetryLimit, Stopped
from kafkatx.spark.ingest.table.commits import last_manifest
from kafkatx.spark.ingest.table.files import open_files
from kafkatx.spark.ingest.table.formats import check_format
from kafkatx.spark.ingest.table.manifest import CommitCounts, Manifest, StagedFile
from kafkatx.spark.ingest.table.table import Table, placed
from kafkatx.spark.ingest.table_decoder import decoding_of, open_table_decoding, resolver_of
from kafkatx.spark.ingest.tasks.jobs import Jobs, disk_error
from kafkatx.spark.ingest.tasks.task import TaskResult, Work
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.source.plan import connect
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

FIRST_LOOK_RECORDS = 100_000
"""The first commit of a table whose columns are not known yet, for its records are decoded twice."""


def ingest(
    spark: SparkSession,
    options: IngestOptions,
    on_progress: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
) -> Report:
    """Load topics into files, each record once, however often this is interrupted and called again.

    Without ``follow``: up to the latest offsets as they are at the start. With it: until *stop* is set. A
    commit that runs when it is set is completed.

    :param on_progress: called, not always in the same thread, when there is something new to tell.
    :raises SettingError: an option is wrong, or differs from what the directory was begun with.
    :raises OffsetsLost: what comes next is not in the log.
    :raises ConflictingCommit: another ingestion writes to the directory.
    :raises IngestError: anything else that ends it; what is committed stays.
    :raises KafkaTXError: the brokers cannot be reached at the start, or refuse.
    """
    files = open_files(options.to)
    check_format(options.format, options.compression)
    stop = stop or threading.Event()
    table = Table(files)
    try:
        with connect(options.client) as cluster:
            running = Ingestion(spark, options, cluster, table, on_progress or (lambda _: None), stop)
            return running.run()
    except OSError as error:
        raise disk_error(files.root, str(error)) from error
    finally:
        table.close()


class Ingestion:
    """One call of :func:`ingest`."""

    def __init__(
        self,
        spark: SparkSession,
        options: IngestOptions,
        cluster: Cluster,
        table: Table,
        on_progress: Callable[[Progress], None],
        stop: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._table = table
        self._on_progress = on_progress
        self._stop = stop
        self._clock = clock
        self._retry = RetryLimit(options.patience_s, stop, clock)
        self._jobs = Jobs(spark, self._retry, options.max_failures)
        self._report = Report()
        self._loaded = Loaded()
        self._total = self._done = self._lag = 0
        self._resolver = resolver_of(options)
        known = None if self._resolver is None else self._resolver.schemas
        self._rows = decoding_of(options, last_manifest(table.files), known)
        table.open(_empty(options))
        self._audit = IngestAudit(options, cluster, table.files, _now_ms)

    # -- the loop

    def run(self) -> Report:
        """Commit until all is loaded, or until told to stop."""
        try:
            self._audit.begin(self._table.last)
            found = self._ask()
            if self._options.starting == "latest" and not (self._table.last and self._table.last.next):
                self._commit_positions(found)
            if self._options.follow:
                self._follow(found)
            else:
                self._load_once(found)
        except Stopped:
            pass
        finally:
            if self._resolver is not None:
                self._resolver.close()
        return self._report

    def _load_once(self, found: Pending) -> None:
        ends = {TopicPartition(item.topic, item.partition): item.end for item in found.ranges}
        self._total = found.size
        while not self._stop.is_set():
            ranges = until(found.ranges, ends)
            if not any(item.size for item in ranges):
                return
            self._load(found, ranges)
            found = self._ask()

    def _follow(self, found: Pending) -> None:
        options, last_s = self._options, None
        while not self._stop.is_set():
            self._total = self._done + found.size
            now = self._clock()
            due = last_s is None or now - last_s >= options.commit_every_s
            if found.size and (due or (options.max_records and found.size >= options.max_records)):
                last_s = now
                self._load(found, found.ranges)
            else:
                self._tell(0)
                self._stop.wait(options.poll_s)
            found = self._ask()

    def _ask(self) -> Pending:
        """Return what is not loaded yet; positions that had to be moved are committed at once."""
        found = self._retry.call(lambda: pending(self._cluster, self._options, self._table.last))
        if found.moved:
            self._commit_positions(found)
        self._note(found, {})
        return found

    # -- one commit

    def _commit_positions(self, found: Pending) -> None:
        """Write a commit without files, so that the next run continues at these positions."""
        staging = self._table.stage()
        self._commit(staging, self._manifest(found, [], []))

    def _load(self, found: Pending, ranges: Sequence[OffsetRange]) -> None:
        """Load these ranges, or as much of them as a commit is to hold."""
        self._choose_schemas({item.topic for item in ranges if item.size})
        most, last = self._options.max_records, self._table.last
        if not self._rows.final and not (last and last.files):
            most = min(most or FIRST_LOOK_RECORDS, FIRST_LOOK_RECORDS)
        wanted = limited(ranges, most)
        size = sum(item.size for item in wanted)
        while True:
            staging = self._table.stage()
            try:
                results = self._results(staging, wanted, size)
                drifts = [result.drift for result in results if result.drift]
                unknown = {bytes.fromhex(frame) for result in results for frame in result.unknown}
                if not drifts and not unknown:
                    staged = [file for result in results for file in result.files]
                    counts = self._audit.counts(results)
                    self._commit(staging, self._manifest(found, wanted, staged, counts))
                    break
            except BaseException:
                self._discard(staging)
                raise
            self._discard(staging)
            if unknown:
                self._look_up(unknown)
            else:
                self._widen(drifts)
        self._done += size
        self._note(found, {TopicPartition(item.topic, item.partition): item.end for item in wanted})
        self._tell(0)

    def _results(self, staging: str, wanted: Sequence[OffsetRange], size: int) -> list[TaskResult]:
        options = self._options
        tasks = tasks_of(
            wanted, record_bytes(self._table.last), options.bounds.target_file_bytes, self._jobs.cores
        )
        work = Work(
            self._table.files,
            staging,
            options.client,
            self._rows.decoding,
            decoded=options.decode is not None,
            format=options.format,
            compression=options.compression,
            partition_by=options.partition_by,
            time_column=self._rows.time_column,
            bounds=options.bounds,
            include_headers=options.include_headers,
            fail_on_data_loss=options.fail_on_data_loss,
            audit_interval_ms=options.audit_interval_ms,
        )
        return self._jobs.run(work, tasks, lambda done: self._tell(size * done // len(tasks)))

    def _choose_schemas(self, topics: set[str]) -> None:
        """Choose the schemas that topics are read as, if a registry has them."""
        resolver = self._resolver
        if resolver is not None and topics:
            changed = self._retry.call(lambda: resolver.begin(topics))
            self._reopen(resolver.schemas)
            if changed:
                log.info("read as the schemas of %s", ", ".join(sorted(topics)))

    def _look_up(self, frames: set[bytes]) -> None:
        """Look up schemas that messages were written with; the commit's tasks run again."""
        resolver = self._resolver
        if resolver is not None:
            self._retry.call(lambda: resolver.resolve(frames))
            self._reopen(resolver.schemas)

    def _reopen(self, schemas: KnownSchemas) -> None:
        self._rows = open_table_decoding(self._options, self._rows.decoding.columns(), schemas)

    def _widen(self, drifts: Sequence[Mapping[str, str]]) -> None:
        """Make columns for fields that were never seen; the commit's tasks run again."""
        before = self._rows.decoding.columns()
        self._rows = open_table_decoding(self._options, widened(before, drifts))
        after = self._rows.decoding.columns()
        if after == before:
            raise IngestError(f"fields that cannot become columns: {', '.join(sorted(drifts[0]))}")
        log.info(
            "new columns: %s",
            ", ".join(f"{name} {kind}" for name, kind in after if (name, kind) not in before),
        )

    def _manifest(
        self,
        found: Pending,
        wanted: Sequence[OffsetRange],
        staged: Sequence[StagedFile],
        counts: CommitCounts | None = None,
    ) -> Manifest:
        options, last = self._options, self._table.last
        commit = self._table.next_commit
        known = {at: offset for at, offset in (last.next if last else {}).items() if at not in found.gone}
        starts = {TopicPartition(item.topic, item.partition): item.start for item in found.ranges}
        ends = {TopicPartition(item.topic, item.partition): item.end for item in wanted}
        return attrs.evolve(
            _empty(options),
            commit=commit,
            schema=self._rows.columns,
            offsets={TopicPartition(*item[:2]): (item.start, item.end) for item in wanted},
            next={**known, **starts, **ends},
            topic_ids={**(last.topic_ids if last else {}), **found.topic_ids},
            files=placed(staged, commit, options.format),
            counts=counts or self._audit.counts([]),
        )

    def _commit(self, staging: str, manifest: Manifest) -> None:
        self._table.commit(staging, manifest)
        self._report.add(manifest)
        self._loaded.add(manifest)
        self._audit.committed(manifest)

    def _discard(self, staging: str) -> None:
        with suppress(OSError):  # the first error is worth more
            self._table.discard(staging)

    # -- what is told

    def _note(self, found: Pending, ends: Mapping[TopicPartition, int]) -> None:
        """Remember how far behind each partition is."""
        behind = {}
        for item in found.ranges:
            at = TopicPartition(item.topic, item.partition)
            behind[at] = item.end - ends.get(at, item.start)
        self._lag = sum(behind.values())
        self._report.partitions = self._loaded.report(
            behind, self._table.last.next if self._table.last else {}
        )

    def _tell(self, more: int) -> None:
        """Tell how far it is; *more* are done of the commit that is under way."""
        self._on_progress(
            Progress(
                self._table.next_commit, self._done + more, max(self._total, self._done), self._lag - more
            )
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _empty(options: IngestOptions) -> Manifest:
    """Return a commit that holds nothing."""
    return Manifest(
        commit=1,
        written_ms=_now_ms(),
        format=options.format,
        partition_by=options.partition_by,
        decode=options.decode,
        schema=(),
        offsets={},
        next={},
        topic_ids={},
        files=(),
    )
