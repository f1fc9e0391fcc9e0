"""The store keeps the contracts; run by ``python -m twisted.trial test_sqlite_store``."""

from typing import Any

from sqlite_store import SqliteLogStore
from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.testing.contracts.configurable import ConfigurableContract
from kafkatx.testing.contracts.partition_log import LogStoreContract, PartitionLogContract, find_retention


class SqliteCase:
    """Makes stores over one folder."""

    clock: Any
    mktemp: Any
    folder = ""

    def make_store(self) -> SqliteLogStore:
        """A store that works where it is called."""
        self.folder = self.folder or self.mktemp()
        config = BrokerConfig.load(None, {"log.dirs": self.folder})
        return SqliteLogStore(config, lambda name: execute, self.clock, find_retention)


class SqliteLogTests(SqliteCase, PartitionLogContract, SynchronousTestCase):
    """The log."""


class SqliteLogStoreTests(SqliteCase, LogStoreContract, ConfigurableContract, SynchronousTestCase):
    """The store, and its setting."""

    def make_configurable(self) -> SqliteLogStore:
        """A store without settings yet."""
        return self.make_store()

    def settings(self) -> dict[str, str]:
        """The only one."""
        return {"file": "other.sqlite3"}
