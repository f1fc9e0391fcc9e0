"""Topic filters, subscriptions and streams of a ConsumerConnector; assigns partitions to streams. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

import attrs

from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

S = TypeVar("S")

_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")


class TopicFilter:
    """A filter of topics by a regular expression that has to match whole names.

    As in Kafka's own filters a comma means ``|``; spaces, and quotation marks around it all, are ignored:
    ``clicks,views.*``.

    :ivar pattern: matches the names of accepted topics.
    """

    def __init__(self, expression: str) -> None:
        """Compile the filter.

        :raises KafkaTXError: *expression* is not a regular expression.
        """
        self.expression = expression
        text = expression.strip().replace(",", "|").replace(" ", "").strip("\"'")
        try:
            self.pattern = self._pattern(re.compile(text), text)
        except re.error as error:
            raise KafkaTXError(f"{expression!r} is not a regular expression: {error}") from None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.expression == getattr(other, "expression", None)

    def __hash__(self) -> int:
        return hash((type(self), self.expression))

    def _pattern(self, compiled: re.Pattern[str], text: str) -> re.Pattern[str]:
        raise NotImplementedError

    def wants(self, topic: str) -> bool:
        """Return True if the filter accepts the topic."""
        return self.pattern.fullmatch(topic) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.expression!r})"


class Whitelist(TopicFilter):
    """Accepts the topics that match."""

    def _pattern(self, compiled: re.Pattern[str], text: str) -> re.Pattern[str]:
        return compiled


class Blacklist(TopicFilter):
    """Accepts all topics except those that match."""

    def _pattern(self, compiled: re.Pattern[str], text: str) -> re.Pattern[str]:
        flags = _FLAGS.match(text)  # they are allowed only at the beginning
        body = text[flags.end() :] if flags else text
        return re.compile(rf"(?!(?:{body})\Z).*", compiled.flags)


@attrs.frozen
class Subscription:
    """The subscription of one connector.

    Either topics with the number of streams for each, or a filter with the number of streams for all its
    topics.
    """

    topics: Mapping[str, int] = MappingProxyType({})
    filter: TopicFilter | None = None
    streams: int = 0

    def __attrs_post_init__(self) -> None:
        """Check the numbers of streams.

        :raises KafkaTXError: there are no topics, or less than one stream for a topic.
        """
        if self.filter is None and not self.topics:
            raise KafkaTXError("there is no topic to make a stream for")
        counts = self.topics.items() if self.filter is None else [(repr(self.filter), self.streams)]
        for name, count in counts:
            if count < 1:
                raise KafkaTXError(f"{count} streams for {name}: there must be at least one")


@attrs.frozen
class StreamAssignment(Generic[S]):
    """The streams of a subscription, and the partitions that they get.

    :ivar by_topic: the streams of each topic; empty with a filter.
    :ivar all: the streams of a filter.
    """

    by_topic: Mapping[str, list[S]] = MappingProxyType({})
    all: list[S] = attrs.Factory(list)

    def streams(self) -> list[S]:
        """Return all streams."""
        return [*self.all, *(stream for streams in self.by_topic.values() for stream in streams)]

    def divide(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, S]:
        """Assign partitions to streams; partitions of topics without streams are left out.

        The streams of a topic share its partitions; those of a filter share all partitions.
        """
        topics: defaultdict[str, list[TopicPartition]] = defaultdict(list)
        for at in partitions:
            topics[at.topic if not self.all else ""].append(at)
        owners: dict[TopicPartition, S] = {}
        for topic, places in topics.items():
            owners.update(ranges(places, self.all or self.by_topic.get(topic, [])))
        return owners


def ranges(partitions: Iterable[TopicPartition], streams: list[S]) -> dict[TopicPartition, S]:
    """Assign ranges of partitions to streams by Algorithm 1 of the 2011 paper.

    The first streams have one partition more: 5 partitions and 3 streams give 0 and 1, 2 and 3, 4. Streams
    beyond the number of partitions get none.
    """
    places = sorted(partitions)
    owners: dict[TopicPartition, S] = {}
    begin = 0
    for number, stream in enumerate(streams):
        end = begin + len(places) // len(streams) + (number < len(places) % len(streams))
        owners.update(dict.fromkeys(places[begin:end], stream))
        begin = end
    return owners
