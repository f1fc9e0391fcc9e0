"""Tests of kafkatx.mirror.copy.target with a real broker."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.mirror.copy.gather import gather
from kafkatx.mirror.copy.target import Target
from tests.mirror.brokers import BrokersCase, reactor


class TargetTests(BrokersCase):
    async def start_target(self, **more: str) -> Target:
        """Start a target."""
        target = Target(self.settings("x", **more), reactor)
        self.addCleanup(lambda: Deferred.fromCoroutine(target.stop()))
        await target.start(["dc1"])
        return target

    async def partitions(self, topic: str) -> int:
        """Return the number of a topic's partitions."""
        return len((await self.admins[1].describe_topic(topic)).partitions)

    async def test_topics(self) -> None:
        """A topic is created once, grows, and never shrinks; one that is there already is taken."""
        target = await self.start_target()
        self.assertFalse(await target.has_topic("made"))
        making = [Deferred.fromCoroutine(target.ensure_topic("made", 2, {})) for _ in range(5)]
        await gather(making)
        self.assertTrue(await target.has_topic("made"))
        self.assertEqual(await self.partitions("made"), 2)
        await target.ensure_topic("made", 3, {})
        await target.ensure_topic("made", 1, {})
        self.assertEqual(await self.partitions("made"), 3)
        await self.topic("there", 2, at=1)
        await target.ensure_topic("there", 1, {"cleanup.policy": "compact"})
        described = await self.admins[1].describe_topic("there")
        self.assertEqual(described.configs["cleanup.policy"].value, "delete")
        target.forget_topics()
        await target.ensure_topic("there", 4, {})
        self.assertEqual(await self.partitions("there"), 4)

    async def test_own_topic(self) -> None:
        """The topic of positions is compacted, and there before anything is copied."""
        target = await self.start_target()
        described = await self.admins[1].describe_topic("kafkatx-mirror.dc1.internal")
        self.assertEqual(described.configs["cleanup.policy"].value, "compact")
        self.assertEqual(target.cluster_id, (await self.admins[1].metadata()).cluster_id)

    async def test_rate(self) -> None:
        """More than the rate allows waits."""
        target = await self.start_target(rate_bytes="1000")
        began = reactor.seconds()
        await target.admit(1000)
        await target.admit(100)
        self.assertGreaterEqual(reactor.seconds() - began, 0.09)
