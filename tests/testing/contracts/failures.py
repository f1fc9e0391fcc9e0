"""Run a contract against an implementation, and see which of its tests fail."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.reporter import TestResult
from twisted.trial.unittest import SynchronousTestCase


def failed_tests(contract: type, **makers: Callable[..., object]) -> set[str]:
    """Return the names of the contract's tests that fail.

    :param makers: the contract's methods that make what is tested, and its attributes.
    """

    def call(made: object) -> object:
        return staticmethod(made) if callable(made) else made

    case: type[SynchronousTestCase] = type(
        "Case", (contract, SynchronousTestCase), {name: call(made) for name, made in makers.items()}
    )
    failed = set()
    for name in dir(case):
        if name.startswith("test_"):
            result = TestResult()
            case(name).run(result)
            if not result.wasSuccessful():
                failed.add(name)
    return failed
