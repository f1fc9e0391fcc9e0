"""The modules that a broker imports when it starts, and those that it imports later."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire.api import APIS

START = """
import sys
from twisted.internet import reactor, task
from kafkatx import tap

def shown(_):
    print(*sorted(name for name in sys.modules if name.startswith(("kafkatx.", "twisted.web"))))

options = tap.Options()
settings = ["log.dirs=" + sys.argv[1], "listeners=PLAINTEXT://127.0.0.1:0", *sys.argv[2:]]
options.parseOptions([word for setting in settings for word in ("--set", setting)])
service = tap.makeService(options)
service.startService()
service.started.addCallback(shown)
service.started.addCallback(lambda _: service.load_rest())
service.started.addCallback(shown)
service.started.addCallback(lambda _: service.stopService())
service.started.addBoth(lambda _: reactor.stop())
reactor.run()
"""

HANDLERS = {f"kafkatx.broker.handlers.{api.module}" for api in APIS.values()}
MESSAGES = {f"kafkatx.wire.messages.{api.module}" for api in APIS.values()}
MACHINES = {"kafkatx.group.classic.group", "kafkatx.group.consumer.group"}
CLEANING = {"kafkatx.log.cleaner.log_cleaner", "kafkatx.log.cleaner.clean", "kafkatx.log.cleaner.process"}


HTTP = {"kafkatx.web.channel", "kafkatx.broker.registry.factory", "twisted.web.http"}
ENGINES = {"kafkatx.schemas.avro.avro_engine", "kafkatx.registry.inspector_process"}


class StartTests(SynchronousTestCase):
    def loaded(self, *settings: str) -> list[set[str]]:
        """Start a broker; return the modules that are loaded then, and when it has settled."""
        command = [sys.executable, "-c", START, self.mktemp(), *settings]
        told = subprocess.check_output(command, text=True)
        return [set(line.split()) for line in told.splitlines() if line.startswith("kafkatx.")]

    def test_http(self) -> None:
        """Twisted Web and the registry are imported for an HTTP listener only, once settled; engines not."""
        self.assertEqual([modules & (HTTP | ENGINES) for modules in self.loaded()], [set(), set()])
        started, settled = self.loaded("http.listeners=HTTP://127.0.0.1:0")
        self.assertEqual((started & (HTTP | ENGINES), settled & (HTTP | ENGINES)), (set(), HTTP))

    def test_imports(self) -> None:
        """A start imports no handler, machine of groups or cleaner; a settled broker has all that serves."""
        started, settled = self.loaded()
        self.assertEqual(started & (HANDLERS | MACHINES | CLEANING), set())
        self.assertEqual(
            started & MESSAGES, {"kafkatx.wire.messages.offset_commit"}
        )  # commits are put together
        self.assertEqual((HANDLERS | MESSAGES | MACHINES) - settled, set())
