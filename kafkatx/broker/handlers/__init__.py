"""The one table of what this broker serves; a module per API, named as the API's messages are.

A module is imported when its API is first asked for, or once the broker has settled
(:meth:`kafkatx.broker.dispatch.Dispatch.load_rest`): a start need not wait for all of them. Each has
``API``, a :class:`kafkatx.broker.dispatch.Api`: the messages with ``answer(broker, request, context)`` and
``refuse(request, context, error_code, message)``, which refuses a whole request.
"""

from importlib import import_module

from kafkatx.broker.dispatch import Api, Served
from kafkatx.wire.api import APIS
from kafkatx.wire.api import Api as WireApi
from kafkatx.wire.schema import Message


def _served(wire: WireApi) -> Served:
    def load() -> Api[Message, Message]:
        api: Api[Message, Message] = import_module(f"{__name__}.{wire.module}").API
        return api

    return Served(wire, load)


SERVED: tuple[Served, ...] = tuple(map(_served, APIS.values()))

OFFERED = {line.api.key: line.api.versions for line in SERVED if line.api.listed}
"""The versions of each API that ApiVersions lists."""

__all__ = ["OFFERED", "SERVED"]
