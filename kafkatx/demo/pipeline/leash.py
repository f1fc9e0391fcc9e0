"""``python -m kafkatx.demo.pipeline.leash MODULE ARGUMENT...``: a program that ends with its parent.

Its standard input is a pipe that the parent holds and never writes to. The pipe ends when the parent does,
however that ends, and the program gets SIGTERM then.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading

STDIN = 0


def main() -> None:
    """Run a module as ``python -m`` does."""
    threading.Thread(target=_wait_for_parent, name="watches the parent", daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _wait_for_parent() -> None:
    while os.read(STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
