"""The entry point. It imports nothing that takes time: Ctrl-C meanwhile ends the process without a word."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

FAILED, INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the console script passes the result to ``sys.exit``.

    :param arguments: None: those of the process, whose standard streams and SIGINT are then in our care.
    """
    if arguments is not None:
        from kafkatx.cli.root import run

        return run(arguments)
    handler = signal.getsignal(signal.SIGINT)
    ours = handler is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kafkatx.cli.process.streams import flush, open_closed
    from kafkatx.cli.root import run

    closed = open_closed()
    try:
        if ours:
            signal.signal(signal.SIGINT, handler)
        code = run(None, closed)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError:  # what there was to say could not be said: standard error is full, or its reader has gone
        code = FAILED
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # what follows is the interpreter's own end
    return flush(code)


if __name__ == "__main__":
    sys.exit(main())
