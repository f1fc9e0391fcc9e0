"""The boot id beside the logs tells if the machine has gone down since they were last used."""

from __future__ import annotations

import os

from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.logs.boot_id import BOOT_ID, NAME, is_same_boot, note_boot


class BootIdTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two log dirs, and the file of the boot id."""
        self.dirs = [self.mktemp(), self.mktemp()]
        for path in self.dirs:
            os.makedirs(path)
        self.boot_id = self.mktemp()
        self.boot("one")

    def boot(self, number: str) -> None:
        """Start the machine."""
        with open(self.boot_id, "w", encoding="ascii") as file:
            file.write(f"{number}\n")

    def same(self) -> bool:
        """Return what the next start finds."""
        return is_same_boot(self.dirs, self.boot_id)

    def test_killed(self) -> None:
        """A broker that was killed starts in the same boot; the first start is in none that is known."""
        self.assertFalse(self.same())
        note_boot(self.dirs, self.boot_id)
        self.assertTrue(self.same())

    def test_rebooted(self) -> None:
        """After a boot the logs are of another one, until that is noted."""
        note_boot(self.dirs, self.boot_id)
        self.boot("two")
        self.assertFalse(self.same())
        note_boot(self.dirs, self.boot_id)
        self.assertTrue(self.same())

    def test_one_dir(self) -> None:
        """One dir of another boot, without the file, or with a damaged one, is enough."""
        for content in (b"other\n", b"", b"\xff", None):
            note_boot(self.dirs, self.boot_id)
            path = os.path.join(self.dirs[1], NAME)
            if content is None:
                os.unlink(path)
            else:
                with open(path, "wb") as file:
                    file.write(content)
            self.assertFalse(self.same(), content)

    def test_unknown(self) -> None:
        """Without a boot id, or log dirs, the boot is not known."""
        note_boot(self.dirs, self.boot_id)
        self.assertFalse(is_same_boot([], self.boot_id))
        os.unlink(self.boot_id)
        self.assertFalse(self.same())
        note_boot(self.dirs, self.boot_id)

    def test_dir_is_gone(self) -> None:
        """A dir that cannot be written is told, and the others are written."""
        os.rmdir(self.dirs[0])
        with capturedLogs() as events:
            note_boot(self.dirs, self.boot_id)
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn])
        self.assertTrue(is_same_boot(self.dirs[1:], self.boot_id))

    def test_linux(self) -> None:
        """Linux has a boot id."""
        if not os.path.exists(BOOT_ID):
            self.skipTest("no Linux")
        note_boot(self.dirs)
        self.assertTrue(is_same_boot(self.dirs))
