"""The one table of what this broker serves; a module per API, named as the API's messages are.

A module is imported when its API is first asked for, or once the broker has settled
(:meth:`kafkatx.broker.requests.dispatch.Dispatch.load_rest`): a start need not wait for all of them. Each has
``answer(broker, request, context)``, a :data:`kafkatx.broker.requests.dispatch.Handler`, and
``refuse(request, context, error_code, message)``, which says no to a whole request.
"""

from importlib import import_module

from kafkatx.broker.dispatch import Answerer, Served
from kafkatx.wire.api import APIS, Api


def _served(api: Api) -> Served:
    def load() -> Answerer:
        module: Answerer = import_module(f"{__name__}.{api.module}")
        return module

    return Served(api, load)


SERVED: tuple[Served, ...] = tuple(map(_served, APIS.values()))

__all__ = ["SERVED"]
