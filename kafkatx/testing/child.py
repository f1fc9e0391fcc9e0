"""twistd for a broker that ends with the process that started it."""

from __future__ import annotations

import os
import signal
import threading

STDIN = 0
CHUNK_BYTES = 1024


def main() -> None:
    """Run twistd; stop as on SIGTERM when standard input ends.

    Standard input is a pipe whose other end the parent holds and never writes to. It ends when the parent
    does, however the parent ends.
    """
    threading.Thread(target=_wait_for_parent, name="watches the parent", daemon=True).start()
    from twisted.scripts.twistd import run

    run()


def _wait_for_parent() -> None:
    """Read standard input to its end, then send this process SIGTERM."""
    while os.read(STDIN, CHUNK_BYTES):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
