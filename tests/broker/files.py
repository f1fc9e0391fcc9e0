"""A broker with its logs in files, in two directories."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.config import BrokerConfig
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.testing.contracts.partition_log import find_retention
from tests.broker.running import NODE, BrokerTestCase, Held, at_once
from tests.log.fakes import crash
from tests.log.store.test_log_dir import BadFiles


class FileBrokerTestCase(BrokerTestCase):
    """A broker whose ``self.files`` can fail under ``self.dirs[0]``, which holds t-0 and t-2."""

    def setUp(self) -> None:
        """Start a broker."""
        self.dirs = [os.path.abspath(self.mktemp()) for _ in range(2)]
        self.files = BadFiles()
        self.files.bad_dir = self.dirs[0]
        super().setUp()

    def make_broker(self, workers: Any = at_once, **settings: str) -> Broker:
        """Return a started broker; its metadata store is in memory, and survives :meth:`restart`."""
        self.clock.advance(self.now_ms / 1000)
        memory = BrokerConfig.load(None, {"kafkatx.storage": "memory"})
        self.metadata = EmbeddedMetadataStore(memory, at_once, durable=False)
        self.successResultOf(self.metadata.start(NODE))
        self.addCleanup(self.metadata.stop)
        return self.start(workers, **settings)

    def start(self, workers: Any = at_once, **settings: str) -> Broker:
        """Return a broker with the existing metadata store and directories."""
        values = {**self.settings, "log.dirs": ",".join(self.dirs), **settings}
        config = BrokerConfig.load(None, values)
        store = FileLogStore(config, workers, self.clock, find_retention, self.files)
        self.addCleanup(crash, store)
        broker = Broker(config, self.metadata, store, self.clock, workers, lambda: self.now_ms)
        opening = Deferred.fromCoroutine(broker.open())
        if isinstance(workers, Held):
            workers.work()
        self.successResultOf(opening)
        self.successResultOf(Deferred.fromCoroutine(broker.groups.open()))
        broker.transactions.open()
        self.addCleanup(broker.groups.stop)
        self.addCleanup(broker.transactions.stop)
        return broker

    def restart(self, workers: Any = at_once, **settings: str) -> None:
        """Restart the broker as after kill -9."""
        store = self.broker.store
        assert isinstance(store, FileLogStore)
        crash(store)
        self.broker.flushes.stop()
        self.broker.groups.stop()
        self.broker.transactions.stop()
        self.broker = self.start(workers, **settings)
        self.dispatch = type(self.dispatch)(self.broker, tuple(self.dispatch._served.values()))
