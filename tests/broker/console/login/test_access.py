"""Logins of the console, by the logins of its listener."""

from __future__ import annotations

import base64
from typing import Any
from unittest.mock import Mock

from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred, fail, succeed

from kafkatx.net.requests import Session
from kafkatx.web.calls import Call
from kafkatx.web.logins import Logins
from kafkatx.web.schemes import Basic, Bearer, Login, Scheme
from tests.broker.console.case import ConsoleCase

WRONG = {"username": "ann", "password": "wrong"}
RIGHT = {"username": "ann", "password": "r:ight"}
BASIC = Basic(lambda user, password, address: succeed(Login(f"User:{user}")))
BEARER = Bearer(
    lambda token: succeed(Login("User:bob", 300.0)) if token == "right" else fail(UnauthorizedLogin())
)
CERTIFICATE = Session("User:CN=ann", "HTTPS")


class AccessTests(ConsoleCase):
    def make_logins(self) -> Any:
        """Make logins; the password of all is ``r:ight``."""

        def check(user: str, password: str, address: str) -> Deferred[Login]:
            return succeed(Login(f"User:{user}")) if password == "r:ight" else fail(UnauthorizedLogin())

        self.log: Any = Mock()
        return Logins([Basic(check)], self.clock, self.log, 0.1, list)

    def log_in(self) -> str:
        """Log in; return the cookie."""
        answer = self.request("POST", "/console/api/v1/session", RIGHT)
        self.assertEqual(self.value(answer)["principal"], "User:ann")
        cookie, *flags = answer.headers["Set-Cookie"].split("; ")
        self.assertEqual(flags, ["Path=/console", "Max-Age=43200", "HttpOnly", "SameSite=Strict"])
        self.assertTrue(cookie.startswith("kafkatx_session_0="), cookie)
        return cookie

    def principal(self, cookie: str) -> str | None:
        """Return the principal of a session."""
        found: str | None = self.get("/session", headers={"cookie": cookie})["principal"]
        return found

    def test_needed(self) -> None:
        """Without a session nothing is answered but what tells how to log in, and the pages themselves."""
        for route in self.application.routes:
            target = "/console/api/v1" + route.pattern.replace("{", "").replace("}", "")
            answer = self.request(route.method, target, {})
            self.assertEqual(answer.status == 401, not route.public, route)
        self.assertEqual(self.refused(self.get("/actions", 401)), "LOGIN_REQUIRED")
        found = self.get("/session")
        self.assertEqual((found["authentication"], found["principal"]), ("password", None))
        self.assertNotEqual(self.request("GET", "/console/").status, 401)

    def test_login(self) -> None:
        """A session has the principal of its user, until its logout."""
        cookie = self.log_in()
        self.assertEqual(self.principal(cookie), "User:ann")
        self.assertEqual(self.get("/actions", headers={"cookie": f"a=b; {cookie}"})["total"], 0)
        self.assertIsNone(self.principal("kafkatx_session_0=other"))
        out = self.request("DELETE", "/console/api/v1/session", None, {"cookie": cookie})
        self.assertIn("Max-Age=0", out.headers["Set-Cookie"])
        self.assertIsNone(self.principal(cookie))

    def test_wrong(self) -> None:
        """A wrong password gets an answer later, without the header that has browsers ask for one."""
        asked = self.begin("POST", "/console/api/v1/session", WRONG)
        self.clock.advance(0.05)
        self.assertNoResult(asked)
        self.clock.advance(0.1)
        answer = self.successResultOf(asked)
        self.assertEqual(self.refused(self.value(answer, 401)), "LOGIN_FAILED")
        self.assertNotIn("WWW-Authenticate", answer.headers)
        self.assertNotIn("Set-Cookie", answer.headers)
        for body in ({}, {"username": "ann"}, {"username": 1, "password": "x"}):
            self.change("POST", "/session", body, 400)
        for user in ("", "a:b", "a" * 2000):
            self.change("POST", "/session", {"username": user, "password": "r:ight"}, 401)

    def test_ways(self) -> None:
        """A page knows whether it asks for a password, a token, or lets people choose."""
        both: list[Scheme] = [BASIC, BEARER]
        for schemes, ways in ((both, "both"), (both[1:], "token"), (both[:1], "password")):
            logins = Logins(schemes, self.clock, self.log, 0.1, list)
            self.application = self.console.application(logins, False)
            self.assertEqual(self.get("/session")["authentication"], ways)
        self.application = self.console.application(None, False)
        self.assertEqual(self.get("/session")["authentication"], "none")
        self.change("POST", "/session", {"token": "right"}, 400)

    def test_token(self) -> None:
        """A session that was begun with a token ends with it, and not with changed passwords."""
        logins = Logins([BEARER], self.clock, self.log, 0.1, list)
        self.application = self.console.application(logins, False)
        answer = self.request("POST", "/console/api/v1/session", {"token": " right\n"})
        self.assertEqual(self.value(answer)["principal"], "User:bob")
        cookie, *flags = answer.headers["Set-Cookie"].split("; ")
        self.assertIn("Max-Age=300", flags)
        before: Any = Mock(scram_credentials={"bob": {"SCRAM-SHA-256": "1"}})
        self.console._changed(Mock(before=before, after=Mock(scram_credentials={})))
        self.clock.advance(299)
        self.assertEqual(self.principal(cookie), "User:bob")
        self.clock.advance(1)
        self.assertIsNone(self.principal(cookie))

    def test_wrong_token(self) -> None:
        """A wrong token, none and too long a one get the same answer; passwords are not looked at."""
        self.application = self.console.application(Logins([BEARER], self.clock, self.log, 0.1, list), False)
        for token in ("wrong", "", " ", "right right", "x" * 20_000):
            found = self.change("POST", "/session", {"token": token}, 401)
            self.assertEqual(found["error"]["code"], "LOGIN_FAILED")
        self.change("POST", "/session", RIGHT, 401)
        self.change("POST", "/session", {"token": 1}, 400)

    def test_certificate(self) -> None:
        """A client with a certificate need not log in."""
        self.assertEqual(self.get("/session", session=CERTIFICATE)["principal"], "User:CN=ann")
        self.get("/actions", session=CERTIFICATE)

    def test_header(self) -> None:
        """A program may log in with each request; a wrong login is refused, whatever cookie it has."""
        cookie = self.log_in()
        for password, status in (("r:ight", 200), ("wrong", 401)):
            given = base64.b64encode(f"bob:{password}".encode()).decode()
            headers = {"authorization": f"Basic {given}", "cookie": cookie}
            found = self.get("/session", status, headers=headers)
            self.assertEqual(found.get("principal"), "User:bob" if status == 200 else None)
            answer = self.request("GET", "/console/api/v1/actions", headers=headers)
            self.assertEqual((answer.status, "WWW-Authenticate" in answer.headers), (status, False))
            call = Call("GET", "/", (), {}, headers)
            waiting = Deferred.fromCoroutine(self.application._access.is_logged_in(call))
            self.clock.advance(0)
            self.clock.advance(1)
            self.assertEqual(self.successResultOf(waiting), status == 200)

    def test_changed_user(self) -> None:
        """Sessions of a user whose credentials have changed end; others go on."""
        cookie = self.log_in()
        before: Any = Mock(scram_credentials={"ann": {"SCRAM-SHA-256": "1"}, "bob": {}})
        after: Any = Mock(scram_credentials={"ann": {"SCRAM-SHA-256": "1"}})
        self.console._changed(Mock(before=before, after=after))
        self.assertEqual(self.principal(cookie), "User:ann")
        self.console._changed(Mock(before=before, after=Mock(scram_credentials={"bob": {}})))
        self.assertIsNone(self.principal(cookie))

    def test_secure(self) -> None:
        """Over TLS the cookie stays with TLS."""
        self.application = self.console.application(self.make_logins(), True)
        answer = self.request("POST", "/console/api/v1/session", RIGHT)
        self.assertIn("; Secure", answer.headers["Set-Cookie"])
