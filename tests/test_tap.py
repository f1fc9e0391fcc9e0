"""``twistd kafkatx``: its options, and what it makes of them. The ends of mistakes: test_bad_settings."""

from __future__ import annotations

import gc
import inspect
import os
import resource
from typing import Any

from twisted.application.service import IService, IServiceMaker
from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail
from twisted.logger import capturedLogs
from twisted.plugin import getPlugins
from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase, TestCase

from kafkatx import tap
from kafkatx.broker import BrokerService
from kafkatx.config import BrokerConfig
from kafkatx.coordination.embedded import EmbeddedCoordinator
from kafkatx.errors import SettingError
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.retention import KeepAll, TimeAndSizeRetention
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.testing import EmbeddedBroker


def parsed(*arguments: str) -> tap.Options:
    """Options as twistd parses them."""
    options = tap.Options()
    options.parseOptions(list(arguments))
    return options


class OptionsTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """Without options there is no file and nothing is set."""
        options = parsed()
        self.assertEqual((options["config"], options["overrides"]), (None, []))

    def test_set(self) -> None:
        """--set takes a name and a value, as often as one likes; the value may hold further equals signs."""
        options = parsed("--set", "a.b=1", "-s", "c = d=e", "--config", "f", "--set", "a.b=")
        self.assertEqual(options["overrides"], [("a.b", "1"), ("c", "d=e"), ("a.b", "")])
        self.assertEqual(options["config"], "f")

    def test_set_without_value(self) -> None:
        """--set without a value says how it is used."""
        with self.assertRaisesRegex(UsageError, "--set a.b: must be name=value"):
            parsed("--set", "a.b")

    def test_overrides_go_before_the_file(self) -> None:
        """What is set on the command line counts, not what the file says."""
        path = self.mktemp()
        with open(path, "w") as file:
            file.write("num.partitions=3\nbroker.id=5\n")
        options = parsed("--config", path, "--set", "num.partitions=4")
        config = BrokerConfig.load(options["config"], options["overrides"])
        self.assertEqual((config.get("num.partitions"), config.get("broker.id")), (4, 5))


class PartsTests(SynchronousTestCase):
    def parts(self, **settings: str) -> Any:
        """The parts for these settings of kafkatx's own."""
        return tap.installed_parts(BrokerConfig.load(None, {f"kafkatx.{k}": v for k, v in settings.items()}))

    def test_defaults(self) -> None:
        """Files, the embedded coordinator, retention by time and size."""
        parts = self.parts()
        self.assertIs(inspect.unwrap(parts.log_store), FileLogStore)
        self.assertIs(inspect.unwrap(parts.coordinator), EmbeddedCoordinator)
        self.assertIsInstance(parts.find_retention("time+size"), TimeAndSizeRetention)

    def test_by_name(self) -> None:
        """A setting chooses a part by its name; every topic may have another retention policy."""
        parts = self.parts(storage="memory")
        self.assertIs(inspect.unwrap(parts.log_store), MemoryLogStore)
        self.assertIsInstance(parts.find_retention("keep"), KeepAll)

    def test_unknown(self) -> None:
        """A name that no plugin has is a mistake at the start, of retention too."""
        for setting in ("storage", "coordinator", "retention"):
            with self.assertRaisesRegex(SettingError, f"kafkatx.{setting}=nothing"):
                self.parts(**{setting: "nothing"})


class ServiceTests(TestCase):
    def test_plugin(self) -> None:
        """twistd finds the service maker."""
        makers: dict[str, Any] = {maker.tapname: maker for maker in getPlugins(IServiceMaker)}
        self.assertEqual(makers["kafkatx"].module, "kafkatx.tap")

    def test_make_service(self) -> None:
        """The service is a broker with the settings given; nothing is opened before it starts."""
        data = self.mktemp()
        service = tap.makeService(parsed("--set", f"log.dirs={data}", "--set", "broker.id=4"))
        assert isinstance(service, BrokerService)
        self.assertTrue(IService.providedBy(service))
        self.assertEqual(service.broker.node_id, 4)
        self.assertFalse(os.path.exists(data))

    def test_mistake(self) -> None:
        """A mistake in the settings ends the process with one line that begins with the program's name."""
        with self.assertRaises(SystemExit) as caught:
            tap.makeService(parsed("--set", "num.partition=3"))
        self.assertRegex(str(caught.exception), r"\Akafkatx: num\.partition: [^\n]*\Z")

    async def test_settles(self) -> None:
        """A broker that has started keeps its memory, and says what to type next, with its address; a little
        later it imports what is left, and then what is there stays."""
        done: list[str] = []
        self.patch(tap, "SETTLE_S", 0)
        for module, name in ((gc, "freeze"), (tap, "keep_freed_memory")):
            self.patch(module, name, lambda name=name: done.append(name))
        service = tap.makeService(parsed("--set", f"log.dirs={self.mktemp()}"))
        assert isinstance(service, BrokerService)
        asked: Deferred[None] = Deferred()
        loading: Deferred[None] = Deferred()

        def load_rest() -> Deferred[None]:
            reactor.callLater(0, asked.callback, None)
            return loading

        self.patch(service, "load_rest", load_rest)
        service.bootstrap = "127.0.0.1:29092"
        with capturedLogs() as events:
            service.started.callback(service)
        self.assertEqual(done, ["keep_freed_memory"])
        self.assertEqual([event["command"].endswith("127.0.0.1:29092") for event in events], [True, True])
        await asked
        self.assertEqual(done, ["keep_freed_memory"])
        loading.callback(None)
        self.assertEqual(done, ["keep_freed_memory", "freeze"])

    def test_cannot_settle(self) -> None:
        """What cannot be imported any more is told, and what to do."""
        service = tap.makeService(parsed("--set", f"log.dirs={self.mktemp()}"))
        assert isinstance(service, BrokerService)
        self.patch(service, "load_rest", lambda: fail(ImportError("gone")))
        with capturedLogs() as events:
            tap._settle(service)
        self.assertIn("restart kafkatx", events[0]["log_format"])
        self.assertEqual(len(self.flushLoggedErrors(ImportError)), 1)

    def test_few_open_files(self) -> None:
        """Where the system lets it open few files, the log says so; where it does not limit them, nothing."""
        for hard, warnings in ((tap.FEW_FILES - 1, 1), (tap.FEW_FILES, 0), (resource.RLIM_INFINITY, 0)):
            self.patch(resource, "getrlimit", lambda _, hard=hard: (10, hard))
            self.patch(resource, "setrlimit", lambda *_: None)
            with capturedLogs() as events:
                tap._allow_open_files()
            self.assertEqual(len(events), warnings, hard)

    def test_open_files(self) -> None:
        """A broker may open as many files as the system lets it, whatever the shell began with."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with EmbeddedBroker(run_in="process") as broker:
            self.assertEqual(resource.prlimit(broker.pid or 0, resource.RLIMIT_NOFILE), (hard, hard))
