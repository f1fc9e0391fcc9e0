"""The invariants of what brokers hold and believe, checked after each moment; and those of a cluster at rest.

*   In each leader epoch one life of one broker acts as the leader: that of the state in the tree.
*   A high watermark is never above the log's end, and never goes back in a life of a broker, but to the log's
    start when the broker finds that it has the data of an earlier life. What a leader
    has below it is committed; what others have below theirs is the same.
*   Each member of the in-sync set, and each broker that may lead beside them, has all that is committed, and
    so has each leader that acts.
*   In one role, no records of earlier epochs are appended: by a leader never, by a follower never from the
    start of the leader's epoch on.
*   The log start is never above the high watermark; that of a leader is never below what clients deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define

from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import NO_ROLE, Role
from tests.simulation.replication.machine import Life, Machine
from tests.simulation.replication.truth import PartitionTruth, Truth
from tests.simulation.transactions import Violation


@define
class Seen:
    """A partition as it was seen in one life of a broker.

    :ivar end: the log's end.
    :ivar behind: its high watermark is from before a loss of committed records.
    :ivar role: the role that it had, in which the log's end was ``end``.
    """

    high_watermark: int
    losses: int
    end: int = 0
    behind: bool = False
    role: Role = NO_ROLE
    last: tuple[object, ...] = ()


class Checks:
    """Compares lives of brokers with the truth."""

    def __init__(self, truth: Truth, machines: Mapping[int, Machine]) -> None:
        self._truth = truth
        self._machines = machines
        self._seen: dict[Partition, Seen] = {}
        self._leaders: dict[tuple[PartitionTruth, int], Life] = {}

    def check(self, touched: Iterable[Life]) -> None:
        """Check everything that has changed.

        :param touched: the lives that have done anything since the last check.
        :raises Violation: an invariant does not hold any more.
        """
        truths = self._truth.partitions
        dirty = self._truth.dirty
        others: list[tuple[Life, Partition, PartitionTruth]] = []
        for life in touched:
            if not life.runs:
                continue
            acts = life.acts()
            for partition in life.partitions():
                truth = truths.get(partition.topic_partition)
                if truth is None or partition.offline or not self._is_of(life, truth):
                    continue
                if acts and partition.leads:
                    self._check_only(life, partition, truth)
                    if self._look_at_leader(life, partition, truth):
                        dirty[truth] = None
                else:
                    others.append((life, partition, truth))
        for life, partition, truth in others:
            if self._look_at(life, partition, truth):
                dirty[truth] = None
        if dirty:
            self._check_members(dirty)
            dirty.clear()

    def _check_only(self, life: Life, partition: Partition, truth: PartitionTruth) -> None:
        """Check that no other life acts as the leader in the same epoch.

        One that leads no more, but has not heard of it, may act in its earlier epoch: it can commit only what
        all members have.
        """
        epoch = partition.leader_epoch
        before = self._leaders.get((truth, epoch))
        if before is None:
            self._leaders[truth, epoch] = life
            if (truth.leaders.get(epoch)) != life.broker_id:
                raise Violation(f"{life.name} leads {truth.name} in epoch {epoch}, but it is {truth.state}")
        elif before is not life:
            raise Violation(
                f"{life.name} leads {truth.name} in epoch {epoch}, in which {before.name} has led"
            )

    def _is_of(self, life: Life, truth: PartitionTruth) -> bool:
        """Return True if a broker's log is that of the topic as it is now."""
        log = life.home.disk.logs.get(truth.name)
        return log is not None and log.topic_id == truth.topic_id

    def _changed(self, life: Life, partition: Partition, truth: PartitionTruth, leads: bool) -> Seen | None:
        """Return what was seen of a partition before; None if nothing has changed since."""
        log = partition.log
        hw = partition.high_watermark
        stored = life.home.disk.logs.get(truth.name)
        if stored is None:
            return None
        now = (hw, log.log_end_offset, log.log_start_offset, partition.leader_epoch, stored.version, leads,
               truth.losses, truth.end, truth.deleted_to)  # fmt: skip
        seen = self._seen.get(partition)
        if seen is None:
            if stored.topic_id != truth.topic_id:
                return None
            seen = self._seen[partition] = Seen(hw, truth.losses, log.log_end_offset, truth.losses > 0)
        elif seen.last == now:
            return None
        seen.last = now
        start = log.log_start_offset
        if start > truth.starts.get(life.broker_id, 0):
            truth.starts[life.broker_id] = start
        if hw > log.log_end_offset:
            raise Violation(
                f"{life.name} has the high watermark {hw} of {truth.name}, which ends at {log.log_end_offset}"
            )
        if start > max(hw, 0):
            raise Violation(
                f"{life.name} has deleted {truth.name} up to {start}, above its high watermark {hw}"
            )
        if seen.losses != truth.losses:
            seen.losses, seen.behind = truth.losses, True
        elif hw < seen.high_watermark and not truth.losses and not (life.stale and hw == start):
            raise Violation(
                f"the high watermark of {truth.name} goes back on {life.name} from {seen.high_watermark}"
                f" to {hw}"
            )
        seen.high_watermark = hw
        return seen

    def _look_at_leader(self, life: Life, partition: Partition, truth: PartitionTruth) -> bool:
        """Look at a leader that acts; return True if anything has changed."""
        seen = self._changed(life, partition, truth, True)
        if seen is None:
            return False
        epoch = partition.leader_epoch
        latest = partition.log.epoch_at(partition.log.log_end_offset)
        if latest > epoch:
            raise Violation(
                f"{life.name} leads {truth.name} in epoch {epoch}, and its log is at epoch {latest}"
            )
        seen.behind = False
        if truth.epoch_starts.get(epoch) is None and partition.leadership is not None:
            truth.epoch_starts[epoch] = partition.leadership.epoch_start_offset
        self._check_appended(life, partition, truth, seen)
        seen.end = partition.log.log_end_offset
        before = truth.end
        if partition.high_watermark > before:
            truth.commit(life.home.disk.logs[truth.name], partition.high_watermark, life.name)
        if epoch != truth.state.leader_epoch:
            return True
        truth.compare(life.broker_id, life.home.disk, truth.end, lambda: f"{life.name}, the leader,")
        if partition.log.log_end_offset < truth.end:
            raise Violation(f"{life.name} leads {truth.name}, whose records below {truth.end} are committed, "
                            f"and its log ends at {partition.log.log_end_offset}")  # fmt: skip
        if partition.log.log_start_offset < truth.deleted_to:
            raise Violation(f"{life.name} leads {truth.name} from {partition.log.log_start_offset} on, but "
                            f"all below {truth.deleted_to} was deleted")  # fmt: skip
        return True

    def _look_at(self, life: Life, partition: Partition, truth: PartitionTruth) -> bool:
        """Look at any other replica; return True if anything has changed."""
        seen = self._changed(life, partition, truth, False)
        if seen is None:
            return False
        hw, end = partition.high_watermark, partition.log.log_end_offset
        if partition.leads and end > seen.end:
            raise Violation(f"{life.name} appends to {truth.name} up to {end}, and has no lease")
        self._check_appended(life, partition, truth, seen)
        seen.end = end
        if seen.behind:
            log = life.home.disk.logs[truth.name]
            seen.behind = hw > truth.end or any(
                log.records.get(offset) not in (None, record)
                for offset, record in truth.committed.items()
                if offset < hw
            )
            return True
        if hw > truth.end:
            # it has led until a moment ago, or in the life before this one: all members must have that
            truth.commit(life.home.disk.logs[truth.name], hw, life.name)
        if life.broker_id not in truth.damaged:
            truth.compare(
                life.broker_id, life.home.disk, hw, lambda: f"below its high watermark {hw}, {life.name}"
            )
        return True

    def _check_appended(self, life: Life, partition: Partition, truth: PartitionTruth, seen: Seen) -> None:
        """Check the epochs of what was appended since the last look, if the role is still the same.

        A leader appends records of its epoch alone. Where a leader's epoch begins, its log ends: so a
        follower gets none of an earlier epoch from there on.
        """
        role, epoch = partition.role, partition.leader_epoch
        if seen.role != role:
            seen.role = role  # what was staged may have been written before
            return
        start = seen.end if partition.leads else max(seen.end, truth.epoch_starts.get(epoch, 2**63))
        records = life.home.disk.logs[truth.name].records
        for offset in range(start, partition.log.log_end_offset):
            record = records.get(offset)
            if record is not None and record.epoch < epoch:
                raise Violation(
                    f"{life.name} appends {record} to {truth.name}@{offset} in leader epoch {epoch}, which"
                    f" begins at {truth.epoch_starts.get(epoch)}; it is {role}"
                )

    def _check_members(self, truths: Iterable[PartitionTruth]) -> None:
        """Check that all that may lead have what is committed."""
        for truth in truths:
            if self._truth.partitions.get(truth.name) is not truth:
                continue
            for broker_id in truth.state.members:
                if broker_id not in truth.damaged:
                    self._compare_member(truth, broker_id)

    def _compare_member(self, truth: PartitionTruth, broker_id: int) -> None:
        truth.compare(
            broker_id,
            self._machines[broker_id].disk,
            truth.end,
            lambda: f"broker {broker_id}, which may lead ({truth.state}),",
        )

    # --- at rest

    def check_rest(self) -> None:
        """Check a cluster in which every broker has run for a while without a fault.

        :raises Violation: it is not at rest, or replicas differ.
        """
        for truth in self._truth.partitions.values():
            state, name = truth.state, truth.name
            if state.leader < 0:
                raise Violation(f"at rest, {name} has no leader: {state}")
            if set(state.isr) != set(truth.replicas) or state.eligible or state.recovering:
                raise Violation(f"at rest, {name} has {state}, not the ISR {truth.replicas}")
            self._check_equal(truth)

    def _check_equal(self, truth: PartitionTruth) -> None:
        """Check that all replicas have the same records above all log starts, and all are committed."""
        name = truth.name
        here = {one: self._machines[one].life.broker.topics.find(*name) for one in truth.replicas}
        start = truth.start
        logs = []
        for broker_id, partition in here.items():
            life = self._machines[broker_id].life
            log = life.home.disk.logs.get(name)
            if log is None or partition is None:
                raise Violation(f"at rest, {life.name} has no log of {name}")
            end = partition.log.log_end_offset
            if partition.high_watermark != end or end != truth.end:
                raise Violation(
                    f"at rest, {life.name} has the high watermark {partition.high_watermark} of {name}, which"
                    f" ends at {end}; committed is {truth.end}"
                )
            logs.append({offset: record for offset, record in log.records.items() if offset >= start})
            if logs[0] != logs[-1]:
                other = [*sorted(logs[0].items() ^ logs[-1].items())[:4]]
                raise Violation(f"at rest, the log of {name} on {life.name} is another: {other}")
