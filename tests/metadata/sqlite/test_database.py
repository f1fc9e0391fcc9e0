"""A sealed database: made, locked, migrated and refused. Its transactions are tested with its users."""

from __future__ import annotations

import os
import sqlite3

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.metadata.sqlite.database import DatabaseDamaged, SealedDatabase
from kafkatx.metadata.sqlite.schema import SEAL_TABLE, Schema

FIRST = ("CREATE TABLE words (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID", SEAL_TABLE)
SCHEMA = Schema([FIRST], {"words": 1})
LATER = Schema([FIRST, ("ALTER TABLE words ADD COLUMN size INTEGER",)], {"words": 1})


class Words(SealedDatabase):
    """A database of words."""

    def add(self, word: str) -> None:
        """Add a word."""
        with self._transaction() as db:
            db.execute("INSERT INTO words (word) VALUES (?)", (word,))

    def words(self) -> list[str]:
        """Return all words."""
        return [word for (word,) in self._db.execute("SELECT word FROM words")]


class SealedDatabaseTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Choose a path."""
        self.path = os.path.join(os.path.abspath(self.mktemp()), "words.sqlite3")

    def opened(self, schema: Schema = SCHEMA) -> Words:
        """Open the database."""
        words = Words(self.path, schema, "--words=here", 0)
        self.addCleanup(words.close)
        return words

    def refused(self, schema: Schema = SCHEMA) -> str:
        """Return why the database cannot be opened."""
        return str(self.assertRaises(SettingError, Words, self.path, schema, "--words=here", 0))

    def test_kept(self) -> None:
        """A change is there when the file is opened again, with the generation that it made."""
        words = self.opened()
        words.add("a")
        generation = words.generation
        words.close()
        words = self.opened()
        self.assertEqual((words.words(), words.generation), (["a"], generation))

    def test_locked(self) -> None:
        """A second opening fails, and its message names the place."""
        self.opened()
        self.assertRegex(self.refused(), "^--words=here: in use by another broker")

    def test_migrated(self) -> None:
        """A later schema takes the file over; the earlier one then refuses it."""
        words = self.opened()
        words.add("a")
        words.close()
        words = self.opened(LATER)
        self.assertEqual(words.words(), ["a"])
        words.close()
        self.assertIn("was written by a newer kafkatx (version 2, this one knows 1)", self.refused())

    def test_foreign_change(self) -> None:
        """A row that another program has changed makes the file a damaged one."""
        words = self.opened()
        words.add("a")
        words.close()
        with sqlite3.connect(self.path) as other:
            other.execute("UPDATE words SET word = 'b'")
        other.close()
        self.assertRaises(DatabaseDamaged, Words, self.path, SCHEMA, "--words=here", 0)
        self.assertIn(f"--words=here: the cluster's state, {self.path}, is damaged", self.refused())

    def test_no_directory(self) -> None:
        """A file that cannot be made is an error that names the place."""
        with open(self.mktemp(), "wb") as file:
            self.path = os.path.join(file.name, "words.sqlite3")
        self.assertRegex(self.refused(), "^--words=here: cannot keep the cluster's state there: ")
