"""The part of the contract of trees on nodes, multis, watches and ordering."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    BadVersion,
    Change,
    Check,
    Create,
    Delete,
    EphemeralParent,
    NodeExists,
    NodeStat,
    NoNode,
    NotEmpty,
    Operation,
    Refused,
    SetData,
)
from kafkatx.testing.contracts.tree.case import TreeCase

Result = TypeVar("Result")


class NodesContract(TreeCase):
    """Nodes, multis, watches and ordering. Mixin."""

    async def test_interface(self) -> None:
        """Check that the tree provides ITree."""
        self.assertTrue(verifyObject(ITree, self.make_tree()))

    async def test_create_and_read(self) -> None:
        """Check that a new node has its data, version 0 and the transaction that made it."""
        tree = await self.connected()
        self.assertEqual(await self.multi(tree, Create("/t/a", b"data")), ("/t/a",))
        data, stat = await self.result(tree.read("/t/a"))
        self.assertEqual((data, stat.version, stat.ephemeral_owner), (b"data", 0, 0))
        self.assertEqual(stat.czxid, stat.mzxid)
        found = await self.result(tree.exists("/t/a"))
        self.assertEqual(found, stat)

    async def test_missing(self) -> None:
        """Check what reads of a node that does not exist give."""
        tree = await self.connected()
        self.assertFalse(await self.is_there(tree, "/t/a"))
        self.assertEqual((await self.failed(NoNode, tree.read("/t/a"))).path, "/t/a")
        await self.failed(NoNode, tree.children("/t/a"))

    async def test_paths(self) -> None:
        """Check that what is no path is refused at once."""
        tree = await self.connected()
        for path in ("", "t", "/t/", "//t", "/t/.", "/../t", "/t\0"):
            self.assertRaises(ValueError, tree.read, path)
            self.assertRaises(ValueError, Create, path)
        self.assertRaises(ValueError, Delete, "/")
        self.assertRaises(ValueError, tree.multi, ())

    async def test_sizes(self) -> None:
        """Check that a multi may have some hundred kilobytes, and that a larger one is refused harmlessly."""
        tree = await self.connected()
        data = b"x" * 450_000
        await self.multi(tree, Create("/t/a", data), Create("/t/b", data))
        self.assertEqual((await self.result(tree.read("/t/b")))[0], data)
        large = (SetData("/t/a", b"y"), SetData("/t/b", data), Create("/t/c", data), Create("/t/d", data))
        refused = await self.failed(Refused, tree.multi(large))
        self.assertIn("above the limit", str(refused))
        self.assertEqual((await self.result(tree.read("/t/a")))[0], data)
        self.assertFalse(await self.is_there(tree, "/t/c"))

    async def test_versions(self) -> None:
        """Check that a set raises version and mzxid, and that another version than the node's is refused."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a"))
        _, old = await self.result(tree.read("/t/a"))
        (stat,) = await self.multi(tree, SetData("/t/a", b"1", version=0))
        data, new = await self.result(tree.read("/t/a"))
        self.assertEqual((data, new.version, new.czxid, stat), (b"1", 1, old.czxid, new))
        self.assertGreater(new.mzxid, old.mzxid)
        await self.refused(BadVersion, tree, SetData("/t/a", b"2", version=0))
        await self.refused(BadVersion, tree, Delete("/t/a", version=0))
        await self.refused(BadVersion, tree, Check("/t/a", version=0))
        await self.multi(tree, Check("/t/a", version=1), SetData("/t/a", b"2"), Check("/t/a"))
        self.assertEqual((await self.result(tree.read("/t/a")))[0], b"2")

    async def test_errors(self) -> None:
        """Check the error of each operation that cannot be made."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a"), Create("/t/a/b"), Create("/t/e", ephemeral=True))
        await self.refused(NodeExists, tree, Create("/t/a"))
        await self.refused(NoNode, tree, Create("/t/x/y"))
        await self.refused(NotEmpty, tree, Delete("/t/a"))
        await self.refused(EphemeralParent, tree, Create("/t/e/b"))
        for operation in (Check("/t/x"), SetData("/t/x", b""), Delete("/t/x")):
            await self.refused(NoNode, tree, operation)

    async def test_multi_is_atomic(self) -> None:
        """Check that a multi with an operation that fails changes nothing, and names that operation."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a", b"old"), Create("/t/b"))
        operations: list[Operation] = [
            SetData("/t/a", b"new"),
            Create("/t/c"),
            Delete("/t/b"),
            Check("/t/a", 5),
            Delete("/t/x"),
        ]
        self.assertEqual(await self.refused(BadVersion, tree, *operations), 3)
        data, stat = await self.result(tree.read("/t/a"))
        self.assertEqual((data, stat.version), (b"old", 0))
        self.assertEqual(await self.result(tree.children("/t")), ["a", "b"])

    async def test_multi_is_one_transaction(self) -> None:
        """Check that operations see those before them, and share a transaction id."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a"), Create("/t/a/b"), SetData("/t/a", b"1", version=0))
        stats = [(await self.result(tree.read(path)))[1] for path in ("/t/a", "/t/a/b")]
        self.assertEqual({stat.czxid for stat in stats} | {stats[0].mzxid}, {stats[0].czxid})
        self.assertEqual(await self.multi(tree, Delete("/t/a/b"), Delete("/t/a")), (None, None))

    async def test_transactions_of_the_tree(self) -> None:
        """Check that transaction ids increase over nodes and sessions: a later write has the higher one."""
        first, second = await self.connected(), await self.connected()
        await self.multi(first, Create("/t/z"))
        await self.multi(second, Create("/t/a"))
        await self.multi(first, SetData("/t/z", b"1"))
        await self.result(second.sync())
        stats = [(await self.result(second.read(path)))[1] for path in ("/t/z", "/t/a")]
        self.assertTrue(stats[0].czxid < stats[1].czxid < stats[0].mzxid, stats)

    async def test_sequential(self) -> None:
        """Check that sequential names end with ten digits that increase, also after a deletion."""
        tree = await self.connected()
        names: list[str] = []
        for _ in range(3):
            (path,) = await self.multi(tree, Create("/t/c-", b"x", sequential=True))
            assert isinstance(path, str)
            names.append(path)
            await self.multi(tree, Delete(path))
        self.assertEqual(names, [f"/t/c-{number:010d}" for number in range(3)])
        first, second = await self.multi(
            tree, Create("/t/d-", sequential=True), Create("/t/e", sequential=True)
        )
        self.assertEqual((first, second), ("/t/d-0000000003", "/t/e0000000004"))

    async def test_watches(self) -> None:
        """Check which changes each kind of watch reports."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a"))
        create = Create("/t/a/b")
        for watched, operation, change in (
            (tree.read, SetData("/t/a", b"1"), Change.DATA),
            (tree.exists, SetData("/t/a", b"2"), Change.DATA),
            (tree.children, create, Change.CHILDREN),
            (tree.children, Delete("/t/a/b"), Change.CHILDREN),
            (tree.children, Delete("/t/a"), Change.DELETED),
            (tree.exists, Create("/t/a"), Change.CREATED),
            (tree.exists, Delete("/t/a"), Change.DELETED),
        ):
            changes: list[Change] = []
            await self.result(watched("/t/a", changes.append).addCallback(lambda _: None))
            await self.multi(tree, operation)
            self.assertEqual(changes, [change], operation)

    async def test_watches_of_others(self) -> None:
        """Check that a watch reports nothing of other nodes, other kinds of change or failed multis."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a"))
        changes: list[Change] = []
        await self.result(tree.read("/t/a", changes.append))
        await self.result(tree.children("/t", changes.append))
        await self.multi(tree, Create("/t/a/b"), SetData("/t/a/b", b"1"), SetData("/t", b"1"))
        await self.refused(NoNode, tree, SetData("/t/a", b"1"), Create("/t/c"), Check("/t/x"))
        self.assertEqual(changes, [])

    async def test_watch_fires_once(self) -> None:
        """Check that a watch reports the first change only, and that a read that fails sets none."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a"))
        changes: list[Change] = []
        await self.result(tree.read("/t/a", changes.append))
        await self.failed(NoNode, tree.read("/t/b", changes.append))
        for data in (b"1", b"2"):
            await self.multi(tree, SetData("/t/a", data), Create(f"/t/b{data.decode()}"))
        await self.multi(tree, Create("/t/b"))
        self.assertEqual(changes, [Change.DATA])

    async def test_watch_comes_before_the_change_is_seen(self) -> None:
        """Check that a session that reads a change of another has had its watch called before."""
        writer, reader = await self.connected(), await self.connected()
        await self.multi(writer, Create("/t/a", b"0"))
        await self.result(reader.sync())
        changes: list[Change] = []
        await self.result(reader.read("/t/a", changes.append))
        seen: list[tuple[bytes, int]] = []
        write = writer.multi([SetData("/t/a", b"1")])
        while not seen or seen[-1][0] != b"1":
            data, _ = await self.result(reader.read("/t/a"))
            seen.append((data, len(changes)))
        await self.result(write)
        self.assertEqual(set(seen) - {(b"0", 0), (b"0", 1)}, {(b"1", 1)})

    async def test_order(self) -> None:
        """Check that a session's requests are made, and answered, in the order of the calls."""
        tree = await self.connected()
        await self.multi(tree, Create("/t/a"))
        fired: list[int] = []
        reads: list[Deferred[tuple[bytes, NodeStat]]] = []

        def note(number: int) -> Callable[[Result], Result]:
            def noted(result: Result) -> Result:
                fired.append(number)
                return result

            return noted

        for number in range(20):
            tree.multi([SetData("/t/a", b"%d" % number)]).addCallback(note(2 * number))
            reads.append(tree.read("/t/a").addCallback(note(2 * number + 1)))
        found = [await self.result(read) for read in reads]
        self.assertEqual([data for data, _ in found], [b"%d" % number for number in range(20)])
        self.assertEqual(fired, list(range(40)))

    async def test_two_sessions(self) -> None:
        """Check that of two sessions that set the same version one wins, and the other learns it."""
        first, second = await self.connected(), await self.connected()
        await self.multi(first, Create("/t/a"))
        await self.result(second.sync())
        writes = [tree.multi([SetData("/t/a", b"x", version=0)]) for tree in (first, second)]
        outcomes = [await self.ending(write) for write in writes]
        self.assertEqual(sorted(outcomes), ["BadVersion", "tuple"])
        (_, stat) = await self.result(second.read("/t/a"))
        self.assertEqual(stat.version, 1)
