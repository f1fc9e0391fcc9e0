"""The broker of a process: its parts, and what it does after its start."""

from __future__ import annotations

import gc
import inspect
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.daemon import service as daemon
from kafkatx.daemon.service import ProcessService, installed_parts
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.errors import SettingError
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.retention import KeepAll, TimeAndSizeRetention
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from tests.daemon.reactors import FakeReactor


class PartsTests(SynchronousTestCase):
    def parts(self, **settings: str) -> Any:
        """The parts for these settings of kafkatx's own."""
        return installed_parts(BrokerConfig.load(None, {f"kafkatx.{k}": v for k, v in settings.items()}))

    def test_defaults(self) -> None:
        """Files, the embedded metadata store, retention by time and size."""
        parts = self.parts()
        self.assertIs(inspect.unwrap(parts.log_store), FileLogStore)
        self.assertIs(inspect.unwrap(parts.metadata), EmbeddedMetadataStore)
        self.assertIsInstance(parts.find_retention("time+size"), TimeAndSizeRetention)

    def test_by_name(self) -> None:
        """A setting chooses a part by its name; every topic may have another retention policy."""
        parts = self.parts(storage="memory")
        self.assertIs(inspect.unwrap(parts.log_store), MemoryLogStore)
        self.assertIsInstance(parts.find_retention("keep"), KeepAll)

    def test_unknown(self) -> None:
        """A name that no plugin has is a mistake at the start, of retention too."""
        for setting in ("storage", "metadata.store", "retention"):
            with self.assertRaisesRegex(SettingError, f"kafkatx.{setting}=nothing"):
                self.parts(**{setting: "nothing"})


class SettleTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a service that is not started."""
        self.clock = FakeReactor()
        source = SettingsSource.of(None, [("log.dirs", self.mktemp())])
        self.service = ProcessService(source, self.clock, reloads=False)
        self.done: list[str] = []
        for module, name in ((gc, "freeze"), (daemon, "keep_freed_memory")):
            self.patch(module, name, lambda name=name: self.done.append(name))

    def test_settles(self) -> None:
        """Memory is kept at once; a little later the rest is imported, and only then is memory frozen."""
        loading: Deferred[None] = Deferred()
        self.patch(self.service, "load_rest", lambda: loading)
        self.service.settle()
        self.assertEqual(self.done, ["keep_freed_memory"])
        self.clock.advance(daemon.SETTLE_S)
        self.assertEqual(self.done, ["keep_freed_memory"])
        loading.callback(None)
        self.assertEqual(self.done, ["keep_freed_memory", "freeze"])

    def test_cannot_settle(self) -> None:
        """A module that can no longer be imported is logged, with what to do."""
        self.patch(self.service, "load_rest", lambda: fail(ImportError("gone")))
        self.service.settle()
        with capturedLogs() as events:
            self.clock.advance(daemon.SETTLE_S)
        self.assertIn("restart kafkatx", events[0]["log_format"])
        self.assertEqual(len(self.flushLoggedErrors(ImportError)), 1)
