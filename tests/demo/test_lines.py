"""The input of the demonstration."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.lines import Lines, first_field, open_lines
from kafkatx.errors import SettingError

GIT = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


def lines_of(path: str | None) -> list[bytes]:
    """All lines of an input."""
    with open_lines(path) as lines:
        return list(lines)


class FileTests(SynchronousTestCase):
    def file(self, data: bytes) -> str:
        """A file with these bytes."""
        path = Path(self.mktemp())
        path.write_bytes(data)
        return str(path)

    def test_lines(self) -> None:
        """Lines come without newline, byte for byte; empty ones too, and a last one that has none."""
        self.assertEqual(
            lines_of(self.file(b"a b\n\n\xff\x00\r\nlast")), [b"a b", b"", b"\xff\x00\r", b"last"]
        )

    def test_empty(self) -> None:
        """An empty file has no lines."""
        self.assertEqual(lines_of(self.file(b"")), [])

    def test_size(self) -> None:
        """The size of a file is known, for the progress bar."""
        with open_lines(self.file(b"12345")) as lines:
            self.assertEqual(lines.size_bytes, 5)

    def test_unreadable(self) -> None:
        """A file that is not there, or is a directory, is an error of one line with its name."""
        for path in ("no/such.log", self.mktemp()):
            if path != "no/such.log":
                os.mkdir(path)
            error = self.assertRaises(SettingError, lines_of, path)
            self.assertIn(f"cannot read {path}: ", str(error))
            self.assertNotIn("\n", str(error))

    def test_compressed(self) -> None:
        """Compressed files are refused, with the command that unpacks them."""
        text = b"line\n" * 1000
        for data, command in (
            (gzip.compress(text), "gunzip"),
            (bz2.compress(text), "bunzip2"),
            (lzma.compress(text), "unxz"),
        ):
            self.assertIn(
                f"unpack it with {command}", str(self.assertRaises(SettingError, lines_of, self.file(data)))
            )

    def test_named_pipe(self) -> None:
        """A file that is not regular, such as bash's <(...), is read as it comes."""
        with open_lines("/dev/null") as lines:
            self.assertEqual(list(lines), [])


class GitTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A directory that is no repository, and is not in one."""
        folder = Path(self.mktemp()).resolve()
        folder.mkdir(parents=True)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)
        self.set_variable("GIT_CEILING_DIRECTORIES", str(folder.parent))

    def set_variable(self, name: str, value: str) -> None:
        """Set an environment variable, for child processes too, until the test ends."""
        before = os.environ.get(name)
        os.environ[name] = value
        if before is None:
            self.addCleanup(os.environ.pop, name)
        else:
            self.addCleanup(os.environ.__setitem__, name, before)

    def git(self, *arguments: str) -> None:
        """Run git here."""
        subprocess.run([*GIT, *arguments], check=True, capture_output=True)

    def test_history(self) -> None:
        """Each commit is a line of author, date, hash and subject."""
        self.git("init")
        for subject in ("first", "second one"):
            self.git(
                "commit",
                "--allow-empty",
                "--message",
                f"{subject}\n\nbody",
                "--date=2015-05-17T10:05:03+0000",
            )
        lines = lines_of(None)
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], rb"^ada@example.org 2015-05-17T10:05:03(\+00:00|Z) [0-9a-f]+ second one$")

    def test_no_history(self) -> None:
        """Outside of a repository, and in one without commits, the error says what to do."""
        self.assertIn("INPUT=FILE", str(self.assertRaises(SettingError, lines_of, None)))
        self.git("init")
        error = self.assertRaises(SettingError, lines_of, None)
        self.assertIn("INPUT=FILE", str(error))
        self.assertNotIn("\n", str(error))

    def test_no_git(self) -> None:
        """Without git the error says so."""
        self.set_variable("PATH", "")
        self.assertIn("git is not installed", str(self.assertRaises(SettingError, lines_of, None)))


class KeyTests(SynchronousTestCase):
    def test_first_field(self) -> None:
        """A record's key is what stands before the first white space; blank lines have none."""
        for line, key in (
            (b"10.0.0.1 - x", b"10.0.0.1"),
            (b" \tb c", b"b"),
            (b"one", b"one"),
            (b"", None),
            (b" ", None),
        ):
            self.assertEqual(first_field(line), key)

    def test_long(self) -> None:
        """A line without white space does not make a key as long as itself."""
        self.assertEqual(first_field(b"x" * 10_000), b"x" * 256)

    def test_stdin_like_streams(self) -> None:
        """Any binary stream will do."""
        self.assertEqual(list(Lines("a stream", io.BytesIO(b"a\nb"), None)), [b"a", b"b"])
