"""Tests of kafkatx.mirror.service."""

from __future__ import annotations

from functools import partial

from kafkatx.client import Consumer, Producer
from kafkatx.clientcore.audit.ranges import RangeAnnouncement
from kafkatx.errors import SettingError
from kafkatx.mirror.core.provenance import HEADER
from kafkatx.mirror.core.status import State
from kafkatx.mirror.service import MirrorService
from kafkatx.mirror.settings import MirrorSettings
from kafkatx.types import TopicPartition
from tests.mirror.brokers import BrokersCase, reactor


class ServiceTests(BrokersCase):
    async def test_copies(self) -> None:
        """A topic is made with the source's partitions and configs; all fields of its records are copied."""
        await self.topic("orders", 2, cleanup_policy="compact", retention_ms="77")
        await self.produce("orders", [b"a", b"b"], 1)
        service = await self.mirror("orders")
        await self.until(lambda: self.has("dc1.orders", 2, 1))
        copies = await self.records("dc1.orders", 1)
        cluster_id = (await self.admins[0].metadata()).cluster_id
        self.assertEqual(
            [tuple(record)[1:] for record in copies],
            [
                (
                    1000 + at,
                    b"k%d" % at,
                    value,
                    [("h", value), (HEADER, f"{cluster_id}:orders:1:{at}".encode())],
                )
                for at, value in enumerate([b"a", b"b"])
            ],
        )
        described = await self.admins[1].describe_topic("dc1.orders")
        self.assertEqual(len(described.partitions), 2)
        self.assertEqual(
            [described.configs[name].value for name in ("cleanup.policy", "retention.ms")], ["compact", "77"]
        )
        self.assertEqual((service.totals().records, service.totals().lag), (2, 0))

    async def has(self, topic: str, count: int, partition: int = 0) -> bool:
        """Return True if a topic of the target has so many records."""
        known = (await self.admins[1].metadata()).topics.get(topic)
        if known is None or partition not in known.partitions:
            return False
        return len(await self.records(topic, partition)) == count

    async def test_follows(self) -> None:
        """New records, partitions and topics are copied while it runs."""
        await self.topic("new-1")
        await self.mirror("new-.*", rename="{topic}")
        await self.produce("new-1", [b"1"])
        await self.until(lambda: self.has("new-1", 1))
        await self.admins[0].create_partitions("new-1", 2)
        await self.topic("new-2")
        await self.produce("new-2", [b"2"])
        await self.until(lambda: self.has("new-2", 1))
        await self.produce("new-1", [b"3", b"4"], 1)
        await self.until(lambda: self.has("new-1", 2, 1))

    async def test_stop_and_start(self) -> None:
        """A mirror that is stopped in order goes on where it was; its notes and maps are read again."""
        await self.topic("again")
        await self.produce("again", [b"%d" % at for at in range(500)])
        service = await self.mirror("again")
        await self.until(lambda: self.has("dc1.again", 500))
        await service.stopService()
        await self.produce("again", [b"%d" % at for at in range(500, 700)])
        second = await self.mirror("again")
        await self.until(lambda: self.has("dc1.again", 700))
        self.assertEqual(await self.values("dc1.again"), [b"%d" % at for at in range(700)])
        self.assertEqual(second.totals().records, 200)

    async def test_from_the_end(self) -> None:
        """With start=latest only new records are copied, also if the first process ends before them."""
        await self.topic("late")
        await self.produce("late", [b"old"])
        service = await self.mirror("late", start="latest")
        await self.until(lambda: self.copying(service))
        await service.stopService()
        await self.produce("late", [b"new"])
        await self.mirror("late", start="latest")
        await self.until(lambda: self.has("dc1.late", 1))
        self.assertEqual(await self.values("dc1.late"), [b"new"])

    async def copying(self, service: MirrorService) -> bool:
        """Return True if all partitions are being copied."""
        status = service.status()
        return bool(status) and all(one.state is State.COPYING for one in status)

    async def test_filter(self) -> None:
        """A filter that the settings name chooses the records."""
        await self.topic("some")
        await self.produce("some", [b"yes 1", b"no", b"yes 2"])
        settings = {"filter": "regex", "kafkatx.plugin.regex.value": "^yes"}
        service = await self.mirror("some", **settings)
        await self.until(lambda: self.has("dc1.some", 2))
        self.assertEqual(await self.values("dc1.some"), [b"yes 1", b"yes 2"])
        self.assertEqual(service.totals().filtered, 1)

    async def test_fan_in(self) -> None:
        """Two topics become one; each keeps its order, and a restart doubles nothing."""
        for name in ("in-a", "in-b"):
            await self.topic(name)
            await self.produce(name, [f"{name} {at}".encode() for at in range(300)])
        service = await self.mirror("in-.*", rename="all")
        await self.until(lambda: self.has("all", 600))
        await service.stopService()
        await self.produce("in-a", [b"in-a 300"])
        await self.mirror("in-.*", rename="all")
        await self.until(lambda: self.has("all", 601))
        values = await self.values("all")
        for name, count in (("in-a", 301), ("in-b", 300)):
            mine = [value for value in values if value and value.startswith(name.encode())]
            self.assertEqual(mine, [f"{name} {at}".encode() for at in range(count)])

    async def test_both_directions(self) -> None:
        """Two mirrors with the same names in opposite directions: each record is at both ends once."""
        for at in (0, 1):
            await self.topic("both", at=at)
            await self.produce("both", [b"of %d" % at], at=at)
        await self.mirror("both", rename="{topic}")
        back = {
            "source.dc1.bootstrap.servers": self.target.bootstrap,
            "target.bootstrap.servers": self.source.bootstrap,
        }
        service = await self.mirror("both", rename="{topic}", **back)
        await self.until(lambda: self.has("both", 2))

        async def done() -> bool:
            return service.totals().cycled == 1 and service.totals().records == 1

        await self.until(done)
        consumer = Consumer(bootstrap_servers=self.source.bootstrap, reactor=reactor)
        self.addCleanup(consumer.close)
        consumer.assign([("both", 0)])
        consumer.seek_to_beginning()
        await consumer.start()
        self.assertEqual([(await consumer.getone()).value for _ in range(2)], [b"of 0", b"of 1"])
        self.assertEqual(
            await consumer.end_offsets(TopicPartition("both", 0)), {TopicPartition("both", 0): 2}
        )

    async def test_recreated(self) -> None:
        """A topic that is made anew at the source is not copied further; the status says what to do."""
        await self.topic("anew")
        await self.produce("anew", [b"1"])
        service = await self.mirror("anew")
        await self.until(lambda: self.has("dc1.anew", 1))
        await service.flush()
        await service.stopService()
        await self.admins[0].delete_topic("anew")
        await self.topic("anew")
        await self.produce("anew", [b"2", b"3"])
        service = await self.mirror("anew")

        async def failed() -> bool:
            return service.totals().failed == 1

        await self.until(failed)
        self.assertIn("made anew", service.status()[0].failure)
        self.assertEqual(await self.values("dc1.anew"), [b"1"])

    async def test_target_deleted(self) -> None:
        """A copy that is deleted while it is written is copied again after a restart, from the beginning."""
        for name in ("kept", "dropped"):
            await self.topic(name)
            await self.produce(name, [b"1", b"2"])
        service = await self.mirror("kept|dropped")
        for name in ("kept", "dropped"):
            await self.until(partial(self.has, f"dc1.{name}", 2))
        await self.admins[1].delete_topic("dc1.dropped")
        await self.produce("dropped", [b"3"])

        async def failed() -> bool:
            return service.totals().failed == 1

        await self.until(failed)
        (status,) = [one for one in service.status() if one.state is State.FAILED]
        self.assertIn("dc1.dropped was deleted in the target", status.failure)
        await self.produce("kept", [b"3"])
        await self.until(lambda: self.has("dc1.kept", 3))
        await service.stopService()
        await self.mirror("kept|dropped")
        await self.until(lambda: self.has("dc1.dropped", 3))
        self.assertEqual(await self.values("dc1.dropped"), [b"1", b"2", b"3"])

    async def test_target_made_anew(self) -> None:
        """A copy that was deleted and made again between two looks is told by its id."""
        await self.topic("swap")
        service = await self.mirror("swap", refresh_interval_ms="3600000")
        await self.until(lambda: self.copying(service))
        await self.admins[1].delete_topic("dc1.swap")
        await self.topic("dc1.swap", at=1)
        await service.refresh()
        self.assertEqual(service.totals().failed, 1)

    async def test_notes_deleted(self) -> None:
        """The topic of positions is made again when it was deleted."""
        await self.topic("noted")
        service = await self.mirror("noted")
        await self.until(lambda: self.copying(service))
        await self.admins[1].delete_topic("kafkatx-mirror.dc1.internal")
        await self.produce("noted", [b"1"])
        await self.until(lambda: self.has("kafkatx-mirror.dc1.internal", 2))

    async def test_deleted_topic(self) -> None:
        """A topic that is deleted at the source is forgotten; others go on."""
        await self.topic("gone")
        service = await self.mirror("gone")
        await self.until(lambda: self.copying(service))
        await self.admins[0].delete_topic("gone")

        async def forgotten() -> bool:
            return not service.status()

        await self.until(forgotten)

    async def test_audit(self) -> None:
        """Copied records are announced to the audit, with the mirror's name, as offsets of the source."""
        await self.topic("audited")
        await self.produce("audited", [b"1", b"2", b"3"])
        settings = {"audit.interval.ms": "60000", "audit.topic": "its-audit", "rename": "{topic}"}
        service = await self.mirror("audited", **settings)
        await self.until(lambda: self.has("audited", 3))
        await service.stopService()
        (record,) = await self.records("its-audit")
        told = RangeAnnouncement.decode(record.value)
        self.assertEqual((told.tier, told.place, told.start, told.end), ("mirror", "dc1-target", 0, 3))

    async def test_ends(self) -> None:
        """A mirror tells when it has copied up to given ends."""
        await self.topic("ends")
        await self.produce("ends", [b"1", b"2"])
        service = await self.mirror("ends")
        ends = await service.source_ends()
        self.assertEqual(ends, {("dc1", TopicPartition("ends", 0)): 2})
        await self.until(lambda: service.copied_up_to(ends))
        self.assertTrue(await self.has("dc1.ends", 2))
        later = {("dc1", TopicPartition("ends", 0)): 3}
        self.assertFalse(await service.copied_up_to(later))

    async def test_marker_at_the_end(self) -> None:
        """The end of a transaction, which is not copied, is not left to copy either."""
        await self.topic("marker")
        producer = Producer(
            bootstrap_servers=self.brokers[0].bootstrap, reactor=reactor, transactional_id="mirrored"
        )
        await producer.start()
        async with producer.transaction():
            for value in (b"1", b"2"):
                producer.produce("marker", value)
        await producer.close()
        service = await self.mirror("marker")
        ends = await service.source_ends()
        self.assertEqual(ends, {("dc1", TopicPartition("marker", 0)): 3})
        await self.until(lambda: service.copied_up_to(ends))
        self.assertEqual((service.totals().records, service.totals().lag), (2, 0))

    async def test_same_cluster(self) -> None:
        """A source that is the target is refused."""
        service = MirrorService(
            self.settings("x", **{"source.dc1.bootstrap.servers": self.target.bootstrap}), reactor
        )
        service.startService()
        with self.assertRaisesRegex(SettingError, "names the target's own cluster"):
            await service.started
        await service.stopService()

    async def test_unknown_filter(self) -> None:
        """A filter that is not installed is told at once."""
        with self.assertRaisesRegex(SettingError, "filter=regexp.*did you mean regex"):
            MirrorService(self.settings("x", filter="regexp"), reactor)

    async def test_stopped_while_it_connects(self) -> None:
        """A mirror whose clusters are away can be stopped."""
        settings = MirrorSettings.load(
            {
                "sources": "dc1",
                "source.dc1.bootstrap.servers": "127.0.0.1:1",
                "target.bootstrap.servers": "127.0.0.1:1",
            }
        )
        service = MirrorService(settings, reactor)
        service.startService()
        started = service.started.addErrback(lambda failure: failure.getErrorMessage())
        await service.stopService()
        self.assertIn("stopped", await started)
