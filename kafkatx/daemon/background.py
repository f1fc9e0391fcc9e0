"""``kafkatx up --daemon``: a process in the background, and the one that waits until it is ready.

The first process forks twice, so that the daemon is a child of init and has no controlling terminal, and then
waits for the daemon's report on a pipe. A daemon that dies without a report breaks the pipe.

Called before Twisted is imported: a process with threads or a reactor must not fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import attrs

from kafkatx.daemon.log_file import open_log_file

CHUNK_BYTES = 4096


@attrs.frozen
class Outcome:
    """The result of a start.

    :ivar ready: True if the broker serves clients.
    :ivar text: the daemon's message; empty if it died without a report.
    """

    ready: bool
    text: str


class Report:
    """The daemon's end of the pipe. Only the first call of :meth:`send` counts."""

    def __init__(self, pipe: int) -> None:
        self._pipe: int | None = pipe

    def send(self, outcome: Outcome) -> None:
        """Send the result of the start to the first process, which then ends."""
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            with suppress(OSError):  # the first process has ended: Ctrl-C
                os.write(pipe, (b"+" if outcome.ready else b"-") + outcome.text.encode("utf-8", "replace"))
            os.close(pipe)


def receive(pipe: int) -> Outcome:
    """Wait for the report at the other end of *pipe*, and close it."""
    data = b""
    try:
        while chunk := os.read(pipe, CHUNK_BYTES):
            data += chunk
    finally:
        os.close(pipe)
    return Outcome(data[:1] == b"+", data[1:].decode("utf-8", "replace"))


def detach(log_file: str, work: Callable[[Report], int]) -> Outcome:
    """Run *work* in a daemon, and return in the calling process what the daemon reports.

    The daemon has the log file as standard output and standard error, and keeps the working directory.

    :param work: called in the daemon; returns its exit code.
    :raises OSError: the log file cannot be written.
    :raises SystemExit: in the daemon, when *work* has returned.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        os.waitpid(child, 0)
        return receive(reading)
    os.close(reading)
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    open_log_file(log_file)
    raise SystemExit(work(Report(writing)))
