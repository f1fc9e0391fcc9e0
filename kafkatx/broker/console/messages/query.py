"""The parameters of a search: which messages of a topic, and how they are to be seen. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import attrs

from kafkatx.broker.console.api.bodies import whole
from kafkatx.broker.console.errors import ConsoleError, invalid
from kafkatx.views.filter.compiler import CONTENTS, Filter
from kafkatx.views.filter.errors import FilterError
from kafkatx.views.formats.decoder import BUILT_IN
from kafkatx.views.formats.masks import Masks, Rule
from kafkatx.views.requests import ViewRequest
from kafkatx.web.calls import Call

MOST_COUNT: Final = 1000
MOST_CHARACTERS: Final = 1_000_000
USUAL_CHARACTERS: Final = 10_000
CHARACTERS_AT_ONCE: Final = 5_000_000
"""The characters of a key or value, times the records that are asked for, or the partitions."""

MOST_PARTITIONS: Final = 256
"""Partitions that are searched at a time."""

OLDEST, NEWEST, TIME, OFFSET, OFFSETS, BEFORE = "oldest", "newest", "time", "offset", "offsets", "before"
FULL, METADATA, NONE = "full", "metadata", "none"

QUERY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "topic": "the topic",
        "partition": "numbers of partitions, with commas between them; all if it is left out",
        "from": "oldest, newest (the newest records, newest first), time:MS, offset:N, offsets:0=N,1=N, or"
        " before:0=N,1=N (as newest, but only records before these offsets)",
        "positions": "offsets by partition, an object of JSON, in place of those of from: as the end of a"
        " search has them, to go on; newest first they are exclusive ends",
        "count": f"records to find, at most {MOST_COUNT}",
        "bytes": "bytes to search at most",
        "filter": "an expression; only records that it accepts are found",
        "keyFormat": "the format of keys, auto if it is left out",
        "valueFormat": "the format of values, auto if it is left out",
        "isolation": "read_committed: leave out records of aborted and open transactions",
        "characters": "characters of a key or value that are sent, 10,000 if it is left out; less with many"
        " records",
    }
)
"""The parameters of a search."""


@attrs.frozen
class Origin:
    """The place where a search begins.

    :ivar kind: ``oldest`` and so on.
    :ivar number: a time in ms, or an offset.
    :ivar offsets: by partition.
    """

    kind: str
    number: int = 0
    offsets: Mapping[int, int] = MappingProxyType({})

    @property
    def newest_first(self) -> bool:
        """True if records are found from the newest to older ones."""
        return self.kind in (NEWEST, BEFORE)


def read_origin(text: str) -> Origin:
    """Read the parameter ``from``.

    :raises ConsoleError: it is none.
    """
    kind, colon, rest = text.partition(":")
    if kind in (OLDEST, NEWEST) and not colon:
        return Origin(kind)
    if kind in (TIME, OFFSET):
        return Origin(kind, whole(rest, f"from={kind}", 0))
    if kind in (OFFSETS, BEFORE) and rest:
        pairs = [pair.partition("=") for pair in rest.split(",")[:MOST_PARTITIONS]]
        offsets = {
            whole(number, f"from={kind}", 0, 2**31 - 1): whole(offset, f"from={kind}", 0)
            for number, _, offset in pairs
        }
        return Origin(kind, offsets=offsets)
    raise invalid(f"from={text[:60]}: it is {QUERY['from']}")


def _origin(call: Call) -> Origin:
    """Return the place where a search begins, or goes on."""
    origin, text = read_origin(call.text("from", NEWEST)), call.text("positions")
    if not text:
        return origin
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or len(found) > MOST_PARTITIONS:
        raise invalid('positions must be an object of JSON such as {"0": "17"}')
    offsets = {
        whole(number, "positions", 0, 2**31 - 1): whole(offset, "positions", 0)
        for number, offset in found.items()
    }
    return Origin(BEFORE if origin.newest_first else OFFSETS, offsets=offsets)


def write_origin(kind: str, offsets: Mapping[int, int]) -> str:
    """Return an origin as :func:`read_origin` reads it, for a search that goes on."""
    return f"{kind}:{','.join(f'{number}={offset}' for number, offset in sorted(offsets.items()))}"


@attrs.frozen
class Limits:
    """The limits that the broker's settings put on searches, and what they hide.

    :ivar messages: ``full``, ``metadata`` or ``none``.
    :ivar scan_bytes: the bytes that one search may read.
    :ivar plugins: installed decoders: paths of their factories by name.
    """

    messages: str = FULL
    scan_bytes: int = 64 << 20
    rules: tuple[Rule, ...] = ()
    plugins: Mapping[str, str] = MappingProxyType({})

    @property
    def formats(self) -> tuple[str, ...]:
        """The names of all formats."""
        return (*BUILT_IN, *sorted(name for name in self.plugins if name not in BUILT_IN))

    def check(self) -> None:
        """Check that messages may be looked at.

        :raises ConsoleError: 403: they may not.
        """
        if self.messages == NONE:
            raise ConsoleError(
                403, "MESSAGES_HIDDEN", "this console shows no messages: kafkatx.console.messages=none"
            )


@attrs.frozen
class Query:
    """A search, or a tail.

    :ivar partitions: None: all.
    :ivar most_bytes: bytes to search at most.
    """

    origin: Origin
    partitions: tuple[int, ...] | None
    count: int
    most_bytes: int
    view: ViewRequest
    committed_only: bool
    most_characters: int

    @classmethod
    def of(cls, call: Call, limits: Limits) -> Query:
        """Return what a request asks for.

        :raises ConsoleError: a parameter is wrong, or messages may not be looked at.
        """
        limits.check()
        isolation = call.text("isolation", "read_uncommitted")
        if isolation not in ("read_uncommitted", "read_committed"):
            raise invalid(f"isolation={isolation[:40]}: it is read_uncommitted or read_committed")
        count = whole(call.text("count", "100"), "count", 1, MOST_COUNT)
        return cls(
            _origin(call),
            _partitions(call.text("partition")),
            count,
            min(whole(call.text("bytes", str(limits.scan_bytes)), "bytes", 1), limits.scan_bytes),
            _view(call, limits),
            isolation == "read_committed",
            _characters(call, count),
        )

    def chosen(self, count: int) -> Sequence[int]:
        """Return the partitions to search, of a topic with *count* partitions.

        :raises ConsoleError: there is no such partition, or they are too many at once.
        """
        chosen = range(count) if self.partitions is None else self.partitions
        unknown = [number for number in chosen if number >= count]
        if unknown:
            raise ConsoleError(
                404,
                "UNKNOWN_TOPIC_OR_PARTITION",
                f"the topic {self.view.topic} has {count} partitions, from 0 on, and none with the number"
                f" {unknown[0]}",
            )
        most = min(MOST_PARTITIONS, CHARACTERS_AT_ONCE // self.most_characters)
        if len(chosen) > most:
            raise invalid(
                f"choose at most {most} of the {count} partitions with characters={self.most_characters}"
            )
        return chosen


def _characters(call: Call, count: int) -> int:
    most = min(MOST_CHARACTERS, CHARACTERS_AT_ONCE // count)
    return whole(call.text("characters", str(min(USUAL_CHARACTERS, most))), "characters", 1, most)


def _partitions(text: str) -> tuple[int, ...] | None:
    if not text:
        return None
    numbers = {whole(part, "partition", 0, 2**31 - 1) for part in text.split(",")[: MOST_PARTITIONS + 1]}
    return tuple(sorted(numbers))


def _view(call: Call, limits: Limits) -> ViewRequest:
    topic, metadata_only = call.text("topic"), limits.messages == METADATA
    if not topic:
        raise invalid("topic is missing")
    key_format, value_format = (call.text(name, "auto") for name in ("keyFormat", "valueFormat"))
    for one in (key_format, value_format):
        if one not in limits.formats:
            raise invalid(f"there is no format {one[:40]!r}; there are {', '.join(limits.formats)}")
    masks, plugins = Masks.of(limits.rules, topic), tuple(sorted(limits.plugins.items()))
    return ViewRequest(
        topic, _filter(call, metadata_only), key_format, value_format, masks, plugins, metadata_only
    )


def _filter(call: Call, metadata_only: bool) -> str | None:
    text = call.text("filter")
    if not text.strip():
        return None
    try:
        names = Filter(text).names
    except FilterError as error:
        raise ConsoleError(400, "INVALID_FILTER", str(error)) from None
    if metadata_only and names & CONTENTS:
        raise ConsoleError(
            403,
            "MESSAGES_HIDDEN",
            f"this console shows no contents (kafkatx.console.messages=metadata): a filter may not use"
            f" {min(names & CONTENTS)}",
        )
    return text
