"""``kafkatx users`` on the state of a broker that does not run, and on a file."""

from __future__ import annotations

import os

from kafkatx.cli.users import offline
from kafkatx.security.passwords import check_password, read_users
from tests.cli.users.test_users import UsersTestCase


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

    def test_modes_and_owners(self) -> None:
        """New directories and files are their owner's alone, which is that of what they are in."""
        parent = os.path.abspath(self.mktemp())
        os.makedirs(parent)
        data = os.path.join(parent, "data")
        given: dict[str, int] = {}
        self.patch(offline, "give", lambda path, owner: given.update({path: owner.st_ino}))
        self.printed("add", "bob", "--offline", "--data", data)
        paths = [os.path.join(data, name) for name in os.listdir(data)]
        self.assertEqual({os.stat(path).st_mode & 0o777 for path in paths}, {0o600})
        self.assertEqual(os.stat(data).st_mode & 0o777, 0o700)
        of_data = dict.fromkeys(paths, os.stat(data).st_ino)
        self.assertEqual(given, {data: os.stat(parent).st_ino, **of_data})

    def test_give(self) -> None:
        """Root gives a file to another owner; others, and root its own, change nothing."""
        path = self.mktemp()
        with open(path, "w"):
            pass
        calls: list[tuple[object, ...]] = []
        self.patch(os, "chown", lambda *arguments, **_: calls.append(arguments))
        found = os.stat(path)
        other = os.stat_result((*found[:4], 4711, 4712, *found[6:]))
        for user, owner in ((1000, other), (0, found), (0, other)):
            self.patch(os, "geteuid", lambda user=user: user)
            offline.give(path, owner)
        self.assertEqual(calls, [(path, 4711, 4712)])

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
