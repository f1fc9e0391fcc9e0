"""The location of the embedded store's database in log.dirs."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError, StateLost
from kafkatx.metadata.embedded.location import FILE_NAME, find_file, put_aside, refuse_shared
from kafkatx.metadata.sqlite.files import make_file
from kafkatx.names import META_PROPERTIES, TREE_FILE


class FindFileTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two log dirs."""
        self.dirs = [self.mktemp() for _ in range(2)]
        for path in self.dirs:
            os.makedirs(path)

    def write(self, directory: int, name: str, content: bytes = b"x") -> str:
        """Write a file into a log dir; return its path."""
        path = os.path.join(self.dirs[directory], name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def refused(self) -> str:
        """Return why the log dirs are refused."""
        return str(self.assertRaises(StateLost, find_file, self.dirs, False))

    def test_new(self) -> None:
        """A new database is created in the first of log.dirs."""
        self.assertEqual(find_file(self.dirs, False), os.path.join(self.dirs[0], FILE_NAME))

    def test_in_any(self) -> None:
        """An existing database is found in any of log.dirs, even if a dir is named twice."""
        path = os.path.realpath(self.write(1, FILE_NAME))
        for dirs in (self.dirs, self.dirs[::-1], [*self.dirs, *self.dirs]):
            self.assertEqual(os.path.realpath(find_file(dirs, False)), path)

    def test_several(self) -> None:
        """Two databases are refused, and both are named."""
        for number in range(2):
            self.write(number, FILE_NAME)
        message = self.refused()
        for path in self.dirs:
            self.assertIn(os.path.join(os.path.basename(path), FILE_NAME), message)

    def test_partition_without_database(self) -> None:
        """A partition directory without a database is refused, and named."""
        self.write(1, "clicks-0/00000000000000000000.log")
        self.assertIn("clicks-0 is a partition's directory", self.refused())

    def test_cluster_without_database(self) -> None:
        """A log dir that names its cluster is refused without a database."""
        self.write(1, META_PROPERTIES, b"version=1\ncluster.id=abc\n")
        self.assertIn("names a cluster", self.refused())

    def test_empty_file(self) -> None:
        """An empty database file counts as missing."""
        self.write(0, FILE_NAME, b"")
        self.write(0, "clicks-0/00000000000000000000.log")
        self.assertIn("in none of them or is empty", self.refused())

    def test_several_brokers(self) -> None:
        """A directory of several brokers is not one broker's, whatever else is in it."""
        self.write(1, TREE_FILE, b"")
        refuse_shared(self.dirs)
        self.write(1, TREE_FILE, b"x")
        error = self.assertRaises(SettingError, refuse_shared, self.dirs)
        self.assertIn(f"log.dirs={self.dirs[1]}: belongs to a cluster of several brokers", str(error))

    def test_anew(self) -> None:
        """A database may be created beside data of another cluster with kafkatx.start.anew."""
        self.write(1, "clicks-0/00000000000000000000.log")
        self.assertEqual(find_file(self.dirs, True), os.path.join(self.dirs[0], FILE_NAME))

    def test_other_files(self) -> None:
        """Unrelated files and missing dirs are ignored."""
        self.write(0, "lost+found/x")
        self.write(0, META_PROPERTIES, b"version=1\n")
        dirs = [*self.dirs, os.path.join(self.dirs[0], "missing")]
        self.assertEqual(find_file(dirs, False), os.path.join(self.dirs[0], FILE_NAME))


class FilesTests(SynchronousTestCase):
    def test_make(self) -> None:
        """The file is created once, with its directory, and only its owner may read it."""
        path = os.path.join(self.mktemp(), "below", FILE_NAME)
        self.assertTrue(make_file(path))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, "wb") as file:
            file.write(b"x")
        self.assertFalse(make_file(path))

    def test_put_aside(self) -> None:
        """A damaged database is renamed together with the files beside it, each time to a new name."""
        directory = self.mktemp()
        path = os.path.join(directory, FILE_NAME)
        asides = set()
        for _ in range(2):
            make_file(path)
            make_file(path + "-journal")
            aside = put_aside(path)
            self.assertTrue(os.path.exists(aside) and os.path.exists(aside + "-journal"))
            asides.add(aside)
        self.assertEqual(len(asides), 2)
        self.assertFalse(os.path.exists(path))
