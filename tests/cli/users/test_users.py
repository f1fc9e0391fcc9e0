"""``kafkatx users``, on a broker, on the state of one that does not run, and on a file."""

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
from kafkatx.security.passwords import check_password, read_users
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


class OfflineTests(UsersTestCase):
    def test_state(self) -> None:
        """Users of a broker that does not run are in its state, which may be new."""
        data = self.mktemp()
        self.printed("add", "bob", "--offline", "--data", data, "--iterations", "4096")
        self.printed("add", "bob", "--offline", "--data", data, "-m", "SCRAM-SHA-256")
        expected = "bob\tSCRAM-SHA-256\t8192\nbob\tSCRAM-SHA-512\t4096\n"
        self.assertEqual(self.printed("list", "--offline", "--data", data), expected)
        self.printed("remove", "bob", "--offline", "--data", data, "-m", "SCRAM-SHA-256")
        self.assertEqual(self.printed("list", "--offline", "--data", data), "bob\tSCRAM-SHA-512\t4096\n")
        self.printed("remove", "eve", "--offline", "--data", data, code=1)

    def test_cluster(self) -> None:
        """The state of a cluster is not that of one broker."""
        config = self.mktemp()
        with open(config, "w") as file:
            file.write("zookeeper.connect=127.0.0.1:1\n")
        self.printed("add", "bob", "--offline", "--config", config, code=2)
        self.assertIn("in a cluster, add users through a broker", " ".join(self.err.text().split()))

    def test_file(self) -> None:
        """A file has hashes of passwords, and only its owner can read it."""
        path = self.mktemp()
        self.printed("add", "bob", "--file", path)
        self.printed("add", "ann", "--file", path)
        with open(path) as file:
            text = file.read()
        self.assertTrue(check_password("sesame", read_users(text)["bob"]))
        self.assertNotIn("sesame", text)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(self.printed("list", "--file", path), "ann\tPLAIN\t-\nbob\tPLAIN\t-\n")
        self.printed("remove", "ann", "--file", path)
        self.assertEqual(self.printed("list", "--file", path), "bob\tPLAIN\t-\n")
        self.printed("remove", "ann", "--file", path, code=1)
        for name in ("a:b", "#a", " a", ""):
            self.printed("add", name, "--file", path, code=1)
        with open(path, "w") as file:
            file.write("bob:sesame\n")
        self.printed("list", "--file", path, code=1)
        self.assertIn("line 1", self.err.text())
        self.assertEqual(os.listdir(os.path.dirname(os.path.abspath(path))).count(os.path.basename(path)), 1)


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
