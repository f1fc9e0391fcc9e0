"""The invariants of mirrors, checked after each moment; and those of a cluster at rest.

*   A log has no record that the source has not had at this offset in this leader epoch, and no other leader
    epochs; from the promotion on also records of producers, in epochs above all that the source's have.
*   A leader's log has no later leader epoch than the state of the partition.
*   A broker that knows that the topic is not to be mirrored, or that has no lease, appends nothing of it.
*   After the end of the link, which the promotion notes, no record of the source comes.
*   A high watermark is never above the log's end. What a leader has below it, all in-sync replicas have, as
    soon as the leader has compared its log with the source's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from attrs import define

from kafkatx.broker.mirror.mirrored_partition import MirroredPartition
from kafkatx.broker.replica.partition import Partition
from kafkatx.config.mirror_record import MirrorState, record_of
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition
from tests.simulation.mirror.source import TOPIC, SourceCluster
from tests.simulation.replication.machine import Life, Machine
from tests.simulation.replication.truth import CONFIGS, Truth
from tests.simulation.server import SimulatedServer
from tests.simulation.transactions import Violation

ONE = TopicPartition(TOPIC, 0)


@define
class Seen:
    """A partition as it was seen in one life of a broker, while it led in one epoch."""

    leader_epoch: int = -1
    end: int = 0
    idle: bool = False


def mirrored_by(life: Life) -> list[MirroredPartition]:
    """Return the partitions that a broker mirrors."""
    manager = life.broker.mirrors._manager
    return [] if manager is None else [*manager._mirrored.values()]


class MirrorChecks:
    """Compares lives of brokers with the source.

    :ivar promoted_end: the end of the link, as the promotion has noted it; None before that.
    :ivar copied: how many records were compared.
    """

    def __init__(
        self,
        source: SourceCluster,
        server: SimulatedServer,
        truth: Truth,
        machines: Mapping[int, Machine],
    ) -> None:
        self.promoted_end: int | None = None
        self.copied = 0
        self._source = source
        self._server = server
        self._truth = truth
        self._machines = machines
        self._seen: dict[Partition, Seen] = {}
        self._versions: dict[int, int] = {}

    def check(self, touched: Iterable[Life]) -> None:
        """Check everything that has changed.

        :raises Violation: an invariant does not hold any more.
        """
        self._truth.dirty.clear()
        for life in touched:
            if not life.runs:
                continue
            self._check_disk(life)
            partition = life.broker.topics.find(*ONE)
            if partition is not None and not partition.offline:
                self._check_partition(life, partition)

    def _check_disk(self, life: Life) -> None:
        """Check where the records of a log come from, if it has changed."""
        log = life.home.disk.logs.get(ONE)
        if log is None or self._versions.get(life.broker_id) == log.version:
            return
        self._versions[life.broker_id] = log.version
        latest, mirrored = -1, -1
        for offset in sorted(log.records):
            record = log.records[offset]
            self.copied += 1
            what = f"{life.name} has {record} at {ONE}@{offset}"
            if record.epoch < latest:
                raise Violation(f"{what}, after records of epoch {latest}")
            latest = record.epoch
            if record.value is not None and record.value[:1] == b"p":
                if record.epoch <= mirrored:
                    raise Violation(f"{what}: a producer's, in an epoch of the source's, {mirrored}")
                continue
            mirrored = record.epoch
            if self._source.had.get((offset, record.epoch), b"") != record.value:
                raise Violation(f"{what}, which the source has never had")

    def _check_partition(self, life: Life, partition: Partition) -> None:
        log, high_watermark = partition.log, partition.high_watermark
        if high_watermark > log.log_end_offset:
            raise Violation(f"{life.name}: high watermark {high_watermark}, log end {log.log_end_offset}")
        topic = life.store.state.topics.get(TOPIC)
        record = None if topic is None else record_of(topic.configs)
        promoted = self._is_promoted()  # a follower may copy producers' records before it knows that
        if not promoted:
            self._check_epoch(life, partition)
        seen = self._seen.setdefault(partition, Seen())
        if not partition.leads:
            self._seen[partition] = Seen()
            return
        if log.latest_epoch > partition.leader_epoch:
            raise Violation(
                f"{life.name} leads {ONE} in epoch {partition.leader_epoch}, its log is at {log.latest_epoch}"
            )
        acts = life.acts()
        idle = not acts or record is None or not record.fetched
        ended = life.tree.lease_remaining_s() < 0  # this life was looked at before its lease ended, or froze
        grown = seen.leader_epoch == partition.leader_epoch and log.log_end_offset > seen.end
        if grown and not promoted and (ended or (seen.idle and idle)):
            why = f"the record is {record}" if acts else "it has no lease"
            raise Violation(
                f"{life.name} appends to {ONE} from {seen.end} to {log.log_end_offset}, though {why}"
            )
        seen.leader_epoch, seen.end, seen.idle = partition.leader_epoch, log.log_end_offset, idle
        if acts and not promoted:
            self._check_members(life, partition)

    def _check_epoch(self, life: Life, partition: Partition) -> None:
        """Check that a log has leader epochs of the source alone."""
        latest = partition.log.latest_epoch
        if latest not in self._epochs() and latest != NO_LEADER_EPOCH:
            raise Violation(f"{life.name} has the leader epoch {latest} of {ONE}, which is not the source's")

    def _is_promoted(self) -> bool:
        """Return True if the topic is promoted, by the node of its configs."""
        node = self._server.nodes.get(f"{CONFIGS}{TOPIC}")
        record = None if node is None else record_of(json.loads(node.data)["config"])
        return record is not None and record.state is MirrorState.PROMOTED

    def _epochs(self) -> set[int]:
        return {epoch for _, epoch in self._source.had}

    def _check_members(self, life: Life, partition: Partition) -> None:
        """Check that in-sync replicas have what the leader has below its high watermark."""
        truth = self._truth.partitions.get(ONE)
        mirrored = next(
            (one for one in mirrored_by(life) if one.partition is partition and one.is_resumed),
            None,
        )
        if truth is None or truth.state.leader_epoch != partition.leader_epoch:
            return
        if self._source.losses and mirrored is None:
            return
        own = life.home.disk.logs[ONE].records
        for broker_id in truth.state.isr:
            stored = self._machines[broker_id].disk.logs.get(ONE)
            if broker_id == life.broker_id or stored is None:
                continue
            log = stored.records
            start = max(partition.log.log_start_offset, self._start(broker_id))
            for offset in range(start, partition.high_watermark):
                if own.get(offset) != log.get(offset):
                    raise Violation(
                        f"{life.name} has {own.get(offset)} at {ONE}@{offset}, below its high watermark"
                        f" {partition.high_watermark}; b{broker_id}, in sync, has {log.get(offset)}"
                    )

    def _start(self, broker_id: int) -> int:
        partition = self._machines[broker_id].life.broker.topics.find(*ONE)
        return 0 if partition is None or partition.offline else int(partition.log.log_start_offset)

    # --- at rest

    def check_rest(self) -> None:
        """Check a cluster in which every broker has run for a while without a fault.

        :raises Violation: it is not at rest, or a log is not what it must be.
        """
        truth = self._truth.partitions[ONE]
        state = truth.state
        if state.leader < 0 or set(state.isr) != set(truth.replicas) or state.eligible:
            raise Violation(f"at rest, {ONE} has the state {state}")
        lives = [self._machines[one].life for one in truth.replicas]
        found = [(life, life.broker.topics.find(*ONE)) for life in lives]
        ends = {(one.log.log_end_offset, one.high_watermark) for _, one in found if one is not None}
        starts = {one.log.log_start_offset for _, one in found if one is not None}
        if len(ends) != 1 or any(one is None for _, one in found):
            raise Violation(f"at rest, {ONE} has the ends and high watermarks {ends}")
        if len(starts) != 1 and self.promoted_end is None:
            raise Violation(f"at rest, {ONE} has the starts {starts}")
        ((end, high_watermark),), start = ends, max(starts)
        if end != high_watermark:
            raise Violation(f"at rest, {ONE} ends at {end}, and is committed up to {high_watermark}")
        logs = [
            {offset: record for offset, record in life.home.disk.logs[ONE].records.items() if offset >= start}
            for life, _ in found
        ]
        if any(log != logs[0] for log in logs):
            raise Violation(f"at rest, the logs of {ONE} differ")
        if self.promoted_end is None:
            self._check_copy(logs[0], start)
        else:
            self._check_promoted(logs[0])

    def _check_copy(self, log: Mapping[int, object], start: int) -> None:
        expected = {offset: record for offset, record in self._source.committed.items() if offset >= start}
        if log != expected or start != self._source.log.start:
            other = [*sorted(log.items() ^ expected.items())[:4]]
            raise Violation(
                f"at rest, {ONE} is not what the source has, from {self._source.log.start} on: it begins at"
                f" {start}, and differs in {other}"
            )

    def _check_promoted(self, log: Mapping[int, object]) -> None:
        late = [
            offset
            for offset, record in log.items()
            if offset >= (self.promoted_end or 0) and (getattr(record, "value", None) or b"")[:1] == b"s"
        ]
        if late:
            raise Violation(
                f"{ONE} has records of the source at {late[:3]}, after the end {self.promoted_end}"
            )
