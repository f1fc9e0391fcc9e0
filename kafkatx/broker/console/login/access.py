"""The principal of a request of the console, at one listener: by a session's cookie or a certificate.

A listener with logins checks names and passwords as those of other clients over HTTP, with their limits
(:mod:`kafkatx.web.logins`). Browsers do not keep cookies of different ports apart: so the name of the cookie
has the broker's id.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.console.login.sessions import LONGEST_S, Sessions, read_cookie
from kafkatx.net.requests import NOBODY, Session
from kafkatx.web.calls import Call, WebError
from kafkatx.web.logins import Certificates, Logins

AUTHORIZATION = "authorization"

MOST_CHARACTERS, MOST_TOKEN = 1000, 16_000
"""Characters of a user name or a password, and of a token, at most."""

WRONG_TOKEN = "the token is wrong, or has expired"

NONE, PASSWORD, TOKEN, BOTH = "none", "password", "token", "both"


class Access:
    """The logins of a listener, as the console uses them.

    :ivar sessions: those of its users.
    :param secure: True if the listener has TLS: browsers send the cookie over TLS only then.
    """

    def __init__(
        self, logins: Logins | Certificates | None, sessions: Sessions, broker_id: int, secure: bool
    ) -> None:
        self.sessions = sessions
        self._logins = logins if isinstance(logins, Logins) else None
        self._cookie = f"kafkatx_session_{broker_id}"
        self._secure = secure

    @property
    def ways(self) -> str:
        """The ways in which people log in: with a password, with a token, or with either; or they do not."""
        names = () if self._logins is None else tuple(self._logins.names)
        return {(): NONE, ("basic",): PASSWORD, ("bearer",): TOKEN}.get(names, BOTH)

    async def session(self, call: Call) -> Session | None:
        """Return the session of a request; None if its client has to log in.

        A program may log in with each request (``Authorization``), as to the other paths of the listener.

        :raises WebError: 401: the login is wrong; 503: it cannot be checked now.
        """
        if self._logins is not None and AUTHORIZATION in call.headers:
            return await self._logins.session(call)
        if self._logins is None or call.session.principal != NOBODY.principal:
            return call.session
        token = read_cookie(call.headers.get("cookie", ""), self._cookie)
        return self.sessions.find(token) if token else None

    async def is_logged_in(self, call: Call) -> bool:
        """Return True if the session of a request has not ended; it is not used by that."""
        if self._logins is not None and AUTHORIZATION in call.headers:
            try:
                await self._logins.session(call)
            except WebError as error:
                return error.status != 401
            return True
        if self._logins is None or not call.headers.get("cookie"):
            return True
        return self.sessions.holds(read_cookie(call.headers["cookie"], self._cookie))

    async def log_in(self, call: Call, user: str, password: str) -> tuple[Session, Mapping[str, str]]:
        """Begin a session; return it, and the headers that tell the browser its token.

        :raises ConsoleError: 400: there are no logins; 401: user or password is wrong; 503: too many at once.
        """
        if not user or ":" in user or max(len(user), len(password)) > MOST_CHARACTERS:
            raise ConsoleError(401, "LOGIN_FAILED", "wrong user or password")
        basic = base64.b64encode(f"{user}:{password}".encode("utf-8", "replace")).decode()
        return await self._begin(call, f"Basic {basic}", user, "wrong user or password")

    async def log_in_with(self, call: Call, token: str) -> tuple[Session, Mapping[str, str]]:
        """Begin a session that ends with a token of an issuer; return as :meth:`log_in` does.

        :raises ConsoleError: as :meth:`log_in` does.
        """
        if len(token) > MOST_TOKEN or len(token.split()) != 1:
            raise ConsoleError(401, "LOGIN_FAILED", WRONG_TOKEN)
        return await self._begin(call, f"Bearer {token.strip()}", "", WRONG_TOKEN)

    async def _begin(
        self, call: Call, header: str, user: str, refusal: str
    ) -> tuple[Session, Mapping[str, str]]:
        if self._logins is None:
            raise ConsoleError(400, "INVALID_REQUEST", "this listener has no logins: nobody needs a session")
        try:
            login = await self._logins.login(header, call.client)
        except WebError as error:
            if error.status == 401:
                raise ConsoleError(401, "LOGIN_FAILED", refusal) from None
            raise
        session = Session(login.principal, call.session.listener)
        most_s = LONGEST_S if login.left_s is None else min(LONGEST_S, login.left_s)
        token = self.sessions.begin(user, session, most_s)
        return session, {"Set-Cookie": self._with_cookie(token, round(most_s))}

    def log_out(self, call: Call) -> Mapping[str, str]:
        """End the session of a request; return the headers that have the browser forget it."""
        self.sessions.end(read_cookie(call.headers.get("cookie", ""), self._cookie))
        return {"Set-Cookie": self._with_cookie("", 0)}

    def _with_cookie(self, value: str, max_age_s: int) -> str:
        secure = "; Secure" if self._secure else ""
        return (
            f"{self._cookie}={value}; Path=/console; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}"
        )
