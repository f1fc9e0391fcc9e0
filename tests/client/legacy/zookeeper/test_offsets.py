"""Tests of kafkatx.client.legacy.zookeeper.offsets."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed

from kafkatx.client.legacy.zookeeper.offsets import GroupOffsets
from kafkatx.client.legacy.zookeeper.old_offsets import OldOffsets
from kafkatx.client.legacy.zookeeper.registry import GroupRegistry
from kafkatx.clientcore.errors import CommitFailed, ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.interfaces.nodes import Delete, SetData
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.tree.memory import MemoryTree
from kafkatx.types import TopicPartition
from tests.client.legacy.zookeeper.case import PATHS, TreeTestCase

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PATH = "/consumers/g/offsets/t/0"


class Coordinator:
    """The part of a consumer that keeps offsets."""

    def __init__(self) -> None:
        self.kept: dict[TopicPartition, OffsetAndMetadata] = {}

    def committed(self, *places: TopicPartition) -> Deferred[Any]:
        """Return the offsets."""
        return succeed({at: self.kept.get(at) for at in places})

    def commit(self, offsets: Any) -> Deferred[None]:
        """Keep offsets."""
        self.kept.update(offsets)
        return succeed(None)


class GroupOffsetsTests(TreeTestCase):
    def setUp(self) -> None:
        """Make the offsets of a member that owns a partition."""
        super().setUp()
        self.result(self.registry.claim({T0: 0}))
        self.offsets = self.made(self.tree, self.registry)

    def made(
        self, tree: MemoryTree, registry: GroupRegistry, coordinator: Any = None, in_tree: bool = True
    ) -> GroupOffsets:
        """Return the offsets of a member."""
        return GroupOffsets(tree, PATHS, registry, coordinator, in_tree, OldOffsets(tree, PATHS, False))

    def read(self, *places: TopicPartition) -> Any:
        """Read offsets."""
        return self.result(self.offsets.read(places, {"t": 2}))

    def commit(self, offset: int, at: TopicPartition = T0) -> None:
        """Commit."""
        self.result(self.offsets.commit({at: OffsetAndMetadata(offset)}))

    def test_commit(self) -> None:
        """An offset is created, then set, and read again."""
        self.assertEqual(self.read(T0), {})
        for offset in (1, 2):
            self.commit(offset)
            self.assertEqual(self.data(PATH), b"%d" % offset)
        self.assertEqual(self.read(T0, T1), {T0: 2})

    def test_others_change_nodes(self) -> None:
        """An offset's node that a tool has created or deleted meanwhile does not stop a commit."""
        self.make(PATH, b"7")
        self.commit(8)
        self.server.multi(self.session, [Delete(PATH)])
        self.commit(9)
        self.assertEqual(self.data(PATH), b"9")

    def test_parent_deleted(self) -> None:
        """Without the parent of the offsets a commit fails, and says why."""
        self.server.multi(self.session, [Delete("/consumers/g/offsets/t")])
        with self.assertRaises(CommitFailed) as caught:
            self.commit(1)
        self.assertIn(PATH, str(caught.exception))

    def test_not_owned(self) -> None:
        """A commit of a partition that is not owned sends nothing, also if another member owns it."""
        _, other = self.member("n")
        self.result(other.claim({T1: 0}))
        with self.assertRaises(CommitFailed):
            self.commit(1, T1)
        self.assertEqual(self.names("/consumers/g/offsets/t"), [])

    def test_released(self) -> None:
        """A commit after the release has begun is refused; one before it is made."""
        self.commit(1)
        early = Deferred.fromCoroutine(self.offsets.commit({T0: OffsetAndMetadata(2)}))
        Deferred.fromCoroutine(self.registry.release())
        late = Deferred.fromCoroutine(self.offsets.commit({T0: OffsetAndMetadata(3)}))
        self.result(early)
        with self.assertRaises(CommitFailed):
            self.result(late)
        self.assertEqual(self.data(PATH), b"2")

    def test_owner_deleted(self) -> None:
        """The transaction checks that the owner is there."""
        self.server.multi(self.session, [Delete("/consumers/g/owners/t/0")])
        with self.assertRaises(CommitFailed):
            self.commit(1)
        self.assertEqual(self.names("/consumers/g/offsets/t"), [])

    def test_suspended(self) -> None:
        """Without a connection a commit fails, and may be made again."""
        self.tree.link.cut()
        self.settle()
        with self.assertRaises(ConnectionFailed):
            self.commit(1)
        self.tree.link.heal()
        self.settle()
        self.commit(1)

    def test_unreadable(self) -> None:
        """A node that has no offset is an error, not an offset of 0."""
        self.make(PATH, b"x")
        with self.assertRaises(UnreadableNode):
            self.read(T0)

    def test_both(self) -> None:
        """With both stores a commit goes to both, and the larger offset counts."""
        coordinator = Coordinator()
        self.offsets = self.made(self.tree, self.registry, coordinator, True)
        self.commit(3)
        self.assertEqual((self.data(PATH), coordinator.kept[T0].offset), (b"3", 3))
        coordinator.kept[T0] = OffsetAndMetadata(2)
        self.assertEqual(self.read(T0), {T0: 3})
        coordinator.kept[T0] = OffsetAndMetadata(5)
        self.assertEqual(self.read(T0), {T0: 5})

    def test_coordinator_checks_owner(self) -> None:
        """With the coordinator alone the owner is checked, too, and no node is written."""
        coordinator = Coordinator()
        self.offsets = self.made(self.tree, self.registry, coordinator, False)
        self.commit(3)
        self.assertEqual(self.names("/consumers/g/offsets/t"), [])
        self.server.multi(self.session, [Delete("/consumers/g/owners/t/0")])
        with self.assertRaises(CommitFailed):
            self.commit(4)
        self.assertEqual(coordinator.kept[T0].offset, 3)

    def test_one_lost(self) -> None:
        """A partition without its owner costs its own offset only; the error names it."""
        self.result(self.registry.release())
        self.result(self.registry.claim({T0: 0, T1: 0}))
        self.server.multi(self.session, [Delete("/consumers/g/owners/t/1")])
        both = {T0: OffsetAndMetadata(4), T1: OffsetAndMetadata(5)}
        with self.assertRaises(CommitFailed) as caught:
            self.result(self.offsets.commit(both))
        self.assertIn("t-1 were not committed", str(caught.exception))
        self.assertEqual(self.names("/consumers/g/offsets/t"), ["0"])
        self.assertEqual((set(self.registry.owned), self.changes), ({T0}, 1))

    def test_owner_replaced(self) -> None:
        """An offset of the next owner is not overwritten, although there is an owner again."""
        self.commit(3)
        self.server.multi(self.session, [Delete("/consumers/g/owners/t/0")])
        tree, registry = self.member("n")
        self.result(registry.claim({T0: 0}))
        self.result(self.made(tree, registry).commit({T0: OffsetAndMetadata(9)}))
        with self.assertRaises(CommitFailed):
            self.commit(4)
        self.assertEqual(self.data(PATH), b"9")
        self.assertEqual(self.registry.owned, {})

    def test_first_commit_after_replacement(self) -> None:
        """The version of the offset's node is learned only from a time when the member was the owner."""
        self.server.multi(self.session, [Delete("/consumers/g/owners/t/0")])
        tree, registry = self.member("n")
        self.result(registry.claim({T0: 0}))
        self.result(self.made(tree, registry).commit({T0: OffsetAndMetadata(9)}))
        with self.assertRaises(CommitFailed):
            self.commit(4)
        self.assertEqual(self.data(PATH), b"9")

    def test_set_by_tool(self) -> None:
        """An owner commits over an offset that a tool has set."""
        self.commit(3)
        self.server.multi(self.session, [SetData(PATH, b"1")])
        self.commit(4)
        self.assertEqual(self.data(PATH), b"4")

    def test_in_order(self) -> None:
        """The last one of several commits at once is stored last, also if the first has to be repeated."""
        self.commit(1)
        self.server.multi(self.session, [Delete(PATH)])
        commits = [
            Deferred.fromCoroutine(self.offsets.commit({T0: OffsetAndMetadata(offset)})) for offset in (2, 3)
        ]
        for commit in commits:
            self.result(commit)
        self.assertEqual(self.data(PATH), b"3")
