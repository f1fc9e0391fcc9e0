"""A client of a local tree in a process of its own: ``python -m ... SOCKET TIMEOUT_S PATH``.

It makes an ephemeral node, and prints the states of its session, one a line.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import twisted.internet.reactor

from kafkatx.interfaces.nodes import Create
from kafkatx.metadata.tree.local import LocalSettings, LocalTree
from kafkatx.net.reactors import make_monotonic
from tests.metadata.tree.local.processes import say


def main() -> None:
    """Serve until SIGTERM."""
    reactor: Any = twisted.internet.reactor
    make_monotonic(reactor)
    settings = LocalSettings(sys.argv[1], float(sys.argv[2]))
    tree = LocalTree(settings, reactor, lambda: time.clock_gettime(time.CLOCK_BOOTTIME))
    tree.subscribe(lambda state: say(state.name))

    def start() -> None:
        made = tree.connect().addCallback(lambda _: tree.multi([Create(sys.argv[3], ephemeral=True)]))
        made.addCallback(lambda _: say("made"))

    reactor.callWhenRunning(start)
    reactor.run()


if __name__ == "__main__":
    main()
