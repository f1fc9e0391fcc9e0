"""Quotas of users, client ids and addresses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.api.lists import QUERY, Listing
from kafkatx.broker.console.errors import invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.clientcore.admin import quotas
from kafkatx.web.calls import Call

TYPES: Mapping[str, str] = {"user": quotas.USER, "clientId": quotas.CLIENT_ID, "ip": quotas.IP}
"""The types of entities by the keys of an ``entity``: null as its name is the default of all."""

LISTING = Listing.of_items("name")


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""

    async def list_quotas(call: Call) -> object:
        response = await parts.kafka.ask(call, quotas.describe_request(None))
        items = [
            {
                "name": quotas.entity_text(one.entity),
                "entity": {key: one.entity[kind] for key, kind in TYPES.items() if kind in one.entity},
                "quotas": dict(one.values),
            }
            for one in quotas.entity_quotas(response)
        ]
        return LISTING.page(call, items)

    async def put(call: Call) -> object:
        fields = Fields.of(call)
        entity, values = _entity(fields.child("entity")), _values(fields.child("set"))
        deleted = fields.names("delete", 100)
        if not values and not deleted:
            raise invalid("set or delete: name at least one quota")
        what = f"{quotas.entity_text(entity)}: {', '.join([*values, *deleted])}"
        with parts.actions.change(call, "alter quotas", what):
            asked = quotas.alter_request(entity, values, deleted, False)
            quotas.check_altered(await parts.kafka.ask(call, asked), entity)
        return {}

    body = {
        "entity": "user, clientId and ip: names; null: the default of all without a quota of their own",
        "set": "numbers by the names of quotas: producer_byte_rate, ...",
        "delete": "names of quotas to remove",
    }
    return [
        Route("GET", "/quotas", list_quotas, "List the quotas", QUERY),
        Route("PUT", "/quotas", put, "Change the quotas of an entity", body=body, changes=True),
    ]


def _entity(fields: Fields) -> dict[str, str | None]:
    """Return an entity.

    :raises ConsoleError: it has other keys, or none.
    """
    unknown = set(fields.all_names()) - set(TYPES)
    if unknown or not fields.all_names():
        raise invalid("entity must have user, clientId or ip")
    return {
        kind: fields.text(key) if fields.has(key) else None
        for key, kind in TYPES.items()
        if key in fields.all_names()
    }


def _values(fields: Fields) -> dict[str, float]:
    """Return the values of quotas.

    :raises ConsoleError: one is no number.
    """
    found = {}
    for name, text in fields.texts().items():
        try:
            found[name] = float(text)
        except ValueError:
            raise invalid(f"set.{name} must be a number") from None
        if not math.isfinite(found[name]):
            raise invalid(f"set.{name} must be a number")
    return found
