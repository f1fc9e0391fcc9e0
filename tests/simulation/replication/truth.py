"""The truth about each partition: its state in the tree, and the records that are committed.

It touches nothing. :mod:`.checks` tells it what leaders have committed, and compares the brokers with it;
:mod:`.clients` compare what they are told. Records may only be given up in two cases, which it counts as
losses: an unclean election of a topic that allows it, and a loss of power of all that had the records.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field, frozen

from kafkatx.interfaces.nodes import Create, Delete, SetData
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.fields import parse_id
from kafkatx.types import NO_LEADER, TopicPartition
from tests.simulation.replication.storage import Disk, Stored, StoredLog
from tests.simulation.server import SimulatedServer, Transaction
from tests.simulation.transactions import Violation

CONFIGS = "/config/topics/"


@frozen
class State:
    """The content of the node of a partition's state."""

    leader: int = NO_LEADER
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    eligible: tuple[int, ...] = ()
    recovering: bool = False

    @property
    def members(self) -> tuple[int, ...]:
        """The brokers that must have all committed records."""
        return self.isr + self.eligible


@define(eq=False)
class PartitionTruth:
    """The truth about one partition.

    :ivar unclean: an unclean election is allowed.
    :ivar remade: a topic of the name was deleted before: a broker that has not heard of it takes records for
        that one, since Produce has no topic ids.
    :ivar committed: the committed records by offset, from ``start`` to ``end``.
    :ivar values: the offset of each committed value.
    :ivar losses: how often committed records were given up, or may have been.
    :ivar leaders: the leader of each leader epoch.
    :ivar epoch_starts: the end of the leader's log when it began each epoch, as far as that was seen.
    :ivar damaged: members that may have lost records with the power of their machine.
    :ivar stale: members whose data are not those of their last life.
    :ivar matched: for each broker, the offset up to which its log was compared.
    :ivar starts: for each broker, the highest log start offset that was seen.
    :ivar deleted_to: the records below are deleted for good.
    :ivar floor: the highest log start of brokers that are no replicas any more; they may be again, and empty.
    :ivar commits: the ends to which records were committed, and who did that.
    """

    name: TopicPartition
    topic_id: uuid.UUID
    unclean: bool
    remade: bool = False
    replicas: tuple[int, ...] = ()
    state: State = State()
    committed: dict[int, Stored] = field(factory=dict)
    values: dict[bytes, int] = field(factory=dict)
    end: int = 0
    losses: int = 0
    leaders: dict[int, int] = field(factory=dict)
    epoch_starts: dict[int, int] = field(factory=dict)
    damaged: set[int] = field(factory=set)
    stale: set[int] = field(factory=set)
    matched: dict[int, int] = field(factory=dict)
    starts: dict[int, int] = field(factory=dict)
    deleted_to: int = 0
    floor: int = 0
    commits: list[tuple[int, str]] = field(factory=list)

    @property
    def start(self) -> int:
        """The offset below which records may be deleted by now."""
        return max(self.deleted_to, self.floor, *self.starts.values(), 0)

    def commit(self, log: StoredLog, end: int, who: str) -> None:
        """Take it that a leader has committed its records below *end*.

        :raises Violation: it commits what it does not have, or a value twice.
        """
        for offset in range(self.end, end):
            record = log.records.get(offset)
            if record is None:
                if offset >= self.start:
                    raise Violation(f"{who} commits {self.name}@{offset}, which it does not have")
                continue
            self.committed[offset] = record
            if record.value is not None and self.name.topic[0] == "t":
                first = self.values.setdefault(record.value, offset)
                if first != offset and record.value[:1] == b"i" and first >= self.start and not self.remade:
                    raise Violation(
                        f"{who} commits {record.value!r} of an idempotent producer at {self.name}@{offset},"
                        f" which is at {first}, too"
                    )
        self.end = end
        self.commits.append((end, f"{who} in epoch {self.state.leader_epoch}"))

    def committer(self, offset: int) -> str:
        """Say who has committed an offset, and when it ended there."""
        return next((f"committed by {who} up to {end}" for end, who in self.commits if end > offset), "")

    def compare(self, broker_id: int, disk: Disk, end: int, who: Callable[[], str]) -> None:
        """Compare the log of a broker with what is committed, up to an offset.

        :raises Violation: a committed record is missing there, or is another.
        """
        log = disk.logs.get(self.name)
        if log is None or log.topic_id != self.topic_id:
            if end > self.start:
                raise Violation(f"{who()} has no log of {self.name}, whose records below {end} are committed")
            return
        matched = self.matched.get(broker_id, 0)
        if log.cut_to < matched:
            matched = log.cut_to
        log.cut_to = 2**63
        start = self.starts.get(broker_id, 0)
        for offset in range(max(matched, start), end):
            expected = self.committed.get(offset)
            found = log.records.get(offset)
            if found != expected:
                if offset < self.start and (found is None or expected is None):
                    continue  # deleted here or there
                self.matched[broker_id] = matched
                raise Violation(
                    f"{who()} has {found} at {self.name}@{offset}; {expected} is {self.committer(offset)}"
                )
        self.matched[broker_id] = max(matched, end)

    def prefix(self, broker_id: int, disk: Disk) -> int:
        """Return the offset up to which the disk of a broker has what is committed."""
        log = disk.logs.get(self.name)
        records = log.records if log is not None and log.topic_id == self.topic_id else {}
        for offset in range(self.starts.get(broker_id, 0), self.end):
            if records.get(offset) != self.committed.get(offset):
                return offset
        return self.end

    def give_up(self, end: int) -> None:
        """Give up what was committed at or above an offset: the cluster may have lost it."""
        self.losses += 1
        self.commits = [each for each in self.commits if each[0] < end]
        for offset in range(end, self.end):
            self.committed.pop(offset, None)
        self.values = {value: offset for value, offset in self.values.items() if offset < end}
        self.end = min(self.end, end)
        self.matched = {broker_id: min(matched, end) for broker_id, matched in self.matched.items()}


class Truth:
    """The truth about all partitions: it follows the transactions of the tree.

    :param disks: the disks by broker id.
    :param unclean: whether a topic allows unclean elections.
    :ivar partitions: the partitions that exist.
    :ivar down: brokers whose machines went down, and which have not registered since: they may still join the
        members by what they had fetched before.
    :ivar dirty: the partitions that were changed since the last check.
    """

    def __init__(self, server: SimulatedServer, disks: dict[int, Disk], unclean: Any, tell: Any) -> None:
        self._server = server
        self._disks = disks
        self._unclean = unclean
        self._tell = tell
        self.partitions: dict[TopicPartition, PartitionTruth] = {}
        self.dirty: dict[PartitionTruth, None] = {}
        self.down: set[int] = set()
        self._names: set[TopicPartition] = set()

    def lose(self, broker_id: int) -> None:
        """Take it that a broker may have lost records."""
        self.down.add(broker_id)
        for truth in self.partitions.values():
            if broker_id in truth.replicas:
                truth.damaged.add(broker_id)

    def replace(self, broker_id: int, disk: Disk) -> None:
        """Take it that a broker has another disk, with older data or none."""
        self._disks[broker_id] = disk
        self.lose(broker_id)
        for truth in self.partitions.values():
            truth.matched.pop(broker_id, None)
            truth.floor = max(truth.floor, truth.starts.pop(broker_id, 0))
            if broker_id in truth.replicas:
                truth.stale.add(broker_id)

    def _registered(self, broker_id: int) -> None:
        self.down.discard(broker_id)
        for truth in self.partitions.values():
            if broker_id not in truth.state.members:
                truth.damaged.discard(broker_id)
                truth.stale.discard(broker_id)

    def follow(self, transaction: Transaction) -> None:
        """Take a transaction over.

        :raises Violation: a state does not follow the state before it.
        """
        by = self._server.owners[transaction.session_id]
        for each in transaction.operations:
            if each.path.startswith(f"{paths.BROKER_IDS}/") and isinstance(each, Create):
                self._registered(int(each.path.rsplit("/", 1)[1]))
            if each.path.startswith(CONFIGS) and isinstance(each, Create | SetData):
                self._follow_configs(each.path.removeprefix(CONFIGS), json.loads(each.data)["config"])
            if not each.path.startswith(f"{paths.TOPICS}/"):
                continue
            partition = paths.parse_state(each.path)
            if partition is not None and isinstance(each, Create | SetData):
                self._follow_state(by, partition, json.loads(each.data))
            elif each.path.count("/") == 3:
                self._follow_topic(each.path.rsplit("/", 1)[1], each)

    def _follow_configs(self, name: str, configs: Mapping[str, str]) -> None:
        """Allow unclean elections of a topic from now on, if its configs do: brokers hear of the end late."""
        if configs.get("unclean.leader.election.enable") == "true":
            for partition, truth in self.partitions.items():
                truth.unclean = truth.unclean or partition.topic == name

    def _follow_topic(self, name: str, operation: Any) -> None:
        if isinstance(operation, Delete):
            for partition in [each for each in self.partitions if each.topic == name]:
                del self.partitions[partition]
            return
        if not isinstance(operation, Create | SetData):
            return
        content = json.loads(operation.data)
        text = content.get("topic_id")
        topic_id = parse_id(text)
        assert topic_id is not None
        for number, replicas in content["partitions"].items():
            partition = TopicPartition(name, int(number))
            known = self.partitions.get(partition)
            if known is None or known.topic_id != topic_id:
                remade = partition in self._names
                self._names.add(partition)
                known = PartitionTruth(partition, topic_id, self._unclean(name), remade)
                self.partitions[partition] = known
            known.replicas = tuple(replicas)
            for broker_id in known.starts.keys() - known.replicas:
                known.floor = max(known.floor, known.starts.pop(broker_id))
                known.matched.pop(broker_id, None)

    def _follow_state(self, by: str, partition: TopicPartition, content: dict[str, Any]) -> None:
        truth = self.partitions[partition]
        self.dirty[truth] = None
        before = truth.state
        state = State(
            content["leader"],
            content["leader_epoch"],
            tuple(content["isr"]),
            tuple(content.get("kafkatx_eligible", ())),
            content.get("leader_recovery_state", 0) == 1,
        )
        truth.state = state

        def what() -> str:
            return f"{by} writes {partition}: {state} after {before}"

        if not state.isr or not set(state.isr) <= set(truth.replicas):
            raise Violation(f"{what()}: the ISR is empty, or not of the replicas {truth.replicas}")
        if set(state.isr) & set(state.eligible):
            raise Violation(f"{what()}: members of the ISR are among the others that may lead")
        if state.leader_epoch < before.leader_epoch or (
            state.leader != before.leader and state.leader_epoch == before.leader_epoch
        ):
            raise Violation(f"{what()}: the leader epoch does not rise")
        if state.leader != NO_LEADER:
            if state.leader not in state.isr:
                raise Violation(f"{what()}: the leader is not in the ISR")
            first = truth.leaders.setdefault(state.leader_epoch, state.leader)
            if first != state.leader:
                raise Violation(f"{what()}: {first} has led in that epoch")
            if state.leader_epoch != before.leader_epoch and before.leader_epoch >= 0:
                self._check_election(truth, before, what)
        truth.damaged &= {*state.members, *self.down}
        truth.stale &= {*state.members, *self.down}
        counted = (truth.stale - self.down) & {*state.members}
        if counted:
            raise Violation(
                f"{what()}: the data of brokers {sorted(counted)} are not those of their last life"
            )

    def _check_election(self, truth: PartitionTruth, before: State, what: Callable[[], str]) -> None:
        leader = truth.state.leader
        lost = truth.state.recovering and leader in truth.damaged
        if leader in truth.stale - self.down and not truth.state.recovering:
            raise Violation(f"{what()}: the data of the leader are not those of its last life")
        if leader not in before.members or lost:
            if not truth.unclean:
                raise Violation(f"{what()}: an unclean election, which the topic does not allow")
            if not truth.state.recovering:
                raise Violation(f"{what()}: an unclean election that is not said")
            self._tell(f"{truth.name} is led by {leader} after an unclean election")
        elif not set(before.members) <= truth.damaged:
            return
        else:
            self._tell(f"{truth.name} is led by {leader}: all that had its records may have lost some")
        truth.give_up(truth.prefix(leader, self._disks[leader]))
        truth.damaged.discard(leader)
        truth.stale.discard(leader)


def committed_check(truth: PartitionTruth, offset: int, value: bytes, what: str) -> None:
    """Check that a record is committed at an offset.

    :raises Violation: it is not.
    """
    record = truth.committed.get(offset)
    if record is None and offset < truth.start:
        return
    if record is None or record.value != value:
        raise Violation(f"{what} {value!r} at {truth.name}@{offset}; committed is {record}")
