"""The rights with which a case is tried: none, wrong ones, and just the right ones. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from kafkatx.acls import SUPPORTED, AclOperation, ResourceType, enum_text
from kafkatx.broker.authorization.demands import Demand, Outcome, Right, Row
from tests.broker.authorization.cases import Case

_O = AclOperation
IMPLYING = {
    _O.DESCRIBE: {_O.READ, _O.WRITE, _O.DELETE, _O.ALTER},
    _O.DESCRIBE_CONFIGS: {_O.ALTER_CONFIGS},
}
ANOTHER = "another"
"""The name of a resource that no request is about."""


@attrs.frozen
class Grant:
    """An operation on what the test has of a type, or on :data:`ANOTHER`."""

    operation: AclOperation
    resource_type: ResourceType
    name: str = ""


@attrs.frozen
class Step:
    """One try of a case.

    :ivar unmet: the demand that is not met; None: all are.
    """

    label: str
    grants: tuple[Grant, ...]
    unmet: Demand | None = None


def demanded(row: Row, case: Case) -> list[Demand]:
    """Return the demands that a case meets."""
    found = [one for one in row.demands if not one.when or one.when in case.whens]
    return [one for one in found if case.shows is not None or one.outcome is not Outcome.HIDDEN]


def steps(row: Row, case: Case) -> Iterator[Step]:
    """Yield the tries: without rights, with wrong ones for each demand, and with each that is enough."""
    demands = demanded(row, case)
    if demands:
        yield Step("no right", (), demands[0])
    for demand in demands:
        others = tuple(_grant(one.rights[0]) for one in demands if one is not demand)
        yield Step(f"all but {_words(*demand.rights)}", (*others, *_wrong(demand)), demand)
    for demand in demands:
        others = tuple(_grant(one.rights[0]) for one in demands if one is not demand)
        for right in demand.rights:
            yield Step(f"just {_words(right)}", (_grant(right), *others))
    if not demands:
        yield Step("no right", ())


def _words(*rights: Right) -> str:
    return " or ".join(f"{enum_text(one.operation)} on {enum_text(one.resource_type)}" for one in rights)


def _grant(right: Right) -> Grant:
    return Grant(right.operation, right.resource_type)


def _wrong(demand: Demand) -> Iterator[Grant]:
    """Yield everything on the demanded resources but what is enough, and that on another resource."""
    for right in demand.rights:
        enough = {right.operation, *IMPLYING.get(right.operation, ())}
        others = {one.operation for one in demand.rights if one.resource_type is right.resource_type}
        for operation in sorted(set(SUPPORTED[right.resource_type]) - enough - others):
            yield Grant(operation, right.resource_type)
        if right.resource_type is not ResourceType.CLUSTER and not right.any_name:
            yield Grant(right.operation, right.resource_type, ANOTHER)
