"""Hashes of passwords, and the file that has them."""

from __future__ import annotations

from base64 import b64encode

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.security import passwords
from kafkatx.security.passwords import HashError, check_password, format_users, hash_password, read_users


class HashTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Cheap hashes."""
        self.patch(passwords, "COST", 4)

    def test_check(self) -> None:
        """A password has its own hash, and each hash a salt of its own."""
        hashed = hash_password("geheim ö")
        self.assertTrue(check_password("geheim ö", hashed))
        self.assertFalse(check_password("geheim o", hashed))
        self.assertNotEqual(hash_password("geheim ö"), hashed)

    def test_rfc_7914(self) -> None:
        """The vector of RFC 7914, section 12, is a hash of its password."""
        key = bytes.fromhex("7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
        key += bytes.fromhex("d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887")
        salt = "U29kaXVtQ2hsb3JpZGU"  # SodiumChloride
        hashed = f"$scrypt$ln=14,r=8,p=1${salt}${b64encode(key).decode().rstrip('=')}"
        self.assertTrue(check_password("pleaseletmein", hashed))

    def test_too_expensive(self) -> None:
        """A hash that needs too much memory is refused before any is taken; so is a malformed one."""
        good = hash_password("x")
        for wrong in (
            good.replace("ln=4", "ln=24"),
            good.replace("ln=4", "ln=99"),
            good.replace("r=8", "r=0"),
            "",
            "x",
        ):
            self.assertRaises(HashError, check_password, "x", wrong)


class FileTests(SynchronousTestCase):
    def test_read(self) -> None:
        """A file is read back; comments and empty lines are skipped."""
        self.patch(passwords, "COST", 4)
        users = {"bob": hash_password("b"), "alice": hash_password("a")}
        self.assertEqual(read_users(format_users(users) + "\n \n"), users)

    def test_wrong(self) -> None:
        """A wrong line is told by its number, without its content."""
        for text in ("alice", "alice:secret", ":x", "a:$scrypt$ln=1,r=8,p=1$AAAAAAAA$x"):
            error = self.assertRaises(HashError, read_users, f"# users\n{text}\n")
            self.assertTrue(str(error).startswith("line 2: "), error)
            self.assertNotIn("secret", str(error))
        line = f"a:{hash_password('x')}\n"
        self.assertIn(
            "line 2: the user is there twice", str(self.assertRaises(HashError, read_users, line * 2))
        )
