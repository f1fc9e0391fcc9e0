"""Rows that several changes of the embedded store's database share."""

from __future__ import annotations

import sqlite3

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.embedded.rows import (
    check_topic,
    ids,
    insert_partitions,
    replace_log_dirs,
    text,
    unknown,
)
from kafkatx.metadata.embedded.schema import MIGRATIONS
from kafkatx.types import PartitionState


class RowsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Open a database in memory with a topic."""
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.db.close)
        for script in MIGRATIONS:
            for statement in script:
                self.db.execute(statement)
        self.db.execute("INSERT INTO topics VALUES ('t', x'00', 0)")

    def log_dirs(self) -> dict[str, str]:
        """Return the recorded log dirs."""
        return dict(self.db.execute("SELECT directory_id, path FROM log_dirs"))

    def test_known_topic(self) -> None:
        """A topic that exists is accepted; an unknown one is refused by name."""
        check_topic(self.db, "t")
        error = self.assertRaises(RequestError, check_topic, self.db, "u")
        self.assertEqual((error.code, str(error)), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(unknown("u"))))

    def test_insert_partitions(self) -> None:
        """New partitions are numbered from the first on, and are not in a log dir yet."""
        state = PartitionState(leader=2, leader_epoch=3, replicas=(2, 1), isr=(2,))
        insert_partitions(self.db, "t", [state, state], 5)
        self.assertEqual(
            self.db.execute("SELECT * FROM partitions ORDER BY partition").fetchall(),
            [("t", number, 2, 3, "2,1", "2", None) for number in (5, 6)],
        )

    def test_replace_log_dirs(self) -> None:
        """Log dirs without partitions are dropped, those with partitions stay, with updated paths."""
        replace_log_dirs(self.db, {"used": "/a", "unused": "/b"})
        insert_partitions(self.db, "t", [PartitionState(0, 0, (0,), (0,))], 0)
        self.db.execute("UPDATE partitions SET directory_id = 'used'")
        replace_log_dirs(self.db, {"new": "/c"})
        self.assertEqual(self.log_dirs(), {"used": "/a", "new": "/c"})
        replace_log_dirs(self.db, {"used": "/moved", "new": "/c"})
        self.assertEqual(self.log_dirs(), {"used": "/moved", "new": "/c"})

    def test_numbers(self) -> None:
        """Lists of broker ids are read as they were written, empty ones included."""
        for numbers in ((), (1,), (3, 1, 2)):
            self.assertEqual(ids(text(numbers)), numbers)
