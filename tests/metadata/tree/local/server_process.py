"""A server of a local tree in a process of its own: ``python -m ... FILE SOCKET``. Says when it is ready."""

from __future__ import annotations

import sys
from typing import Any

import twisted.internet.reactor
from twisted.python.failure import Failure

from kafkatx.metadata.tree.local.listener import TreeListener
from kafkatx.net.reactors import make_monotonic
from kafkatx.net.workers import ThreadWorkers
from tests.metadata.tree.local.processes import say


def main() -> None:
    """Serve until SIGTERM."""
    reactor: Any = twisted.internet.reactor
    make_monotonic(reactor)
    workers = ThreadWorkers(reactor)
    listener = TreeListener(sys.argv[1], sys.argv[2], reactor, workers("tree"))

    def failed(failure: Failure) -> None:
        say(failure.getErrorMessage())
        reactor.stop()

    reactor.callWhenRunning(lambda: listener.start().addCallbacks(lambda _: say("ready"), failed))
    reactor.addSystemEventTrigger("before", "shutdown", listener.stop)
    reactor.addSystemEventTrigger("after", "shutdown", workers.stop)
    reactor.run()


if __name__ == "__main__":
    main()
