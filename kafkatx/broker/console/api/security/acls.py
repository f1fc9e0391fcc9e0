"""Access control lists."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TypeVar

from kafkatx.acls import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.api.lists import QUERY, Listing
from kafkatx.broker.console.errors import ConsoleError, invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.clientcore.admin.security import acls
from kafkatx.security.acl.filters import AclFilter
from kafkatx.web.calls import Call

E = TypeVar("E", bound=enum.Enum)

KEYS = ("resourceType", "resourceName", "patternType", "principal", "host", "operation", "permission")
LISTING = Listing[dict[str, str]](
    lambda one: " ".join(one[key] for key in ("principal", "resourceType", "resourceName", "operation")),
    {key: lambda one, key=key: one[key] for key in KEYS},  # type: ignore[misc]
)


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""

    async def list_acls(call: Call) -> object:
        if parts.broker.authorization is None:
            return {"total": 0, "items": [], "authorizer": False}
        response = await parts.kafka.ask(call, acls.describe_request(AclFilter()))
        page = LISTING.page(call, [_item(one) for one in acls.bindings(response)])
        return {**page, "authorizer": True}

    async def create(call: Call) -> object:
        binding = _binding(Fields.of(call))
        with parts.actions.change(call, "create ACL", str(binding)):
            response = await parts.kafka.ask(call, acls.create_request([binding]))
            acls.check_created(response, [binding])
        return {}

    async def delete(call: Call) -> object:
        binding = _binding(Fields.of(call))
        with parts.actions.change(call, "delete ACL", str(binding)):
            response = await parts.kafka.ask(call, acls.delete_request([acls.exactly(binding)]))
            if not acls.deleted(response):
                raise ConsoleError(404, "RESOURCE_NOT_FOUND", f"there is no such ACL: {binding}")
        return {}

    body = dict(zip(KEYS, _MEANINGS, strict=True))
    return [
        Route("GET", "/acls", list_acls, "List the access control lists", QUERY),
        Route("POST", "/acls", create, "Add an access control list", body=body, changes=True),
        Route("DELETE", "/acls", delete, "Remove an access control list", body=body, changes=True),
    ]


_MEANINGS = (
    "TOPIC, GROUP, CLUSTER, ...",
    "a name, the beginning of names, or *",
    "LITERAL or PREFIXED",
    "User:NAME, or User:*",
    "an address, or *",
    "READ, WRITE, ...",
    "ALLOW or DENY",
)


def _item(binding: AclBinding) -> dict[str, str]:
    pattern, entry = binding
    return {
        "resourceType": pattern.resource_type.name,
        "resourceName": pattern.name,
        "patternType": pattern.pattern_type.name,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation.name,
        "permission": entry.permission.name,
    }


def _binding(fields: Fields) -> AclBinding:
    """Return an ACL.

    :raises ConsoleError: a field is missing or wrong.
    """
    pattern = ResourcePattern(
        _member(ResourceType, fields, "resourceType"),
        fields.text("resourceName"),
        _member(PatternType, fields, "patternType", "LITERAL"),
    )
    entry = AccessControlEntry(
        fields.text("principal"),
        fields.text("host", "*"),
        _member(AclOperation, fields, "operation"),
        _member(AclPermission, fields, "permission", "ALLOW"),
    )
    return AclBinding(pattern, entry)


def _member(kind: type[E], fields: Fields, name: str, default: str | None = None) -> E:
    text = fields.text(name, default)
    if text in ("ANY", "MATCH") or text not in kind.__members__:
        known = ", ".join(each for each in kind.__members__ if each not in ("ANY", "MATCH"))
        raise invalid(f"{name} must be one of {known}")
    return kind[text]
