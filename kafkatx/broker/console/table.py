"""The one table of the console's API: the routes of all modules, but for those about sessions and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkatx.broker.console.api import history, overview
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route

MODULES: tuple[Callable[[ConsoleParts], Sequence[Route]], ...] = (
    overview.routes,
    history.routes,
)


def make_routes(parts: ConsoleParts) -> list[Route]:
    """Return the routes of a broker.

    :raises ValueError: two have the same method and path.
    """
    routes = [route for module in MODULES for route in module(parts)]
    if len({(route.method, route.pattern) for route in routes}) != len(routes):
        raise ValueError("a route is twice in the table of the console")
    return routes
