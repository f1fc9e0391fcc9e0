"""The way of a broker that was alone into a cluster, on a real socket and file."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from kafkatx.daemon.embedded_data import EmbeddedData
from kafkatx.errors import SettingError
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.metadata.layout import paths, topics
from kafkatx.metadata.layout.controller import decode_cluster_id
from kafkatx.metadata.tree.local import LocalSettings, LocalTree
from kafkatx.metadata.tree.local.listener import TreeListener
from kafkatx.net.workers import ThreadWorkers
from kafkatx.supervisor.takeover import is_alone, take_over
from kafkatx.types import PartitionState, Topic

reactor: Any = installed
TOPIC = Topic("t", uuid.UUID(int=9), (PartitionState(3, 4, (3,), (3,)),), {"retention.ms": "5"})


class TakeoverTests(TestCase):
    timeout = 30

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        """Make log dirs of broker 3, and a tree without nodes."""
        self.folder = tempfile.mkdtemp(prefix="kafkatx-takeover-")
        self.addCleanup(shutil.rmtree, self.folder)
        with open(os.path.join(self.folder, "meta.properties"), "w") as file:
            file.write("version=0\nbroker.id=3\ncluster.id=abc\ndirectory.id=x\n")
        database = ClusterDatabase(os.path.join(self.folder, FILE_NAME))
        database.register(3, "abc")
        database.create_topic(TOPIC)
        database.close()
        self.workers = ThreadWorkers(reactor)
        self.addCleanup(self.workers.stop)
        self.socket = os.path.join(self.folder, "socket")
        tree = TreeListener(os.path.join(self.folder, "tree"), self.socket, reactor, self.workers("tree"))
        self.addCleanup(tree.stop)
        return tree.start()

    async def take_over(self) -> None:
        """Take the log dirs over."""
        await take_over([self.folder], self.socket, reactor, self.workers("files"))

    async def read(self, path: str) -> bytes:
        """Return the data of a node."""
        tree = LocalTree(LocalSettings(self.socket), reactor, time.monotonic)
        await tree.connect()
        try:
            return (await tree.read(path))[0]
        finally:
            await tree.close()

    async def check(self) -> None:
        """Check that the tree has the topic, and that no broker can be alone here any more."""
        node = topics.decode(paths.topic("t"), await self.read(paths.topic("t")))
        self.assertEqual((node.topic_id, node.partitions), (TOPIC.topic_id, ((3,),)))
        self.assertEqual(decode_cluster_id(await self.read(paths.CLUSTER_ID)), "abc")
        self.assertFalse(is_alone([self.folder]))
        kept = [name for name in os.listdir(self.folder) if name.endswith("-imported")]
        self.assertEqual(len(kept), 1)

    async def test_taken_over(self) -> None:
        """The topics are in the tree, the old state is kept aside, and a second call does nothing."""
        self.assertTrue(is_alone([self.folder]))
        await self.take_over()
        await self.check()
        await self.take_over()
        await self.check()

    async def test_interrupted(self) -> None:
        """A takeover that fails before its end is made again."""

        def broken(data: object) -> str:
            raise OSError("disk is full")

        patched = self.patch(EmbeddedData, "finish", broken)
        try:
            await self.take_over()
        except OSError:
            self.assertTrue(is_alone([self.folder]))
        else:
            raise self.failureException("it has not failed")
        patched.restore()
        await self.take_over()
        await self.check()

    async def test_another_cluster(self) -> None:
        """A tree that has another cluster with topics is left alone, and so are the log dirs."""
        await self.take_over()
        database = ClusterDatabase(os.path.join(self.folder, FILE_NAME))
        database.register(3, "other")
        database.create_topic(TOPIC)
        database.close()
        try:
            await self.take_over()
        except SettingError as error:
            self.assertIn("cluster abc is there already", str(error))
        else:
            raise self.failureException("it has not failed")
        self.assertTrue(is_alone([self.folder]))
