"""The file of the tree: everything written is there again, and damage is noticed."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import RequestError, SettingError
from kafkatx.metadata.sqlite.database import DatabaseDamaged
from kafkatx.metadata.tree.local.database import Stored, StoredSession, TreeDatabase
from kafkatx.metadata.tree.nodes import Node

FLIPS = 150


class TreeDatabaseTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a file with some nodes and sessions."""
        self.path = os.path.join(os.path.abspath(self.mktemp()), "tree.sqlite3")
        self.database = TreeDatabase(self.path)
        self.addCleanup(lambda: self.database.close())
        nodes: dict[str, Node | None] = {"/": Node(b"", 0, 0, sequence=1), "/a": Node(b"1", 1, 1)}
        nodes |= {f"/a/{number}": Node(b"x" * number, 2, 3, 4, 5, 6) for number in range(100)}
        self.database.write(Stored(nodes, {5: StoredSession("token", 0.3)}, 3, 6))

    def reopened(self) -> Stored:
        """Open the file again, and return what is in it."""
        self.database.close()
        self.database = TreeDatabase(self.path, 0)
        return self.database.load()

    def test_new(self) -> None:
        """A new file has the root only."""
        database = TreeDatabase(os.path.join(self.mktemp(), "tree.sqlite3"))
        self.addCleanup(database.close)
        self.assertEqual(database.load(), Stored({"/": Node(b"", 0, 0)}))

    def test_kept(self) -> None:
        """Nodes, their children, sessions and counters are read as they were written."""
        stored = self.reopened()
        self.assertEqual((stored.zxid, stored.last_session), (3, 6))
        self.assertEqual(stored.sessions, {5: StoredSession("token", 0.3)})
        self.assertEqual(stored.nodes["/a/7"], Node(b"xxxxxxx", 2, 3, 4, 5, 6))
        self.assertEqual(stored.nodes["/"], Node(b"", 0, 0, sequence=1, children={"a"}))
        parent = stored.nodes["/a"]
        assert parent is not None
        self.assertEqual(parent.children, {str(number) for number in range(100)})

    def test_changed(self) -> None:
        """Rows are replaced and deleted, and the seal follows."""
        self.database.write(Stored({"/a": Node(b"2", 1, 4, 1), "/a/3": None}, {5: None}, 4, 6))
        stored = self.reopened()
        self.assertEqual((len(stored.nodes), stored.sessions, stored.zxid), (101, {}, 4))
        changed = stored.nodes["/a"]
        assert changed is not None
        self.assertEqual(changed.data, b"2")

    def test_full_disk(self) -> None:
        """Changes that do not fit on the disk are not written in part."""
        before = self.reopened()
        (pages,) = self.database._db.execute("PRAGMA page_count").fetchone()
        self.database._db.execute(f"PRAGMA max_page_count={pages}")
        big: dict[str, Node | None] = {f"/b{number}": Node(b"x" * 9999, 5, 5) for number in range(50)}
        self.assertRaises(RequestError, self.database.write, Stored(big, {}, 9, 9))
        self.assertEqual(self.database.load(), before)
        self.assertEqual(self.reopened(), before)

    def test_any_flipped_bit(self) -> None:
        """A file with any one bit flipped is refused, or has everything that was written."""
        expected = self.reopened()
        self.database.close()
        with open(self.path, "rb") as file:
            sound = file.read()
        chance = random.Random(3)
        noticed = 0
        for _ in range(FLIPS):
            data = bytearray(sound)
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            with open(self.path, "wb") as file:
                file.write(data)
            try:
                self.assertEqual(self.reopened(), expected)
            except SettingError as error:
                self.assertIn(os.path.dirname(self.path), str(error))
                noticed += 1
        self.assertGreater(noticed, FLIPS // 10)

    def test_cut(self) -> None:
        """A truncated file is refused with its path."""
        self.database.close()
        for size in (100, 512, 4096, os.path.getsize(self.path) - 4096):
            kept = self.path + ".kept"
            shutil.copy(self.path, kept)
            os.truncate(self.path, size)
            error = self.assertRaises(DatabaseDamaged, TreeDatabase, self.path, 0)
            self.assertIn(self.path, str(error))
            shutil.move(kept, self.path)

    def test_lost_node(self) -> None:
        """A row that another program removes is noticed."""
        self.database.close()
        with sqlite3.connect(self.path) as other:
            other.execute("DELETE FROM nodes WHERE path = '/a/1'")
        other.close()
        self.assertRaises(DatabaseDamaged, TreeDatabase, self.path, 0)

    def test_no_parent(self) -> None:
        """A node without a parent is damage that a seal does not show."""
        self.database.write(Stored({"/b/c": Node(b"", 1, 1)}, {}, 4, 6))
        self.assertRaises(DatabaseDamaged, self.reopened)

    def test_second(self) -> None:
        """A second process cannot open the file, and is told the directory."""
        error = self.assertRaises(SettingError, TreeDatabase, self.path, 0)
        self.assertIn(f"the cluster in {os.path.dirname(self.path)}: in use by another broker", str(error))
