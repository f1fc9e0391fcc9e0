"""The table of demands: each API with no right, with wrong ones, and with just the right ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import ResourceType
from kafkatx.broker.authorization.demands import DEMANDS, ROWS, Demand, Outcome, Row
from kafkatx.wire.api import APIS
from tests.broker.authorization.authorized import ADMIN, ALICE, REFUSALS, AuthorizedTestCase, codes_in
from tests.broker.authorization.cases import CASES, Case
from tests.broker.authorization.steps import steps


class TableTests(SynchronousTestCase):
    def test_complete(self) -> None:
        """Each API that is served has one row, and each row is tested in every condition that it has."""
        self.assertEqual(sorted(row.api.key for row in ROWS), sorted(APIS))
        self.assertEqual(set(CASES), set(APIS))
        for key, row in DEMANDS.items():
            tested = {when for case in CASES[key] for when in case.whens}
            self.assertEqual({demand.when for demand in row.demands if demand.when}, tested, row.api.name)

    def test_enforceable(self) -> None:
        """A demand names a field, is about the cluster as a whole, or is enforced by a special check."""
        for row in ROWS:
            for demand in row.demands:
                if not demand.names and not row.special:
                    self.assertIs(demand.outcome, Outcome.REQUEST)
                    self.assertEqual(
                        {right.resource_type for right in demand.rights}, {ResourceType.CLUSTER}, row.api.name
                    )


class DemandTests(AuthorizedTestCase):
    """Each row with real frames; the methods are made below."""

    def check(self, row: Row, case: Case) -> None:
        """Send a request with the rights of each step; it is served if all demands are met."""
        self.use(ADMIN)
        case.prepare(self)
        for step in steps(row, case):
            request = self.again(case)
            self.use(ALICE)
            self.revoke_all()
            for one in step.grants:
                self.grant(one.operation, one.resource_type, one.name)
            response = self.ask_late(row.api.key, case.version, request)
            if step.unmet is None:
                self.assertEqual(set(codes_in(response)) & REFUSALS, set(), step.label)
                self.assertTrue(case.shows is None or case.shows(response), step.label)
            else:
                self.assertFalse(allowed(case, step.unmet, response), step.label)

    def again(self, case: Case) -> Any:
        """Return the request; the topic is made again if an earlier one has removed it."""
        self.use(ADMIN)
        try:
            return case.make(self)
        except KeyError:
            self.make_topic("orders", 2)
            return case.make(self)


def allowed(case: Case, demand: Demand, response: Any) -> bool:
    """Return True if a response shows no sign that a demand is not met."""
    if demand.outcome is Outcome.HIDDEN:
        assert case.shows is not None
        return case.shows(response)
    return int(demand.code) not in set(codes_in(response))


def _test(row: Row) -> Callable[[DemandTests], None]:
    def test(self: DemandTests) -> None:
        for case in CASES[row.api.key]:
            self.check(row, case)
            self.tearDown()
            self.setUp()

    test.__doc__ = (
        f"{row.api.name} is refused without a right and with wrong ones, and served with the right one."
    )
    return test


for _row in ROWS:
    setattr(DemandTests, f"test_{_row.api.module}", _test(_row))
