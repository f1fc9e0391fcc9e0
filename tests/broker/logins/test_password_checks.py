"""Checks of passwords: fair by address, dropped with their clients, and not made again for known ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins import password_checks
from kafkatx.broker.logins.password_checks import Password, PasswordChecks
from kafkatx.broker.password_turns import MOST_OF_ADDRESS, password_turns
from kafkatx.net.fair_turns import TooManyWaiting


class PasswordChecksTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make checks with a worker that the test lets work."""
        self.work: list[tuple[Callable[[], Any], Deferred[Any]]] = []
        self.checked: list[str] = []
        self.checks = PasswordChecks(self.worker, password_turns())

    def worker(self, call: Callable[[], Any]) -> Deferred[Any]:
        """Note a call."""
        self.work.append((call, Deferred()))
        return self.work[-1][1]

    def check(self, user: str, address: str, right: bool = False, stored: object = "x") -> Deferred[None]:
        """Begin a check."""

        def matches() -> bool:
            self.checked.append(user)
            return right

        credentials = Password(user.encode(), b"p", address)
        return Deferred.fromCoroutine(self.checks.check(credentials, stored, matches))

    def finish(self, count: int) -> None:
        """Make some of the checks of the worker."""
        for _ in range(count):
            call, done = self.work.pop(0)
            done.callback(call())

    def test_addresses_have_turns(self) -> None:
        """A right password of another address is checked after one more of those that came first."""
        wrong = [self.check(f"eve{number}", "192.0.2.1") for number in range(10)]
        right = self.check("ann", "192.0.2.2", True)
        self.finish(3)
        self.assertEqual(self.checked, ["eve0", "eve1", "ann"])
        self.successResultOf(right)
        for one in wrong[:2]:
            self.failureResultOf(one, UnauthorizedLogin)

    def test_wrong_addresses_are_behind(self) -> None:
        """However many addresses had wrong passwords, a right one waits for one check of them at most."""
        addresses = [f"192.0.2.{number}" for number in range(8)]
        wrong = [self.check("eve", address) for _ in range(2) for address in addresses]
        self.finish(len(addresses))
        self.checked.clear()
        right = self.check("ann", "198.51.100.1", True)
        self.finish(3)
        self.assertEqual(self.checked, ["eve", "ann", "eve"])
        self.successResultOf(right)
        self.finish(6)
        for one in wrong:
            self.failureResultOf(one, UnauthorizedLogin)

    def test_too_many(self) -> None:
        """An address with many checks that wait is refused at once; another user of it takes a place."""
        waiting = [self.check("eve", "192.0.2.1") for _ in range(MOST_OF_ADDRESS + 1)]
        self.failureResultOf(self.check("eve", "192.0.2.1"), TooManyWaiting)
        self.check("ann", "192.0.2.1")
        self.failureResultOf(waiting[-1], TooManyWaiting)
        waiting[0].addErrback(lambda failure: failure.trap(CancelledError)).cancel()

    def test_left(self) -> None:
        """The check of a client that has gone is not made; the worker's turn ends only with its call."""
        first, second = self.check("a", "192.0.2.1"), self.check("b", "192.0.2.1")
        third = self.check("c", "192.0.2.1", True)
        for one in first, second:
            one.cancel()
            self.failureResultOf(one, CancelledError)
        self.assertEqual(len(self.work), 1)
        self.finish(2)
        self.assertEqual(self.checked, ["a", "c"])
        self.successResultOf(third)

    def test_known(self) -> None:
        """A right password is known for the same stored credentials; a limited number of them is."""
        self.patch(password_checks, "MOST_KNOWN", 1)
        for user, right in (("ann", True), ("eve", False)):
            checking = self.check(user, "192.0.2.1", right)
            self.finish(1)
            checking.addErrback(lambda failure: None)
            self.assertEqual(self.checks.knows(Password(user.encode(), b"p", ""), "x"), right)
        self.assertFalse(self.checks.knows(Password(b"ann", b"p", ""), "y"))
        self.assertFalse(self.checks.knows(Password(b"ann", b"q", ""), "x"))
        self.check("ben", "192.0.2.1", True)
        self.finish(1)
        self.assertFalse(self.checks.knows(Password(b"ann", b"p", ""), "x"))

    def test_unknown_user(self) -> None:
        """The password of an unknown user is checked as others are, and is never right."""
        checking = self.check("ann", "192.0.2.1", True, None)
        self.finish(1)
        self.failureResultOf(checking, UnauthorizedLogin)
        self.assertEqual(self.checked, ["ann"])
