"""The local file system, and one that pyarrow reaches."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.table.files import ArrowFiles, Files, LocalFiles, open_files


class FilesContract:
    """The contract of the files below a table."""

    files: Files

    def write(self, path: str, data: bytes) -> None:
        """A file, whole."""
        with self.files.output(path) as stream:
            stream.write(data)
        self.files.sync(path)

    def test_write_and_read(self: Any) -> None:
        """A file is made with the directories above it; there are its bytes, its size, and its name."""
        self.write("a/b/c", b"data")
        self.files.sync("a/b")
        self.assertEqual(self.files.read("a/b/c"), b"data")
        self.assertEqual(
            [self.files.size(path) for path in ("a/b/c", "a/b", "a/x", "y/z")], [4, -1, None, None]
        )
        self.assertEqual(
            (self.files.names("a/b"), self.files.names(""), self.files.names("no")), (["c"], ["a"], [])
        )

    def test_not_there(self: Any) -> None:
        """Reading or moving a file that does not exist is FileNotFoundError."""
        self.files.create_dir("to")
        self.assertRaises(FileNotFoundError, self.files.read, "no")
        self.assertRaises(FileNotFoundError, self.files.move, "no", "to/x")

    def test_move(self: Any) -> None:
        """A file is at its new place and not at the old one."""
        self.write("from/x", b"1")
        self.files.create_dir("to")
        self.files.move("from/x", "to/y")
        self.assertEqual((self.files.read("to/y"), self.files.names("from")), (b"1", []))

    def test_publish(self: Any) -> None:
        """The first gets the name, the second an error, and what is there stays."""
        for name in ("first", "second"):
            self.write(f"from/{name}", name.encode())
        self.files.create_dir("to")
        self.files.publish("from/first", "to/x")
        self.assertRaises(FileExistsError, self.files.publish, "from/second", "to/x")
        self.assertEqual(self.files.read("to/x"), b"first")
        self.assertEqual(self.files.names("from"), ["second"])

    def test_remove(self: Any) -> None:
        """A directory with all in it, a file, and what is not there."""
        self.write("a/b/c", b"")
        self.write("a/d", b"")
        for path in ("a/b", "a/d", "a/e"):
            self.files.remove(path)
        self.assertEqual(self.files.names("a"), [])

    def test_picklable(self: Any) -> None:
        """It travels to the workers."""
        self.assertEqual(pickle.loads(pickle.dumps(self.files)).root, self.files.root)


class LocalFilesTests(FilesContract, SynchronousTestCase):
    def setUp(self) -> None:
        """An empty directory."""
        self.path = Path(self.mktemp()).resolve()
        self.path.mkdir()
        self.files = LocalFiles(str(self.path))

    def test_no_overwriting(self) -> None:
        """Staged files have unique names: one that exists is an error."""
        self.write("a", b"1")
        self.assertRaises(FileExistsError, self.files.output, "a")

    def test_answer_lost(self) -> None:
        """NFS asked again after the server had made the link: that is success."""
        self.write("from", b"1")
        os.link(self.path / "from", self.path / "to")
        self.files.publish("from", "to")
        self.assertEqual(self.files.names(""), ["to"])

    def test_no_hard_links(self) -> None:
        """A file system without them is told of."""

        def link(*_: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        self.write("from", b"1")
        self.patch(os, "link", link)
        error = self.assertRaises(OSError, self.files.publish, "from", "to")
        self.assertIn("no hard links", str(error))

    def test_lock(self) -> None:
        """One at a time; who has it is told; it can be had again when it is let go."""
        with self.files.lock("lock"):
            error = self.assertRaises(BlockingIOError, self.files.lock, "lock")
            self.assertIn(f"process {os.getpid()} on ", error.strerror)
        with self.files.lock("lock"):
            pass


class ArrowFilesTests(FilesContract, SynchronousTestCase):
    def setUp(self) -> None:
        """An empty directory."""
        path = Path(self.mktemp()).resolve()
        path.mkdir()
        self.files = ArrowFiles(path.as_uri())

    def test_taken_meanwhile(self) -> None:
        """The name was free when it looked, and HDFS's rename fails: it is FileExistsError."""
        self.write("from/x", b"2")
        self.write("to", b"1")
        sizes, files = [None], self.files

        class Overtaken(ArrowFiles):
            def size(self, path: str) -> int | None:
                return sizes.pop() if sizes else files.size(path)

            def move(self, source: str, target: str) -> None:
                raise OSError("rename failed")

        self.assertRaises(FileExistsError, Overtaken(files.root).publish, "from/x", "to")
        self.assertEqual(files.read("to"), b"1")


class OpenFilesTests(SynchronousTestCase):
    def test_local(self) -> None:
        """Paths, and file: URIs with what is escaped in them."""
        self.assertEqual(open_files("/data/x"), LocalFiles("/data/x"))
        self.assertEqual(open_files("x").root, os.path.abspath("x"))
        self.assertEqual(open_files("file:///data/a%20b"), LocalFiles("/data/a b"))

    def test_hadoop(self) -> None:
        """HDFS is left to pyarrow."""
        self.assertEqual(open_files("hdfs://name:8020/x"), ArrowFiles("hdfs://name:8020/x"))
        self.assertEqual(open_files("hdfs://name/x").uri("y"), "hdfs://name/x/y")

    def test_object_stores(self) -> None:
        """A file system without atomic renames is refused, with the reason."""
        for to in ("s3://bucket/x", "s3a://b/x", "gs://b/x", "abfss://c@a/x", "http://h/x"):
            error = self.assertRaises(SettingError, open_files, to)
            self.assertIn(f"{to}: files of a commit are renamed into place, which is not atomic", str(error))
