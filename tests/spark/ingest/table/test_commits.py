"""Manifests: each changed byte and each missing one is noticed before it does harm."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.errors import TableDamaged
from kafkatx.spark.ingest.table.commits import (
    COMMITS,
    HEAD,
    all_manifests,
    head_path,
    last_manifest,
    manifest_path,
)
from kafkatx.spark.ingest.table.manifest import parse_manifest
from kafkatx.spark.ingest.table.table import Table
from tests.spark.ingest.memory import MemoryFiles
from tests.spark.ingest.table.test_table import EMPTY, ingest, load


class CommitsCase(SynchronousTestCase):
    """A table of four commits."""

    def setUp(self) -> None:
        """Ingest all."""
        self.files = MemoryFiles()
        ingest(self.files)

    def replace(self, path: str, data: bytes) -> None:
        """Give a file other bytes."""
        self.files.remove(path)
        with self.files.output(path) as stream:
            stream.write(data)

    def unsealed(self, *commits: int) -> None:
        """Make commits what they would be in version 1."""
        for commit in commits:
            document = json.loads(self.files.read(manifest_path(commit)))
            del document["previous"], document["checksum"]
            self.replace(manifest_path(commit), json.dumps({**document, "version": 1}).encode() + b"\n")


class ChainTests(CommitsCase):
    def refused(self) -> str:
        """Both an ingestion and a reader refuse; what they say."""
        said = {
            str(self.assertRaises(TableDamaged, read, self.files)) for read in (last_manifest, all_manifests)
        }
        self.assertRaises(TableDamaged, Table(self.files).open, EMPTY)
        self.assertEqual(len(said), 1)
        return said.pop()

    def test_sound(self) -> None:
        """Each commit names the digest of the one before it, and the head the last one."""
        found = all_manifests(self.files)
        self.assertEqual([m.commit for m in found], [1, 2, 3, 4])
        self.assertEqual([m.previous for m in found], ["", *(m.digest for m in found[:-1])])
        self.assertEqual([f"{HEAD}/{name}" for name in self.files.names(HEAD)], [head_path(found[-1])])

    def test_any_missing(self) -> None:
        """Each manifest that is missing is named: the first, one in the middle, the last."""
        for commit in range(1, 5):
            path = manifest_path(commit)
            data = self.files.read(path)
            self.files.remove(path)
            self.assertIn(f"memory/{path} is missing. Restore it", self.refused())
            self.write(path, data)
        self.assertEqual(len(all_manifests(self.files)), 4)

    def write(self, path: str, data: bytes) -> None:
        """Make a file."""
        with self.files.output(path) as stream:
            stream.write(data)

    def test_all_missing(self) -> None:
        """All manifests gone and only the head left, the data too: still nothing is loaded again."""
        for name in (COMMITS, *(n for n in self.files.names("") if n != "_kafkatx")):
            self.files.remove(name)
        self.assertIn("000000000004.json is missing", self.refused())

    def test_renamed(self) -> None:
        """A sound manifest of another table, or of another time, does not fit in."""
        other = MemoryFiles()
        table = Table(other)
        table.open(EMPTY)
        for upto in (3, 6, 9, 12):
            load(table, upto)
        for commit in range(1, 5):
            mine = self.files.read(manifest_path(commit))
            self.replace(manifest_path(commit), other.read(manifest_path(commit)))
            self.assertRaises(TableDamaged, all_manifests, self.files)
            self.replace(manifest_path(commit), mine)

    def test_restored_in_part(self) -> None:
        """Manifests of yesterday with the head of today, or the other way round, are refused."""
        head = self.files.names(HEAD)[0]
        self.files.remove(f"{HEAD}/{head}")
        self.write(f"{HEAD}/000000000001-{digest(self.files, 1)}", b"")
        self.assertIn("parts of the directory are of different times", self.last_refused())
        self.files.remove(f"{HEAD}/000000000001-{digest(self.files, 1)}")
        self.write(f"{HEAD}/000000000004-{'0' * 64}", b"")
        self.assertIn("000000000004.json is not the one that _kafkatx/head names", self.refused())

    def last_refused(self) -> str:
        """Return the error of an ingestion."""
        return str(self.assertRaises(TableDamaged, last_manifest, self.files))

    def test_head_missing(self) -> None:
        """Without a head the last commits may be missing; the error says what to do."""
        self.files.remove(HEAD)
        said = self.refused()
        path = said.rpartition("create the empty file ")[2].removesuffix(" there")
        self.write(path, b"")
        self.assertEqual(len(all_manifests(self.files)), 4)

    def test_head_one_behind(self) -> None:
        """A run that was killed before it wrote the head: the next one brings it up."""
        found = all_manifests(self.files)
        self.files.remove(HEAD)
        self.write(head_path(found[-2]), b"")
        Table(self.files).open(EMPTY)
        self.assertEqual([f"{HEAD}/{name}" for name in self.files.names(HEAD)], [head_path(found[-1])])


class OldTests(CommitsCase):
    """Tables that were begun when manifests had no checksum."""

    def test_goes_on(self) -> None:
        """They are read, and the chain begins with the next commit."""
        files = self.files
        self.unsealed(1, 2, 3, 4)
        files.remove(HEAD)
        table = Table(files)
        table.open(EMPTY)
        load(table, 20)
        found = all_manifests(files)
        self.assertEqual([m.previous for m in found[:4]], [None] * 4)
        self.assertEqual(found[4].previous, found[3].digest)
        self.assertEqual([f"{HEAD}/{name}" for name in files.names(HEAD)], [head_path(found[4])])
        data = files.read(manifest_path(4))
        self.replace(manifest_path(4), data.replace(b'"to": 14', b'"to": 15'))
        self.assertIn(
            "000000000004.json is not the one that commit 5 follows",
            str(self.assertRaises(TableDamaged, Table(files).open, EMPTY)),
        )

    def test_left_to_an_older_one(self) -> None:
        """A table that is only looked at stays as it is: an older kafkatx may still add to it."""
        self.unsealed(1, 2, 3, 4)
        self.files.remove(HEAD)
        table = Table(self.files)
        table.open(EMPTY)
        self.assertEqual(self.files.names(HEAD), [])
        load(table, 20)
        load(table, 24)
        self.unsealed(5, 6)
        self.files.remove(HEAD)
        found = last_manifest(self.files)
        assert found is not None
        self.assertEqual(found.commit, 6)

    def test_old_after_new(self) -> None:
        """A commit without a checksum cannot follow one that has one."""
        self.unsealed(4)
        self.files.remove(HEAD)
        error = self.assertRaises(TableDamaged, last_manifest, self.files)
        self.assertIn("has no checksum, and the one before it has", str(error))


def digest(files: MemoryFiles, commit: int) -> str:
    """The digest of one commit."""
    return parse_manifest(files.read(manifest_path(commit)), "m").digest
