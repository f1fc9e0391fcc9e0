"""The supervisor's files: lock, note, and what is said of data that is there already."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.broker.lock_holder import Holder, find_holder
from kafkatx.daemon.process_file import ProcessNote, read_note, read_pid
from kafkatx.errors import SettingError
from kafkatx.supervisor.directory import Directory, check_tree, idle_brokers, past_id


class DirectoryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Name a directory."""
        self.path = os.path.abspath(self.mktemp())

    def meta(self, *names: str, text: str = "version=1\nbroker.id=3\ncluster.id=abc\n") -> str:
        """Write meta.properties below the directory; return its folder."""
        folder = os.path.join(self.path, *names)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "meta.properties"), "w") as file:
            file.write(text)
        return folder

    def test_lock(self) -> None:
        """One supervisor at a time has a directory, and is found there."""
        directory = Directory(self.path)
        directory.lock()
        self.assertEqual(find_holder(self.path), Holder(os.getpid()))
        error = self.assertRaises(SettingError, Directory(self.path).lock)
        self.assertIn(f"log.dirs={self.path}: locked by another broker (pid {os.getpid()})", str(error))
        directory.unlock()
        self.assertEqual(find_holder(self.path), Holder(stale_pid=os.getpid()))
        Directory(self.path).lock()

    def test_no_directory(self) -> None:
        """A directory that cannot be made is named."""
        with open(self.path, "w"):
            pass
        error = self.assertRaises(SettingError, Directory(os.path.join(self.path, "x")).lock)
        self.assertIn("cannot be used", str(error))

    def test_note(self) -> None:
        """The note is written where status looks for it, and removed."""
        directory = Directory(self.path)
        directory.lock()
        note = ProcessNote(os.getpid(), "1", "127.0.0.1:1")
        directory.write_note(note, pid_file=True)
        self.assertEqual((read_note(self.path), read_pid(self.path)), (note, os.getpid()))
        directory.remove_note()
        self.assertEqual((read_note(self.path), read_pid(self.path)), (None, None))

    def test_past_id(self) -> None:
        """The broker of used log dirs is known; those of several brokers are refused."""
        self.assertIsNone(past_id([self.path]))
        self.meta("1")
        self.assertIsNone(past_id([self.path]))
        self.meta()
        self.assertEqual(past_id([self.path, "/missing"]), 3)
        other = self.meta("other", text="node.id=0\n")
        self.assertEqual(past_id([other]), 0)
        error = self.assertRaises(SettingError, past_id, [self.path, other])
        self.assertIn(f"{other} to broker 0", str(error))

    def test_lost_tree(self) -> None:
        """Brokers' data without the cluster's state are refused; new directories are not."""
        tree = os.path.join(self.path, "tree")
        os.makedirs(os.path.join(self.path, "2"))
        directories = [os.path.join(self.path, name) for name in ("1", "2")]
        check_tree(tree, directories)
        self.meta("2")
        for content in (None, ""):
            if content is not None:
                with open(tree, "w") as file:
                    file.write(content)
            error = self.assertRaises(SettingError, check_tree, tree, directories)
            self.assertIn(f"{tree}: the cluster's state is missing or empty", str(error))
        with open(tree, "w") as file:
            file.write("x")
        check_tree(tree, directories)

    def test_idle(self) -> None:
        """Brokers that have data and are not started are named."""
        for name in ("1", "2", "10", "t-0"):
            self.meta(name)
        os.makedirs(os.path.join(self.path, "7"))
        self.assertEqual(list(idle_brokers(self.path, [os.path.join(self.path, "1")])), ["10", "2"])
        self.assertEqual(list(idle_brokers("/missing", [])), [])
