"""The holder: a console is not imported before its first request."""

from __future__ import annotations

import json
import subprocess
import sys

from twisted.internet.defer import Deferred

from kafkatx.broker.console.holder import IMPORTED_FIRST, ConsoleHolder
from kafkatx.broker.metrics.holder import MetricsHolder
from kafkatx.web.calls import Call
from tests.broker.console.case import ConsoleCase
from tests.test_imports import ROOT

_IMPORT = """
import json, sys
import kafkatx.broker.http.endpoint
print(json.dumps(sorted(name for name in sys.modules if name.startswith("kafkatx.broker.console"))))
"""


class HolderTests(ConsoleCase):
    def test_imports(self) -> None:
        """An HTTP listener imports the holder alone."""
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT], cwd=ROOT, capture_output=True, check=True, text=True, timeout=60
        )
        self.assertEqual(json.loads(done.stdout), ["kafkatx.broker.console", "kafkatx.broker.console.holder"])

    def test_made(self) -> None:
        """The first request makes the console, in turns; all listeners share it, requests at once, too."""
        holder = ConsoleHolder(self.broker, self.server, self.metrics(), self.registry)
        self.assertTrue(holder.is_enabled)
        applications = [holder.mount(lambda: None, False)() for _ in range(2)]
        self.assertIsNone(holder.made)
        target = "/console/api/v1/session"
        call = Call("GET", target, tuple(target.split("/")[1:]), {})
        asked = [Deferred.fromCoroutine(application(call)) for application in applications * 2]  # type: ignore
        for _ in range(2 * len(IMPORTED_FIRST)):
            self.clock.advance(0)
        made = holder.made
        assert made is not None
        for one in asked:
            self.assertEqual(self.successResultOf(one).status, 200)
        self.assertEqual(len(made._sessions), 2)
        self.successResultOf(Deferred.fromCoroutine(holder.stop()))

    def metrics(self) -> MetricsHolder:
        """Return the holder of the metrics."""
        return MetricsHolder(self.broker, self.server, None, self.clock)

    def test_samples(self) -> None:
        """Sampling begins once, before the first request, and ends with the listener."""
        holder = ConsoleHolder(self.broker, self.server, self.metrics(), self.registry)
        holder.start()
        holder.start()
        self.clock.pump([1] * 3)
        self.assertEqual(self.broker.samples.history.latest["connections"], 0)
        self.assertIsNone(holder.made)
        self.successResultOf(Deferred.fromCoroutine(holder.stop()))
        self.assertFalse(holder.recorder._loop.running)

    def test_disabled(self) -> None:
        """A broker without a console samples nothing."""
        self.broker.config = self.broker.config.with_values({"kafkatx.console.enable": "false"})
        holder = ConsoleHolder(self.broker, self.server, self.metrics(), self.registry)
        holder.start()
        self.assertFalse(holder.is_enabled)
        self.assertIsNone(holder._recorder)
        self.successResultOf(Deferred.fromCoroutine(holder.stop()))
