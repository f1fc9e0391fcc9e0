"""Tests of transactions on nodes in memory."""

from __future__ import annotations

import copy
import random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import (
    Change,
    Check,
    Create,
    Delete,
    NoNode,
    Operation,
    OperationError,
    SetData,
    parent_path,
)
from kafkatx.metadata.tree.nodes import Node, Transaction


def random_operation(source: random.Random) -> Operation:
    """Return an operation on one of a few paths."""
    path = source.choice(("/a", "/b", "/a/a", "/a/b", "/a/a/a"))
    kind = source.randrange(5)
    if kind == 0:
        return Check(path, source.randrange(-1, 2))
    if kind == 1:
        return SetData(path, b"%d" % source.randrange(10), source.randrange(-1, 2))
    if kind == 2:
        return Delete(path)
    return Create(path, ephemeral=source.random() < 0.2, sequential=source.random() < 0.2)


class TransactionTests(SynchronousTestCase):
    def test_undone_as_a_whole(self) -> None:
        """A transaction that fails leaves every node as it was; parents always list their children."""
        source = random.Random(5)
        nodes = {"/": Node(b"", 0, 0)}
        failed = 0
        for zxid in range(1, 600):
            before = copy.deepcopy(nodes)
            operations = [random_operation(source) for _ in range(source.randrange(1, 5))]
            try:
                Transaction(nodes, zxid, 9).make(operations)
            except OperationError:
                failed += 1
                self.assertEqual(nodes, before)
            listed = {f"{path.rstrip('/')}/{name}" for path, node in nodes.items() for name in node.children}
            self.assertEqual(listed, nodes.keys() - {"/"})
            self.assertFalse([path for path in nodes if path != "/" and nodes[parent_path(path)].owner])
        self.assertTrue(60 < failed < 540, failed)

    def test_changes(self) -> None:
        """The changes name nodes and parents in the order of the operations."""
        transaction = Transaction({"/": Node(b"", 0, 0)}, 1, 9)
        transaction.make([Create("/a"), SetData("/a", b""), Check("/a"), Delete("/a")])
        self.assertEqual(
            transaction.changes,
            [
                ("/a", Change.CREATED),
                ("/", Change.CHILDREN),
                ("/a", Change.DATA),
                ("/a", Change.DELETED),
                ("/", Change.CHILDREN),
            ],
        )

    def test_ephemeral(self) -> None:
        """An ephemeral node belongs to the session, another to none."""
        nodes = {"/": Node(b"", 0, 0)}
        Transaction(nodes, 4, 9).make([Create("/a", ephemeral=True), Create("/b")])
        self.assertEqual([nodes[path].stat.ephemeral_owner for path in ("/a", "/b")], [9, 0])
        self.assertEqual(nodes["/a"].stat.czxid, 4)
        self.assertRaises(NoNode, Transaction(nodes, 5, 9).make, [Delete("/c")])
