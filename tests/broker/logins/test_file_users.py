"""Users in a file."""

from __future__ import annotations

import os
from typing import Any

from twisted.cred.credentials import UsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred, execute
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins import file_users
from kafkatx.broker.logins.file_users import FileUsers
from kafkatx.broker.logins.password_checks import PasswordChecks
from kafkatx.broker.password_turns import password_turns
from kafkatx.security import passwords
from kafkatx.security.passwords import format_users, hash_password


class FileUsersTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a file with the user alice."""
        self.patch(passwords, "COST", 4)
        self.path = self.mktemp()
        self.write(alice="a")
        self.checker = FileUsers(self.path, execute, PasswordChecks(self.work, password_turns()))
        self.hashes = 0
        self.held: Deferred[Any] | None = None
        check = passwords.check_password

        def counted(*arguments: Any) -> bool:
            self.hashes += 1
            return check(*arguments)

        self.patch(file_users, "check_password", counted)

    def write(self, **users: str) -> None:
        """Write the file."""
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(format_users({name: hash_password(password) for name, password in users.items()}))
        os.utime(self.path, ns=(0, len(users)))

    def check(self, user: str, password: str) -> Any:
        """Ask the checker."""
        return self.checker.requestAvatarId(UsernamePassword(user.encode(), password.encode()))

    def test_check(self) -> None:
        """A password is compared with its hash; unknown users cost as much as wrong passwords."""
        self.assertEqual(self.successResultOf(self.check("alice", "a")), "alice")
        for user, password in (("alice", "b"), ("bob", "a"), ("alice", ""), ("bob", "")):
            before = self.hashes
            self.failureResultOf(self.check(user, password), UnauthorizedLogin)
            self.assertEqual(self.hashes, before + 1)

    def test_known(self) -> None:
        """A login that has succeeded costs no hash again, until the password changes."""
        self.check("alice", "a")
        self.check("alice", "a")
        self.assertEqual(self.hashes, 1)
        self.write(alice="b", bob="b")
        self.failureResultOf(self.check("alice", "a"), UnauthorizedLogin)
        self.assertEqual(self.successResultOf(self.check("bob", "b")), "bob")

    def work(self, call: Any) -> Any:
        """Work at once, or when the test lets it."""
        return execute(call) if self.held is None else self.held.addCallback(lambda _: call())

    def test_removed_meanwhile(self) -> None:
        """A user who is removed from the file while its password is checked is not let in."""
        self.held = Deferred()
        checking = self.check("alice", "a")
        self.write()
        self.held.callback(None)
        self.failureResultOf(checking, UnauthorizedLogin)

    def test_removed(self) -> None:
        """A user that is removed from the file is not let in, though it was before."""
        self.check("alice", "a")
        self.write()
        self.failureResultOf(self.check("alice", "a"), UnauthorizedLogin)

    def test_one_look(self) -> None:
        """However many logins wait, one look at the file is under way, and the next one serves them all."""
        looks: list[Deferred[None]] = []

        def work(call: Any) -> Deferred[Any]:
            looks.append(Deferred())
            return looks[-1].addCallback(lambda _: call())

        self.checker = FileUsers(self.path, work, PasswordChecks(self.work, password_turns()))
        first, gone, last = (self.check("alice", password) for password in ("a", "a", "b"))
        gone.cancel()
        self.failureResultOf(gone)
        self.assertEqual(len(looks), 1)
        for number in range(3):
            looks[number].callback(None)
        self.assertEqual(self.successResultOf(first), "alice")
        self.failureResultOf(last, UnauthorizedLogin)
        self.assertEqual(len(looks), 3)

    def test_damaged(self) -> None:
        """A file that cannot be read has no users; the log says why, without its content."""
        for content in ("alice:secret", None):
            os.remove(self.path)
            if content is not None:
                with open(self.path, "w", encoding="utf-8") as file:
                    file.write(content)
            with capturedLogs() as logged:
                self.failureResultOf(self.check("alice", "a"), UnauthorizedLogin)
            self.assertEqual(len(logged), 1)
            self.assertNotIn("secret", str(logged))
