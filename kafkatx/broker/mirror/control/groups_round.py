"""One round over the groups of a link: their committed offsets for mirrored topics are copied.

It asks the source, and the coordinators of this cluster. Which groups are left alone is :mod:`.group_plan`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
from twisted.internet.defer import DeferredLock
from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.mirror.control.group_plan import (
    NOT_HERE,
    GroupOffsets,
    MirroredTopics,
    changes,
    copied,
    is_used,
)
from kafkatx.broker.mirror.control.own_brokers import OwnBrokers
from kafkatx.broker.mirror.control.source import SourceClient
from kafkatx.clientcore.admin.groups import GroupInUse
from kafkatx.clientcore.admin.mirror_links import matches
from kafkatx.config.links import LinkSettings
from kafkatx.errors import KafkaTXError

OWN_GROUPS = frozenset({"kafkatx-audit"})
"""Groups of brokers themselves, whose offsets mean something in their own cluster alone."""

LOOK_AGAIN_S = 60.0
"""After this time a group is looked at again here although nothing has changed at the source."""


@attrs.frozen
class GroupCounts:
    """The outcome of the last rounds.

    :ivar copied: groups whose offsets are copied; -1 before the first round.
    :ivar skipped: groups that are left alone, since they have been used here.
    :ivar completed_s: time of the last complete round, by the clock.
    :ivar error: why the last round was not complete; empty if it was.
    """

    copied: int = -1
    skipped: int = 0
    completed_s: float | None = None
    error: str = ""


class GroupsRound:
    """The rounds over the groups of one link.

    :ivar counts: the outcome of the last rounds.
    :param topics: returns the topics that the link mirrors now.
    :param lock: held while offsets are committed, here and at the end of a promotion.
    """

    def __init__(
        self,
        source: SourceClient,
        target: OwnBrokers,
        topics: Callable[[], MirroredTopics],
        lock: DeferredLock,
        clock: IReactorTime,
    ) -> None:
        self.counts = GroupCounts()
        self._source = source
        self._target = target
        self._topics = topics
        self._lock = lock
        self._clock = clock
        self._written: dict[str, GroupOffsets] = {}
        self._looked_s: dict[str, float] = {}

    async def run(self, link: LinkSettings) -> None:
        """Make one round; :attr:`counts` tells the outcome."""
        errors: list[str] = []
        offsets: dict[str, GroupOffsets] = {}
        skipped = 0
        try:
            if topics := self._topics():
                offsets = await self._ask_source(link, topics, errors)
                skipped = await self._copy(link, offsets, topics, errors)
        except KafkaTXError as error:
            errors.append(str(error))
        now_s = self._clock.seconds()
        self.counts = GroupCounts(
            len(offsets) - skipped,
            skipped,
            self.counts.completed_s if errors else now_s,
            errors[0] if errors else "",
        )

    async def _ask_source(
        self, link: LinkSettings, topics: MirroredTopics, errors: list[str]
    ) -> dict[str, GroupOffsets]:
        """Return the offsets of groups at the source that have some for mirrored topics."""
        found: dict[str, GroupOffsets] = {}
        groups = await self._source.groups(lambda name: name not in OWN_GROUPS and matches(link.groups, name))
        for node_id, names in groups.items():
            try:
                told = await self._source.offsets(node_id, names, topics) if names else {}
            except KafkaTXError as error:
                errors.append(str(error))
                continue
            for name, offsets in told.items():
                if isinstance(offsets, KafkaTXError):
                    errors.append(str(offsets))
                elif offsets:
                    found[name] = offsets
        return found

    async def _copy(
        self,
        link: LinkSettings,
        offsets: Mapping[str, GroupOffsets],
        topics: MirroredTopics,
        errors: list[str],
    ) -> int:
        """Commit what has changed; return the number of groups that are left alone."""
        for gone in self._looked_s.keys() - offsets.keys():
            del self._looked_s[gone]
            self._written.pop(gone, None)
        if not offsets:
            return 0
        joined = await self._target.groups()
        wanted = [
            name for name in offsets if not joined.get(name) and self._is_due(link, name, offsets[name])
        ]
        here = await self._target.offsets_of(wanted, joined, topics)
        skipped = sum(joined.get(name, False) for name in offsets)
        commits = {}
        for name in wanted:
            known = here.get(name, NOT_HERE)
            if is_used(link.name, known, offsets[name], self._written.get(name, {})):
                skipped += 1
                continue
            self._looked_s[name] = self._clock.seconds()
            self._written[name] = known.offsets  # they are the link's, perhaps of an earlier controller
            if changed := changes(link.name, offsets[name], known.offsets):
                commits[name] = changed
        skipped += await self._commit(commits, errors)
        return skipped

    def _is_due(self, link: LinkSettings, name: str, offsets: GroupOffsets) -> bool:
        if name not in self._looked_s or self._clock.seconds() - self._looked_s[name] >= LOOK_AGAIN_S:
            return True
        written = self._written.get(name, {})
        return any(written.get(at) != offset for at, offset in copied(link.name, offsets).items())

    async def _commit(self, commits: Mapping[str, GroupOffsets], errors: list[str]) -> int:
        """Commit offsets of topics that are mirrored still; return how many groups have members by now."""
        await self._lock.acquire()
        try:
            topics = self._topics()
            left = {
                name: {at: offset for at, offset in offsets.items() if at.topic in topics}
                for name, offsets in commits.items()
            }
            outcomes = await self._target.commit({name: offsets for name, offsets in left.items() if offsets})
        finally:
            self._lock.release()
        in_use = 0
        for name, error in outcomes.items():
            if error is None:
                self._written[name] = {**self._written.get(name, {}), **left[name]}
                continue
            self._looked_s.pop(name, None)
            self._written.pop(name, None)  # it may have been committed: the mark tells
            if isinstance(error, GroupInUse):
                in_use += 1
            else:
                errors.append(str(error))
        return in_use
