"""A processor that takes ten minutes for one record, with and without the time for it (some 11 minutes).

``python -m tests.run tests.faults.slow_processor``, by hand.
"""

from __future__ import annotations

import sys
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.client.admin.admin import Admin
from kafkatx.client.consumer.consumer import Consumer
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import CommitFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.testing import EmbeddedBroker
from kafkatx.types import TopicPartition
from tests.integration.clients import Confluent

reactor: Any = installed_reactor
WORK_S = 600.0
PATIENT_MS = 900_000
DEFAULT_S = 300.0
LOOK_S = 15.0
PLACE = TopicPartition("slow", 0)


class Slow:
    """A member of a group of its own, whose function takes ten minutes for the first record.

    :ivar committed: what became of the commit after it; None: that is yet to come.
    :ivar lost_s: when it lost its partition, counted from its first record.
    """

    def __init__(self, bootstrap: str, group: str, **settings: Any) -> None:
        self.group = group
        self.committed: str | None = None
        self.lost_s: float | None = None
        self.began_s: float | None = None
        self.consumer = Consumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            reactor=reactor,
            **settings,
        )
        self.consumer.subscribe([PLACE.topic], listener=self)

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        """The group has taken the partition away."""
        self.lost_s = reactor.seconds() - (self.began_s or 0.0)

    async def work(self, record: Record) -> None:
        """Take ten minutes for the first call, then commit; later calls are done at once."""
        if self.began_s is not None:
            return
        self.began_s = reactor.seconds()
        await deferLater(reactor, WORK_S)
        try:
            await self.consumer.commit({PLACE: OffsetAndMetadata(record.offset + 1)})
        except CommitFailed as error:
            self.committed = error.code.name
        else:
            self.committed = "done"


class SlowProcessorTests(TestCase):
    """Both at once, on a broker in a process of its own."""

    timeout = WORK_S + 300

    def test_ten_minutes(self) -> Deferred[None]:
        """With 15 minutes a member stays one and commits; with the default of 5 it leaves, and cannot."""
        return Deferred.fromCoroutine(self._ten_minutes())

    async def _ten_minutes(self) -> None:
        broker = EmbeddedBroker(run_in="process")
        await deferToThread(broker.start)
        self.addCleanup(deferToThread, broker.__exit__, None, None, None)
        client = Confluent(broker.bootstrap)
        await deferToThread(client.create, PLACE.topic, 1)
        await deferToThread(client.produce, PLACE.topic, "none", [(b"k", b"first"), (b"k", b"second")])
        patient = Slow(broker.bootstrap, "patient", max_poll_interval_ms=PATIENT_MS)
        hasty = Slow(broker.bootstrap, "hasty")
        admin = await Admin(bootstrap_servers=broker.bootstrap, reactor=reactor).start()
        self.addCleanup(admin.close)
        for slow in (patient, hasty):
            await slow.consumer.start()
            self.addCleanup(slow.consumer.close)
            slow.consumer.process(slow.work).addErrback(self.failed)
        members = await self._watch(admin, patient, hasty)
        await self._judge(admin, patient, hasty, members)

    def failed(self, failure: Any) -> None:
        """The function raised nothing, so nothing may end the processing."""
        self.fail(failure.getTraceback())

    async def _watch(self, admin: Admin, *slow: Slow) -> dict[str, list[tuple[float, int]]]:
        """Return the number of members of each group by time, until all have committed."""
        members: dict[str, list[tuple[float, int]]] = {one.group: [] for one in slow}
        while any(one.committed is None for one in slow):
            await deferLater(reactor, LOOK_S)
            for one in slow:
                if one.began_s is not None and one.committed is None:
                    group = await admin.groups.describe(one.group)
                    members[one.group].append((reactor.seconds() - one.began_s, len(group.members)))
        return members

    async def _judge(
        self, admin: Admin, patient: Slow, hasty: Slow, members: dict[str, list[tuple[float, int]]]
    ) -> None:
        self.assertEqual({count for _, count in members["patient"]}, {1})
        self.assertEqual((patient.committed, patient.lost_s), ("done", None))
        self.assertEqual({count for at_s, count in members["hasty"] if at_s < DEFAULT_S - LOOK_S}, {1})
        self.assertEqual({count for at_s, count in members["hasty"] if at_s > DEFAULT_S + LOOK_S}, {0})
        assert hasty.lost_s is not None
        self.assertLess(abs(hasty.lost_s - DEFAULT_S), LOOK_S)
        self.assertEqual(hasty.committed, "UNKNOWN_MEMBER_ID")
        told = await patient.consumer.committed(PLACE)
        self.assertEqual(told[PLACE], OffsetAndMetadata(1))
        looks = len(members["patient"])
        sys.stdout.write(
            f"with max.poll.interval.ms={PATIENT_MS}: a member in each of {looks} looks within {WORK_S:g} s, "
            f"commit {patient.committed}; with the default: out after {hasty.lost_s:.1f} s, "
            f"commit {hasty.committed}\n"
        )
