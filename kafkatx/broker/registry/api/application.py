"""The application at the HTTP listener: it answers where the leader is, and forwards to it from elsewhere.

All requests go to the leader of ``_schemas-0``, reads, too: so each of them sees earlier changes, through
whichever broker they came. A forwarded request has the header ``X-Forward`` and is not forwarded again: a
broker that does not lead the topic refuses it, and the first one tries again. While there is no leader,
requests wait for one.

``Call.session`` has the principal of the client, also of one whose request was forwarded. With an authorizer
both brokers ask it.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.authorization.http_guard import HttpGuard
from kafkatx.broker.registry.api.answers import SCHEMA_REGISTRY_JSON, answer, content_type
from kafkatx.broker.registry.api.reads import Reads
from kafkatx.broker.registry.api.settings import ApiSettings
from kafkatx.broker.registry.api.writes import Writes
from kafkatx.broker.registry.forwarder import FORWARDED, Forwarder
from kafkatx.broker.registry.registry import SchemaRegistry
from kafkatx.registry.errors import UNKNOWN_LEADER, RegistryError, unknown_leader
from kafkatx.web.calls import Answer, Call, WebError, error_answer
from kafkatx.web.routes import Routes

AGAIN_S = 0.1
"""Seconds after which a request looks again if there is a leader."""


def is_change(call: Call) -> bool:
    """Return True for a request that may change something."""
    if call.method == "POST":
        return call.path[:1] == ("subjects",) and call.path[2:] == ("versions",)
    return call.method in ("PUT", "DELETE")


class RegistryApplication:
    """The API.

    :param about: answers that no state is needed for, by path.
    :param timeout_s: seconds for which a request waits for a leader.
    :param guard: asks the authorizer.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        forwarder: Forwarder,
        clock: IReactorTime,
        about: Mapping[tuple[str, ...], object],
        settings: ApiSettings,
        timeout_s: float,
        guard: HttpGuard,
    ) -> None:
        self._registry = registry
        self._forwarder = forwarder
        self._clock = clock
        self._about = about
        self._timeout_s = timeout_s
        self._guard = guard
        self._routes = Routes()
        Reads(registry, settings, guard).add_to(self._routes)
        Writes(registry, settings).add_to(self._routes)

    async def __call__(self, call: Call) -> Answer:
        """Answer a request; never fails with an error of the registry."""
        kind = SCHEMA_REGISTRY_JSON
        try:
            kind = content_type(call.headers)
            found = await self._answer(call)
        except RegistryError as error:
            return error_answer(WebError(error.status, str(error), error.code), kind)
        except WebError as error:
            return error_answer(error, kind)
        return attrs.evolve(found, content_type=kind)

    async def _answer(self, call: Call) -> Answer:
        about = self._about.get(call.path)
        if about is not None and call.method == "GET":
            return answer(about)
        self._guard.check(call)
        ends_s = self._clock.seconds() + self._timeout_s
        while True:
            try:
                return await self._try(call)
            except RegistryError as error:
                late = self._clock.seconds() >= ends_s
                if error.code != UNKNOWN_LEADER or late or FORWARDED in call.headers:
                    raise
            await deferLater(self._clock, AGAIN_S)

    async def _try(self, call: Call) -> Answer:
        """Answer here, or at the leader.

        :raises RegistryError: UNKNOWN_LEADER: no broker leads; or what the request is refused with.
        """
        topic, forwarded = self._registry.topic, FORWARDED in call.headers
        if not topic.exists and is_change(call) and not forwarded:
            await topic.create()
        leader = topic.other_leader() if topic.exists else None
        if forwarded and (leader is not None or not topic.exists):
            raise unknown_leader()  # the sender knows the topic earlier than this broker, or later
        if leader is None:
            outcome = self._routes.answer(call)
            return outcome if isinstance(outcome, Answer) else await outcome
        return await self._forwarder.send(leader, call)
