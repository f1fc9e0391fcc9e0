"""``kafkatx tail``: print messages as they come, of several topics, those that match."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

import attrs
import click

from kafkatx.cli.messages.consume import renderer
from kafkatx.cli.options.cluster import client_settings, cluster_options
from kafkatx.cli.output.records import Rows
from kafkatx.cli.output.renderer import BadFormat
from kafkatx.cli.output.terminal import readable_line, stdout_bytes

if TYPE_CHECKING:
    from kafkatx.client.threads import Admin, Consumer
    from kafkatx.clientcore.consumer.record import Record
    from kafkatx.types import TopicPartition

FORMAT = "%t\\t%p\\t%o\\t%k\\t%s\\n"
MOST_RECORDS = 1000
LOOK_S = 5.0
"""How often it looks for topics and partitions that are new."""


@attrs.frozen
class Filter:
    """Which messages are printed.

    :ivar value: what is to be found in the value, and *key* in the key; None: anything.
    :ivar inverted: print the others.
    """

    value: re.Pattern[bytes] | None = None
    key: re.Pattern[bytes] | None = None
    inverted: bool = False

    def matches(self, record: Record) -> bool:
        """Whether this one is printed; a null has nothing in it."""
        found = all(
            pattern is None or pattern.search(data or b"")
            for pattern, data in ((self.value, record.value), (self.key, record.key))
        )
        return found is not self.inverted

    def choose(self, found: Mapping[TopicPartition, list[Record]]) -> dict[TopicPartition, list[Record]]:
        """Those of some records."""
        if self.value is None and self.key is None:
            return dict(found)
        chosen = {place: list(filter(self.matches, records)) for place, records in found.items()}
        return {place: records for place, records in chosen.items() if records}


@attrs.frozen
class Wanted:
    """Which topics: those with these names, or all whose whole name matches."""

    names: Sequence[str]
    pattern: re.Pattern[str] | None

    def partitions(self, admin: Admin) -> set[TopicPartition]:
        """Those that there are now.

        :raises UnknownTopic: there is no topic of that name.
        """
        from kafkatx.clientcore.errors import UnknownTopic
        from kafkatx.types import TopicPartition

        there = {topic.name: topic for topic in admin.list_topics(internal=self.pattern is None)}
        if self.pattern is None:
            chosen = self.names
        else:
            chosen = [name for name in there if self.pattern.fullmatch(name)]
        for name in chosen:
            if name not in there:
                raise UnknownTopic(name)
        return {TopicPartition(name, number) for name in chosen for number in there[name].partitions}


def _compiled(option: str, text: str | None, flags: int) -> re.Pattern[bytes] | None:
    try:
        return None if text is None else re.compile(os.fsencode(text), flags)
    except re.error as error:
        raise click.UsageError(f"{option} {text}: {error}") from error


@click.command()
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@click.option("-r", "--regex", metavar="REGEX", help="Topics whose whole name matches, also new ones.")
@click.option("-m", "--match", metavar="REGEX", help="Only messages with this in their value.")
@click.option("-k", "--match-key", metavar="REGEX", help="Only messages with this in their key.")
@click.option("-i", "--ignore-case", is_flag=True, help="Capital or small letters: no matter.")
@click.option("-v", "--invert", is_flag=True, help="Only messages that do not match.")
@click.option(
    "-n",
    "--last",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Begin with the last so many of each partition.",
)
@click.option("-c", "--count", type=click.IntRange(min=1), help="Stop after so many messages.")
@click.option("-f", "--format", "format_text", metavar="FORMAT", help="As `kafkatx consume -f`.")
@click.option("-J", "--json", "as_json", is_flag=True, help="One JSON object a message.")
@cluster_options
def tail(
    topics: tuple[str, ...],
    regex: str | None,
    match: str | None,
    match_key: str | None,
    ignore_case: bool,
    invert: bool,
    last: int,
    count: int | None,
    format_text: str | None,
    as_json: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Print the messages of each TOPIC as they come, until Ctrl-C.

    A line a message: topic, partition, offset, key and value, divided by tabs. No group is joined.
    """
    if bool(topics) == (regex is not None):
        raise click.UsageError("give TOPIC..., or --regex for their names")
    if as_json and format_text is not None:
        raise click.UsageError("--json and --format exclude each other")
    flags = re.IGNORECASE if ignore_case else 0
    chosen = Filter(_compiled("--match", match, flags), _compiled("--match-key", match_key, flags), invert)
    _compiled("--regex", regex, 0)
    wanted = Wanted(topics, None if regex is None else re.compile(regex))
    make = partial(renderer, format_text=format_text or FORMAT, key=None, end="", clean=readable_line)
    try:
        make("")
    except BadFormat as error:
        raise click.UsageError(f"--format {error}") from error
    from kafkatx.cli.process.warnings import warnings_shown
    from kafkatx.client.threads import Admin, Consumer

    settings = client_settings(bootstrap, timeout)
    with (
        warnings_shown(),
        Consumer(settings, allow_auto_create_topics=False, auto_offset_reset="earliest") as consumer,
        Admin(beside=consumer) as admin,
    ):
        rows = Rows(consumer, None if as_json else make)
        follow(consumer, admin, wanted, last, chosen, rows, count, stdout_bytes())


def follow(
    consumer: Consumer,
    admin: Admin,
    wanted: Wanted,
    last: int,
    chosen: Filter,
    rows: Rows,
    count: int | None,
    out: IO[bytes],
) -> None:
    """Print what comes, until *count* messages are printed."""
    consumer.assign(wanted.partitions(admin))
    _begin(consumer, last)
    looked = time.monotonic()
    left = count
    while left is None or left > 0:
        wait_s = looked + LOOK_S - time.monotonic()
        if wait_s <= 0:
            consumer.assign(wanted.partitions(admin))  # what is new is read from its beginning
            looked = time.monotonic()
            continue
        found = chosen.choose(consumer.getmany(MOST_RECORDS, round(wait_s * 1000)))
        if left is not None:
            found = first(found, left)
            left -= sum(map(len, found.values()))
        if found:
            out.write(rows.render(found))
            out.flush()


def _begin(consumer: Consumer, last: int) -> None:
    """Go to the ends, or so far before them."""
    places = consumer.assignment()
    if not places:
        return
    ends = consumer.end_offsets(*places)
    starts = consumer.beginning_offsets(*places)
    for place, end in ends.items():
        consumer.seek(place, max(starts[place], end - last))


def first(found: Mapping[TopicPartition, list[Record]], most: int) -> dict[TopicPartition, list[Record]]:
    """The first records of these, *most* in all."""
    kept = {}
    for place, records in found.items():
        if most <= 0:
            break
        kept[place] = records[:most]
        most -= len(kept[place])
    return kept
