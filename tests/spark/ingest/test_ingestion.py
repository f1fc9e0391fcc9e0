"""Whole ingestions with topics and a Spark in memory."""

from __future__ import annotations

import errno
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pyarrow.parquet as parquet
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import UnknownTopic
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import SettingError
from kafkatx.spark.ingest import retry
from kafkatx.spark.ingest.errors import IngestError, OffsetsLost, TableDamaged
from kafkatx.spark.ingest.ingestion import Ingestion
from kafkatx.spark.ingest.options import Bounds
from kafkatx.spark.ingest.progress import Progress, Report
from kafkatx.spark.ingest.table.commits import manifest_commits, read_manifest
from kafkatx.spark.ingest.table.files import LocalFiles
from kafkatx.spark.ingest.table.manifest import Manifest
from kafkatx.spark.ingest.table.read import read_table
from kafkatx.spark.ingest.table.table import STAGING, Table
from kafkatx.spark.ingest.tasks import task
from kafkatx.spark.source.plan import DataLoss
from tests.spark.fakes import FakeCluster
from tests.spark.ingest.fakes import FakeSpark, FakeTopics
from tests.spark.ingest.test_plan import options


class IngestionCase(SynchronousTestCase):
    """A topic of two partitions, ten records each."""

    def setUp(self) -> None:
        """An empty directory."""
        self.root = str(Path(self.mktemp()).resolve())
        self.files = LocalFiles(self.root)
        self.cluster = FakeCluster({"t": [(0, 10), (0, 10)]})
        self.topics = FakeTopics()
        self.spark: Any = FakeSpark()
        self.stop = threading.Event()
        self.progress: list[Progress] = []
        self.now = 0.0
        self.patch(task, "read_range", self.topics.read_range)
        self.patch(retry, "PAUSE_S", 0)

    def ingest(self, **given: Any) -> Report:
        """One run."""
        table = Table(self.files)
        try:
            chosen = attrs.evolve(options(**given), to=self.root)
            return Ingestion(
                self.spark, chosen, self.cluster, table, self.told, self.stop, lambda: self.now
            ).run()
        finally:
            table.close()

    def told(self, progress: Progress) -> None:
        """Progress."""
        self.progress.append(progress)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of all visible files."""
        paths = sorted(Path(self.root).glob("[!_]*/**/*.parquet")) + sorted(Path(self.root).glob("*.parquet"))
        return [row for path in paths for row in parquet.ParquetFile(path).read().to_pylist()]

    def offsets(self) -> Counter[tuple[int, int]]:
        """Count the rows by partition and offset."""
        return Counter((row["partition"], row["offset"]) for row in self.rows())

    def all_offsets(self, *ends: int) -> Counter[tuple[int, int]]:
        """Every record up to these ends."""
        return Counter((n, offset) for n, end in enumerate(ends) for offset in range(end))

    def last(self) -> Manifest:
        """The newest commit."""
        return read_manifest(self.files, manifest_commits(self.files)[-1])


class OnceTests(IngestionCase):
    def test_loads_all(self) -> None:
        """Every record is in the table once, in folders by date and hour; the report counts them."""
        report = self.ingest(partition_by=("date", "hour"))
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))
        self.assertTrue(Path(self.root, "date=1970-01-01/hour=09/part-000000000001-00009.parquet").exists())
        self.assertEqual((report.commits, report.rows, report.dead, report.files), (1, 20, 0, 10))
        self.assertEqual(
            [tuple(line) for line in report.partitions], [("t", 0, 0, 10, 0), ("t", 1, 0, 10, 0)]
        )
        self.assertEqual(report.bytes, sum(p.stat().st_size for p in Path(self.root).glob("date=*/*/*")))
        self.assertEqual(self.files.names(STAGING), [])
        self.assertEqual(self.spark.jobs, [1])

    def test_nothing_new(self) -> None:
        """The second run commits nothing and asks nothing of Spark; the third loads what has come."""
        self.ingest()
        self.assertEqual(self.ingest().commits, 0)
        self.assertEqual((len(self.spark.jobs), manifest_commits(self.files)), (1, [1]))
        self.cluster.logs["t"] = [(0, 10), (5, 14), (0, 2)]
        report = self.ingest()
        self.assertEqual(self.offsets(), self.all_offsets(10, 14, 2))
        self.assertEqual([line[2:] for line in report.partitions], [(10, 10, 0), (10, 14, 0), (0, 2, 0)])

    def test_end_is_fixed(self) -> None:
        """It loads what there was at the start, in several commits; what comes meanwhile is the lag."""
        read = self.topics.failures
        read.append(lambda: self.cluster.logs.update(t=[(0, 15), (0, 10), (0, 3)]))
        report = self.ingest(max_records=8)
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))
        self.assertEqual((report.commits, [line.lag for line in report.partitions]), (3, [5, 0, 3]))
        done = [item.records_done for item in self.progress]
        self.assertEqual((done, done[-1]), (sorted(done), 20))
        self.assertEqual({item.records_total for item in self.progress}, {20})
        self.assertEqual([item.commit for item in self.progress][-1], 4)

    def test_tasks(self) -> None:
        """A large commit is several tasks, each with files of its own."""
        report = self.ingest(bounds=Bounds(target_file_bytes=500))
        self.assertEqual((self.spark.jobs, report.files), ([4], 4))
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))

    def test_latest(self) -> None:
        """Started at the latest, it remembers where that was."""
        self.assertEqual(self.ingest(starting="latest").rows, 0)
        self.cluster.logs["t"] = [(0, 12), (0, 10)]
        self.ingest(starting="latest")
        self.assertEqual(sorted(self.offsets()), [(0, 10), (0, 11)])

    def test_stopped(self) -> None:
        """Told to stop, it completes the commit that is under way, and no other."""
        self.topics.failures.append(self.stop.set)
        self.assertEqual(self.ingest(max_records=8).commits, 1)
        self.assertEqual(self.offsets(), self.all_offsets(4, 4))

    def test_other_options(self) -> None:
        """A directory goes on as it was begun; the error says both."""
        self.ingest(partition_by=("date",))
        for given, said in (
            ({"format": "json"}, "format json: .* was begun with parquet"),
            ({"partition_by": ("date", "hour")}, "partition-by date,hour: .* was begun with date"),
            ({"partition_by": ()}, "partition-by none: .* was begun with date"),
            ({"decode": "json"}, "decode json: .* was begun with none"),
            ({"include_headers": True}, "headers True: .* was begun with False"),
        ):
            error = self.assertRaises(SettingError, self.ingest, **{"partition_by": ("date",), **given})
            self.assertRegex(str(error), said)

    def test_data_loss(self) -> None:
        """Skipped offsets are in no commit, and it goes on behind them, also if nothing is left there."""
        self.ingest()
        self.cluster.logs["t"] = [(20, 25), (30, 30)]
        self.assertRaises(OffsetsLost, self.ingest)
        report = self.ingest(fail_on_data_loss=False)
        self.assertEqual([line[2:] for line in report.partitions], [(20, 25, 0), (30, 30, 0)])
        self.assertEqual({at.partition: end for at, end in self.last().next.items()}, {0: 25, 1: 30})
        self.assertEqual(self.ingest().commits, 0)

    def test_all_is_lost(self) -> None:
        """Nothing is left behind what was lost: where to go on is committed all the same."""
        self.ingest()
        self.cluster.logs["t"] = [(30, 30), (30, 30)]
        self.assertEqual(self.ingest(fail_on_data_loss=False).rows, 0)
        self.cluster.logs["t"] = [(30, 31), (30, 30)]
        self.assertEqual(self.ingest().rows, 1)


class FollowTests(IngestionCase):
    def follow(self, *moments: tuple[float, int, int], **given: Any) -> Report:
        """Follow; at each look the time and the ends of the logs are the next of these; then stop."""
        left = list(moments)
        test = self

        class Stop(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                if not left:
                    self.set()
                    return True
                test.now, *ends = left.pop(0)
                test.cluster.logs["t"] = [(0, end) for end in ends]
                return False

        self.stop = Stop()
        return self.ingest(follow=True, commit_every_s=60, **given)

    def test_commits(self) -> None:
        """At once, then when a minute is over, not when nothing is new; nothing is lost at the end."""
        self.follow((10, 11, 10), (59, 12, 10), (60, 13, 10), (119, 14, 10), (500, 14, 10), (501, 15, 10))
        ends = [read_manifest(self.files, n).offsets for n in manifest_commits(self.files)]
        self.assertEqual(
            [[end for _, end in commit.values()] for commit in ends],
            [
                [10, 10],
                [13],
                [14],
            ],
        )
        self.assertEqual(self.offsets(), self.all_offsets(14, 10))
        self.assertEqual(self.progress[-1].lag, 1)

    def test_full(self) -> None:
        """A full commit is made before the minute is over."""
        report = self.follow((1, 14, 10), (2, 15, 10), max_records=5)
        self.assertEqual([line.end for line in report.partitions], [15, 10])


class TroubleTests(IngestionCase):
    def raising(self, error: BaseException) -> Any:
        """A failure for a task or a question."""

        def fail() -> None:
            raise error

        return fail

    def failed(self, error: BaseException, **given: Any) -> str:
        """A task fails for good: what is said; nothing is visible, and the next run loads all."""
        self.topics.failures.append(self.raising(error))
        raised = self.assertRaises(IngestError, self.ingest, **given)
        self.assertEqual((self.rows(), self.files.names(STAGING)), ([], []))
        self.ingest()
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))
        return str(raised)

    def test_full_disk(self) -> None:
        """A full disk under a task: the directory is named."""
        said = self.failed(OSError(errno.ENOSPC, "No space left on device"))
        self.assertIn(f"{self.root}: [Errno 28] No space left on device. Nothing of this commit", said)

    def test_lost_in_a_task(self) -> None:
        """Offsets that go while a task reads."""
        self.assertIn("t-0 is gone", self.failed(DataLoss("t-0 is gone")))

    def test_our_bug(self) -> None:
        """An unexpected error is reported with its place."""
        self.assertIn("ZeroDivisionError", self.failed(ZeroDivisionError()))

    def test_refused(self) -> None:
        """An error that no retry would mend is not retried."""
        self.assertIn("there is no topic", self.failed(UnknownTopic("t")))

    def test_brokers_away(self) -> None:
        """Brokers that are away are waited for; tasks that are done are not run again."""
        away = ConnectionFailed("127.0.0.1:1 does not answer")
        well, fails = (lambda: None), self.raising(away)
        self.topics.failures += [well, fails, fails, well, fails]
        self.ingest(bounds=Bounds(target_file_bytes=500))
        self.assertEqual(self.spark.jobs, [4, 2, 1])
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))

    def test_brokers_away_too_long(self) -> None:
        """Patience ends; it is said for how long they were away."""

        def later() -> None:
            self.now += 50
            raise ConnectionFailed("127.0.0.1:1 does not answer")

        self.topics.failures += [later] * 4
        error = self.assertRaises(IngestError, self.ingest, patience_s=120)
        self.assertIn("the brokers have been away for 150 s: 127.0.0.1:1", str(error))

    def test_planning_without_brokers(self) -> None:
        """Between commits they are waited for, too; at the first contact they are not."""
        away = ConnectionFailed("h:1 does not answer")
        self.cluster.failures = [away]
        self.assertRaises(ConnectionFailed, self.ingest)
        self.topics.failures.append(lambda: self.cluster.failures.append(away))
        self.ingest(max_records=8)
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))

    def test_stopped_while_away(self) -> None:
        """Told to stop while brokers are away, it gives the commit up."""

        def stop() -> None:
            self.stop.set()
            raise ConnectionFailed("h:1 does not answer")

        self.topics.failures.append(stop)
        self.assertEqual(self.ingest().commits, 0)
        self.assertEqual((self.rows(), self.files.names(STAGING)), ([], []))

    def test_worker_killed(self) -> None:
        """A job that Spark gives up is run again, so often."""
        crash = "long\nCaused by: org.apache.spark.SparkException: Python worker exited (crashed)\n at x"
        self.spark.failures = [crash] * 3
        self.ingest()
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))
        self.cluster.logs["t"] = [(0, 11), (0, 10)]
        self.spark.failures = [crash] * 4
        error = self.assertRaises(IngestError, self.ingest)
        self.assertIn(
            "Spark failed 4 times, last: Caused by: org.apache.spark.SparkException: Python", str(error)
        )
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))

    def test_damaged_manifest(self) -> None:
        """One changed character: neither is anything loaded twice nor read, and it is told what to do."""
        self.ingest()
        path = Path(self.root, "_kafkatx/commits/000000000001.json")
        data = path.read_bytes()
        path.write_bytes(data.replace(b'"next": {"t": {"0": 10', b'"next": {"t": {"0": 1 '))
        for read in (self.ingest, lambda: read_table(self.spark, self.root)):
            error = self.assertRaises(TableDamaged, read)
            self.assertIn(f"{path} is damaged: its checksum does not match its content. Restore", str(error))
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))
        path.unlink()
        for read in (self.ingest, lambda: read_table(self.spark, self.root)):
            self.assertIn("commits", str(self.assertRaises(TableDamaged, read)))
        path.write_bytes(data)
        self.assertEqual(self.ingest().commits, 0)

    def test_commit_fails_after_its_rename(self) -> None:
        """An error when the commit is there already: what was staged stays, and the next run completes it."""
        files = self.files
        move = LocalFiles.move

        def full(self: LocalFiles, source: str, target: str) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        self.patch(LocalFiles, "move", full)
        self.assertRaises(OSError, self.ingest)
        self.assertEqual((manifest_commits(files), self.rows()), ([1], []))
        self.patch(LocalFiles, "move", move)
        self.assertEqual(self.ingest().commits, 0)
        self.assertEqual(self.offsets(), self.all_offsets(10, 10))
