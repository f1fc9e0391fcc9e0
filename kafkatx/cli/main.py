"""The entry point. It imports nothing slow, so that Ctrl-C during the start ends the process silently."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

FAILED, INTERRUPTED = 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the console script passes the result to ``sys.exit``.

    :param arguments: None: those of the process, whose standard streams and SIGINT are handled then, too.
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
    except OSError:  # the error could not be printed: standard error is full, or its reader has gone
        code = FAILED
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # only the interpreter's own end follows
    return flush(code)


if __name__ == "__main__":
    sys.exit(main())
