"""The control of one link while its broker is the controller: rounds over topics and groups of its source."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import Deferred, DeferredLock, TimeoutError, gatherResults
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.mirror.control.group_plan import MirroredTopics
from kafkatx.broker.mirror.control.groups_round import GroupsRound
from kafkatx.broker.mirror.control.own_brokers import OwnBrokers
from kafkatx.broker.mirror.control.rounds import Rounds
from kafkatx.broker.mirror.control.source import SourceClient
from kafkatx.broker.mirror.control.topics_round import TopicsRound
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.clientcore.admin.mirror_status import LinkStatus
from kafkatx.config.links import LinkSettings
from kafkatx.config.mirror_record import record_of
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.limited_log import LimitedLog

LAST_COPY_S = 15.0
"""Longest time for the last copy of groups' offsets: without a source a promotion does not wait for it."""

MOST_NAMED = 3
"""Topics that a status names; the log has all."""


class LinkControl:
    """The control of one link.

    :ivar settings: the link's settings, replaced by :meth:`use`.
    :param lock: see :class:`~kafkatx.broker.mirror.control.groups_round.GroupsRound`.
    """

    _log = Logger()

    def __init__(
        self,
        settings: LinkSettings,
        source: SourceClient,
        metadata: IMetadataStore,
        commands: TopicCommands,
        target: OwnBrokers,
        lock: DeferredLock,
        clock: IReactorTime,
        limited_log: LimitedLog,
        excluded: tuple[str, ...],
    ) -> None:
        self.settings = settings
        self._metadata = metadata
        self._source = source
        self._target = target
        self._lock = lock
        self._clock = clock
        self._error = ""
        self._topics = TopicsRound(metadata, commands, source, excluded)
        self._groups = GroupsRound(source, target, self._mirrored, lock, clock)
        name = settings.name
        self._rounds = (
            Rounds(clock, self._look_at_topics, f"following the topics of link {name}", limited_log),
            Rounds(clock, self._copy_groups, f"copying the groups of link {name}", limited_log),
        )

    def start(self) -> None:
        """Begin the rounds."""
        for one in self._rounds:
            one.wake()

    def use(self, settings: LinkSettings) -> None:
        """Use other settings, with the same source and client, at once."""
        if settings != self.settings:
            self.settings = settings
            self.start()

    def stop(self) -> Deferred[None]:
        """End the rounds and close the connections to the source; fires when that is done."""
        ends = [one.stop() for one in self._rounds]
        return gatherResults([*ends, self._source.close()]).addCallback(lambda _: None)

    async def _look_at_topics(self) -> float:
        error = ""
        try:
            await self._topics.run(self.settings)
        except KafkaTXError as problem:
            error = str(problem)
        if error and not self._error:
            self._log.warn(
                "the topics of link {link} cannot be followed: {error}; it is tried again and again",
                link=self.settings.name,
                error=error,
            )
        elif self._error and not error:
            self._log.info("the topics of link {link} are followed again", link=self.settings.name)
        self._error = error
        return self.settings.refresh_interval_ms / 1000

    async def _copy_groups(self) -> float:
        was = self._groups.counts.error
        await self._groups.run(self.settings)
        error = self._groups.counts.error
        if error and not was:
            self._log.warn(
                "not all groups of link {link} were copied: {error}; it is tried again and again",
                link=self.settings.name,
                error=error,
            )
        return self.settings.groups_interval_ms / 1000

    async def copy_groups(self, topics: MirroredTopics) -> None:
        """Copy the offsets of groups for topics that are about to be promoted, once, if that is possible."""
        last = GroupsRound(self._source, self._target, lambda: topics, self._lock, self._clock)
        running = Deferred.fromCoroutine(last.run(self.settings)).addTimeout(LAST_COPY_S, self._clock)
        try:
            await running
        except TimeoutError:
            error = f"the source has not answered within {LAST_COPY_S:g} s"
        else:
            error = last.counts.error
        if error:
            self._log.warn(
                "groups of link {link} go on in promoted topics at offsets that were copied before: {error}",
                link=self.settings.name,
                error=error,
            )

    def _mirrored(self) -> Mapping[str, int]:
        """Return the number of partitions of each topic that is mirrored now."""
        return {
            name: len(topic.partitions)
            for name, topic in self._metadata.state.topics.items()
            if (record := record_of(topic.configs)) is not None
            and record.link == self.settings.name
            and record.fetched
        }

    def status(self) -> LinkStatus:
        """Return the status, now; its error is that of the topics."""
        counts = self._groups.counts
        age_s = -1.0 if counts.completed_s is None else self._clock.seconds() - counts.completed_s
        return LinkStatus(
            self.settings.name,
            ",".join(self.settings.bootstrap_servers),
            self._error or _summary(self._topics.problems),
            counts.copied,
            counts.skipped,
            -1 if age_s < 0 else int(age_s * 1000),
            counts.error,
        )


def _summary(problems: Mapping[str, str]) -> str:
    """Return the problems of topics in a few words."""
    if not problems:
        return ""
    named = [f"{name}: {problems[name]}" for name in sorted(problems)[:MOST_NAMED]]
    more = f"; and {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
    return f"topics that are not mirrored: {'; '.join(named)}{more}"
