"""A site: applications by the first segment of the path, made when they are first asked. It logs failures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.web.calls import Answer, Application, Call, WebError, error_answer
from kafkatx.web.hosts import check_host
from kafkatx.web.logins import FOR_PRINCIPAL, Certificates, Logins

CREDENTIALS = frozenset({"authorization", FOR_PRINCIPAL})
"""The headers that applications get only from a listener with logins or certificates."""


class Site:
    """The applications of a listener.

    :ivar allowed_hosts: see :func:`check_host`.
    :ivar logins: tells who a client is; None: all are anonymous.
    :ivar answers: the number of answers, by status.
    """

    _log = Logger()

    def __init__(
        self, allowed_hosts: Collection[str] | None = None, logins: Logins | Certificates | None = None
    ) -> None:
        self.allowed_hosts = allowed_hosts
        self.logins = logins
        self._public: set[str] = set()
        self._with_logins: set[str] = set()
        self.answers: dict[int, int] = {}
        self._makers: dict[str, Callable[[], Application]] = {}
        self._made: dict[Callable[[], Application], Application] = {}

    def mount(
        self,
        names: Collection[str],
        make: Callable[[], Application],
        *,
        public: bool = False,
        has_logins: bool = False,
    ) -> None:
        """Give an application the paths that begin with one of *names*; ``""`` is the path ``/`` itself.

        :param make: makes the application, once, at the first request.
        :param public: answer clients that are not logged in, too.
        :param has_logins: the application is public, and checks ``Authorization`` itself.
        """
        for name in names:
            self._makers[name] = make
        if public or has_logins:
            self._public.update(names)
        if has_logins:
            self._with_logins.update(names)

    async def answer(self, call: Call) -> Answer:
        """Answer a request; never fails, but for cancellation."""
        answer = await self._answer(call)
        self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
        return answer

    async def _answer(self, call: Call) -> Answer:
        try:
            check_host(call, self.allowed_hosts)
            name = call.path[0] if call.path else ""
            if self.logins is not None and name not in self._public:
                call = attrs.evolve(call, session=await self.logins.session(call))
            else:
                checks = self.logins is not None and name in self._with_logins
                call = _without(call, {FOR_PRINCIPAL} if checks else CREDENTIALS)
            make = self._makers.get(name)
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


def _without(call: Call, names: Collection[str]) -> Call:
    """Return a request without some headers."""
    if not any(name in call.headers for name in names):
        return call
    kept = {key: value for key, value in call.headers.items() if key not in names}
    return attrs.evolve(call, headers=kept)
