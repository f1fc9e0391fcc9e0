"""Sessions of the console."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.login.sessions import LONGEST_S, Sessions, read_cookie
from kafkatx.net.requests import Session

ANN = Session("User:ann", "HTTP")


class SessionsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make sessions."""
        self.clock = Clock()
        self.sessions = Sessions(self.clock.seconds, 100.0, 3)

    def test_shares(self) -> None:
        """A principal with many sessions loses its own, not those of others."""
        ben = self.sessions.begin("ben", Session("User:ben", "HTTP"))
        anns = [self.sessions.begin("ann", ANN) for _ in range(5)]
        self.assertEqual(
            [self.sessions.holds(token) for token in (ben, *anns)], [True] + [False] * 3 + [True] * 2
        )

    def test_tokens(self) -> None:
        """A session is found by its token alone, which is not kept, and is another one each time."""
        tokens = {self.sessions.begin("ann", ANN) for _ in range(3)}
        self.assertEqual(len(tokens), 3)
        for token in tokens:
            self.assertGreaterEqual(len(token), 43)
            self.assertEqual(self.sessions.find(token), ANN)
            self.assertNotIn(token, repr(self.sessions._logins))
        self.assertIsNone(self.sessions.find("other"))
        self.assertIsNone(self.sessions.find("\ud800"))

    def test_idle(self) -> None:
        """A session ends when it is not used; asking whether it holds is no use of it."""
        token = self.sessions.begin("ann", ANN)
        for _ in range(5):
            self.clock.advance(99)
            self.assertIsNotNone(self.sessions.find(token))
        self.clock.advance(99)
        self.assertTrue(self.sessions.holds(token))
        self.clock.advance(1)
        self.assertFalse(self.sessions.holds(token))
        self.assertIsNone(self.sessions.find(token))
        self.assertEqual(len(self.sessions), 0)

    def test_longest(self) -> None:
        """A session that is used ends as well, one day."""
        token, passed_s = self.sessions.begin("ann", ANN), 0
        while self.sessions.find(token) is not None:
            self.clock.advance(50)
            passed_s += 50
        self.assertEqual(passed_s, LONGEST_S)

    def test_ends(self) -> None:
        """A session ends with the login that it was begun with, and never later than one day."""
        short, long = (self.sessions.begin("", ANN, most_s) for most_s in (60.0, 10 * LONGEST_S))
        self.clock.advance(59)
        self.assertIsNotNone(self.sessions.find(short))
        self.clock.advance(1)
        self.assertIsNone(self.sessions.find(short))
        self.assertEqual(self.sessions._logins[next(iter(self.sessions._logins))].ends_s, LONGEST_S)
        self.assertIsNotNone(self.sessions.find(long))

    def test_most(self) -> None:
        """A login too many ends the session that was not used for longest."""
        first, second, third = (self.sessions.begin("ann", ANN) for _ in range(3))
        self.sessions.find(first)
        self.sessions.begin("ann", ANN)
        found = [self.sessions.holds(token) for token in (first, second, third)]
        self.assertEqual(found, [True, False, True])

    def test_end(self) -> None:
        """A session is ended by its token, or with all sessions of its user."""
        first, second = self.sessions.begin("ann", ANN), self.sessions.begin("ann", ANN)
        other = self.sessions.begin("bob", ANN)
        self.sessions.end(first)
        self.assertIsNone(self.sessions.find(first))
        self.sessions.end_of(["ann"])
        self.assertIsNone(self.sessions.find(second))
        self.assertIsNotNone(self.sessions.find(other))

    def test_cookies(self) -> None:
        """A cookie is found among others, by its whole name."""
        for header, value in (
            ("k=v", "v"),
            ("a=b; k=v=w; c", "v=w"),
            ("kk=v", ""),
            ("", ""),
        ):
            self.assertEqual(read_cookie(header, "k"), value, header)
