"""``kafkatx users`` on a cluster, and the passwords that it reads."""

from __future__ import annotations

import getpass
import io
import os
import sys
from typing import Any

from kafkatx.blocking.admin import credentials as blocking
from kafkatx.cli.users import passwords, users
from kafkatx.clientcore.admin.security.credentials import UserCredential
from kafkatx.security import passwords as hashes
from tests.cli.command_case import CommandCase


class FakeCredentials:
    """The credentials of users at a cluster; *changes* are what was asked for."""

    found: tuple[UserCredential, ...] = ()
    changes: list[tuple[Any, ...]]

    def __init__(self, cluster: object) -> None:
        """Take any cluster."""

    def describe(self, names: Any = ()) -> list[UserCredential]:
        """Return the users."""
        return [one for one in self.found if not names or one.user in names]

    def set_password(self, *change: Any) -> None:
        """Record a change."""
        self.changes.append(change)

    def delete(self, user: str, mechanisms: Any) -> None:
        """Record a change."""
        self.changes.append((user, *mechanisms))


class UsersTestCase(CommandCase):
    def setUp(self) -> None:
        """A cluster, and a password in the environment."""
        super().setUp()
        FakeCredentials.changes = []
        FakeCredentials.found = (
            UserCredential("ann", "SCRAM-SHA-256", 4096),
            UserCredential("ann", "SCRAM-SHA-512", 8192),
        )
        self.patch(users, "connect", lambda bootstrap, timeout: self.fake.client())
        self.patch(blocking, "Credentials", FakeCredentials)
        self.patch(os, "environ", {**os.environ, "KAFKATX_PASSWORD": "sesame"})
        self.patch(hashes, "COST", 4)

    def printed(self, *arguments: str, code: int = 0, tty: bool = False) -> str:
        """Return the output of ``kafkatx users``, which must end with *code* and show no password."""
        self.use_streams(tty)
        self.assertEqual(self.run_command("users", *arguments), code, self.err.text())
        self.assertNotIn("sesame", self.out.text() + self.err.text())
        return self.out.text()


class ClusterTests(UsersTestCase):
    def test_add(self) -> None:
        """A user is added for the strongest mechanism, or for those that are named."""
        self.printed("add", "bob")
        self.printed("add", "bob", "-m", "SCRAM-SHA-256", "-m", "SCRAM-SHA-512", "--iterations", "4096")
        self.assertEqual(
            FakeCredentials.changes,
            [
                ("bob", "sesame", "SCRAM-SHA-512", 8192),
                ("bob", "sesame", "SCRAM-SHA-256", 4096),
                ("bob", "sesame", "SCRAM-SHA-512", 4096),
            ],
        )
        self.printed("add", "bob", "--iterations", "4095", code=2)

    def test_list(self) -> None:
        """A line for each credential, JSON, or a table."""
        self.assertEqual(self.printed("list"), "ann\tSCRAM-SHA-256\t4096\nann\tSCRAM-SHA-512\t8192\n")
        self.assertEqual(self.printed("list", "eve"), "")
        self.assertIn(
            '{"user": "ann", "mechanism": "SCRAM-SHA-256", "iterations": 4096}',
            self.printed("list", "--json"),
        )
        self.assertIn("mechanism", self.printed("list", tty=True))

    def test_remove(self) -> None:
        """All credentials of a user are removed, or those of one mechanism, if they are there."""
        self.printed("remove", "ann")
        self.printed("remove", "ann", "-m", "SCRAM-SHA-256")
        self.assertEqual(
            FakeCredentials.changes, [("ann", "SCRAM-SHA-256", "SCRAM-SHA-512"), ("ann", "SCRAM-SHA-256")]
        )
        self.printed("remove", "eve", code=1)
        FakeCredentials.found = FakeCredentials.found[:1]
        self.printed("remove", "ann", "-m", "SCRAM-SHA-512", code=1)
        self.assertIn("'ann' has no credentials for SCRAM-SHA-512", self.err.text())

    def test_places(self) -> None:
        """Options that name two places, or half of one, are refused."""
        for options in (("--file", "x", "--offline"), ("--data", "x"), ("--config", "x")):
            self.printed("add", "bob", *options, code=2)


class PasswordTests(UsersTestCase):
    def added(self) -> str:
        """Return the password of the last change."""
        password: str = FakeCredentials.changes[-1][1]
        return password

    def test_file(self) -> None:
        """The first line of a file is the password, before that of the environment."""
        path = self.mktemp()
        with open(path, "w") as file:
            file.write("from a file \nsecond\n")
        self.printed("add", "bob", "--password-file", path)
        self.assertEqual(self.added(), "from a file ")
        self.patch(sys, "stdin", io.StringIO("from a pipe\n"))
        self.printed("add", "bob", "--password-file", "-")
        self.assertEqual(self.added(), "from a pipe")
        self.printed("add", "bob", "--password-file", "/no/such", code=1)

    def test_person(self) -> None:
        """A person at a terminal is asked twice."""
        del os.environ["KAFKATX_PASSWORD"]
        self.patch(passwords, "interactive", lambda stream: True)
        answers = ["one", "one", "one", "two"]
        self.patch(getpass, "getpass", lambda prompt: answers.pop(0))
        self.printed("add", "bob")
        self.assertEqual(self.added(), "one")
        self.printed("add", "bob", code=2)
        self.assertIn("the two passwords differ", self.err.text())

    def test_none(self) -> None:
        """Without a password nothing is done."""
        del os.environ["KAFKATX_PASSWORD"]
        self.patch(passwords, "interactive", lambda stream: False)
        self.printed("add", "bob", code=2)
        self.assertIn("--password-file", self.err.text())
        self.assertEqual(FakeCredentials.changes, [])
