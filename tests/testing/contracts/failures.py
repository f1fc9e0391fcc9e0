"""Run a contract against an implementation, and see which of its tests fail."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.reporter import TestResult
from twisted.trial.unittest import SynchronousTestCase


def failed_tests(contract: type, **makers: Callable[..., object]) -> set[str]:
    """Return the names of the contract's tests that fail.

    :param makers: functions in the place of the contract's methods; without ``self``.
    """
    methods = {name: staticmethod(made) for name, made in makers.items()}
    return failed_in(type("Case", (contract, SynchronousTestCase), methods))


def failed_in(case: type[SynchronousTestCase]) -> set[str]:
    """Return the names of the tests of a test case that fail."""
    failed = set()
    for name in dir(case):
        if name.startswith("test_"):
            result = TestResult()
            case(name).run(result)
            if not result.wasSuccessful():
                failed.add(name)
    return failed
