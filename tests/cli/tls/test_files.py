"""The files of kafkatx tls init."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.tls.files import make
from kafkatx.errors import SettingError
from kafkatx.tls.keystore import read_identity


class FilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A directory."""
        self.directory = self.mktemp()

    def serial(self, path: str) -> int:
        """Return the serial number of a keystore's certificate."""
        with open(path, "rb") as file:
            return read_identity(file.read(), None, None).certificate.serial_number

    def test_private(self) -> None:
        """Keys are the owner's alone."""
        made = make(self.directory, (), ("alice",), 1)
        for name in os.listdir(self.directory):
            mode = os.stat(os.path.join(self.directory, name)).st_mode & 0o777
            secret = name.endswith(".key") or name in ("broker.pem", "user-alice.pem")
            self.assertEqual(mode, 0o600 if secret else 0o644, name)
        self.assertEqual((list(made.brokers), list(made.users)), (["broker"], ["alice"]))

    def test_renewed(self) -> None:
        """A second run keeps the authority, and renews the certificates."""
        first = make(self.directory, ("b.example",), (), 1)
        with open(first.ca, "rb") as file:
            authority = file.read()
        serial = self.serial(first.brokers["b.example"])
        second = make(self.directory, ("b.example",), (), 1)
        with open(second.ca, "rb") as file:
            self.assertEqual(file.read(), authority)
        self.assertNotEqual(self.serial(second.brokers["b.example"]), serial)

    def test_bad_names(self) -> None:
        """A name cannot leave the directory."""
        for name in ("../x", "", "a/b", "-"):
            self.assertRaises(SettingError, make, self.directory, (), (name,), 1)

    def test_foreign_key(self) -> None:
        """An authority whose key is another's is refused."""
        make(self.directory, (), (), 1)
        other = make(self.mktemp(), (), (), 1)
        os.replace(other.ca.replace("ca.pem", "ca.key"), os.path.join(self.directory, "ca.key"))
        self.assertRaises(SettingError, make, self.directory, (), (), 1)
