"""A case with a registry in memory, for tests of requests and plans."""

from __future__ import annotations

from typing import TypeVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.registry.plans import Plan
from kafkatx.clientcore.registry.requests import Request
from tests.schemas.registry import MemoryRegistry

T = TypeVar("T")


class PlanCase(SynchronousTestCase):
    """A registry in memory."""

    def setUp(self) -> None:
        """Make an empty registry."""
        self.registry = MemoryRegistry()

    def send(self, request: Request[T]) -> T:
        """Return the result of a request."""
        return request.reply(*self.registry.answer(request.method, request.path, request.body))

    def run_plan(self, plan: Plan[T]) -> T:
        """Return the result of a plan."""
        try:
            request = next(plan)
            while True:
                request = plan.send(self.send(request))
        except StopIteration as done:
            result: T = done.value
            return result
