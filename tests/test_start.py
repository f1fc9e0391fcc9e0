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
    print(*sorted(name for name in sys.modules if name.startswith("kafkatx.")))

options = tap.Options()
options.parseOptions(["--set", "log.dirs=" + sys.argv[1], "--set", "listeners=PLAINTEXT://127.0.0.1:0"])
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


class StartTests(SynchronousTestCase):
    def test_imports(self) -> None:
        """A start imports no handler, machine of groups or cleaner; a settled broker has all that serves."""
        told = subprocess.check_output([sys.executable, "-c", START, self.mktemp()], text=True)
        started, settled = (set(line.split()) for line in told.splitlines() if line.startswith("kafkatx."))
        self.assertEqual(started & (HANDLERS | MACHINES | CLEANING), set())
        self.assertEqual(
            started & MESSAGES, {"kafkatx.wire.messages.offset_commit"}
        )  # commits are put together
        self.assertEqual((HANDLERS | MESSAGES | MACHINES) - settled, set())
