"""Logins over HTTP: who is let in, what a check costs, and who may speak for whom."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import attrs
from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.fair_turns import TooManyWaiting
from kafkatx.net.requests import Session
from kafkatx.web.calls import Answer, Call, WebError
from kafkatx.web.logins import (
    FOR_PRINCIPAL,
    KEPT_S,
    MOST_KEPT,
    Certificates,
    Logins,
)
from kafkatx.web.schemes import Basic, Bearer, Login, Scheme
from kafkatx.web.site import Site
from tests.web.test_schemes import basic

ANONYMOUS, BROKER = Session(listener="HTTPS"), Session("User:CN=broker", "HTTPS")


class LoginsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make logins whose checks wait for the test, or are right for the password ``p``."""
        self.clock = Clock()
        self.log: Any = Mock()
        self.checks: list[str] = []
        self.held: list[Deferred[Login]] | None = None
        schemes: list[Scheme] = [Basic(self.check), Bearer(self.check_token)]
        self.logins = Logins(schemes, self.clock, self.log, 0.1, lambda: ["User:CN=broker"])

    def check_token(self, token: str) -> Deferred[Login]:
        """Check a token, whose user is its beginning, and whose time in seconds the rest."""
        self.checks.append(token)
        user, _, seconds = token.partition(".")
        checking: Deferred[Login] = Deferred()
        if seconds:
            checking.callback(Login(f"User:{user}", float(seconds)))
        else:
            checking.errback(UnauthorizedLogin("it has expired"))
        return checking

    def check(self, user: str, password: str, address: str = "") -> Deferred[Login]:
        """Check a password."""
        self.checks.append(user)
        checking: Deferred[Login] = Deferred()
        if self.held is not None:
            self.held.append(checking)
        elif password == "p":
            checking.callback(Login(f"User:{user}"))
        else:
            checking.errback(UnauthorizedLogin())
        return checking

    def begin(self, login: str | None = None, client: str = "c", **more: Any) -> Deferred[Session]:
        """Begin to log a request in."""
        headers = {"authorization": login} if login is not None else {}
        for name, value in more.pop("headers", {}).items():
            headers[name] = value
        call = Call("GET", "/", (), {}, headers, b"", more.pop("session", ANONYMOUS), client)
        logging_in = Deferred.fromCoroutine(self.logins.session(call))
        self.clock.advance(0)
        return logging_in

    def session(self, *arguments: Any, **more: Any) -> Session:
        """Log a request in."""
        return self.successResultOf(self.begin(*arguments, **more))

    def refused(self, *arguments: Any, **more: Any) -> WebError:
        """Log a request in that is refused."""
        logging_in = self.begin(*arguments, **more)
        self.clock.advance(0.1)
        error: WebError = self.failureResultOf(logging_in, WebError).value
        return error

    def test_right(self) -> None:
        """A request with the right password has the principal; its check counts for a while."""
        for _ in range(3):
            self.assertEqual(self.session(basic("ann", "p")), ("User:ann", "HTTPS"))
        self.assertEqual(self.checks, ["ann"])
        self.clock.advance(KEPT_S)
        self.session(basic("ann", "p"))
        self.assertEqual(self.checks, ["ann", "ann"])

    def test_wrong(self) -> None:
        """A wrong password is told after a delay, with the way to log in, and checked each time."""
        self.session(basic("ann", "p"))
        waiting = self.begin(basic("ann", "x"))
        self.clock.advance(0.05)
        self.assertNoResult(waiting)
        self.clock.advance(0.06)
        error = self.failureResultOf(waiting, WebError).value
        self.assertEqual((error.status, error.headers["WWW-Authenticate"][:5]), (401, "Basic"))
        self.refused(basic("ann", "x"))
        self.assertEqual(self.checks, ["ann"] * 3)
        self.assertEqual(self.log.warn.call_count, 2)

    def test_none(self) -> None:
        """A request without a login is refused at once; a certificate is one."""
        self.assertEqual(self.refused().status, 401)
        self.assertEqual(self.session(session=BROKER), BROKER)
        self.assertEqual(self.session(basic("ann", "p"), session=BROKER), ("User:ann", "HTTPS"))
        self.assertEqual(self.refused(basic("ann", "x"), session=BROKER).status, 401)

    def test_malformed(self) -> None:
        """A header that is no Basic login is refused, and nothing is checked."""
        for header in (
            "",
            "Basic",
            "Basic ?",
            "Bearer",
            "Digest x",
            "Basic " + "A" * 10_000,
            basic("", "p"),
            "Basic /w==",
            "Basic \xff\xfe",
        ):
            self.assertEqual(self.refused(header).status, 401)
        self.assertEqual(self.checks, [])

    def test_token(self) -> None:
        """A token is a login until it ends, and is checked again as a password is."""
        self.assertEqual(self.session("Bearer ann.3"), ("User:ann", "HTTPS"))
        self.session("Bearer ann.3")
        self.assertEqual(len(self.checks), 1)
        self.clock.advance(3)
        self.session("Bearer ann.3")
        self.assertEqual(len(self.checks), 2)
        self.session("Bearer ann.99")
        self.clock.advance(KEPT_S)
        self.session("Bearer ann.99")
        self.assertEqual(len(self.checks), 4)

    def test_wrong_token(self) -> None:
        """A token that is refused is in no answer and no log, which says why."""
        error = self.refused("Bearer eyJh-secret")
        self.assertEqual(error.status, 401)
        self.assertIn("Bearer realm=", error.headers["WWW-Authenticate"])
        self.assertNotIn("secret", str(error) + repr(self.log.mock_calls))
        self.assertIn("it has expired", repr(self.log.mock_calls))

    def test_once(self) -> None:
        """Requests with one login share a check, which goes on when the first client leaves."""
        self.held = []
        first, second = self.begin(basic("ann", "p")), self.begin(basic("ann", "p"))
        first.cancel()
        self.failureResultOf(first)
        self.held[0].callback(Login("User:ann"))
        self.assertEqual(self.successResultOf(second).principal, "User:ann")
        self.assertEqual(len(self.checks), 1)

    def test_ends(self) -> None:
        """A login tells for how long it goes on, also when it is kept."""
        for header, expected in (
            ("Bearer ann.50", (50.0, 45.0)),
            (basic("ann", "p"), (None, None)),
        ):
            for passed_s, left_s in zip((0, 5), expected, strict=True):
                self.clock.advance(passed_s)
                asked = Deferred.fromCoroutine(self.logins.login(header, "c"))
                self.clock.advance(0)
                self.assertEqual(self.successResultOf(asked), Login("User:ann", left_s))
        self.assertEqual((len(self.checks), self.logins.names), (2, ["basic", "bearer"]))

    def test_too_many(self) -> None:
        """A login whose check is refused may be tried again; it is told after a delay, too."""
        self.held = []
        waiting = self.begin(basic("ann", "p"))
        self.held[0].errback(TooManyWaiting())
        self.assertNoResult(waiting)
        self.clock.advance(0.1)
        error = self.failureResultOf(waiting, WebError).value
        self.assertEqual((error.status, error.headers["Retry-After"]), (503, "1"))

    def test_left(self) -> None:
        """A check that no request waits for any more is cancelled, also before it has begun."""
        self.held = []
        waiting = self.begin(basic("ann", "p"))
        waiting.cancel()
        self.failureResultOf(waiting)
        self.assertTrue(self.held[0].called)
        call = Call("GET", "/", (), {}, {"authorization": basic("ben", "p")}, b"", ANONYMOUS, "c")
        waiting = Deferred.fromCoroutine(self.logins.session(call))
        waiting.cancel()
        self.failureResultOf(waiting)
        self.clock.advance(0)
        self.assertEqual(self.checks, ["ann"])

    def test_users_change_meanwhile(self) -> None:
        """A login whose check began before users have changed is not kept."""
        self.held = []
        waiting = self.begin(basic("ann", "p"))
        self.logins.forget()
        self.held[0].callback(Login("User:ann"))
        self.successResultOf(waiting)
        self.begin(basic("ann", "p"))
        self.assertEqual(len(self.checks), 2)

    def test_kept(self) -> None:
        """A limited number of logins is kept, without the passwords."""
        for number in range(MOST_KEPT + 1):
            self.session(basic(f"u{number}", "p"))
        self.assertEqual(len(self.logins._kept), MOST_KEPT)
        self.session(basic("u0", "p"))
        self.assertEqual(len(self.checks), MOST_KEPT + 2)
        self.assertEqual({len(key) for key in self.logins._kept}, {32})

    def test_broken_checker(self) -> None:
        """A checker that fails otherwise is logged, and no client is let in."""
        self.held = []
        waiting = self.begin(basic("ann", "p"))
        self.held[0].errback(OSError("disk"))
        self.clock.advance(0.1)
        self.assertEqual(self.failureResultOf(waiting, WebError).value.status, 503)
        self.log.failure.assert_called_once()

    def test_for_another(self) -> None:
        """A broker speaks for the client of a request that it forwards; no other client may do so."""
        headers = {FOR_PRINCIPAL: quote("User:CN=ünn, O=x")}
        self.assertEqual(self.session(session=BROKER, headers=headers), ("User:CN=ünn, O=x", "HTTPS"))
        self.assertEqual(self.refused(session=Session("User:CN=eve"), headers=headers).status, 403)
        self.assertEqual(self.refused(headers=headers).status, 401)
        self.assertEqual(self.session(basic("eve", "p"), headers=headers).principal, "User:eve")


class CertificatesTests(SynchronousTestCase):
    def ask(self, own: Session, **headers: str) -> Deferred[Session]:
        """Ask for the session of a request."""
        certificates = Certificates(lambda: ["User:CN=broker"])
        call = Call("GET", "/", (), {}, {FOR_PRINCIPAL if k == "by" else k: v for k, v in headers.items()})
        return Deferred.fromCoroutine(certificates.session(attrs.evolve(call, session=own)))

    def session(self, own: Session, **headers: str) -> Session:
        """Return the session of a request."""
        return self.successResultOf(self.ask(own, **headers))

    def test_own(self) -> None:
        """A client is who its certificate says, or anonymous; a password does not count."""
        ann = Session("User:CN=ann", "HTTPS")
        self.assertEqual(self.session(ann), ann)
        self.assertEqual(self.session(ann, authorization=basic("broker", "p")), ann)
        self.assertEqual(self.session(ANONYMOUS), ANONYMOUS)

    def test_for_another(self) -> None:
        """A broker speaks for clients, also for those without a certificate; others only for themselves."""
        named = quote("User:CN=ünn, O=x")
        self.assertEqual(self.session(BROKER, by=named), ("User:CN=ünn, O=x", "HTTPS"))
        self.assertEqual(self.session(BROKER, by="User:ANONYMOUS"), ANONYMOUS)
        self.assertEqual(self.session(ANONYMOUS, by="User:ANONYMOUS"), ANONYMOUS)
        for own in (ANONYMOUS, Session("User:CN=eve", "HTTPS")):
            for principal in (named, "User%3ACN%3Dbroker", ""):
                error = self.failureResultOf(self.ask(own, by=principal), WebError).value
                self.assertEqual(error.status, 403)


class SiteTests(SynchronousTestCase):
    def ask(self, site: Site, name: str, **headers: str) -> tuple[int, Any]:
        """Ask a site; return the status, and the call that its application got."""
        calls: list[Call] = []

        def answer(call: Call) -> Answer:
            calls.append(call)
            return Answer(200)

        site.mount(("closed",), lambda: answer)
        site.mount(("health",), lambda: answer, public=True)
        site.mount(("own",), lambda: answer, has_logins=True)
        call = Call("GET", "/", (name,), {}, headers)
        found = self.successResultOf(Deferred.fromCoroutine(site.answer(call)))
        return found.status, calls[0] if calls else None

    def test_closed(self) -> None:
        """Applications get requests that are logged in; public ones get all."""
        logins: Any = Mock()

        async def session(call: Call) -> Session:
            if "authorization" not in call.headers:
                raise WebError(401, "no")
            return BROKER

        logins.session = session
        self.assertEqual(self.ask(Site(None, logins), "closed")[0], 401)
        self.assertEqual(self.ask(Site(None, logins), "nowhere")[0], 401)
        self.assertEqual(self.ask(Site(None, logins), "closed", authorization="x")[1].session, BROKER)
        self.assertEqual(self.ask(Site(None, logins), "health")[0], 200)

    def test_open(self) -> None:
        """Applications see no password and no other principal if clients need not log in."""
        headers = {"authorization": "x", FOR_PRINCIPAL: "User:ann", "accept": "y"}
        for site, name in ((Site(), "closed"), (Site(None, Mock()), "health")):
            status, call = self.ask(site, name, **headers)
            self.assertEqual((status, dict(call.headers)), (200, {"accept": "y"}))

    def test_own(self) -> None:
        """An application with logins of its own gets the password where clients have to log in."""
        headers = {"authorization": "x", FOR_PRINCIPAL: "User:ann"}
        for site, expected in ((Site(), {}), (Site(None, Mock()), {"authorization": "x"})):
            status, call = self.ask(site, "own", **headers)
            self.assertEqual((status, dict(call.headers)), (200, expected))
