"""Tests of operations for kazoo, and of the access control lists of new nodes."""

from __future__ import annotations

from kazoo.client import KazooClient
from kazoo.protocol import serialization
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Check, Create, Delete, SetData
from kafkatx.metadata.tree.zookeeper.requests import acl, add


class AclTests(SynchronousTestCase):
    def test_open(self) -> None:
        """Without zookeeper.set.acl everything is open to all."""
        self.assertEqual(acl("/config/users/u", False), OPEN_ACL_UNSAFE)

    def test_restricted(self) -> None:
        """With it brokers alone write; others read what has no passwords. Old consumers have their node."""
        for path in ("/", "/brokers/ids/1", "/config/topics/t", "/consumers/g"):
            self.assertEqual(acl(path, True), CREATOR_ALL_ACL + READ_ACL_UNSAFE)
        for path in ("/config/users", "/config/users/u", "/config/brokers/1", "/delegation_token/tokens"):
            self.assertEqual(acl(path, True), CREATOR_ALL_ACL)
        self.assertEqual(acl("/consumers", True), OPEN_ACL_UNSAFE)


class AddTests(SynchronousTestCase):
    def test_operations(self) -> None:
        """Each operation becomes the one of ZooKeeper's protocol, with its flags, version and list."""
        transaction = KazooClient("a:1/x").transaction()
        for operation in (
            Check("/a", 3),
            Create("/a/b", b"data", ephemeral=True, sequential=True),
            SetData("/a", b"data", 4),
            Delete("/a", 5),
        ):
            add(transaction, operation, True)
        self.assertEqual(
            transaction.operations,
            [
                serialization.CheckVersion("/x/a", 3),
                serialization.Create("/x/a/b", b"data", CREATOR_ALL_ACL + READ_ACL_UNSAFE, 3),
                serialization.SetData("/x/a", b"data", 4),
                serialization.Delete("/x/a", 5),
            ],
        )
