"""The process that runs a pass: ``python -m kafkatx.log.cleaner.process``, and the broker's side of it.

Its standard input has the pass as one line of JSON and then stays open: it is closed when the broker dies.
Its standard output has a line for each new segment and for the result::

    {"cleaned": {"base_offset": 0, ...}}
    {"finished": {"end_offset": 1340, ...}}
    {"failed": {"kind": "CorruptRecords", "message": "..."}}

It runs at the lowest priority.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

import attrs

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.log.cleaner.clean import clean
from kafkatx.log.cleaner.passes import CleaningAborted, Finished, Pass, Source
from kafkatx.log.files import Files
from kafkatx.log.segment.swap import Cleaned
from kafkatx.log.transactions.aborted import AbortedTransaction

NICENESS = 19
_FAILURES: dict[str, type[Exception]] = {
    error.__name__: error for error in (CorruptRecords, UnsupportedCompression, OSError, CleaningAborted)
}


def encode_pass(job: Pass) -> bytes:
    """Encode a pass as a line of JSON."""
    fields = attrs.asdict(job, recurse=False)
    fields["sources"] = [(source.base_offset, source.size) for source in job.sources]
    fields["last_offsets"] = list(job.last_offsets.items())
    fields["marker_epochs"] = list(job.marker_epochs.items())
    return json.dumps(fields).encode() + b"\n"


def decode_pass(line: bytes) -> Pass:
    """Decode a line of :func:`encode_pass`."""
    fields = json.loads(line)
    fields["sources"] = tuple(Source(*source) for source in fields["sources"])
    fields["last_offsets"] = dict(fields["last_offsets"])
    fields["marker_epochs"] = dict(fields["marker_epochs"])
    fields["aborted"] = tuple(AbortedTransaction(*one) for one in fields["aborted"])
    return Pass(**fields)


def encode_step(step: Cleaned | Finished | Exception) -> bytes:
    """Encode a step of a pass as a line of JSON."""
    if isinstance(step, Cleaned):
        content: dict[str, Any] = {"cleaned": attrs.asdict(step)}
    elif isinstance(step, Finished):
        content = {"finished": attrs.asdict(step)}
    else:
        kind = OSError if isinstance(step, OSError) else type(step)
        content = {"failed": {"kind": kind.__name__, "message": str(step)}}
    return json.dumps(content).encode() + b"\n"


def decode_step(line: bytes) -> Cleaned | Finished:
    """Decode a line of :func:`encode_step`.

    :raises Exception: the error with which the pass has failed.
    """
    ((kind, fields),) = json.loads(line).items()
    if kind == "cleaned":
        fields["replaces"] = tuple(fields["replaces"])
        fields["aborted"] = tuple(map(tuple, fields["aborted"]))
        return Cleaned(**fields)
    if kind == "finished":
        return Finished(**fields)
    raise _FAILURES.get(fields["kind"], RuntimeError)(fields["message"])


class CleanerProcess:
    """Runs passes in processes, one after the other; used from one worker.

    :meth:`stop` may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(
        self, files: Files, job: Pass, alive: Callable[[], None]
    ) -> Generator[Cleaned | Finished, None, None]:
        """Run :func:`kafkatx.log.cleaner.clean.clean` in a process, with the real files.

        :raises CleaningAborted: it was stopped, or the process has died.
        """
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(encode_pass(job))
                process.stdin.flush()
            for line in process.stdout:
                step = decode_step(line)
                yield step
                if isinstance(step, Finished):
                    return
            raise CleaningAborted("the cleaner's process has ended")
        finally:
            self._end(process)

    def _start(self) -> subprocess.Popen[bytes]:
        # The new process must be able to import the same modules, in any working directory.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        with self._lock:
            if self._stopped:
                raise CleaningAborted("the cleaner was stopped")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kafkatx.log.cleaner.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )
            return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        with self._lock:
            self._process = None

    def stop(self) -> None:
        """End the process, if there is one, and do not start another."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()


def _broker_lives() -> None:
    """Check that standard input is still open.

    :raises CleaningAborted: it is closed.
    """
    if select.select([sys.stdin.buffer], [], [], 0)[0]:
        raise CleaningAborted("the broker has gone")


def _yield_to_others() -> None:
    """Set the lowest scheduling priority, without preemption of processes that wake up."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def main() -> None:
    """Read a pass from standard input, make it, and write each step."""
    _yield_to_others()
    job = decode_pass(sys.stdin.buffer.readline())
    out = sys.stdout.buffer
    try:
        for step in clean(Files(), job, _broker_lives):
            out.write(encode_step(step))
            out.flush()
    except CleaningAborted:
        sys.exit(1)
    except Exception as error:
        out.write(encode_step(error))
        out.flush()


if __name__ == "__main__":
    main()
