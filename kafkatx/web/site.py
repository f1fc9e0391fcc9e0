"""A site: applications by the first segment of the path, made when they are first asked. It logs failures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.web.calls import Answer, Application, Call, WebError, error_answer
from kafkatx.web.hosts import check_host


class Site:
    """The applications of a listener.

    :ivar allowed_hosts: see :func:`check_host`.
    """

    _log = Logger()

    def __init__(self, allowed_hosts: Collection[str] | None = None) -> None:
        self.allowed_hosts = allowed_hosts
        self._makers: dict[str, Callable[[], Application]] = {}
        self._made: dict[Callable[[], Application], Application] = {}

    def mount(self, names: Collection[str], make: Callable[[], Application]) -> None:
        """Give an application the paths that begin with one of *names*; ``""`` is the path ``/`` itself.

        :param make: makes the application, once, at the first request.
        """
        for name in names:
            self._makers[name] = make

    async def answer(self, call: Call) -> Answer:
        """Answer a request; never fails, but for cancellation."""
        try:
            check_host(call, self.allowed_hosts)
            make = self._makers.get(call.path[0] if call.path else "")
            if make is None:
                raise WebError(404, "HTTP 404 Not Found")
            application = self._made.get(make)
            if application is None:
                application = self._made[make] = make()
            outcome = application(call)
            return await outcome if inspect.isawaitable(outcome) else outcome
        except WebError as error:
            return error_answer(error)
        except CancelledError:
            raise  # the client has gone
        except Exception:
            self._log.failure(
                "a request of HTTP failed: {method} {target}", method=call.method, target=call.target
            )
            return error_answer(WebError(500, "the broker's log says what went wrong", 50001))
