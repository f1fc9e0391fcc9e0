"""The table of demands: each API with no right, with wrong ones, and with just the right ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import SUPPORTED, AclOperation, ResourceType
from kafkatx.broker.authorization.demands import DEMANDS, ROWS, Demand, Outcome, Right, Row
from kafkatx.wire.api import APIS
from tests.broker.authorization.authorized import ADMIN, ALICE, REFUSALS, AuthorizedTestCase, codes_in
from tests.broker.authorization.cases import CASES, Case

_O = AclOperation
IMPLYING = {
    _O.DESCRIBE: {_O.READ, _O.WRITE, _O.DELETE, _O.ALTER},
    _O.DESCRIBE_CONFIGS: {_O.ALTER_CONFIGS},
}


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
        """Send a request without rights, with wrong ones, and with each of those that are enough."""
        self.use(ADMIN)
        case.prepare(self)
        demanded = [one for one in row.demands if not one.when or one.when in case.whens]
        if case.shows is None:
            demanded = [one for one in demanded if one.outcome is not Outcome.HIDDEN]
        request = case.make(self)
        self.use(ALICE)
        if demanded:
            self.assertFalse(self.allowed(row, case, demanded[0], request), "no right")
        for demand in demanded:
            self.only(*(one.rights[0] for one in demanded if one is not demand))
            self.grant_wrong(demand)
            self.assertFalse(self.allowed(row, case, demand, case.make(self)), f"wrong for {demand}")
        for demand in demanded:
            for right in demand.rights:
                self.only(right, *(one.rights[0] for one in demanded if one is not demand))
                response = self.ask_late(row.api.key, case.version, self.again(case))
                self.assertEqual(set(codes_in(response)) & REFUSALS, set(), f"{right} for {demand}")
                self.assertTrue(case.shows is None or case.shows(response), f"{right} for {demand}")
        if not demanded:
            self.revoke_all()
            response = self.ask_late(row.api.key, case.version, request)
            self.assertEqual(set(codes_in(response)) & REFUSALS, set())

    def again(self, case: Case) -> Any:
        """Return the request; what an earlier one has removed is not missed."""
        try:
            return case.make(self)
        except KeyError:
            self.use(ADMIN)
            self.make_topic("orders", 2)
            self.use(ALICE)
            return case.make(self)

    def allowed(self, row: Row, case: Case, demand: Demand, request: Any) -> bool:
        """Return True if a response shows no sign that a demand is not met."""
        response = self.ask_late(row.api.key, case.version, request)
        if demand.outcome is Outcome.HIDDEN:
            assert case.shows is not None
            return case.shows(response)
        return int(demand.code) not in set(codes_in(response))

    def only(self, *rights: Right) -> None:
        """Grant these rights and no others."""
        self.revoke_all()
        for right in rights:
            self.grant(right.operation, right.resource_type)

    def grant_wrong(self, demand: Demand) -> None:
        """Grant everything on the demanded resources but what is enough, and that on another resource."""
        for right in demand.rights:
            enough = {right.operation, *IMPLYING.get(right.operation, ())}
            others = {one.operation for one in demand.rights if one.resource_type is right.resource_type}
            for operation in set(SUPPORTED[right.resource_type]) - enough - others:
                self.grant(operation, right.resource_type)
            if right.resource_type is not ResourceType.CLUSTER and not right.any_name:
                self.grant(right.operation, right.resource_type, "another")


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
