"""The note that a broker leaves about its process."""

from __future__ import annotations

import os

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.process_file import PID_FILE, PROCESS_FILE, ProcessNote, read_note, read_pid

NOTE = ProcessNote(4711, "1.2", "127.0.0.1:9092", "/data/kafkatx.log")


class ProcessNoteTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log dir."""
        self.dir = os.path.abspath(self.mktemp())
        os.makedirs(self.dir)

    def path(self, name: str) -> str:
        """Return the path of a file in the log dir."""
        return os.path.join(self.dir, name)

    def test_round_trip(self) -> None:
        """A note that was written is read again; only its owner can read the files."""
        NOTE.write(self.dir)
        NOTE.write_pid(self.dir)
        self.assertEqual((read_note(self.dir), read_pid(self.dir)), (NOTE, 4711))
        self.assertEqual(sorted(os.listdir(self.dir)), [PROCESS_FILE, PID_FILE])
        self.assertEqual({os.stat(self.path(name)).st_mode & 0o777 for name in os.listdir(self.dir)}, {0o600})

    def test_missing(self) -> None:
        """A dir without the files, or no dir at all, has no note."""
        for directory in (self.dir, "/nowhere"):
            self.assertIsNone(read_note(directory))
            self.assertIsNone(read_pid(directory))

    def test_damaged(self) -> None:
        """Files with other content are as good as missing."""
        for text in (
            "",
            "[]",
            "{}",
            '{"pid": "x", "version": "1", "bootstrap": "b", "log_file": null}',
            "\0",
            "1",
        ):
            for name in (PROCESS_FILE, PID_FILE):
                with open(self.path(name), "w") as file:
                    file.write(text if name == PROCESS_FILE else text + "x")
            self.assertIsNone(read_note(self.dir), text)
            self.assertIsNone(read_pid(self.dir), text)

    def test_remove(self) -> None:
        """A process removes its own files, not those of the one that came after it."""
        NOTE.write(self.dir)
        NOTE.write_pid(self.dir)
        attrs.evolve(NOTE, pid=1).remove([self.dir, "/nowhere"])
        self.assertEqual(read_note(self.dir), NOTE)
        NOTE.remove([self.dir])
        self.assertEqual(os.listdir(self.dir), [])

    def test_link(self) -> None:
        """A symbolic link in the place of the file is replaced; what it points to stays as it is."""
        victim = self.path("victim")
        with open(victim, "w") as file:
            file.write("precious")
        os.symlink(victim, self.path(PROCESS_FILE))
        os.symlink(victim, self.path(PROCESS_FILE + ".new"))
        NOTE.write(self.dir)
        self.assertEqual(read_note(self.dir), NOTE)
        with open(victim) as file:
            self.assertEqual(file.read(), "precious")
