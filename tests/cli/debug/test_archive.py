"""The archive: bounds, permissions, problems, secrets."""

from __future__ import annotations

import os
import tarfile

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.debug import archive as module
from kafkatx.cli.debug.archive import CUT, Archive
from kafkatx.cli.debug.redaction import Redaction
from kafkatx.errors import SettingError


class ArchiveTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Choose a path."""
        self.path = os.path.abspath(self.mktemp()) + ".tar.gz"

    def read(self) -> dict[str, str]:
        """Return the texts by name, without the folder that all are in."""
        with tarfile.open(self.path) as found:
            names = [member.name for member in found]
            self.assertEqual(
                {name.split("/")[0] for name in names}, {os.path.basename(self.path).split(".")[0]}
            )
            self.assertEqual({member.mode for member in found}, {0o600})
            texts = {}
            for member in found:
                file = found.extractfile(member)
                assert file is not None
                texts[member.name.split("/", 1)[1]] = file.read().decode()
        return texts

    def test_texts(self) -> None:
        """Texts and settings are in it without secrets; the file is its user's alone."""
        with Archive(self.path, Redaction([{"ssl.key.password": "hunter22"}])) as archive:
            archive.add("a/b.txt", "x hunter22 ä")
            archive.add_settings("c", {"ssl.key.password": "hunter22", "log.dirs": "/d"})
        self.assertEqual(
            self.read(),
            {
                "a/b.txt": "x [hidden] ä",
                "c": "log.dirs=/d\nssl.key.password=[hidden]\n",
                "problems.txt": "none\n",
            },
        )
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)

    def test_problems(self) -> None:
        """A text that cannot be gathered is noted, without secrets, and the rest is there."""

        def fail() -> str:
            raise SettingError("no, password=x1y2z3")

        with Archive(self.path, Redaction()) as archive:
            archive.gather("bad", fail)
            archive.gather("good", lambda: "text")
            archive.note("more")
        found = self.read()
        self.assertEqual(found["problems.txt"], "bad: no, password=[hidden]\nmore\n")
        self.assertEqual(found["good"], "text")
        self.assertNotIn("bad", found)

    def test_bounds(self) -> None:
        """A text above its bound is cut, and so is what is above that of all."""
        self.patch(module, "MOST_FILE_BYTES", 1000)
        self.patch(module, "MOST_BYTES", 2500)
        with Archive(self.path, Redaction()) as archive:
            for name in ("a", "b", "c", "d"):
                archive.add(name, "x" * 5000)
        found = self.read()
        self.assertEqual([len(found[name]) for name in "abc"], [1000, 1000, 500])
        self.assertTrue(all(found[name].endswith(CUT) for name in "abcd"))

    def test_existing(self) -> None:
        """A file that exists is not replaced."""
        with open(self.path, "w", encoding="ascii") as file:
            file.write("mine")
        self.assertRaises(FileExistsError, Archive, self.path, Redaction())
        with open(self.path, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")
