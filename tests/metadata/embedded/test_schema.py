"""The migrations of the embedded store's database."""

from __future__ import annotations

import hashlib
import sqlite3

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.embedded.schema import MIGRATIONS

RELEASED = (
    "90509bead354f077",
    "7fc8e893f772b833",
    "c3da3461d81a90bd",
    "3137b96b388a4443",
    "40b1cc0f7c5878b4",
    "e3b0c44298fc1c14",
)
"""A digest of each released script. Released scripts are never changed; later ones are added."""


def digest(script: tuple[str, ...]) -> str:
    """Return a digest of a script."""
    return hashlib.sha256("\n".join(script).encode()).hexdigest()[:16]


class MigrationsTests(SynchronousTestCase):
    def migrate(self, db: sqlite3.Connection, first: int, end: int) -> None:
        """Apply some of the scripts."""
        for script in MIGRATIONS[first:end]:
            for statement in script:
                db.execute(statement)

    def schema(self, db: sqlite3.Connection) -> set[str]:
        """Return the names of the tables."""
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def test_released_scripts(self) -> None:
        """Released scripts are unchanged, since databases of each version exist."""
        self.assertEqual(tuple(map(digest, MIGRATIONS[: len(RELEASED)])), RELEASED)

    def test_every_version(self) -> None:
        """The remaining scripts lead from every version to the same tables."""
        found = []
        for version in range(len(MIGRATIONS) + 1):
            db = sqlite3.connect(":memory:", isolation_level=None)
            self.addCleanup(db.close)
            self.migrate(db, 0, version)
            self.migrate(db, version, len(MIGRATIONS))
            found.append(self.schema(db))
        self.assertEqual(found, [found[0]] * len(found))
        self.assertIn("seal", found[0])

    def test_old_partitions(self) -> None:
        """Partitions from before log dirs were recorded count as created, in an unknown dir."""
        db = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(db.close)
        self.migrate(db, 0, 4)
        db.execute("INSERT INTO topics VALUES ('t', x'00', 0)")
        db.execute("INSERT INTO partitions VALUES ('t', 0, 0, 0, '0', '0')")
        self.migrate(db, 4, len(MIGRATIONS))
        self.assertEqual(db.execute("SELECT directory_id FROM partitions").fetchall(), [("",)])
