"""Commits: an ingestion that is stopped at any step, also by a power cut, neither loses nor doubles."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Sequence

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.errors import ConflictingCommit, TableDamaged
from kafkatx.spark.ingest.table.columns import Column
from kafkatx.spark.ingest.table.commits import COMMITS, HEAD, manifest_commits, read_manifest
from kafkatx.spark.ingest.table.manifest import DATA, DEAD, Manifest, StagedFile
from kafkatx.spark.ingest.table.table import STAGING, Table, placed
from kafkatx.types import TopicPartition
from tests.spark.ingest.memory import MemoryFiles, Stop

AT = TopicPartition("t", 0)
LOG = 14
PER_COMMIT = 4

EMPTY = Manifest(1, 0, "parquet", ("hour",), None, (Column("n", "int"),), {}, {}, {}, ())


def write(table: Table, staging: str, records: Sequence[int], attempt: str = "a") -> list[StagedFile]:
    """Write as tasks do: the records in files of two hours, odd ones apart, and every fifth a dead letter."""
    staged = []
    for folder, kind, mine in (
        ("/hour=00", DATA, [n for n in records if n % 2 == 0 and n % 5]),
        ("/hour=01", DATA, [n for n in records if n % 2 and n % 5]),
        ("", DEAD, [n for n in records if n % 5 == 0]),
    ):
        if mine:
            path = f"{staging}{folder}/{attempt}-{kind}"
            data = "\n".join(map(str, mine)).encode()
            with table.files.output(path) as stream:
                stream.write(data)
            table.files.sync(path)
            staged.append(StagedFile(path, kind, len(mine), len(data), {"hour": folder[-2:]}))
    return staged


def load(table: Table, upto: int = LOG) -> int:
    """One commit of an ingestion; how many records it held."""
    start = table.last.next.get(AT, 0) if table.last else 0
    end = min(start + PER_COMMIT, upto)
    if start < end:
        staging = table.stage()
        write(table, staging, [start], attempt="failed")  # an attempt whose end was never reported
        staged = write(table, staging, range(start, end))
        table.commit(
            staging,
            attrs.evolve(
                EMPTY,
                commit=table.next_commit,
                offsets={AT: (start, end)},
                next={AT: end},
                files=placed(staged, table.next_commit, "txt"),
            ),
        )
    return end - start


def ingest(files: MemoryFiles) -> Table:
    """A whole run."""
    table = Table(files)
    table.open(EMPTY)
    while load(table):
        pass
    return table


def visible(files: MemoryFiles) -> Counter[int]:
    """The records that readers find, dead letters among them."""
    paths = [*files.visible(), *(f"_dead_letters/{name}" for name in files.names("_dead_letters"))]
    return Counter(int(line) for path in paths for line in files.read(path).split())


def committed(files: MemoryFiles) -> Counter[int]:
    """The records that manifests speak for."""
    ends = [read_manifest(files, commit).offsets.get(AT, (0, 0)) for commit in manifest_commits(files)]
    return Counter(n for start, end in ends for n in range(start, end))


class StoppedTests(SynchronousTestCase):
    """A run that ends at any step; the next one goes on."""

    def steps(self) -> int:
        """Return the number of steps of a whole run."""
        files = MemoryFiles()
        ingest(files)
        return files.steps

    def stopped(self, step: int, when: str, power_cut: bool, files: MemoryFiles) -> int:
        """Run until the step; how many records were told to be committed."""
        files.steps, files.stop_at = 0, (step, when)
        table, told = Table(files), 0
        try:
            table.open(EMPTY)
            told = table.last.next.get(AT, 0) if table.last else 0
            while load(table):
                told = table.last.next[AT] if table.last else 0
        except Stop:
            pass
        files.stop_at = None
        if power_cut:
            files.power_cut()
        return told

    def check(self, files: MemoryFiles, told: int, where: object) -> None:
        """Check the visible rows now, after recovery, and after the run that follows."""
        seen = visible(files)
        self.assertEqual(seen - committed(files), Counter(), f"{where}: visible and not committed, or twice")
        Table(files).open(EMPTY)
        self.assertEqual(visible(files), committed(files), f"{where}: recovered")
        self.assertGreaterEqual(committed(files).total(), told, f"{where}: committed and gone")
        self.assertEqual(files.names(STAGING), [], f"{where}: left over")
        ingest(files)
        self.assertEqual(visible(files), Counter(range(LOG)), f"{where}: complete")

    def test_every_step(self) -> None:
        """Killed before or after each step: recovery gives what is committed, the next run all, once."""
        for step in range(1, self.steps() + 1):
            for when in ("before", "after"):
                files = MemoryFiles()
                told = self.stopped(step, when, False, files)
                self.check(files, told, (step, when))

    def test_power_cut(self) -> None:
        """The same where everything is lost that was not synced: names as well as bytes."""
        for step in range(1, self.steps() + 1):
            for when in ("before", "after"):
                files = MemoryFiles()
                told = self.stopped(step, when, True, files)
                self.check(files, told, (step, when))

    def test_again_and_again(self) -> None:
        """Stopped at random steps of run after run, also while it recovers."""
        for seed in range(150):
            chance, files = random.Random(seed), MemoryFiles()
            for _ in range(chance.randint(1, 8)):
                step, power_cut = chance.randint(1, 40), chance.random() < 0.4
                told = self.stopped(step, chance.choice(("before", "after")), power_cut, files)
            self.check(files, told, seed)

    def test_disk_errors(self) -> None:
        """An error of the file system at any step, and a process that lives on: it discards and raises."""
        for step in range(1, self.steps() + 1):
            for when in ("before", "after"):
                files = MemoryFiles()
                files.fail_with = OSError(28, "No space left on device")
                files.stop_at = (step, when)
                table = Table(files)
                try:
                    table.open(EMPTY)
                    while True:
                        self.load_or_discard(table)
                except OSError:
                    pass
                files.stop_at = None
                self.check(files, 0, (step, when))

    def load_or_discard(self, table: Table) -> None:
        """Load as an ingestion does: staged files are discarded on an error."""
        stage, staged = table.stage, []

        def noted() -> str:
            staged.append(stage())
            return staged[-1]

        table.stage = noted  # type: ignore[method-assign]
        try:
            if not load(table):
                raise OSError("done")
        except OSError:
            for path in staged:
                table.discard(path)
            raise
        finally:
            table.stage = stage  # type: ignore[method-assign]


class ConflictTests(SynchronousTestCase):
    """Two ingestions of one directory, on a file system without locks."""

    def test_second_to_commit(self) -> None:
        """Both began at the same commit: one makes it, the other learns of it, and nothing is doubled."""
        files = MemoryFiles()
        first, second = Table(files), Table(files)
        first.open(EMPTY)
        second.open(EMPTY)
        load(first)
        error = self.assertRaises(ConflictingCommit, load, second)
        self.assertIn("memory: another ingestion has made commit 1", str(error))
        self.assertEqual(visible(files), Counter(range(PER_COMMIT)))

    def test_what_is_removed_is_never_committed(self) -> None:
        """One that starts removes what the other has staged; that one's commit then fails, whole."""
        files = MemoryFiles()
        first, second = Table(files), Table(files)
        first.open(EMPTY)
        staging = first.stage()
        staged = write(first, staging, range(3))
        second.open(EMPTY)
        self.assertEqual(files.names(STAGING), [])
        manifest = attrs.evolve(EMPTY, next={AT: 3}, files=placed(staged, 1, "txt"))
        self.assertRaises(ConflictingCommit, first.commit, staging, manifest)
        self.assertEqual(visible(files), Counter())
        ingest(files)
        self.assertEqual(visible(files), Counter(range(LOG)))

    def test_race_for_the_name(self) -> None:
        """The last look found the number free, and then it was taken: the rename fails."""
        files = MemoryFiles()
        first, second = Table(files), Table(files)
        first.open(EMPTY)
        second.open(EMPTY)
        sync = files.sync

        def overtaken(path: str) -> None:
            sync(path)
            if path.endswith("manifest.json"):
                files.sync = sync  # type: ignore[method-assign]
                load(second)

        files.sync = overtaken  # type: ignore[method-assign]
        self.assertRaises(ConflictingCommit, load, first)
        self.assertEqual(visible(files), Counter(range(PER_COMMIT)))

    def test_publishing_together(self) -> None:
        """One that starts while the other moves its files moves them, too: both succeed."""
        files = MemoryFiles()
        first = Table(files)
        first.open(EMPTY)
        move = files.move

        def overtaken(source: str, target: str) -> None:
            if target.endswith("00001.txt"):
                files.move = move  # type: ignore[method-assign]
                Table(files).open(EMPTY)
            move(source, target)

        files.move = overtaken  # type: ignore[method-assign]
        load(first)
        self.assertEqual(visible(files), Counter(range(PER_COMMIT)))


class DamageTests(SynchronousTestCase):
    """Directories that are not as an ingestion leaves them."""

    def setUp(self) -> None:
        """An empty directory."""
        self.files = MemoryFiles()

    def refused(self) -> str:
        """Return the error of opening the table."""
        return str(self.assertRaises(TableDamaged, Table(self.files).open, EMPTY))

    def test_foreign_directory(self) -> None:
        """A directory with files of another program is refused, and nothing is written to it."""
        self.files.create_dir("src")
        self.assertIn("memory has 'src' but no _kafkatx/commits", self.refused())
        self.assertEqual(self.files.names(""), ["src"])

    def test_commits_deleted(self) -> None:
        """Data without commits would be loaded twice: refused, also if only dead letters are left."""
        ingest(self.files)
        self.files.remove("_kafkatx")
        self.assertIn("its commits were deleted", self.refused())
        for name in ("hour=00", "hour=01"):
            self.files.remove(name)
        self.assertIn("_dead_letters", self.refused())

    def test_new_disk(self) -> None:
        """The files of a new file system, and hidden ones, do not count."""
        for name in ("lost+found", ".cache", "_SUCCESS"):
            self.files.create_dir(name)
        ingest(self.files)

    def test_last_commit_deleted(self) -> None:
        """Its files are still there, and would be doubled: the head names the commit that is missing."""
        table = ingest(self.files)
        assert table.last is not None
        self.files.remove(f"{COMMITS}/{table.last.commit:012d}.json")
        self.assertIn("memory/_kafkatx/commits/000000000004.json is missing. Restore it", self.refused())

    def test_commits_and_head_deleted(self) -> None:
        """Without a head too, a commit whose files are there already is refused."""
        table = Table(self.files)
        table.open(EMPTY)
        load(table)
        load(table)
        for path in (f"{COMMITS}/000000000002.json", HEAD):
            self.files.remove(path)
        table = Table(self.files)
        table.open(EMPTY)
        error = self.assertRaises(TableDamaged, load, table)
        self.assertIn("is there before its commit", str(error))

    def test_deleted_while_running(self) -> None:
        """The directory is deleted under a running ingestion: it does not begin a new one there."""
        table = Table(self.files)
        table.open(EMPTY)
        load(table)
        for name in self.files.names(""):
            self.files.remove(name)
        error = self.assertRaises(TableDamaged, load, table)
        self.assertIn("000000000001.json is gone: was the directory deleted?", str(error))

    def test_staged_file_gone(self) -> None:
        """A staged file that the driver does not see means that executors have other disks."""
        table = Table(self.files)
        table.open(EMPTY)
        staging = table.stage()
        staged = write(table, staging, range(3))
        self.files.remove(staged[0].staged)
        manifest = attrs.evolve(EMPTY, files=placed(staged, 1, "txt"))
        error = self.assertRaises(TableDamaged, table.commit, staging, manifest)
        self.assertIn("all executors and the driver must see the same directory", str(error))
        self.assertEqual((visible(self.files), manifest_commits(self.files)), (Counter(), []))

    def test_unreadable_manifest(self) -> None:
        """A manifest that is none, or another's, is named."""
        ingest(self.files)
        path = f"{COMMITS}/000000000004.json"
        for data, said in (
            (b"{", "is no manifest"),
            (b"[" * 100_000 + b"]" * 100_000, "is no manifest of an ingestion: RecursionError"),
            (b'{"version": 9}', "version 9"),
            (b'{"version": 2}', "version 2 without a checksum"),
            (self.files.read(f"{COMMITS}/000000000001.json"), "is the manifest of commit 1"),
        ):
            self.files.remove(path)
            with self.files.output(path) as stream:
                stream.write(data)
            message = self.refused()
            self.assertIn(f"memory/{path}", message)
            self.assertIn(said, message)

    def test_published_file_gone(self) -> None:
        """Neither staged nor in place, in the midst of publishing: said, not passed over."""
        files = self.files
        table = Table(files)
        table.open(EMPTY)
        files.stop_at = (next(n for n in range(1, 99) if self.stops_between(n)), "before")
        name = next(iter(files.names(STAGING)))
        files.stop_at = None
        files.remove(f"{STAGING}/{name}/hour=01/a-data")
        self.assertIn("is gone, and so is", self.refused())

    def stops_between(self, step: int) -> bool:
        """Return True if a run that stops there has published one file and not the other."""
        self.files.__init__()  # type: ignore[misc]
        self.files.stop_at = (step, "before")
        with contextlib.suppress(Stop):
            ingest(self.files)
        return len(self.files.visible()) == 1


class PlacedTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """Files come to be in the folder that they are staged in, numbered; dead letters apart."""
        staged = [
            StagedFile("_kafkatx/staging/7-ab/date=x/hour=01/z-0", DATA, 1, 1),
            StagedFile("_kafkatx/staging/7-ab/z-1", DATA, 1, 1),
            StagedFile("_kafkatx/staging/7-ab/z-2", DEAD, 1, 1),
        ]
        self.assertEqual(
            [file.path for file in placed(staged, 7, "parquet")],
            [
                "date=x/hour=01/part-000000000007-00000.parquet",
                "part-000000000007-00001.parquet",
                "_dead_letters/part-000000000007-00002.json",
            ],
        )
