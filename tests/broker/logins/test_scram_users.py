"""Users with SCRAM credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twisted.cred.credentials import UsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred, execute
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins import scram_users
from kafkatx.broker.logins.password_checks import PasswordChecks
from kafkatx.broker.logins.portal import ScramLogin
from kafkatx.broker.logins.scram_users import InventedCredentials, ScramPasswords, ScramUsers, Stored
from kafkatx.broker.password_turns import password_turns
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential

SHA_256, SHA_512 = MECHANISMS


def stored(password: str, mechanism: str = SHA_256, salt: bytes = b"salt", iterations: int = 4096) -> str:
    """Return the text of a credential."""
    return str(ScramCredential.of_password(MECHANISMS[mechanism], password, salt, iterations))


class ScramUsersTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Store the credentials of alice."""
        self.users = {"alice": {SHA_256: stored("a")}}
        self.checker = ScramUsers(lambda: self.users)

    def begin(self, user: str, mechanism: str = SHA_256) -> tuple[ScramLogin, Any]:
        """Begin a login; return its credentials, and what the checker returns."""
        login = ScramLogin(user.encode(), mechanism)
        return login, self.checker.requestAvatarId(login)

    def test_proved(self) -> None:
        """The exchange gets the user's keys; the user is let in once that has the proof."""
        login, checking = self.begin("alice")
        self.assertEqual(str(self.successResultOf(login.offered)), self.users["alice"][SHA_256])
        self.assertNoResult(checking)
        login.proof.callback(True)
        self.assertEqual(self.successResultOf(checking), "alice")

    def test_not_proved(self) -> None:
        """A user without a proof is refused, and so are an unknown user and another mechanism with one."""
        for user, mechanism, proof in (
            ("alice", SHA_256, False),
            ("bob", SHA_256, True),
            ("alice", SHA_512, True),
        ):
            login, checking = self.begin(user, mechanism)
            self.successResultOf(login.offered)
            login.proof.callback(proof)
            self.failureResultOf(checking, UnauthorizedLogin)

    def test_changed_meanwhile(self) -> None:
        """A user whose credentials change or vanish during the exchange is refused."""
        for users in ({}, {"alice": {SHA_256: stored("b")}}):
            login, checking = self.begin("alice")
            before, self.users = self.users, users
            login.proof.callback(True)
            self.failureResultOf(checking, UnauthorizedLogin)
            self.users = before

    def test_damaged(self) -> None:
        """Credentials that cannot be read fit no password; the log says whose."""
        self.users = {"alice": {SHA_256: "salt=x"}}
        with capturedLogs() as logged:
            login, checking = self.begin("alice")
        login.proof.callback(True)
        self.failureResultOf(checking, UnauthorizedLogin)
        self.assertIn("alice", str(logged[0]))


class InventedTests(SynchronousTestCase):
    def test_same_everywhere(self) -> None:
        """All brokers of a cluster, and no others, invent the same salt for a user."""
        users = {"alice": {SHA_256: stored("a", salt=b"0123456789", iterations=5000)}}
        found = [InventedCredentials().of("bob", SHA_256, users) for _ in range(2)]
        self.assertEqual(found[0].salt, found[1].salt)
        self.assertEqual((len(found[0].salt), found[0].iterations), (10, 5000))
        self.assertNotEqual(found[0].salt, InventedCredentials().of("eve", SHA_256, users).salt)
        other = {"alice": {SHA_256: stored("b", salt=b"0123456789", iterations=5000)}}
        self.assertNotEqual(found[0].salt, InventedCredentials().of("bob", SHA_256, other).salt)

    def test_known_users_cost_the_same(self) -> None:
        """Users are looked through for an example when they have changed, not for each unknown one."""
        looked: list[str] = []
        found = scram_users._examples

        def look(mechanism: str, users: Stored) -> Iterator[ScramCredential]:
            looked.append(mechanism)
            return found(mechanism, users)

        self.patch(scram_users, "_examples", look)
        users: Stored = {"alice": {SHA_256: stored("a")}}
        checker = ScramUsers(lambda: users)
        for user in ("alice", "bob", "alice", "eve"):  # known and unknown
            checker.requestAvatarId(ScramLogin(user.encode(), SHA_256))
        self.assertEqual(looked, [SHA_256])
        users = {**users, "bob": {SHA_256: stored("b")}}
        checker.requestAvatarId(ScramLogin(b"alice", SHA_256))
        self.assertEqual(looked, [SHA_256] * 2)

    def test_iterations_of_users(self) -> None:
        """Unknown users have the iterations that users have, each always the same of them."""
        users = {
            name: {SHA_256: stored(name, iterations=count)}
            for name, count in (("alice", 4096), ("bob", 8192), ("cid", 16384))
        }
        invented = InventedCredentials()
        found = {f"u{number}": invented.of(f"u{number}", SHA_256, users).iterations for number in range(60)}
        self.assertEqual(set(found.values()), {4096, 8192, 16384})
        del users["bob"]
        later = {name: InventedCredentials().of(name, SHA_256, dict(users)).iterations for name in found}
        self.assertEqual(
            {name for name in found if found[name] != later[name]}, {n for n in found if found[n] == 8192}
        )

    def test_no_users(self) -> None:
        """Without users a broker invents the same salt again."""
        invented = InventedCredentials()
        self.assertEqual(invented.of("bob", SHA_256, {}).salt, invented.of("bob", SHA_256, {}).salt)


class PasswordTests(SynchronousTestCase):
    def test_removed_meanwhile(self) -> None:
        """A user who is removed, or gets another password, while the password is checked is not let in."""
        for later in ({}, {"alice": {SHA_256: stored("b")}}):
            users: dict[str, dict[str, str]] = {"alice": {SHA_256: stored("a")}}
            held: Deferred[None] = Deferred()

            def work(call: Callable[[], Any], held: Deferred[Any] = held) -> Deferred[Any]:
                return held.addCallback(lambda _: call())

            checks = PasswordChecks(work, password_turns())
            checker = ScramPasswords(lambda: users, checks)  # noqa: B023
            checking = checker.requestAvatarId(UsernamePassword(b"alice", b"a"))
            users = later
            held.callback(None)
            self.failureResultOf(checking, UnauthorizedLogin)

    def check(self, user: str, password: str) -> Deferred[str]:
        """Check the password of a user."""
        users = {
            "alice": {SHA_256: stored("old"), SHA_512: stored("a", SHA_512)},
            "bob": {SHA_256: stored("b")},
            "eve": {SHA_512: "damaged"},
        }
        checker = ScramPasswords(lambda: users, PasswordChecks(execute, password_turns()))
        return checker.requestAvatarId(UsernamePassword(user.encode(), password.encode()))

    def test_check(self) -> None:
        """The password has to fit the strongest credentials of the user."""
        for user, password in (("alice", "a"), ("bob", "b")):
            self.assertEqual(self.successResultOf(self.check(user, password)), user)
        for user, password in (("alice", "old"), ("bob", "a"), ("eve", "damaged"), ("nobody", "")):
            self.failureResultOf(self.check(user, password), UnauthorizedLogin)
