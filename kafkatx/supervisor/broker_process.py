"""The process of one of several brokers: ``python -m kafkatx.supervisor.broker_process``.

It reads its order from standard input and runs the broker until SIGTERM, or until standard input ends: then
the supervisor is gone, however it went. It has a session of its own, so that Ctrl-C and the end of a terminal
reach the supervisor alone.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from kafkatx.supervisor.status import MAX_LINE_BYTES, Order, Report

STDIN, STATUS = 0, 3
CHUNK_BYTES = 65536
PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run the broker of the order; return the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # it leads a session already
        os.setsid()
    _end_with_parent()
    line = _read_line()
    if not line:
        return 1  # the supervisor has ended
    return _run(Order.read(line))


def _read_line() -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < MAX_LINE_BYTES:
        chunk = os.read(STDIN, CHUNK_BYTES)
        if not chunk:
            return b""
        data += chunk
    return data


def _end_with_parent() -> None:
    """Get SIGTERM when the supervisor dies, also before standard input is watched. Linux only."""
    if sys.platform == "linux":
        # a hardened system may forbid what ctypes does when it is imported
        with suppress(OSError, AttributeError, ImportError, MemoryError):
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))


def _report(report: Report) -> None:
    with suppress(OSError):  # the supervisor has ended
        os.write(STATUS, report.line())
        os.close(STATUS)


def _run(order: Order) -> int:
    from kafkatx.daemon.foreground import log_failure
    from kafkatx.daemon.log_output import begin
    from kafkatx.errors import KafkaTXError
    from kafkatx.supervisor.member import run_member

    begin(order.log_level, order.log_format, order.name)
    try:
        failure = run_member(order, lambda address, http: _report(Report(None, address, http)))
    except KafkaTXError as error:
        failure = str(error)
    if failure is None:
        return 0
    log_failure(failure)
    _report(Report(failure))
    return 1


if __name__ == "__main__":
    sys.exit(main())
