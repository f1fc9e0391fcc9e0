"""The closing line that people and machines read."""

from __future__ import annotations

from io import StringIO
from unittest import TestSuite

from twisted.trial.reporter import TestResult
from twisted.trial.runner import TestLoader
from twisted.trial.unittest import SynchronousTestCase

from tests.run import SLOWEST, TimedReporter, closing_line, failed


class _Sample(SynchronousTestCase):
    """Tests of every outcome. The loader must not find them: their names do not begin with "test"."""

    def passes(self) -> None:
        pass

    def fails(self) -> None:
        self.fail("as it should")

    def errs(self) -> None:
        raise ZeroDivisionError

    def skips(self) -> None:
        self.skipTest("no reason")

    def expected(self) -> None:
        self.fail("as foreseen")

    def unexpected(self) -> None:
        pass

    expected.todo = "known"  # type: ignore[attr-defined] # trial reads it from the method
    unexpected.todo = "known"  # type: ignore[attr-defined]


def _run(*names: str) -> TestResult:
    result = TestResult()
    TestSuite([_Sample(name) for name in names])(result)
    return result


class ClosingLineTests(SynchronousTestCase):
    def test_all_passed(self) -> None:
        """A clean run counts its tests and nothing else."""
        self.assertEqual(closing_line(_run("passes", "passes")), "2 passed, 0 failed")

    def test_failures_and_errors(self) -> None:
        """Failures and errors both count as failed."""
        self.assertEqual(closing_line(_run("passes", "fails", "errs")), "1 passed, 2 failed")
        self.flushLoggedErrors(ZeroDivisionError)

    def test_skips_are_told(self) -> None:
        """A skipped test is neither passed nor failed, and is seen."""
        self.assertEqual(closing_line(_run("passes", "skips")), "1 passed, 0 failed, 1 skipped")

    def test_todo(self) -> None:
        """A foreseen failure passes; a test that passes although marked as failing does not."""
        self.assertEqual(closing_line(_run("expected", "unexpected")), "1 passed, 1 failed")

    def test_failed_decides_the_status(self) -> None:
        """The exit status of main() counts the same tests."""
        self.assertEqual(failed(_run("passes", "fails", "errs", "unexpected", "skips")), 3)
        self.flushLoggedErrors(ZeroDivisionError)


class FailedModulesTests(SynchronousTestCase):
    def test_outcomes(self) -> None:
        """A failure, an error and an unexpected success each name their module once; passing tests do not."""
        for outcome in ("fails", "errs", "unexpected"):
            reporter = TimedReporter(StringIO())
            TestSuite([_Sample("passes"), _Sample(outcome), _Sample(outcome)])(reporter)
            self.assertEqual(list(reporter.failed_modules), [__name__], outcome)
        self.flushLoggedErrors(ZeroDivisionError)
        reporter = TimedReporter(StringIO())
        TestSuite([_Sample("passes"), _Sample("skips"), _Sample("expected")])(reporter)
        self.assertEqual(list(reporter.failed_modules), [])

    def test_import(self) -> None:
        """A module that cannot be imported is named."""
        reporter = TimedReporter(StringIO())
        TestLoader().loadByName("tests.no_such_module")(reporter)
        self.assertEqual(list(reporter.failed_modules), ["tests.no_such_module"])


class SlowestTests(SynchronousTestCase):
    def test_listed(self) -> None:
        """The slowest tests come first, and those below a second are left out."""
        reporter = TimedReporter(StringIO())
        reporter.timed = [(1.25, "tests.a"), (0.5, "tests.b"), (3.0, "tests.c")]
        self.assertEqual(reporter.slowest(), "3.0 s  tests.c\n1.2 s  tests.a\n")

    def test_most(self) -> None:
        """Only so many are listed."""
        reporter = TimedReporter(StringIO())
        reporter.timed = [(float(n), f"tests.t{n}") for n in range(1, 50)]
        self.assertEqual(len(reporter.slowest().splitlines()), SLOWEST)
