"""Run trial and close with one line for people and machines: ``N passed, N failed``.

``python -m tests.run [--directory=DIR] [NAME]...``; without names all tests. The exit status is 1 if one
failed. An error counts as a failure, and so does a test that was expected to fail and passed. Skipped tests
are told of. Tests work in DIR, which nothing else may use at the same time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any, cast

from twisted.trial.reporter import TestResult, TreeReporter
from twisted.trial.runner import TestLoader, TrialRunner

from tests import spark_archive

DIRECTORY = "--directory="
SLOWEST = 20
"""How many of the slowest tests are listed before the closing line."""


class TimedReporter(TreeReporter):
    """trial's reporter for a terminal, which keeps what each test took and the modules with a failed test.

    :ivar timed: seconds and id of each test.
    :ivar failed_modules: dotted names, in the order in which they failed. A module that cannot be imported
        is among them.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.timed: list[tuple[float, str]] = []
        self.failed_modules: dict[str, None] = {}
        self._begun_s = 0.0

    def startTest(self, method: Any) -> None:
        """Note when a test begins."""
        self._begun_s = time.monotonic()
        super().startTest(method)

    def stopTest(self, method: Any) -> None:
        """Note what a test took."""
        super().stopTest(method)
        self.timed.append((time.monotonic() - self._begun_s, method.id()))

    def addError(self, test: Any, error: Any) -> None:
        """Report an error, and note the module."""
        super().addError(test, error)
        self.failed_modules[module_of(test)] = None

    def addFailure(self, test: Any, failure: Any) -> None:
        """Report a failure, and note the module."""
        super().addFailure(test, failure)
        self.failed_modules[module_of(test)] = None

    def addUnexpectedSuccess(self, test: Any, todo: Any = None) -> None:
        """Report a success that was marked as a failure, and note the module."""
        super().addUnexpectedSuccess(test, todo)
        self.failed_modules[module_of(test)] = None

    def slowest(self) -> str:
        """Return a line for each of the slowest tests, the slowest first: ``SECONDS s  TEST``."""
        found = sorted(self.timed, reverse=True)[:SLOWEST]
        return "".join(f"{seconds:.1f} s  {test}\n" for seconds, test in found if seconds >= SHOWN_S)


SHOWN_S = 1.0
"""Tests that take less are not listed."""


def module_of(test: Any) -> str:
    """Return the dotted name of the module that has *test*: its id without class and method.

    For a module that cannot be imported trial makes a test whose id is the module's name.
    """
    name = str(test.id())
    module, _, tested = name.rpartition(".")[0].rpartition(".")
    return module if hasattr(sys.modules.get(module), tested) else name


def closing_line(result: TestResult) -> str:
    """Count *result* as ``N passed, N failed[, N skipped]``."""
    skipped = f", {len(result.skips)} skipped" if result.skips else ""
    passed = result.successes + len(result.expectedFailures)
    return f"{passed} passed, {failed(result)} failed{skipped}"


def failed(result: TestResult) -> int:
    """Count the failures, errors and unexpected successes."""
    return len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)


def processor_s() -> float:
    """Return the seconds of processors that this process took, with all it started that have ended."""
    return sum(os.times()[:4])


def start_processes_fast() -> None:
    """Set the environment for the many processes that tests start, none of which runs for long.

    What Python has compiled is kept, or each of them would compile all of kafkatx anew. Java compiles with
    its first compiler alone, which takes a third less of the processors for the tests of Spark, and Spark has
    an archive of its classes.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        sys.dont_write_bytecode = False
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    os.environ.setdefault(spark_archive.OPTIONS, spark_archive.use())


def main(arguments: Sequence[str]) -> int:
    """Run the tests of these dotted names, print the closing line, return the exit status."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # what a shell starts with & has it so
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup does that, and brokers would inherit it
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    start_processes_fast()
    names = [argument for argument in arguments if not argument.startswith(DIRECTORY)]
    options = [argument.removeprefix(DIRECTORY) for argument in arguments if argument.startswith(DIRECTORY)]
    directory = options[0] if options else "_trial_temp"
    suite = TestLoader().loadByNames(names or ["tests"], recurse=True)
    # run() is declared to give an IReporter; it gives what the factory made.
    result = cast(TimedReporter, TrialRunner(TimedReporter, workingDirectory=directory).run(suite))
    sys.stdout.write(result.slowest())
    sys.stdout.write("".join(f"failed module: {name}\n" for name in result.failed_modules))
    sys.stdout.write(f"{processor_s():.1f} s of processors\n")
    sys.stdout.write(closing_line(result) + "\n")
    sys.stdout.flush()
    return 1 if failed(result) or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
