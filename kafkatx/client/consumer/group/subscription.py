"""What a member subscribes to, and the topics of the cluster that it must know for that."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kafkatx.names import INTERNAL_TOPICS
from kafkatx.networkclient.cluster import Cluster


class Subscription:
    """Topics by name or by pattern, and those that the leader of a group watches for others.

    The cluster's metadata is refreshed for all of them.

    :param internal: whether a pattern matches the cluster's own topics (``exclude.internal.topics``).
    :param refresh_s: how old metadata may grow while there is a pattern (``kafkatx.pattern.refresh.ms``).
    """

    def __init__(self, cluster: Cluster, internal: bool, refresh_s: float) -> None:
        self._cluster = cluster
        self._internal = internal
        self._refresh_s = refresh_s
        self.names: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self._watched: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.names) or self.pattern is not None

    def set(self, topics: Iterable[str] | None, pattern: str | re.Pattern[str] | None) -> None:
        """Want these instead of those before.

        :raises ValueError: both are given, or nothing, or the pattern is malformed.
        """
        names = frozenset([topics] if isinstance(topics, str) else topics or ())
        if bool(names) == (pattern is not None):
            raise ValueError("subscribe to topics or to a pattern: give one of them")
        try:
            self.pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise ValueError(f"the pattern {pattern!r} is malformed: {error}") from None
        self.names = names
        # Before the first metadata is asked for, so that it has them: the next may be a while later.
        if self.pattern is None:
            self._cluster.track(names, owner=self)
        else:
            self._cluster.track_all(self._refresh_s, owner=self)

    def clear(self) -> None:
        """Want nothing any more."""
        self.names, self.pattern = frozenset(), None
        self._cluster.untrack(self)

    def watch(self, topics: frozenset[str]) -> None:
        """Know of these, too, until the next call."""
        self._watched = topics
        if self:
            self.track()

    def track(self) -> None:
        """Have metadata refreshed for all topics that matter here, soon if one is not known."""
        if self.pattern is not None:
            self._cluster.track_all(self._refresh_s, owner=self)
            return
        topics = self.names | self._watched
        self._cluster.track(topics, owner=self)
        if not topics <= self._cluster.metadata.topics.keys():
            self._cluster.stale()

    def matching_topics(self) -> list[str]:
        """The topics that there are of those that the pattern matches."""
        return [name for name in self._cluster.metadata.topics if self.matches(name)]

    def matches(self, name: str) -> bool:
        """Whether the pattern matches a whole name; internal topics are left out where they shall be."""
        known = self._cluster.metadata.topics.get(name)
        internal = name in INTERNAL_TOPICS if known is None else known.internal
        usable = known is None or known.usable
        matched = self.pattern is not None and self.pattern.fullmatch(name) is not None
        return matched and usable and (self._internal or not internal)

    def partition_counts(self) -> dict[str, int]:
        """How many partitions each topic has that there is, as far as metadata tells."""
        topics = self._cluster.metadata.topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.usable}
