"""The topics that a member subscribes to, and the metadata that it needs for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kafkatx.clientcore.producer.arguments import check_topic
from kafkatx.errors import RequestError
from kafkatx.names import INTERNAL_TOPICS, check_topic_name
from kafkatx.networkclient.cluster import Cluster


class Subscription:
    """Topics by name or by pattern, and those that the group's leader watches for other members.

    Tracks all of them in the cluster's metadata.

    :param internal: whether a pattern matches internal topics (not ``exclude.internal.topics``).
    :param refresh_s: maximum age of metadata with a pattern (``kafkatx.pattern.refresh.ms``).
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
        """Subscribe to topics or a pattern, which replace earlier ones.

        :raises ValueError: both are given, or neither, or the pattern is malformed, or Kafka allows no topic
            of such a name.
        :raises TypeError: a topic is no str.
        """
        names = frozenset(_checked([topics] if isinstance(topics, str) else topics or ()))
        if bool(names) == (pattern is not None):
            raise ValueError("subscribe to topics or to a pattern: give exactly one of them")
        try:
            self.pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise ValueError(f"the pattern {pattern!r} is malformed: {error}") from None
        self.names = names
        # Tracked before the first metadata request, so that its response has these topics.
        if self.pattern is None:
            self._cluster.track(names, owner=self)
        else:
            self._cluster.track_all(self._refresh_s, owner=self)

    def clear(self) -> None:
        """Unsubscribe."""
        self.names, self.pattern = frozenset(), None
        self._cluster.untrack(self)

    def watch(self, topics: frozenset[str]) -> None:
        """Also track these topics, until the next call."""
        self._watched = topics
        if self:
            self.track()

    def track(self) -> None:
        """Track all topics in metadata; refresh it soon if one is not in it."""
        if self.pattern is not None:
            self._cluster.track_all(self._refresh_s, owner=self)
            return
        topics = self.names | self._watched
        self._cluster.track(topics, owner=self)
        if not topics <= self._cluster.metadata.topics.keys():
            self._cluster.stale()

    def matching_topics(self) -> list[str]:
        """Return the existing topics that the pattern matches."""
        return [name for name in self._cluster.metadata.topics if self.matches(name)]

    def matches(self, name: str) -> bool:
        """Return True if the pattern matches a whole topic name; internal topics match only if allowed."""
        known = self._cluster.metadata.topics.get(name)
        internal = name in INTERNAL_TOPICS if known is None else known.internal
        usable = known is None or known.usable
        matched = self.pattern is not None and self.pattern.fullmatch(name) is not None
        return matched and usable and (self._internal or not internal)

    def partition_counts(self) -> dict[str, int]:
        """Return the number of partitions of each topic in metadata."""
        topics = self._cluster.metadata.topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.usable}


def _checked(topics: Iterable[str]) -> Iterator[str]:
    for topic in topics:
        check_topic(topic)
        try:
            check_topic_name(topic)
        except RequestError as error:
            raise ValueError(str(error)) from None
        yield topic
