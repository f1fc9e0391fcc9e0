"""The one table of the console's API: the routes of all modules, but for those about sessions and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkatx.broker.console.api import configs, schemas
from kafkatx.broker.console.api.cluster import brokers, history, mirrors, overview, transactions
from kafkatx.broker.console.api.groups import changes as group_changes
from kafkatx.broker.console.api.groups import explanations
from kafkatx.broker.console.api.groups import reads as group_reads
from kafkatx.broker.console.api.security import acls, quotas, users
from kafkatx.broker.console.api.topics import changes as topic_changes
from kafkatx.broker.console.api.topics import reads as topic_reads
from kafkatx.broker.console.messages import routes as messages
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route

MODULES: tuple[Callable[[ConsoleParts], Sequence[Route]], ...] = (
    overview.routes,
    history.routes,
    brokers.routes,
    topic_reads.routes,
    topic_changes.routes,
    group_reads.routes,
    group_changes.routes,
    explanations.routes,
    configs.routes,
    schemas.routes,
    mirrors.routes,
    transactions.routes,
    acls.routes,
    users.routes,
    quotas.routes,
    messages.routes,
)


def make_routes(parts: ConsoleParts) -> list[Route]:
    """Return the routes of a broker.

    :raises ValueError: two have the same method and path.
    """
    routes = [route for module in MODULES for route in module(parts)]
    if len({(route.method, route.pattern) for route in routes}) != len(routes):
        raise ValueError("a route is twice in the table of the console")
    return routes
