"""The contract of assignors notices bad ones."""

from __future__ import annotations

from types import SimpleNamespace

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import RANGE
from kafkatx.testing.contracts.assignor import AssignorContract
from tests.testing.contracts.failures import failed_tests


def assignor(**changed: object) -> SimpleNamespace:
    """Return the range assignor with some attributes changed."""
    attributes = {name: getattr(RANGE, name) for name in ("name", "cooperative", "assign", "user_data")}
    return SimpleNamespace(**{**attributes, **changed})


class AssignorContractTests(SynchronousTestCase):
    def failed(self, **changed: object) -> set[str]:
        """Return the tests that fail for a changed range assignor."""
        return failed_tests(AssignorContract, make_assignor=lambda: assignor(**changed))

    def test_good(self) -> None:
        """The range assignor keeps it."""
        self.assertEqual(self.failed(), set())

    def test_bad(self) -> None:
        """An assignor that gives nothing, is no text by name, or lacks a method is noticed."""
        nothing = self.failed(assign=lambda members, topics: {member: [] for member in members})
        self.assertLessEqual({"test_alone", "test_shared", "test_comes_and_goes"}, nothing)
        self.assertIn("test_shape", self.failed(user_data=lambda owned, generation: 7))
        self.assertIn("test_shape", failed_tests(AssignorContract, make_assignor=object))
