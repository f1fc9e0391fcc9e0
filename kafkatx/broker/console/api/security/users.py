"""Users with passwords: SCRAM credentials. No answer has a secret."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.api.lists import QUERY, Listing
from kafkatx.broker.console.errors import invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.clientcore.admin.security import credentials
from kafkatx.errors import SettingError
from kafkatx.security.sasl.credential import MAX_ITERATIONS, MIN_ITERATIONS, ScramMechanism
from kafkatx.web.calls import Call

LISTING = Listing.of_items("name")
MOST_CHARACTERS = 1000
"""The longest password."""


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    worker = parts.broker.workers("console")

    async def list_users(call: Call) -> object:
        response = await parts.kafka.ask(call, credentials.describe_request())
        users: dict[str, list[dict[str, object]]] = {}
        for one in credentials.user_credentials(response):
            mechanism = {"mechanism": one.mechanism, "iterations": one.iterations}
            users.setdefault(one.user, []).append(mechanism)
        return LISTING.page(call, [{"name": name, "mechanisms": own} for name, own in users.items()])

    async def put(call: Call, name: str) -> object:
        fields = Fields.of(call)
        password, default = fields.text("password"), credentials.DEFAULT_ITERATIONS
        mechanism = _mechanism(fields.text("mechanism", credentials.DEFAULT_MECHANISM))
        iterations = fields.whole("iterations", default, MIN_ITERATIONS, MAX_ITERATIONS)
        if not 0 < len(password) <= MOST_CHARACTERS:
            raise invalid(f"password: give 1 to {MOST_CHARACTERS} characters")
        with parts.actions.change(call, "set password", f"user {name} ({mechanism.name})"):
            asked = await worker(lambda: credentials.set_request(name, password, mechanism, iterations))
            credentials.check_altered(await parts.kafka.ask(call, asked))
        return {}

    async def delete(call: Call, name: str) -> object:
        mechanism = _mechanism(call.text("mechanism"))
        with parts.actions.change(call, "delete password", f"user {name} ({mechanism.name})"):
            asked = credentials.delete_request(name, [mechanism])
            credentials.check_altered(await parts.kafka.ask(call, asked))
        return {}

    path = "/users/{name}"
    body = {
        "mechanism": "SCRAM-SHA-256 or SCRAM-SHA-512",
        "password": "the new password",
        "iterations": f"{MIN_ITERATIONS} to {MAX_ITERATIONS}",
    }
    return [
        Route("GET", "/users", list_users, "List the users with SCRAM credentials", QUERY),
        Route(
            "PUT", path, put, "Set the password of a user, who is made if need be", body=body, changes=True
        ),
        Route(
            "DELETE",
            path,
            delete,
            "Delete the password of a user for a mechanism",
            {"mechanism": body["mechanism"]},
            changes=True,
        ),
    ]


def _mechanism(name: str) -> ScramMechanism:
    try:
        return credentials.mechanism_of(name)
    except SettingError:
        raise invalid("mechanism must be SCRAM-SHA-256 or SCRAM-SHA-512") from None
