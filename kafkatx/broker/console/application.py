"""The application at ``/console``: pages, and the API. It logs failures.

A change must have the header ``X-Kafkatx-Console``, which no page of another site can set without being
asked for first; :mod:`kafkatx.web.hosts` has checked ``Host`` and ``Origin`` before.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.broker.changes import Changes
from kafkatx.broker.console.api.openapi import describe
from kafkatx.broker.console.api.session import session_routes
from kafkatx.broker.console.errors import ConsoleError, error_answer, found_error
from kafkatx.broker.console.events import EventFeed
from kafkatx.broker.console.login.access import Access
from kafkatx.broker.console.login.stream_watch import StreamWatch
from kafkatx.broker.console.pages.headers import with_headers
from kafkatx.broker.console.pages.static_files import SHELL, StaticFiles
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import API, Route
from kafkatx.errors import KafkaTXError
from kafkatx.web.calls import Answer, Call, WebError, as_json
from kafkatx.web.routes import Routes

HEADER = "x-kafkatx-console"

_NO_CHANGE = frozenset({"GET", "OPTIONS"})


class ConsoleApplication:
    """Answers the requests of one listener.

    :param routes: the API without the routes about sessions, which belong to the listener.
    """

    _log = Logger()

    def __init__(
        self, parts: ConsoleParts, routes: Sequence[Route], access: Access, files: StaticFiles
    ) -> None:
        self._parts = parts
        self._access = access
        self._files = files
        self._changes = Changes()
        self._watch = StreamWatch(parts.broker.clock, access.is_logged_in)
        feed = EventFeed(parts.streams, parts.broker.clock, routes, parts.look)
        own = [*session_routes(parts, access), *feed.routes()]
        document = describe([*own, *routes])
        own.append(Route("GET", "/openapi.json", lambda call: document, "Describe this API", public=True))
        self.routes: Sequence[Route] = [*own, *routes]
        self._table = Routes()
        for route in self.routes:
            self._table.add(route.method, f"/{'/'.join(API)}{route.pattern}", _Bound(self, route).answer)

    async def __call__(self, call: Call) -> Answer:
        """Answer a request; never fails, but for cancellation."""
        try:
            answer = await self._answer(call)
        except KafkaTXError as error:
            answer = error_answer(found_error(error))
        except CancelledError:
            raise  # the client has gone
        except Exception:
            self._log.failure(
                "a request of the console failed: {method} {target}", method=call.method, target=call.target
            )
            answer = error_answer(
                ConsoleError(500, "UNKNOWN_SERVER_ERROR", "the broker's log says what went wrong")
            )
        return with_headers(answer)

    async def _answer(self, call: Call) -> Answer:
        path = call.path
        if path[: len(API)] == API:
            outcome = self._table.answer(call)
            return await outcome if inspect.isawaitable(outcome) else outcome
        if call.method != "GET":
            raise ConsoleError(405, "METHOD_NOT_ALLOWED", "pages can only be read")
        if path == ("console",):
            before, mark, query = call.target.partition("?")
            if not before.endswith("/"):
                return Answer(308, b"", headers={"Location": f"/console/{mark}{query}"})
            return await self._files.answer(call, (SHELL,))
        if path[1] == "static":
            return await self._files.answer(call, path[2:])
        raise WebError(404, "there is no such page of the console")

    async def run(self, route: Route, call: Call, arguments: Sequence[str]) -> Answer:
        """Answer a request of the API."""
        session = await self._access.session(call)
        if session is not None:
            call = attrs.evolve(call, session=session)
        elif not route.public:
            raise ConsoleError(401, "LOGIN_REQUIRED", "log in with user and password")
        if call.method not in _NO_CHANGE and call.headers.get(HEADER) != "1":
            raise ConsoleError(403, "HEADER_MISSING", "a change needs the header X-Kafkatx-Console: 1")
        self._parts.look()
        if route.changes:
            return await self._changes.carry_through(_result(route, call, arguments))
        return self._watch.add(call, await _result(route, call, arguments))


@attrs.frozen
class _Bound:
    """A route of an application."""

    application: ConsoleApplication
    route: Route

    async def answer(self, call: Call, *arguments: str) -> Answer:
        """Answer a request."""
        return await self.application.run(self.route, call, arguments)


async def _result(route: Route, call: Call, arguments: Sequence[str]) -> Answer:
    found = route.answer(call, *arguments)
    result = await found if inspect.isawaitable(found) else found
    return result if isinstance(result, Answer) else Answer(200, as_json(result))
