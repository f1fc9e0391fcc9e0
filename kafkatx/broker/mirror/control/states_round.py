"""One round over the states of all mirrored topics: they are paused, resumed and promoted as settings say.

The steps are :mod:`.promotion`'s; this performs them. It changes the cluster's metadata, asks the leaders of
mirrors, and the coordinators of groups. Links and sources are not needed for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs
from twisted.internet.defer import Deferred, DeferredList, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.changes import Changes
from kafkatx.broker.mirror.control.group_plan import MirroredTopics, beyond
from kafkatx.broker.mirror.control.own_brokers import OwnBrokers
from kafkatx.broker.mirror.control.promotion import (
    ClampGroups,
    Done,
    RaiseProducerIds,
    Step,
    View,
    Wait,
    Wanted,
    Write,
    next_step,
)
from kafkatx.broker.mirror.control.records import RecordChanged, replace_record
from kafkatx.broker.producer_ids import raise_producer_ids
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.clientcore.admin.groups import GroupInUse
from kafkatx.clientcore.admin.mirror_links import matches
from kafkatx.clientcore.admin.mirror_status import MirrorStatus
from kafkatx.config import BrokerConfig
from kafkatx.config.links import settings_of
from kafkatx.config.mirror_record import MirrorRecord, MirrorState, record_of
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IMetadataStore

CopyGroups: TypeAlias = Callable[[str, MirroredTopics], Awaitable[None]]

SOON_S, LATER_S = 0.3, 30.0
"""Pauses until the next round: while something is under way, and when all is as it should be."""


class StatesRound:
    """The rounds over the states of mirrored topics.

    :param status: returns the status of the mirrored partitions that this broker leads.
    :param lock: held while committed offsets are clamped: no copies of offsets are under way then.
    :param copy_groups: copies the offsets of groups for topics of a link, as far as the source is reached.
    """

    _log = Logger()

    def __init__(
        self,
        broker_id: int,
        metadata: IMetadataStore,
        commands: TopicCommands,
        target: OwnBrokers,
        status: Callable[[], Sequence[MirrorStatus]],
        lock: DeferredLock,
        copy_groups: CopyGroups,
    ) -> None:
        self._broker_id = broker_id
        self._metadata = metadata
        self._commands = commands
        self._target = target
        self._status = status
        self._lock = lock
        self._copy_groups = copy_groups
        self._changes = Changes()
        self._done: dict[tuple[str, int], Done] = {}
        self._waits: dict[str, str] = {}

    async def run(self, config: BrokerConfig) -> float:
        """Make one round; return the pause in seconds until the next one."""
        records = self._records()
        wanted = {name: _wanted(config, name, record) for name, record in records.items()}
        asked = [
            name
            for name, record in records.items()
            if not record.writable and (wanted[name].promoted or record.state is MirrorState.PROMOTING)
        ]
        reports = await self._reports(asked)
        steps: dict[str, Step] = {}
        for name, record in records.items():
            done = self._done.get((name, record.attempt), Done())
            step = next_step(record, wanted[name], View(self._epochs(name), reports[name]), done)
            if step is not None:
                steps[name] = step
        await self._perform(steps, records)
        return SOON_S if steps else LATER_S

    def _records(self) -> dict[str, MirrorRecord]:
        found = ((name, record_of(topic.configs)) for name, topic in self._metadata.state.topics.items())
        return {name: record for name, record in found if record is not None and record.link}

    def _epochs(self, name: str) -> list[int]:
        state = self._metadata.state
        topic = state.topics.get(name)
        if topic is None:
            return [-1]
        return [one.leader_epoch if one.leader in state.brokers else -1 for one in topic.partitions]

    # --- reports

    async def _reports(self, names: Collection[str]) -> Mapping[str, dict[int, MirrorStatus]]:
        """Ask the leaders of topics; those that do not answer are left out."""
        found: defaultdict[str, dict[int, MirrorStatus]] = defaultdict(dict)
        by_leader: defaultdict[int, set[str]] = defaultdict(set)
        for name in names:
            for partition in self._metadata.state.topics[name].partitions:
                by_leader[partition.leader].add(name)
        own = by_leader.pop(self._broker_id, set())
        told = [one for one in self._status() if one.topic in own]
        others = [node_id for node_id in by_leader if node_id in self._metadata.state.brokers]
        asked = [Deferred.fromCoroutine(self._target.report(one, sorted(by_leader[one]))) for one in others]
        for _, report in await DeferredList(asked, consumeErrors=True):
            if not isinstance(report, Failure):
                told += report.partitions
            elif not report.check(KafkaTXError):
                report.raiseException()
        for status in told:
            known = found[status.topic].get(status.partition)
            if known is None or known.leader_epoch < status.leader_epoch:
                found[status.topic][status.partition] = status
        return found

    # --- steps

    async def _perform(self, steps: Mapping[str, Step], records: Mapping[str, MirrorRecord]) -> None:
        """Perform the steps of all topics; those that fail are repeated in the next round."""
        raised = {name: step for name, step in steps.items() if isinstance(step, RaiseProducerIds)}
        clamped = {name: step.ends for name, step in steps.items() if isinstance(step, ClampGroups)}
        for name, step in steps.items():
            if isinstance(step, Write):
                await self._write(name, step)
            elif isinstance(step, Wait) and self._waits.get(name) != step.why:
                self._log.info("the promotion of {topic} waits: {why}", topic=name, why=step.why)
        self._waits = {name: step.why for name, step in steps.items() if isinstance(step, Wait)}
        if raised:
            above = max(step.above for step in raised.values())
            if await self._try(self._changes.carry_through(self._raise_producer_ids(above))):
                self._note(raised, records, raised=True)
        if clamped:
            await self._copy_last(clamped, records)
        if clamped and await self._try(self._clamp(clamped)):
            self._note(clamped, records, clamped=True)

    async def _try(self, work: Awaitable[None]) -> bool:
        try:
            await work
        except KafkaTXError as error:
            self._log.warn("a promotion goes on later: {error}", error=error)
            return False
        return True

    def _note(self, names: Iterable[str], records: Mapping[str, MirrorRecord], **done: bool) -> None:
        for name in names:
            key = (name, records[name].attempt)
            self._done[key] = attrs.evolve(self._done.get(key, Done()), **done)

    async def _write(self, name: str, step: Write) -> None:
        before, after = step.before, step.after
        try:
            await replace_record(self._commands, name, before, after)
        except RecordChanged:
            return  # the next round looks again
        except KafkaTXError as error:
            self._log.warn(
                "the state of the mirror {topic} is changed later: {error}", topic=name, error=error
            )
            return
        if after.writable:
            self._done.pop((name, after.attempt), None)
            self._log.info(
                "the topic {topic} of link {link} is promoted at the offsets {ends}: producers may write to"
                " it, and it is mirrored no more. This cannot be undone",
                topic=name,
                link=after.link,
                ends=", ".join(map(str, after.ends or ())),
            )
        elif before.state is not after.state or before.reason != after.reason:
            self._log.info(
                "the mirror {topic} of link {link} is {state} now{why}",
                topic=name,
                link=after.link,
                state=after.state.value,
                why=f": {after.reason}" if after.reason else "",
            )

    async def _copy_last(
        self, ends: Mapping[str, tuple[int, ...]], records: Mapping[str, MirrorRecord]
    ) -> None:
        """Copy the offsets that groups have at the source now: they may have moved since the last round."""
        by_link: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for name, some in ends.items():
            by_link[records[name].link][name] = len(some)
        for link, topics in by_link.items():
            await self._copy_groups(link, topics)

    async def _raise_producer_ids(self, above: int) -> None:
        await raise_producer_ids(self._metadata, above)

    async def _clamp(self, ends: Mapping[str, tuple[int, ...]]) -> None:
        """Set the committed offsets of all groups that are beyond the ends to these.

        :raises KafkaTXError: a coordinator is not reached, or has not committed.
        """
        await self._lock.acquire()
        try:
            known = await self._target.groups()
            topics = {name: len(some) for name, some in ends.items()}
            here = await self._target.offsets_of(known, known, topics)
            late = {name: found for name, group in here.items() if (found := beyond(group.offsets, ends))}
            for name, error in (await self._target.commit(late)).items():
                if isinstance(error, GroupInUse):
                    self._log.warn(
                        "group {group} has members, so its offsets beyond the end of a promoted topic stay",
                        group=name,
                    )
                elif error is not None:
                    raise error
                else:
                    self._log.info(
                        "set offsets of group {group} to the ends of promoted topics: {offsets}",
                        group=name,
                        offsets=", ".join(f"{at}: {one.offset}" for at, one in late[name].items()),
                    )
        finally:
            self._lock.release()


def _wanted(config: BrokerConfig, name: str, record: MirrorRecord) -> Wanted:
    link = settings_of(config, record.link)
    return Wanted(matches(link.paused, name), matches(link.promoted, name))
