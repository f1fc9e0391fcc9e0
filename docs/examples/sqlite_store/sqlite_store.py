"""A store whose records are rows of one SQLite file."""

import os
import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from zope.interface import implementer

from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable
from kafkatx.log.batch_log import BatchStorage
from kafkatx.log.batch_store import BatchLogStore, FoundLog
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.types import TopicPartition

SCHEMA = """
CREATE TABLE IF NOT EXISTS logs (
    number INTEGER PRIMARY KEY,
    topic TEXT, partition INTEGER, topic_id BLOB, log_start_offset INTEGER,
    UNIQUE (topic, partition));
CREATE TABLE IF NOT EXISTS high_watermarks (log INTEGER PRIMARY KEY, high_watermark INTEGER);
CREATE TABLE IF NOT EXISTS batches (
    log INTEGER, base_offset INTEGER, data BLOB, PRIMARY KEY (log, base_offset)) WITHOUT ROWID;
"""


ALL_LOGS = """
SELECT number, topic, partition, topic_id, log_start_offset, ifnull(high_watermark, -1)
FROM logs LEFT JOIN high_watermarks ON number = log
"""


class SqliteStorage:
    """The batches of one partition: the rows of one log number. A ``BatchStorage``."""

    lasting = True

    def __init__(self, db: sqlite3.Connection, path: str, number: int) -> None:
        self._db = db
        self._path = path
        self._number = number

    def load(self) -> Iterable[bytes]:
        """The beginning of each batch: its header."""
        rows = self._db.execute(
            "SELECT substr(data, 1, 61) FROM batches WHERE log = ? ORDER BY base_offset", (self._number,)
        )
        return [data for (data,) in rows]

    def add(self, batches: Sequence[tuple[BatchInfo, bytes]]) -> None:
        """One transaction, which does not wait for the disk: :meth:`sync` does."""
        try:
            with self._db:
                self._db.executemany(
                    "INSERT INTO batches VALUES (?, ?, ?)",
                    [(self._number, written.base_offset, data) for written, data in batches],
                )
        except sqlite3.Error as error:
            raise OSError(f"{self._path}: {error}") from error

    def get(self, batches: Sequence[BatchInfo]) -> bytes:
        """The rows from the first to the last, joined."""
        rows = self._db.execute(
            "SELECT data FROM batches WHERE log = ? AND base_offset BETWEEN ? AND ? ORDER BY base_offset",
            (self._number, batches[0].base_offset, batches[-1].base_offset),
        )
        return b"".join([data for (data,) in rows])

    def drop(self, batches: Sequence[BatchInfo]) -> None:
        """Delete the rows from the first to the last."""
        if not batches:
            return
        try:
            with self._db:
                self._db.execute(
                    "DELETE FROM batches WHERE log = ? AND base_offset BETWEEN ? AND ?",
                    (self._number, batches[0].base_offset, batches[-1].base_offset),
                )
        except sqlite3.Error as error:
            raise OSError(f"{self._path}: {error}") from error

    def sync(self) -> None:
        """In a worker: sync the write-ahead log, then move what it holds into the main file."""
        wal = os.open(self._path + "-wal", os.O_RDONLY)
        try:
            os.fsync(wal)
        finally:
            os.close(wal)
        with closing(_connect(self._path)) as db:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")


class SqliteBatches:
    """The file, with the logs of all partitions. ``Batches`` of a ``BatchLogStore``."""

    lasting = True

    def __init__(self, path: str) -> None:
        self.path = path
        self._numbers: dict[TopicPartition, int] = {}

    def open(self) -> list[FoundLog]:
        """Open the file, which is made if it is missing."""
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            self._db = _connect(self.path)
            self._db.executescript(SCHEMA)
            rows = self._db.execute(ALL_LOGS).fetchall()
        except (OSError, sqlite3.Error) as error:
            raise SettingError(f"kafkatx.storage=sqlite: {self.path} cannot be used: {error}") from error
        found = []
        for number, topic, partition, topic_id, log_start_offset, high_watermark in rows:
            topic_partition = TopicPartition(topic, partition)
            self._numbers[topic_partition] = number
            topic_id = uuid.UUID(bytes=topic_id)
            found.append(FoundLog(topic_partition, topic_id, log_start_offset, high_watermark))
        return found

    def storage(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> BatchStorage:
        """The rows of one partition."""
        if topic_partition not in self._numbers:
            with self._db:
                made = self._db.execute(
                    "INSERT INTO logs VALUES (NULL, ?, ?, ?, 0)", (*topic_partition, topic_id.bytes)
                )
            self._numbers[topic_partition] = made.lastrowid or 0
        return SqliteStorage(self._db, self.path, self._numbers[topic_partition])

    def delete(self, topic_partition: TopicPartition) -> None:
        """Delete a partition's rows."""
        number = self._numbers.pop(topic_partition)
        with self._db:
            self._db.execute("DELETE FROM batches WHERE log = ?", (number,))
            self._db.execute("DELETE FROM high_watermarks WHERE log = ?", (number,))
            self._db.execute("DELETE FROM logs WHERE number = ?", (number,))

    def keep_log_start(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        """Note where a log starts."""
        with self._db:
            self._db.execute(
                "UPDATE logs SET log_start_offset = ? WHERE number = ?",
                (log_start_offset, self._numbers[topic_partition]),
            )

    def keep_high_watermarks(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Note the high watermarks, in one transaction."""
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO high_watermarks VALUES (?, ?)",
                [(self._numbers[name], offset) for name, offset in offsets.items()],
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()


@implementer(IConfigurable)
class SqliteLogStore(BatchLogStore):
    """``kafkatx.storage=sqlite``. ``kafkatx.plugin.sqlite.file`` names the file in the first of log.dirs."""

    def __init__(self, config: Any, workers: Any, clock: Any, find_retention: Any) -> None:
        self._folder = config.get("log.dirs")[0]
        self._file = SqliteBatches(os.path.join(self._folder, "records.sqlite3"))
        super().__init__(self._file, workers, clock, find_retention)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Take the file's name."""
        if set(settings) - {"file"}:
            unknown = ", ".join(sorted(set(settings) - {"file"}))
            raise SettingError(f"kafkatx.storage=sqlite has the setting file, not {unknown}")
        if "file" in settings:
            self._file.path = os.path.join(self._folder, settings["file"])


def _connect(path: str) -> sqlite3.Connection:
    """A connection whose commits are not synced; a checkpoint is."""
    db = sqlite3.connect(path, check_same_thread=False)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("PRAGMA wal_autocheckpoint=0")
    return db
