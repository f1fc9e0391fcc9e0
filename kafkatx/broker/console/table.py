"""The one table of the console's API: the routes of all modules, but for those about sessions and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkatx.broker.console.api import configs
from kafkatx.broker.console.api.cluster import brokers, history, overview
from kafkatx.broker.console.api.groups import reads as group_reads
from kafkatx.broker.console.api.topics import reads as topic_reads
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route

MODULES: tuple[Callable[[ConsoleParts], Sequence[Route]], ...] = (
    overview.routes,
    history.routes,
    brokers.routes,
    topic_reads.routes,
    group_reads.routes,
    configs.routes,
)


def make_routes(parts: ConsoleParts) -> list[Route]:
    """Return the routes of a broker.

    :raises ValueError: two have the same method and path.
    """
    routes = [route for module in MODULES for route in module(parts)]
    if len({(route.method, route.pattern) for route in routes}) != len(routes):
        raise ValueError("a route is twice in the table of the console")
    return routes
