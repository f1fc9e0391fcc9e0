"""The tree in memory provides the interface of trees."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyClass, verifyObject

from kafkatx.interfaces import ITree
from kafkatx.metadata.tree.client import TreeClient
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree


class TreeTests(SynchronousTestCase):
    def test_class(self) -> None:
        """The class that all trees share has the methods, with their arguments."""
        self.assertTrue(verifyClass(ITree, TreeClient))

    def test_object(self) -> None:
        """A tree without a session has the attributes, too."""
        self.assertTrue(verifyObject(ITree, MemoryTree(MemoryServer(Clock()))))
