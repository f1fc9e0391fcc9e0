"""What a ConsumerConnector reads, and how its partitions are shared out among its streams."""

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
    """Which topics are wanted, by a regular expression that whole names match.

    As in Kafka's own filters commas stand for ``|``, and spaces around them are left out: ``clicks,views.*``.

    :ivar pattern: what the names of wanted topics match.
    """

    def __init__(self, expression: str) -> None:
        """Make it.

        :raises KafkaTXError: *expression* is no regular expression.
        """
        self.expression = expression
        text = "|".join(part.strip() for part in expression.strip().split(","))
        try:
            self.pattern = self._pattern(re.compile(text), text)
        except re.error as error:
            raise KafkaTXError(f"{expression!r} is no regular expression: {error}") from None

    def _pattern(self, compiled: re.Pattern[str], text: str) -> re.Pattern[str]:
        raise NotImplementedError

    def wants(self, topic: str) -> bool:
        """Whether the topic is wanted."""
        return self.pattern.fullmatch(topic) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.expression!r})"


class Whitelist(TopicFilter):
    """The topics that match."""

    def _pattern(self, compiled: re.Pattern[str], text: str) -> re.Pattern[str]:
        return compiled


class Blacklist(TopicFilter):
    """All topics but those that match."""

    def _pattern(self, compiled: re.Pattern[str], text: str) -> re.Pattern[str]:
        flags = _FLAGS.match(text)  # they may stand nowhere but at the beginning
        body = text[flags.end() :] if flags else text
        return re.compile(rf"(?!(?:{body})\Z).*", compiled.flags)


@attrs.frozen
class Subscription:
    """What one connector reads: topics with the number of streams for each, or a filter with the number of
    streams for all of its topics together.
    """

    topics: Mapping[str, int] = MappingProxyType({})
    filter: TopicFilter | None = None
    streams: int = 0

    def __attrs_post_init__(self) -> None:
        """Look at the numbers.

        :raises KafkaTXError: there are no topics, or less than a stream for one.
        """
        if self.filter is None and not self.topics:
            raise KafkaTXError("there is no topic to make a stream for")
        counts = self.topics.items() if self.filter is None else [(repr(self.filter), self.streams)]
        for name, count in counts:
            if count < 1:
                raise KafkaTXError(f"{count} streams for {name}: there must be at least one")


@attrs.frozen
class StreamAssignment(Generic[S]):
    """The streams of a subscription.

    :ivar by_topic: a list for each topic, or
    :ivar all: with a filter, one list.
    """

    by_topic: Mapping[str, list[S]] = MappingProxyType({})
    all: list[S] = attrs.Factory(list)

    def streams(self) -> list[S]:
        """Every stream."""
        return [*self.all, *(stream for streams in self.by_topic.values() for stream in streams)]

    def divide(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, S]:
        """Which stream reads each of the partitions, of those that there is a stream for.

        The streams for a topic share its partitions; those for a filter share all.
        """
        topics: defaultdict[str, list[TopicPartition]] = defaultdict(list)
        for at in partitions:
            topics[at.topic if not self.all else ""].append(at)
        owners: dict[TopicPartition, S] = {}
        for topic, places in topics.items():
            owners.update(ranges(places, self.all or self.by_topic.get(topic, [])))
        return owners


def ranges(partitions: Iterable[TopicPartition], streams: list[S]) -> dict[TopicPartition, S]:
    """Algorithm 1 of the 2011 paper: neighbours stay together, and the first streams have one more.

    With 5 partitions and 3 streams: 0 and 1, 2 and 3, 4. Streams that nothing is left for wait.
    """
    places = sorted(partitions)
    owners: dict[TopicPartition, S] = {}
    begin = 0
    for number, stream in enumerate(streams):
        end = begin + len(places) // len(streams) + (number < len(places) % len(streams))
        owners.update(dict.fromkeys(places[begin:end], stream))
        begin = end
    return owners
